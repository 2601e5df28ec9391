//! What an application sends: one file per kind of traffic, with its parameters, their checks and the load that it puts on the network.

#[macro_use]
mod registry;
mod kind;
mod load;
mod messages;
mod program;

use bloatlab_tcp::TcpConfig;

use crate::check::rules::Check;
use kind::Kind;

pub use kind::Probe;
pub(crate) use load::{Bounds, Load, per_second, seconds};
pub use messages::Transport;
pub use program::Programs;

// The kinds of traffic: one line each, `Variant(file) = "name"` and the other names that are accepted, such as ns-3's.
registry! {
    Greedy(greedy) = "greedy" | "Greedy" | "BulkSendApplication",
    Finite(finite) = "finite" | "Finite",
    Cbr(cbr) = "cbr" | "Cbr",
    Poisson(poisson) = "poisson" | "Poisson",
    OnOff(on_off) = "on_off" | "OnOff" | "OnOffApplication",
    Fetch(fetch) = "fetch" | "Fetch",
    Ping(ping) = "ping" | "Ping",
    Iperf3(iperf3) = "iperf3",
    Http(http) = "http",
    Command(command) = "command",
}

impl Default for Traffic {
    fn default() -> Self {
        Self::Greedy(greedy::Params {})
    }
}

impl Traffic {
    /// Refuses values out of range. `path` is the key of the traffic.
    pub(crate) fn check(&self, path: &str, tcp: &TcpConfig) -> Check {
        self.params().check(path, tcp)
    }

    /// The most that it puts on the network.
    pub(crate) fn load(&self, bounds: &Bounds) -> Load {
        self.params().load(bounds)
    }

    /// Whether a TCP connection carries it.
    pub fn is_tcp(&self) -> bool {
        self.params().is_tcp()
    }

    /// Whether its flow is in the tables of flows.
    pub fn has_data(&self) -> bool {
        self.params().has_data()
    }

    /// The programs that it starts, if it does. `cca` is Linux's name of the flow's congestion control.
    pub fn programs(&self, cca: &str) -> Option<Programs> {
        self.params().programs(cca)
    }

    /// What it measures as a probe, if it is one.
    pub fn probe(&self) -> Option<Probe> {
        self.params().probe()
    }
}
