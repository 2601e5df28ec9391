//! The scenario document: what a user writes, checked key by key, and compiled to the [`Plan`] an engine runs. Knows no engine.
//!
//! Whatever [`Scenario::compile`] accepts, an engine can run: ranges, names, paths and the cost of the run are checked here.

mod cell;
mod change;
mod check;
mod compile;
mod cost;
mod default_queue;
mod document;
mod dscp;
mod error;
mod flow;
mod impair;
mod inputs;
mod path;
mod plan;
mod read;
mod text;
mod timeline;
mod traffic;

pub use cell::{Backhaul, Bearer, CellNetwork, Sdap, Wire};
pub use change::Change;
pub use cost::Limits;
pub use document::{BoxSpec, Dumbbell, DumbbellVary, LinkVary, LossSpacing, ParkingLot, Scenario};
pub use dscp::Dscp;
pub use error::ScenarioError;
pub use flow::{Direction, Flow};
pub use impair::Impairments;
pub use plan::{
    Effect, GateKind, Plan, PlanBearer, PlanBox, PlanBoxKind, PlanCell, PlanChange, PlanFlow,
    PlanGate, PlanLink, RadioPort,
};
pub use read::Checked;
pub use traffic::{Connection, Distribution, Traffic, Transport};

// What a scenario is made of, so that a crate which builds one needs no other.
pub use bloatlab_aqm::QueueConfig;
pub use bloatlab_cc::CcConfig;
pub use bloatlab_link::{
    DelayVariation, Disk, Files, LoadedRate, Part, Probability, RateVariation, Share, VaryDelay,
    Variation,
};
pub use bloatlab_radio::cell::params::CellParams;
pub use bloatlab_tcp::TcpConfig;
