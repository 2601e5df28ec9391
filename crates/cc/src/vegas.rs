//! Vegas: the window holds a few segments in the queue, known from how much the RTT exceeds the smallest one.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::growth::{Growth, half, segments};
use crate::round_rtt::RoundRtt;
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Law, Signal, Window};

/// Vegas: once a round trip, a segment more while few segments of its own wait in the queue, a segment less while many do.
///
/// The smallest RTT seen is taken for the empty path; what the window holds beyond that path's bandwidth-delay product must be
/// queued. Vegas keeps that between `alpha` and `beta` segments a flow, so it loses nothing and the queue stays short. It is used where all
/// flows are alike and delay matters. It is bad at sharing with laws that fill the queue, which push it aside; at a base RTT measured
/// on a queue that already stood (the latecomer gains); and at paths whose base RTT grows, which look like a queue to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// With fewer queued segments than this the window grows (Linux 2, ns-2 1).
    #[schemars(range(min = 0, max = 10000), extend("unit" = "segments"))]
    pub alpha: u32,
    /// With more queued segments than this the window shrinks (Linux 4, ns-2 3).
    #[schemars(range(min = 0, max = 10000), extend("unit" = "segments"))]
    pub beta: u32,
    /// With more queued segments than this slow start ends.
    #[schemars(range(min = 0, max = 10000), extend("unit" = "segments"))]
    pub gamma: u32,
}

impl Default for Params {
    fn default() -> Self {
        // Linux's values; Brakmo and Peterson 1995 use 1 or 2, 3 or 4, and 1.
        Self {
            alpha: 2,
            beta: 4,
            gamma: 1,
        }
    }
}

impl Law for Params {
    const ALIASES: &'static [&'static str] = &["TcpVegas"];
    const SOURCE: &'static str = "L. Brakmo and L. Peterson, TCP Vegas: End to End Congestion Avoidance on a Global Internet, IEEE JSAC 13(8), \
         1995; as in Linux";

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Vegas::new(self.clone()))
    }

    fn check(&self) -> Result<(), String> {
        if self.alpha > self.beta {
            return Err(format!(
                "`alpha` is {}, more than `beta`, {}",
                self.alpha, self.beta
            ));
        }
        Ok(())
    }
}

/// The law; `nice` builds on it.
pub(crate) struct Vegas {
    params: Params,
    pub rtts: RoundRtt,
    growth: Growth,
    starter: Starter,
    /// Nothing was lost: delay decides. Else the window grows as Reno's.
    open: bool,
    /// Segments that were queued when last looked.
    queued: u64,
}

impl Vegas {
    pub fn new(params: Params) -> Self {
        Self {
            params,
            rtts: RoundRtt::default(),
            growth: Growth::default(),
            starter: Starter::new(SlowStart::Standard),
            open: true,
            queued: 0,
        }
    }

    /// Once a round trip: what is queued decides.
    fn look(&mut self, window: &mut Window, ack: &Ack) {
        let mss = window.mss;
        let cwnd = segments(window);
        let (base, rtt) = (self.rtts.base, self.rtts.min);
        // Brakmo and Peterson 1995: Diff = Expected - Actual, here times the base RTT and, as in Linux, over it instead of over the RTT.
        self.queued = cwnd * self.rtts.queueing() / base;
        let Params { alpha, beta, gamma } = self.params;
        if window.in_slow_start() {
            if self.queued > u64::from(gamma) {
                // What the empty path carried at the measured rate, and one.
                let fits = (u128::from(cwnd) * u128::from(base) / u128::from(rtt)) as u64 + 1;
                window.cwnd = cwnd.min(fits) * mss;
                window.ssthresh = window.ssthresh.min(window.cwnd);
            } else if ack.cwnd_limited {
                self.starter.open(window, ack);
            }
        } else if self.queued > u64::from(beta) {
            window.cwnd = (cwnd - 1) * mss;
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if self.queued < u64::from(alpha) && ack.cwnd_limited {
            window.cwnd += mss;
        }
        window.cwnd = window.cwnd.max(2 * mss);
        // Linux: the threshold follows at three quarters of the window.
        let floor = segments(window) * 3 / 4 * mss;
        window.ssthresh = window.ssthresh.max(floor);
    }
}

impl CongestionControl for Vegas {
    fn observe(&mut self, _: &Window, ack: &Ack) {
        self.rtts.observe(ack);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !self.open {
            self.growth.reno(window, &mut self.starter, ack);
        } else if self.rtts.is_over(ack) {
            if self.rtts.is_trusted() {
                self.look(window, ack);
            } else {
                self.growth.reno(window, &mut self.starter, ack);
            }
            self.rtts.restart(ack);
        } else if window.in_slow_start() && ack.cwnd_limited {
            // Linux: doubles every round trip, where the paper doubles every other one.
            self.starter.open(window, ack);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        window.ssthresh = half(window);
        self.growth.forget();
        self.open = false;
    }

    fn on_recovered(&mut self, _: &mut Window, ack: &Ack) {
        self.open = true;
        self.rtts.restart(ack);
    }

    fn on_idle_restart(&mut self, _: &mut Window, _: Nanos, _: Nanos) {
        // Linux: the path may be another one by now.
        self.rtts = RoundRtt::default();
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![("queued", self.queued as f64)]
    }
}
