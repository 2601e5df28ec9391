//! YeAH: grows fast while the queue is short, as Reno while it is long, and drains it before it overflows.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::elsewhere::Linux;
use crate::growth::{Growth, segments};
use crate::round_rtt::RoundRtt;
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};

/// YeAH: Scalable TCP's growth while few segments are queued, Reno's while many are, and a precautionary reduction.
///
/// Once per round trip it estimates how many of its segments are queued, as Vegas does. While they are fewer than `max_queue` and the queueing delay
/// is below `max_delay`, it is in fast mode and grows by 1 % of its window. Otherwise it is in slow mode: it grows as Reno and reduces the window by
/// what is queued. It does not reduce the window if it detects competing Reno flows, because they would take the space. A loss in fast mode costs
/// only the queued segments. It is used on long, fast paths. It detects competing Reno flows badly if the queue is short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of its queued segments that it tolerates.
    #[schemars(range(min = 1, max = 100000), extend("unit" = "segments"))]
    pub max_queue: u32,
    /// Queueing delay that it tolerates, as a share of the base RTT.
    #[schemars(range(min = 0.001, max = 10.0))]
    pub max_delay: f64,
    /// In fast mode, at most this many acknowledged segments add one to the window.
    #[schemars(range(min = 1, max = 10000), extend("unit" = "segments"))]
    pub increase: u32,
    /// Largest share of the window that a precautionary reduction takes.
    #[schemars(range(min = 0.01, max = 0.9))]
    pub max_decongestion: f64,
    /// Smallest share of the window that a loss takes.
    #[schemars(range(min = 0.01, max = 0.5))]
    pub min_cut: f64,
    /// After this many consecutive round trips in slow mode, it assumes competing flows that fill the queue. A loss then halves the window.
    #[schemars(range(min = 1, max = 10000), extend("unit" = "round trips"))]
    pub rho: u32,
    /// After this many round trips in fast mode, it assumes that there are no such flows.
    #[schemars(range(min = 1, max = 10000), extend("unit" = "round trips"))]
    pub zeta: u32,
    /// How slow start ends.
    pub slow_start: SlowStart,
}

impl Default for Params {
    fn default() -> Self {
        // Baiocchi, Castellani and Vacirca 2007, section 3; Linux.
        Self {
            max_queue: 80,
            max_delay: 0.125,
            increase: 100,
            max_decongestion: 0.5,
            min_cut: 0.125,
            rho: 16,
            zeta: 50,
            slow_start: SlowStart::Standard,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpYeah"];
    const SOURCE: &'static str = "A. Baiocchi, A. Castellani and F. Vacirca, YeAH-TCP: Yet Another Highspeed TCP, PFLDnet 2007; as in Linux";
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: Some(Linux::module("yeah", "tcp_yeah")),
        ns3: Some("ns3::TcpYeah"),
        ns2: Some("Agent/TCP/Linux (yeah)"),
    };

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Yeah {
            starter: Starter::new(self.slow_start),
            params: self.clone(),
            rtts: RoundRtt::default(),
            growth: Growth::default(),
            queued: 0,
            slow_rounds: 0,
            fast_rounds: 0,
            reno: 2,
        })
    }
}

/// State of one connection.
struct Yeah {
    params: Params,
    rtts: RoundRtt,
    growth: Growth,
    starter: Starter,
    /// Number of queued segments at the last estimate.
    queued: u64,
    /// Round trips in slow mode in a row; 0 in fast mode.
    slow_rounds: u32,
    /// Round trips in fast mode since the last loss.
    fast_rounds: u32,
    /// Estimate of the window, in segments, of a competing Reno flow. A precautionary reduction does not go below it.
    reno: u64,
}

impl Yeah {
    /// Section 3: once per round trip, chooses fast or slow mode.
    fn look(&mut self, window: &mut Window) {
        let cwnd = segments(window);
        let delay = self.rtts.queueing();
        self.queued = (u128::from(cwnd) * u128::from(delay) / u128::from(self.rtts.min)) as u64;
        let full = self.queued > u64::from(self.params.max_queue);
        if !full && delay as f64 <= self.rtts.base as f64 * self.params.max_delay {
            self.slow_rounds = 0;
            self.fast_rounds += 1;
            if self.fast_rounds > self.params.zeta {
                self.reno = 2;
                self.fast_rounds = 0;
            }
            return;
        }
        let mut left = cwnd;
        if full && cwnd > self.reno {
            // Precautionary decongestion: remove what is queued, but keep Reno's share.
            let most = (cwnd as f64 * self.params.max_decongestion) as u64;
            left = (cwnd - self.queued.min(most)).max(self.reno);
            window.cwnd = left * window.mss;
            window.ssthresh = window.cwnd;
        }
        self.reno = if self.reno <= 2 {
            (left / 2).max(2)
        } else {
            self.reno + 1
        };
        self.slow_rounds = self.slow_rounds.saturating_add(1);
    }
}

impl CongestionControl for Yeah {
    fn observe(&mut self, _: &Window, ack: &Ack) {
        self.rtts.observe(ack);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if self.rtts.ends_disorder(ack) {
            self.rtts.restart(ack);
        }
        if !ack.cwnd_limited {
            return;
        }
        let left = self.starter.open(window, ack);
        if left > 0 {
            let scalable = u64::from(self.params.increase) * window.mss;
            let price = if self.slow_rounds == 0 {
                window.cwnd.min(scalable)
            } else {
                window.cwnd
            };
            self.growth.avoid(window, price, left);
        }
        if self.rtts.is_over(ack) {
            if self.rtts.is_trusted() {
                self.look(window);
            }
            self.rtts.restart(ack);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        let cwnd = segments(window);
        let half = (cwnd / 2).max(2);
        let cut = if self.slow_rounds < self.params.rho {
            // No competing flow fills the queue, so only the queued segments are removed.
            let least = (cwnd as f64 * self.params.min_cut) as u64;
            self.queued.min(half).max(least)
        } else {
            half
        };
        window.ssthresh = cwnd.saturating_sub(cut).max(2) * window.mss;
        self.fast_rounds = 0;
        self.reno = (self.reno / 2).max(2);
        self.growth.forget();
        self.starter.on_congestion();
    }

    fn on_recovered(&mut self, _: &mut Window, ack: &Ack) {
        self.rtts.restart(ack);
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.starter.on_timeout();
    }

    fn on_idle_restart(&mut self, _: &mut Window, _: Nanos, _: Nanos) {
        self.rtts = RoundRtt::default();
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("queued", self.queued as f64),
            ("slow_rounds", f64::from(self.slow_rounds)),
            ("reno", self.reno as f64),
        ]
    }
}
