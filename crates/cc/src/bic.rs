//! BIC: after a loss the window searches, by bisection, for the size at which the loss occurred.

use bloatlab_units::{MILLISECOND, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::elsewhere::{Conversion, Linux, LinuxParameter};
use crate::growth::Growth;
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};

/// BIC: binary search between the window after a loss and the window before it, then a search beyond.
///
/// After a loss the window grows in steps: large ones while it is far below the window of the last loss, and small ones near it. Beyond that window
/// the steps grow again. It was Linux's default before CUBIC, and it was designed for long paths of high rate. It keeps the queue almost full most of
/// the time. On short paths it is much more aggressive than Reno, because it counts its steps in round trips. Flows with a shorter RTT gain more than
/// they do with Reno.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Share of the window that remains after a loss (Linux: 819 of 1024).
    #[schemars(range(min = 0.1, max = 0.99))]
    pub beta: f64,
    /// At or below this window, it behaves as Reno.
    #[schemars(range(min = 1, max = 1000), extend("unit" = "segments"))]
    pub low_window: u32,
    /// The largest step per round trip (Xu, Harfoush and Rhee 2004: S_max).
    #[schemars(range(min = 1, max = 1000), extend("unit" = "segments"))]
    pub max_increment: u32,
    /// Round trips spent on the last segment before the target, and on each of the first segments beyond it.
    #[schemars(range(min = 1, max = 1000), extend("unit" = "round trips"))]
    pub smooth_part: u32,
    /// Each step covers this fraction of the distance to the target: 1/`divisor`. The paper uses 2, which halves the distance.
    #[schemars(range(min = 2, max = 64))]
    pub divisor: u32,
    /// Yield to new flows: choose a lower target if the window is below its last maximum.
    pub fast_convergence: bool,
    /// How slow start ends.
    pub slow_start: SlowStart,
}

impl Default for Params {
    fn default() -> Self {
        // Linux's module parameters.
        Self {
            beta: 0.8,
            low_window: 14,
            max_increment: 16,
            smooth_part: 20,
            divisor: 4,
            fast_convergence: true,
            slow_start: SlowStart::Standard,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpBic"];
    const SOURCE: &'static str = "L. Xu, K. Harfoush, I. Rhee, Binary increase congestion control (BIC) for fast long-distance networks, IEEE INFOCOM 2004; Linux";
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: Some(Linux {
            name: "bic",
            module: Some("tcp_bic"),
            parameters: &[
                LinuxParameter::new("beta", "beta", Conversion::Times(1024.0), 819),
                LinuxParameter::new("low_window", "low_window", Conversion::Times(1.0), 14),
                LinuxParameter::new("max_increment", "max_increment", Conversion::Times(1.0), 16),
                LinuxParameter::new("smooth_part", "smooth_part", Conversion::Times(1.0), 20),
                LinuxParameter::new("fast_convergence", "fast_convergence", Conversion::Flag, 1),
            ],
        }),
        ns3: Some("ns3::TcpBic"),
        ns2: Some("Agent/TCP/Linux (bic)"),
    };

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Bic {
            starter: Starter::new(self.slow_start),
            // Linux's beta is 819 / 1024.
            beta: libm::round(self.beta * 1024.0) as u64,
            params: self.clone(),
            price: 0,
            credit: Growth::default(),
            last_max: 0,
            seen: 0,
            seen_at: 0,
            ack_ratio: 2 * RATIO,
        })
    }
}

/// Linux recomputes the step when the window has changed, or after 1/32 s.
const LOOK_AGAIN: Nanos = 1000 * MILLISECOND / 32;
/// Before the first loss, 20 acknowledged segments or fewer add one: growth of at least 5 % per round trip.
const FIRST_PRICE: u64 = 20;
/// Unit of the number of segments per ACK.
const RATIO: u64 = 16;

/// State of one connection. Windows are whole segments.
struct Bic {
    starter: Starter,
    params: Params,
    /// Share of the window that remains after a loss, 1024ths.
    beta: u64,
    /// Acknowledged segments that add one segment; 0 before the first computation of an epoch.
    price: u64,
    credit: Growth,
    /// The window at the last loss; 0 before the first loss.
    last_max: u64,
    /// The window and the instant of the last computation.
    seen: u64,
    seen_at: Nanos,
    /// Average number of segments per ACK, 16ths.
    ack_ratio: u64,
}

impl Bic {
    /// How many acknowledged segments add one segment to this window.
    fn price_of(&self, cwnd: u64) -> u64 {
        let params = &self.params;
        let step = u64::from(params.max_increment);
        let divisor = u64::from(params.divisor);
        let smooth = cwnd * u64::from(params.smooth_part) / divisor;
        if cwnd <= u64::from(params.low_window) {
            return cwnd;
        }
        if cwnd < self.last_max {
            // Xu et al. section III.B: a fraction of the distance, at least S_min and at most S_max.
            return match (self.last_max - cwnd) / divisor {
                0 | 1 => smooth,
                distance => cwnd / distance.min(step),
            };
        }
        // Section III.B, max probing: first slowly away from the old maximum, then by S_max.
        let beyond = cwnd - self.last_max;
        if beyond < divisor {
            smooth
        } else if beyond < step * (divisor - 1) {
            cwnd * (divisor - 1) / beyond
        } else {
            cwnd / step
        }
    }

    fn look(&mut self, now: Nanos, cwnd: u64) {
        if self.price > 0 && self.seen == cwnd && now - self.seen_at <= LOOK_AGAIN {
            return;
        }
        self.seen = cwnd;
        self.seen_at = now;
        self.price = self.price_of(cwnd);
        // Linux exempts windows in Reno's range from the following rules.
        if cwnd > u64::from(self.params.low_window) {
            if self.last_max == 0 {
                self.price = self.price.min(FIRST_PRICE);
            }
            // Linux compensates for delayed ACKs, although it counts segments: with two segments per ACK the step is twice as large.
            self.price = self.price * RATIO / self.ack_ratio;
        }
        self.price = self.price.max(1);
    }
}

impl CongestionControl for Bic {
    fn observe(&mut self, window: &Window, ack: &Ack) {
        if !ack.in_recovery && !ack.disordered {
            let segments = ack.acked.div_ceil(window.mss);
            self.ack_ratio = self.ack_ratio - self.ack_ratio / RATIO + segments;
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        let acked = self.starter.open(window, ack);
        if acked > 0 {
            self.look(ack.now, window.cwnd / window.mss);
            window.cwnd += self
                .credit
                .earn(acked, self.price.max(1) * window.mss, window.mss);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, signal: Signal, _: &Ack) {
        let cwnd = window.cwnd / window.mss;
        self.last_max = if self.params.fast_convergence && cwnd < self.last_max {
            (cwnd * (1024 + self.beta)) >> 11
        } else {
            cwnd
        };
        let left = if cwnd <= u64::from(self.params.low_window) {
            cwnd >> 1
        } else {
            (cwnd * self.beta) >> 10
        };
        window.ssthresh = left.max(2) * window.mss;
        if signal == Signal::Timeout {
            // Linux resets everything.
            self.last_max = 0;
            self.ack_ratio = 2 * RATIO;
        }
        self.price = 0;
        self.credit.forget();
        self.starter.on_congestion();
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.starter.on_timeout();
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("last_max", self.last_max as f64),
            ("price", self.price as f64),
        ]
    }
}
