//! Westwood+: after a loss the window is what the path carried, by the rate of the ACKs, not half of what it was.

use bloatlab_units::{Duration, MILLISECOND, NEVER, Nanos, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::growth::{Growth, half};
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Law, Signal, Window};

/// When the window falls to what the path carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reduction {
    /// When recovery is over; half the window while it lasts (Linux).
    #[default]
    AfterRecovery,
    /// At the loss (Grieco and Mascolo 2004; ns-3).
    AtLoss,
}

/// Westwood+: Reno's growth, and after a loss the bandwidth-delay product that the ACKs measured.
///
/// The delivered bytes of every round trip (50 ms at least) give a rate, two low-pass filters in a row smooth it, and the smoothed
/// rate times the smallest RTT becomes the window after a loss or a timeout. So a random loss costs little, and one by an overflow empties
/// the queue without emptying the link. It is used on wireless paths that lose segments at random. It is bad at a first loss that
/// comes before the filters have settled, which makes the window far too small, and it still fills the queue as Reno does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Shortest time over which the rate is measured.
    pub min_interval: Duration,
    /// Share of the old value that each filter keeps at a sample.
    #[schemars(range(min = 0.0, max = 0.999))]
    pub filter: f64,
    /// When the window falls to what the path carried.
    pub reduction: Reduction,
    /// How slow start ends.
    pub slow_start: SlowStart,
}

impl Default for Params {
    fn default() -> Self {
        // Grieco and Mascolo 2004; Linux.
        Self {
            min_interval: Duration(50 * MILLISECOND),
            filter: 0.875,
            reduction: Reduction::AfterRecovery,
            slow_start: SlowStart::Standard,
        }
    }
}

impl Law for Params {
    const ALIASES: &'static [&'static str] = &["TcpWestwood", "TcpWestwoodPlus"];
    const SOURCE: &'static str = "L. Grieco and S. Mascolo, Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion \
         control, ACM SIGCOMM CCR 34(2), 2004; as in Linux";

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Westwood {
            starter: Starter::new(self.slow_start),
            params: self.clone(),
            growth: Growth::default(),
            interval_start: 0,
            delivered: 0,
            rtt: 0,
            min_rtt: NEVER,
            forget_min_rtt: false,
            once: 0.0,
            rate: 0.0,
            timed_out: false,
        })
    }
}

/// The law. Rates are bytes per second.
struct Westwood {
    params: Params,
    growth: Growth,
    starter: Starter,
    /// When the running sample began, and what was delivered since.
    interval_start: Nanos,
    delivered: u64,
    /// The last RTT, and the smallest one since the last timeout.
    rtt: Nanos,
    min_rtt: Nanos,
    forget_min_rtt: bool,
    /// The rate filtered once and twice.
    once: f64,
    rate: f64,
    /// The recovery that is to end began with a timeout.
    timed_out: bool,
}

impl Westwood {
    fn sample(&mut self, interval: Nanos) {
        let rate = self.delivered as f64 * SECOND as f64 / interval as f64;
        if self.rate == 0.0 && self.once == 0.0 {
            // Linux: the first sample fills both filters.
            self.once = rate;
            self.rate = rate;
        } else {
            let keep = self.params.filter;
            self.once = keep * self.once + (1.0 - keep) * rate;
            self.rate = keep * self.rate + (1.0 - keep) * self.once;
        }
    }

    /// The bandwidth-delay product, whole segments, at least two.
    fn carried(&self, mss: u64) -> u64 {
        if self.min_rtt == NEVER {
            return 2 * mss;
        }
        let bytes = self.rate * self.min_rtt as f64 / SECOND as f64;
        (bytes as u64 / mss).max(2) * mss
    }
}

impl CongestionControl for Westwood {
    fn on_start(&mut self, _: &mut Window, now: Nanos) {
        self.interval_start = now;
    }

    fn observe(&mut self, _: &Window, ack: &Ack) {
        if ack.rtt > 0 {
            self.rtt = ack.rtt;
        }
        let interval = ack.now - self.interval_start;
        if self.rtt > 0 && interval > self.rtt.max(self.params.min_interval.0) {
            self.sample(interval);
            self.interval_start = ack.now;
            self.delivered = 0;
        }
        self.delivered += ack.delivered_now;
        if self.rtt > 0 {
            // Linux: after a timeout the path may be another one.
            self.min_rtt = if std::mem::take(&mut self.forget_min_rtt) {
                self.rtt
            } else {
                self.min_rtt.min(self.rtt)
            };
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.growth.reno(window, &mut self.starter, ack);
    }

    fn on_congestion(&mut self, window: &mut Window, signal: Signal, _: &Ack) {
        self.forget_min_rtt |= signal == Signal::Timeout;
        window.ssthresh = if signal == Signal::Timeout || self.params.reduction == Reduction::AtLoss
        {
            self.carried(window.mss)
        } else {
            half(window)
        };
        self.growth.forget();
        self.starter.on_congestion();
    }

    fn on_recovered(&mut self, window: &mut Window, _: &Ack) {
        let timed_out = std::mem::take(&mut self.timed_out);
        if !timed_out && self.params.reduction == Reduction::AfterRecovery {
            window.ssthresh = self.carried(window.mss);
            window.cwnd = window.ssthresh;
        }
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.timed_out = true;
        self.starter.on_timeout();
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![("rate", self.rate)]
    }
}
