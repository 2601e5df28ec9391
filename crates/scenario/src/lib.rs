//! The scenario document that a user writes. This crate checks it key by key and compiles it to the [`Plan`] that an engine runs. It knows no engine.
//!
//! [`Scenario::compile`] checks ranges, names, paths and the cost of the run, so an engine can run every scenario that it accepts.

mod boxes;
mod catalogue;
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
mod plan_view;
mod read;
mod text;
mod timeline;
pub mod traffic;

pub use boxes::{BoxSpec, DelayBox, HostLink, LinkBox, LinkVary};
pub use catalogue::{algorithms, read_queue};
pub use cell::{Backhaul, Bearer, CellNetwork, Sdap, Wire};
pub use change::Change;
pub use cost::Limits;
pub use document::{Dumbbell, DumbbellVary, ParkingLot, Scenario};
pub use dscp::Dscp;
pub use error::ScenarioError;
pub use flow::{Direction, Flow};
pub use impair::Impairments;
pub use plan::{
    Effect, GateKind, Plan, PlanBearer, PlanBox, PlanBoxKind, PlanCell, PlanChange, PlanFlow,
    PlanGate, PlanLink, RadioPort,
};
pub use plan_view::{
    BoxKindView, BoxView, ChangeView, EffectView, FlowView, LimitView, LinkView, PlanView,
};
pub use read::Checked;
pub use traffic::Traffic;

// The types in a scenario, so that a crate that builds one needs no other crate.
pub use bloatlab_aqm::QueueConfig;
pub use bloatlab_cc::CcConfig;
pub use bloatlab_link::impairment::loss::LossSpacing;
pub use bloatlab_link::{
    DelayVariation, Disk, Files, ImpairmentConfig, LoadedRate, Part, Probability, RateVariation,
    Share, Variation, VaryDelay,
};
pub use bloatlab_radio::cell::params::CellParams;
pub use bloatlab_tcp::TcpConfig;
