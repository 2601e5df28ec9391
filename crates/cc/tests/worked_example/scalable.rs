//! Scalable TCP: the window grows by a share of itself, so that recovery takes the same time at any rate.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Law, Signal, Window};

/// Scalable TCP: exponential growth in congestion avoidance, an eighth less after a loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Share of the bytes acknowledged that opens the window.
    #[schemars(range(min = 0.001, max = 1.0))]
    pub increase: f64,
    /// Share of the window that a loss takes.
    #[schemars(range(min = 0.01, max = 0.9))]
    pub decrease: f64,
    /// How slow start ends.
    pub slow_start: SlowStart,
}

impl Default for Params {
    fn default() -> Self {
        // Kelly 2003, section 2: a = 0.01, b = 0.125.
        Self {
            increase: 0.01,
            decrease: 0.125,
            slow_start: SlowStart::Standard,
        }
    }
}

impl Law for Params {
    const ALIASES: &'static [&'static str] = &["TcpScalable"];
    const SOURCE: &'static str = "T. Kelly, Scalable TCP, ACM SIGCOMM CCR 33(2), 2003";

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Scalable {
            starter: Starter::new(self.slow_start),
            params: self.clone(),
            fraction: 0.0,
        })
    }
}

/// The law.
struct Scalable {
    starter: Starter,
    params: Params,
    /// Part of a byte that the window could not take.
    fraction: f64,
}

impl CongestionControl for Scalable {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        let acked = ack.acked.min(ack.delivered_now);
        if window.in_slow_start() {
            self.starter.observe(window, ack);
        }
        if window.in_slow_start() {
            window.cwnd += self.starter.increase(window, acked);
            return;
        }
        // Kelly 2003, section 2: cwnd += 0.01 for each segment acknowledged.
        self.fraction += self.params.increase * acked as f64;
        let bytes = self.fraction as u64;
        self.fraction -= bytes as f64;
        window.cwnd += bytes;
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        let left = (1.0 - self.params.decrease) * window.cwnd as f64;
        window.ssthresh = (left as u64).max(2 * window.mss);
        self.starter.on_congestion();
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.starter.on_timeout();
    }
}
