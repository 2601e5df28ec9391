//! The laws between SDAP and the RLC by name.

use bloatlab_units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bdp, Drql, DynRlc, bdp, drql, dynrlc};

/// What decides when a packet goes from SDAP's queue into the RLC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Sizing {
    /// A limit that grows when the radio starves and shrinks by what is left over.
    Drql(drql::Params),
    /// A limit that follows the sojourn time in the RLC.
    Dynrlc(dynrlc::Params),
    /// A pace of as many packets as the radio sends.
    Bdp(bdp::Params),
}

impl Sizing {
    /// Refuses values out of range, as `parameter: reason`.
    ///
    /// # Errors
    /// The first that is.
    pub fn validate(&self) -> Result<(), String> {
        match self {
            Self::Drql(params) => params.validate(),
            Self::Dynrlc(params) => params.validate(),
            Self::Bdp(params) => params.validate(),
        }
    }

    /// The law of one bearer, whose TTIs last so long.
    pub fn law(&self, tti: Nanos) -> Law {
        match self {
            Self::Drql(params) => Law::Drql(Drql::new(params)),
            Self::Dynrlc(params) => Law::DynRlc(DynRlc::new(params)),
            Self::Bdp(params) => Law::Bdp(Bdp::new(params, tti)),
        }
    }
}

/// A law at work.
#[derive(Clone, Debug)]
pub enum Law {
    /// Dynamic RLC queue limit.
    Drql(Drql),
    /// Dynamic RLC.
    DynRlc(DynRlc),
    /// 5G-BDP.
    Bdp(Bdp),
}

impl Law {
    /// How many packets may go now to an RLC that holds so many; a pacer lets them go at its ticks alone.
    pub fn may_release(&self, queued: u64) -> u64 {
        match self {
            Self::Drql(law) => law.may_release(),
            Self::DynRlc(law) => law.may_release(queued),
            Self::Bdp(_) => 0,
        }
    }

    /// So many went, not at a tick.
    pub fn on_release(&mut self, packets: u64) {
        if let Self::Drql(law) = self {
            law.on_release(packets);
        }
    }

    /// A packet has left the RLC after this time in it.
    pub fn on_packet_out(&mut self, sojourn: Nanos) {
        if let Self::DynRlc(law) = self {
            law.on_packet_out(sojourn);
        }
    }

    /// A TTI has ended in which so many packets left the RLC, of as many as could have, and so many stayed.
    pub fn on_tti_end(&mut self, now: Nanos, out: u64, could: u64, leftover: u64) {
        match self {
            Self::Drql(law) => law.on_tti_end(now, out),
            Self::DynRlc(law) => law.on_tti_end(now),
            Self::Bdp(law) => law.on_tti_end(now, could, leftover),
        }
    }

    /// A tick: how many of the packets that wait go now.
    pub fn on_tick(&mut self, now: Nanos, waiting: u64) -> u64 {
        match self {
            Self::Bdp(law) => law.on_tick(now, waiting),
            Self::Drql(_) | Self::DynRlc(_) => 0,
        }
    }

    /// Whether it works by ticks.
    pub fn ticks(&self) -> bool {
        matches!(self, Self::Bdp(_))
    }

    /// Packets that a TTI sends, where the law knows.
    pub fn pace(&self) -> Option<f64> {
        match self {
            Self::Bdp(law) => Some(law.pace()),
            Self::Drql(_) | Self::DynRlc(_) => None,
        }
    }

    /// The most packets that the RLC may hold, where the law has a limit.
    pub fn limit(&self) -> Option<u64> {
        match self {
            Self::Drql(law) => Some(law.limit()),
            Self::DynRlc(law) => Some(law.limit()),
            Self::Bdp(_) => None,
        }
    }
}
