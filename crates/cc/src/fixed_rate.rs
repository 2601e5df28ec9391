//! A fixed rate: no congestion control at all, to load a path with a known rate.

use bloatlab_units::{Rate, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::constant::Constant;
use crate::{CongestionControl, Factory, Window};

/// A constant pacing rate that reacts to nothing.
///
/// Segments leave at even intervals, retransmissions included, and no congestion window stops them. It models reliable traffic without congestion
/// control, and is the simplest way to load a path with a known share of its rate. Above the rate of the path, the queue fills, and what overflows is
/// retransmitted again and again. Only the receive window and the send buffer limit what is in flight. It needs pacing: with `pacing = "off"` nothing
/// limits the rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The rate of payload.
    pub rate: Rate,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            rate: Rate(1_000_000),
        }
    }
}

impl Factory for Params {
    const SOURCE: &'static str =
        "none: pacing alone, what RFC 8085 section 3.1 asks applications not to do";

    fn check(&self) -> Result<(), String> {
        if (8..=MAX_RATE).contains(&self.rate.0) {
            Ok(())
        } else {
            Err(format!(
                "`rate` is {}, but must be from 8bit/s to 1Pbit/s",
                self.rate
            ))
        }
    }

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        let bytes_per_second = self.rate.0 / 8;
        Box::new(Constant(move |window: &mut Window| {
            window.cwnd = OPEN;
            window.ssthresh = OPEN;
            window.pacing = bytes_per_second;
        }))
    }
}

/// Bits per second. At this rate the gap between two segments is still above zero.
const MAX_RATE: u64 = 1_000_000_000_000_000;
/// A window that no receive buffer (at most 1 GiB) reaches, bytes.
const OPEN: u64 = 1 << 38;
