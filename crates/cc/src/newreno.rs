//! NewReno to the letter of RFC 5681: the window moves once per ACK, whatever the ACK covers.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Law, Signal, Window};

/// What is in flight when a loss is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlightSize {
    /// Everything outstanding before the ACK that told of the loss (RFC 5681).
    #[default]
    Outstanding,
    /// What that ACK left in the network, without what it delivered and what it found lost, as in ns-3 (RFC 6675's pipe).
    Pipe,
}

/// NewReno with RFC 5681's per-ACK arithmetic, as in ns-3: delayed ACKs halve its growth.
///
/// The window grows by one segment an ACK in slow start and by MSS squared over the window after it, so that a receiver which acknowledges
/// every second segment halves its growth. A loss halves what is in flight. Use it where ns-3's `TcpNewReno` or the letter of the RFC is
/// compared; hosts of today count bytes, as `reno` does. It shares all of Reno's weaknesses on fast and long paths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Half of what becomes `ssthresh`.
    pub flight_size: FlightSize,
    /// How slow start ends.
    pub slow_start: SlowStart,
}

impl Law for Params {
    const ALIASES: &'static [&'static str] = &["TcpNewReno"];
    const SOURCE: &'static str = "RFC 5681, RFC 6582";

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(NewReno {
            starter: Starter::new(self.slow_start),
            flight_size: self.flight_size,
        })
    }
}

/// The law.
struct NewReno {
    starter: Starter,
    flight_size: FlightSize,
}

impl CongestionControl for NewReno {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.acked == 0 {
            return;
        }
        if window.in_slow_start() {
            self.starter.observe(window, ack);
        }
        window.cwnd += if window.in_slow_start() {
            // RFC 5681 equation (2): cwnd += min(N, SMSS).
            self.starter.increase(window, ack.acked.min(window.mss))
        } else {
            // RFC 5681 equation (3): cwnd += SMSS * SMSS / cwnd, at least 1 byte.
            (window.mss * window.mss / window.cwnd).max(1)
        };
    }

    fn on_congestion(&mut self, window: &mut Window, signal: Signal, ack: &Ack) {
        let flight = match self.flight_size {
            // At a timeout everything is lost, so the pipe says nothing; ns-3 takes what it was before.
            FlightSize::Pipe if signal != Signal::Timeout => ack.in_flight,
            // Limited transmit keeps this at RFC 5681's FlightSize when the first duplicate came.
            _ => ack.prior_in_flight,
        };
        // RFC 5681 equation (4).
        window.ssthresh = (flight / 2).max(2 * window.mss);
        self.starter.on_congestion();
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.starter.on_timeout();
    }
}
