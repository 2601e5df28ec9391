//! NewReno exactly as in RFC 5681: each ACK grows the window once, however much the ACK covers.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};

/// What counts as in flight when a loss is detected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlightSize {
    /// Everything outstanding before the ACK that reported the loss (RFC 5681).
    #[default]
    Outstanding,
    /// What remains in the network after that ACK: neither what it delivered nor what it marked lost. As in ns-3 (RFC 6675's pipe).
    Pipe,
}

/// NewReno with RFC 5681's arithmetic per ACK, as in ns-3. Delayed ACKs halve its growth.
///
/// The window grows by one segment per ACK in slow start, and by MSS^2/cwnd bytes per ACK in congestion avoidance. A receiver that acknowledges every
/// second segment therefore halves the growth. A loss halves what is in flight. Use it to compare with ns-3's `TcpNewReno` or with the RFC itself;
/// today's hosts count bytes, as `reno` does. It has all of Reno's weaknesses on fast and long paths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// What counts as in flight at a loss. Half of it becomes `ssthresh`.
    pub flight_size: FlightSize,
    /// How slow start ends.
    pub slow_start: SlowStart,
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpNewReno"];
    const SOURCE: &'static str = "RFC 5681, RFC 6582";
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: None,
        ns3: Some("ns3::TcpNewReno"),
        ns2: Some("Agent/TCP/Newreno"),
    };

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(NewReno {
            starter: Starter::new(self.slow_start),
            flight_size: self.flight_size,
        })
    }
}

/// State of one connection.
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
            // At a timeout everything is considered lost, so the pipe is empty. ns-3 then uses the bytes in flight before it.
            FlightSize::Pipe if signal != Signal::Timeout => ack.in_flight,
            // Because of limited transmit, this equals RFC 5681's FlightSize at the first duplicate ACK.
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
