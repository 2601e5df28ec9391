//! A fixed rate: no control at all, to load a path with what is known beforehand.

use bloatlab_units::{Nanos, Rate, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Ack, CongestionControl, Law, Signal, Window};

/// A constant pacing rate that reacts to nothing.
///
/// Segments leave at even distances, retransmissions included, and no window stops them. It stands for traffic without congestion control that still is reliable,
/// and is the plainest way to load a path with a known share of its rate. Above the rate of the path the queue fills and what
/// overflows is sent again and again. Only the receiver's window and the sender's buffer bound what is in flight. It
/// needs pacing: with `pacing = "off"` nothing holds it back.
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

impl Law for Params {
    const SOURCE: &'static str =
        "none: pacing alone, what RFC 8085 section 3.1 asks applications not to do";

    fn check(&self) -> Result<(), String> {
        if (8..=MAX_RATE).contains(&self.rate.0) {
            Ok(())
        } else {
            Err("`rate` must be from 8 bit/s to 1 Pbit/s".to_owned())
        }
    }

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(FixedRate {
            pacing: self.rate.0 / 8,
        })
    }
}

/// Bits per second: gaps between segments stay above zero where links can be as fast.
const MAX_RATE: u64 = 1_000_000_000_000_000;
/// A window that no receive buffer (1 GiB at most) reaches, bytes.
const OPEN: u64 = 1 << 38;

/// The law.
struct FixedRate {
    /// Bytes per second.
    pacing: u64,
}

impl FixedRate {
    fn hold(&self, window: &mut Window) {
        window.cwnd = OPEN;
        window.ssthresh = OPEN;
        window.pacing = self.pacing;
    }
}

impl CongestionControl for FixedRate {
    fn on_start(&mut self, window: &mut Window, _: Nanos) {
        self.hold(window);
    }

    fn on_ack(&mut self, window: &mut Window, _: &Ack) {
        self.hold(window);
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        self.hold(window);
    }

    fn on_recovered(&mut self, window: &mut Window, _: &Ack) {
        self.hold(window);
    }

    fn on_timeout(&mut self, window: &mut Window, _: Nanos) {
        self.hold(window);
    }

    // The sender must not shrink the window.
    fn owns_recovery(&self) -> bool {
        true
    }
}
