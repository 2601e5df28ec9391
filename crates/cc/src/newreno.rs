//! NewReno to the letter of RFC 5681: the window moves once per ACK, whatever the ACK covers.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Law, Signal, Window};

/// NewReno with RFC 5681's per-ACK arithmetic, as in ns-3: delayed ACKs halve its growth.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How slow start ends.
    pub slow_start: SlowStart,
}

impl Law for Params {
    const ALIASES: &'static [&'static str] = &["TcpNewReno"];
    const SOURCE: &'static str = "RFC 5681, RFC 6582";

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(NewReno {
            starter: Starter::new(self.slow_start),
        })
    }
}

/// The law.
struct NewReno {
    starter: Starter,
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

    fn on_congestion(&mut self, window: &mut Window, _: Signal, ack: &Ack) {
        // RFC 5681 equation (4). Limited transmit keeps the pipe before this ACK at FlightSize of the first duplicate.
        window.ssthresh = (ack.prior_in_flight / 2).max(2 * window.mss);
        self.starter.on_congestion();
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.starter.on_timeout();
    }
}
