//! The algorithms between SDAP and the RLC, by name.

use bloatlab_units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bdp, Drql, DynRlc, bdp, drql, dynrlc};

/// Decides when packets pass from SDAP's queue to the RLC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Sizing {
    /// A limit that grows when the radio starves and shrinks by what is left over.
    Drql(drql::Params),
    /// A limit that follows the sojourn time in the RLC.
    Dynrlc(dynrlc::Params),
    /// Paced by as many packets per TTI as the radio sends.
    Bdp(bdp::Params),
}

impl Sizing {
    /// Checks the ranges of the values.
    ///
    /// # Errors
    /// The first value out of range, as `parameter: reason`.
    pub fn validate(&self) -> Result<(), String> {
        match self {
            Self::Drql(params) => params.validate(),
            Self::Dynrlc(params) => params.validate(),
            Self::Bdp(params) => params.validate(),
        }
    }

    /// Creates the algorithm of one bearer, with TTIs of this length.
    pub fn build(&self, tti: Nanos) -> SizingAlgorithm {
        match self {
            Self::Drql(params) => SizingAlgorithm::Drql(Drql::new(params)),
            Self::Dynrlc(params) => SizingAlgorithm::DynRlc(DynRlc::new(params)),
            Self::Bdp(params) => SizingAlgorithm::Bdp(Bdp::new(params, tti)),
        }
    }
}

/// The state of an algorithm for one bearer.
#[derive(Clone, Debug)]
pub enum SizingAlgorithm {
    /// Dynamic RLC queue limit.
    Drql(Drql),
    /// Dynamic RLC.
    DynRlc(DynRlc),
    /// 5G-BDP.
    Bdp(Bdp),
}

impl SizingAlgorithm {
    /// How many packets may be passed now to an RLC that holds `queued` packets. A pacer passes packets only at its ticks.
    pub fn may_release(&self, queued: u64) -> u64 {
        match self {
            Self::Drql(algorithm) => algorithm.may_release(),
            Self::DynRlc(algorithm) => algorithm.may_release(queued),
            Self::Bdp(_) => 0,
        }
    }

    /// Records that `packets` packets were passed, not at a tick.
    pub fn on_release(&mut self, packets: u64) {
        if let Self::Drql(algorithm) = self {
            algorithm.on_release(packets);
        }
    }

    /// Records that a packet left the RLC after this sojourn time.
    pub fn on_packet_out(&mut self, sojourn: Nanos) {
        if let Self::DynRlc(algorithm) = self {
            algorithm.on_packet_out(sojourn);
        }
    }

    /// A TTI has ended in which `out` packets left the RLC, `could` packets could have, and `leftover` stayed.
    pub fn on_tti_end(&mut self, now: Nanos, out: u64, could: u64, leftover: u64) {
        match self {
            Self::Drql(algorithm) => algorithm.on_tti_end(now, out),
            Self::DynRlc(algorithm) => algorithm.on_tti_end(now),
            Self::Bdp(algorithm) => algorithm.on_tti_end(now, could, leftover),
        }
    }

    /// A tick: how many of the waiting packets are passed now.
    pub fn on_tick(&mut self, now: Nanos, waiting: u64) -> u64 {
        match self {
            Self::Bdp(algorithm) => algorithm.on_tick(now, waiting),
            Self::Drql(_) | Self::DynRlc(_) => 0,
        }
    }

    /// Whether it needs ticks.
    pub fn ticks(&self) -> bool {
        matches!(self, Self::Bdp(_))
    }

    /// Packets per TTI, if the algorithm knows.
    pub fn pace(&self) -> Option<f64> {
        match self {
            Self::Bdp(algorithm) => Some(algorithm.pace()),
            Self::Drql(_) | Self::DynRlc(_) => None,
        }
    }

    /// The most packets that the RLC may hold, if the algorithm has a limit.
    pub fn limit(&self) -> Option<u64> {
        match self {
            Self::Drql(algorithm) => Some(algorithm.limit()),
            Self::DynRlc(algorithm) => Some(algorithm.limit()),
            Self::Bdp(_) => None,
        }
    }
}
