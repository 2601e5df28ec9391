//! The discrete-event engine: a plan and a seed in, an outcome out. Nothing here reads a clock.

mod accounting;
mod application;
mod applications;
mod averages;
mod bearer;
mod build;
mod build_cell;
mod build_flows;
mod calendar;
mod changes;
mod contents;
mod control;
mod datagrams;
mod delay_line;
mod engine;
mod flight;
mod flow;
mod flow_account;
mod gate;
mod hosts;
mod impairment;
mod intervals;
mod link;
mod link_watch;
mod measure_flows;
mod measure_network;
mod network;
mod outside;
mod outside_session;
mod outside_tcp;
mod own_link;
mod own_queue;
mod packet;
mod packet_log;
mod place;
mod plugins;
mod radio;
mod release;
mod reordering_delay;
mod sample;
mod samples;
mod schedule;
mod sending;
mod session;
mod source;
mod stall;
mod station;
mod summary;
mod tail_drop;
mod tcp_stats;
mod traffic;
mod watchdog;
mod write_log;

use std::fmt;
use std::sync::Arc;

use bloatlab_outcome::Outcome;
use bloatlab_scenario::Plan;

pub use bloatlab_aqm::Band;
pub use contents::{Contents, PacketRun};
pub use control::{Control, Stall, Stopped};
pub use link_watch::{LinkEvent, LinkStep};
pub use outside::{Delivery, Entry, Observation, Order, Report};
pub use packet::Packet;
pub use plugins::{NoPlugins, Plugins};
pub use session::{NewRows, Session};

/// Why there is no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The engine does not support the plan. The message starts with the key.
    Plan(String),
    /// A user's algorithm could not be made.
    Plugin(String),
    /// The run was stopped.
    Stopped(Stopped),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(message) | Self::Plugin(message) => f.write_str(message),
            Self::Stopped(stopped) => stopped.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

impl From<Stopped> for RunError {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

/// Runs a plan: the same (plan, seed) always gives the same outcome.
///
/// # Errors
/// A plan that the engine cannot run, a user's algorithm that cannot be made or fails, or a run that is cancelled or stalls.
pub fn run(
    plan: Arc<Plan>,
    seed: u64,
    record_packets: bool,
    plugins: &dyn Plugins,
    control: &Control,
) -> Result<Outcome, RunError> {
    Session::new(plan, seed, record_packets, plugins, control)?.finish()
}
