//! Scalable TCP: the window grows by a share of itself, so recovery takes the same time at any rate.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::elsewhere::Linux;
use crate::growth::Growth;
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};

/// Scalable TCP: exponential growth in congestion avoidance, an eighth less after a loss.
///
/// Every acknowledged segment adds a hundredth of a segment to the window, and a loss takes an eighth of it. The time between two losses is therefore
/// the same at any rate. It was designed for long paths of high rate that a single flow should fill. Below a hundred segments it grows as Reno does.
/// It fills any queue and keeps it nearly full. Flows that start with unequal windows never become equal, and a competing Reno flow starves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Segments that each acknowledged segment adds to the window (Kelly 2003: a).
    #[schemars(range(min = 0.0001, max = 1.0), extend("unit" = "segments"))]
    pub increase: f64,
    /// Share of the window that a loss takes (Kelly 2003: b).
    #[schemars(range(min = 0.01, max = 0.9))]
    pub decrease: f64,
    /// How slow start ends.
    pub slow_start: SlowStart,
}

impl Default for Params {
    fn default() -> Self {
        // Kelly 2003 section 2: a = 0.01, b = 0.125; Linux has the same.
        Self {
            increase: 0.01,
            decrease: 0.125,
            slow_start: SlowStart::Standard,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpScalable"];
    const SOURCE: &'static str = "T. Kelly, Scalable TCP, ACM SIGCOMM CCR 33(2), 2003";
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: Some(Linux::module("scalable", "tcp_scalable")),
        ns3: Some("ns3::TcpScalable"),
        ns2: Some("Agent/TCP/Linux (scalable)"),
    };

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Scalable {
            starter: Starter::new(self.slow_start),
            price: libm::round(1.0 / self.increase) as u64,
            decrease: self.decrease,
            credit: Growth::default(),
        })
    }
}

/// State of one connection. The window grows by whole segments.
struct Scalable {
    starter: Starter,
    /// Acknowledged segments that add one segment.
    price: u64,
    decrease: f64,
    credit: Growth,
}

impl CongestionControl for Scalable {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        let acked = self.starter.open(window, ack);
        if acked > 0 {
            // Kelly 2003 section 2: cwnd += a per segment; where Reno grows faster, as Reno.
            let price = self.price.min(window.cwnd / window.mss);
            window.cwnd += self
                .credit
                .earn(acked, price.max(1) * window.mss, window.mss);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        let segments = window.cwnd / window.mss;
        let taken = (segments as f64 * self.decrease) as u64;
        window.ssthresh = (segments - taken).max(2) * window.mss;
        self.credit.forget();
        self.starter.on_congestion();
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.starter.on_timeout();
    }
}
