//! Westwood+: after a loss the window becomes the bandwidth-delay product measured from the ACKs, and not half of its size.

use bloatlab_units::{Duration, MILLISECOND, NEVER, Nanos, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::elsewhere::Linux;
use crate::growth::{Growth, half};
use crate::jiffies::jiffies;
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};

/// When the window is set to the measured bandwidth-delay product.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reduction {
    /// At the end of recovery. During recovery it is half the window (Linux).
    #[default]
    AfterRecovery,
    /// At the loss (Grieco and Mascolo 2004; ns-3).
    AtLoss,
}

/// Westwood+: Reno's growth, and after a loss the bandwidth-delay product measured from the ACKs.
///
/// The bytes delivered in every round trip (at least 50 ms) give a rate, and two low-pass filters in series smooth it. After a loss or a timeout, the
/// smoothed rate times the smallest RTT becomes the window. A random loss therefore costs little, and a loss by overflow empties the queue but not
/// the link. It is used on wireless paths that lose segments at random. If the first loss comes before the filters have settled, the window becomes
/// far too small. It still fills the queue as Reno does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Shortest time over which the rate is measured.
    pub min_interval: Duration,
    /// Share of the old value that each filter keeps at every sample.
    #[schemars(range(min = 0.0, max = 0.999))]
    pub filter: f64,
    /// When the window is set to the measured bandwidth-delay product.
    pub reduction: Reduction,
    /// Length of a jiffy. Times are whole jiffies, and rates whole bytes per jiffy (Linux with 1000 Hz: 1 ms). 0: both are exact.
    pub jiffy: Duration,
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
            jiffy: Duration(MILLISECOND),
            slow_start: SlowStart::Standard,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpWestwood", "TcpWestwoodPlus"];
    const SOURCE: &'static str = "L. Grieco and S. Mascolo, Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion \
         control, ACM SIGCOMM CCR 34(2), 2004; as in Linux";
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: Some(Linux::module("westwood", "tcp_westwood")),
        ns3: Some("ns3::TcpWestwoodPlus"),
        ns2: Some("Agent/TCP/Linux (westwood)"),
    };

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Westwood {
            starter: Starter::new(self.slow_start),
            params: self.clone(),
            growth: Growth::default(),
            interval_start: 0,
            carried: 0,
            early: 0,
            rtt: 0,
            min_rtt: NEVER,
            forget_min_rtt: false,
            once: 0.0,
            rate: 0.0,
            timed_out: false,
        })
    }
}

/// State of one connection. Times are jiffies, and rates bytes per jiffy.
struct Westwood {
    params: Params,
    growth: Growth,
    starter: Starter,
    /// When the current sample began, and the bytes that ACKs stood for since then.
    interval_start: u64,
    carried: u64,
    /// Bytes that duplicate ACKs stood for and no ACK has covered.
    early: u64,
    /// The last RTT, and the smallest RTT since the last timeout.
    rtt: u64,
    min_rtt: u64,
    forget_min_rtt: bool,
    /// The rate after the first and after the second filter.
    once: f64,
    rate: f64,
    /// The current recovery began with a timeout.
    timed_out: bool,
}

impl Westwood {
    /// Length of a jiffy, ns.
    fn jiffy(&self) -> Nanos {
        self.params.jiffy.0.max(1)
    }

    fn rounded(&self, rate: f64) -> f64 {
        if self.params.jiffy.0 > 0 {
            rate.floor()
        } else {
            rate
        }
    }

    fn sample(&mut self, interval: u64) {
        let rate = self.rounded(self.carried as f64 / interval as f64);
        if self.rate == 0.0 && self.once == 0.0 {
            // As in Linux: the first sample initialises both filters.
            self.once = rate;
            self.rate = rate;
        } else {
            let keep = self.params.filter;
            self.once = self.rounded(keep * self.once + (1.0 - keep) * rate);
            self.rate = self.rounded(keep * self.rate + (1.0 - keep) * self.once);
        }
    }

    /// Bytes that an ACK stands for (Grieco and Mascolo 2004: AckedCount). A duplicate ACK stands for one segment, however much it reports. The ACK
    /// that covers these segments stands for the rest.
    fn count(&mut self, ack: &Ack, mss: u64) -> u64 {
        if ack.acked == 0 {
            self.early += mss;
            mss
        } else if ack.acked <= mss {
            ack.acked
        } else if self.early >= ack.acked {
            self.early -= ack.acked;
            mss
        } else {
            ack.acked - std::mem::take(&mut self.early)
        }
    }

    /// The measured bandwidth-delay product in bytes, a whole number of segments, at least two.
    fn product(&self, mss: u64) -> u64 {
        if self.min_rtt == NEVER {
            return 2 * mss;
        }
        ((self.rate * self.min_rtt as f64) as u64 / mss).max(2) * mss
    }
}

impl CongestionControl for Westwood {
    fn on_start(&mut self, _: &mut Window, now: Nanos) {
        self.interval_start = now / self.jiffy();
    }

    fn observe(&mut self, window: &Window, ack: &Ack) {
        if ack.rtt > 0 {
            self.rtt = jiffies(ack.rtt, self.jiffy());
        }
        let now = ack.now / self.jiffy();
        let interval = now - self.interval_start;
        let least = jiffies(self.params.min_interval.0, self.jiffy()).max(self.rtt);
        if self.rtt > 0 && interval > least {
            self.sample(interval);
            self.interval_start = now;
            self.carried = 0;
        }
        self.carried += self.count(ack, window.mss);
        if self.rtt > 0 {
            // As in Linux: after a timeout the path may have changed.
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
            self.product(window.mss)
        } else {
            half(window)
        };
        self.growth.forget();
        self.starter.on_congestion();
    }

    fn on_recovered(&mut self, window: &mut Window, _: &Ack) {
        let timed_out = std::mem::take(&mut self.timed_out);
        if !timed_out && self.params.reduction == Reduction::AfterRecovery {
            window.ssthresh = self.product(window.mss);
            window.cwnd = window.ssthresh;
        }
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.timed_out = true;
        self.starter.on_timeout();
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        // Bytes per second.
        vec![("rate", self.rate * SECOND as f64 / self.jiffy() as f64)]
    }
}
