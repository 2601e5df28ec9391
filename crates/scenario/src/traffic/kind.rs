//! What every kind of traffic says about itself.

use bloatlab_tcp::TcpConfig;
use bloatlab_units::{Bytes, Duration};

use super::load::{Bounds, Load};
use super::program::Programs;
use crate::check::rules::{Check, fail};

/// The parameters of a kind of traffic.
pub(crate) trait Kind {
    /// Refuses values out of range. `path` is the key of the traffic.
    fn check(&self, path: &str, tcp: &TcpConfig) -> Check;

    /// The most that it puts on the network.
    fn load(&self, bounds: &Bounds) -> Load;

    /// Whether a TCP connection carries it.
    fn is_tcp(&self) -> bool {
        true
    }

    /// Whether its flow is in the tables of flows.
    fn has_data(&self) -> bool {
        true
    }

    /// What it measures as a probe, if it is one.
    fn probe(&self) -> Option<Probe> {
        None
    }

    /// The programs that it starts, if it does. `cca` is Linux's name of the flow's congestion control.
    fn programs(&self, _cca: &str) -> Option<Programs> {
        None
    }

    /// Whether the kind starts programs.
    fn is_program() -> bool
    where
        Self: Sized,
    {
        false
    }
}

/// A flow that measures the time until a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Time between a ping and the next, or from a reply to the next request.
    pub interval: Duration,
    /// Size of a ping or of a response.
    pub size: Bytes,
}

/// Refuses an amount of application data out of range.
pub(super) fn amount(path: &str, name: &str, value: Bytes) -> Check {
    if (1..=1_000_000_000_000).contains(&value.0) {
        return Ok(());
    }
    let why = format!("must be between 1B and 1000GB, not {value}");
    fail(format!("{path}.{name}"), why)
}

/// Refuses a size of a packet out of range.
pub(super) fn size(path: &str, name: &str, value: Bytes, low: u64, high: u64) -> Check {
    if (low..=high).contains(&value.0) {
        return Ok(());
    }
    let why = format!("must be between {low}B and {high}B, not {}B", value.0);
    fail(format!("{path}.{name}"), why)
}
