//! Vegas: keeps a few segments in the queue, which it estimates from the RTT above the smallest RTT.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::elsewhere::{Conversion, Linux, LinuxParameter};
use crate::growth::{Growth, half, segments};
use crate::round_rtt::RoundRtt;
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};

/// Vegas: once per round trip, one segment more while few of its segments are queued, one less while many are.
///
/// It takes the smallest RTT as that of the empty path. The part of the window beyond the bandwidth-delay product at that RTT must be queued. Vegas
/// keeps between `alpha` and `beta` segments per flow queued, so it loses nothing and the queue stays short. It is used where all flows use it and
/// delay matters. Congestion controls that fill the queue take its share. A flow that starts while there is a queue measures a base RTT that is too
/// high, and gets more than the others. If the base RTT of the path grows, Vegas mistakes it for a queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The window grows if fewer of its segments than this are queued (Linux 2, ns-2 1).
    #[schemars(range(min = 0, max = 10000), extend("unit" = "segments"))]
    pub alpha: u32,
    /// The window shrinks if more of its segments than this are queued (Linux 4, ns-2 3).
    #[schemars(range(min = 0, max = 10000), extend("unit" = "segments"))]
    pub beta: u32,
    /// Slow start ends if more of its segments than this are queued.
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

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpVegas"];
    const SOURCE: &'static str = "L. Brakmo and L. Peterson, TCP Vegas: End to End Congestion Avoidance on a Global Internet, IEEE JSAC 13(8), \
         1995; as in Linux";
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: Some(Linux {
            name: "vegas",
            module: Some("tcp_vegas"),
            parameters: &[
                LinuxParameter::new("alpha", "alpha", Conversion::Times(1.0), 2),
                LinuxParameter::new("beta", "beta", Conversion::Times(1.0), 4),
                LinuxParameter::new("gamma", "gamma", Conversion::Times(1.0), 1),
            ],
        }),
        ns3: Some("ns3::TcpVegas"),
        ns2: Some("Agent/TCP/Vegas"),
    };

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Vegas::new(self.clone()))
    }

    fn check(&self) -> Result<(), String> {
        if self.alpha > self.beta {
            return Err(format!(
                "`alpha` is {}, but must not be larger than `beta`, which is {}",
                self.alpha, self.beta
            ));
        }
        Ok(())
    }
}

/// State of one connection. `nice` is based on it.
pub(crate) struct Vegas {
    params: Params,
    pub rtts: RoundRtt,
    growth: Growth,
    starter: Starter,
    /// No loss is being repaired, so the delay controls the window. Otherwise the window grows as Reno's.
    open: bool,
    /// Number of queued segments at the last estimate.
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

    /// Once per round trip: adjusts the window to the number of queued segments.
    fn look(&mut self, window: &mut Window, ack: &Ack) {
        let mss = window.mss;
        let cwnd = segments(window);
        let (base, rtt) = (self.rtts.base, self.rtts.min);
        // Brakmo and Peterson 1995: Diff = Expected - Actual, here multiplied by the base RTT. As in Linux, it is divided by the base RTT instead of
        // by the RTT.
        self.queued = cwnd * self.rtts.queueing() / base;
        let Params { alpha, beta, gamma } = self.params;
        if window.in_slow_start() {
            if self.queued > u64::from(gamma) {
                // The segments that fit on the empty path at the measured rate, plus one.
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
        // As in Linux: the threshold is at least three quarters of the window.
        let floor = segments(window) * 3 / 4 * mss;
        window.ssthresh = window.ssthresh.max(floor);
    }
}

impl CongestionControl for Vegas {
    fn observe(&mut self, _: &Window, ack: &Ack) {
        self.rtts.observe(ack);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !self.open || ack.disordered {
            return self.growth.reno(window, &mut self.starter, ack);
        }
        if self.rtts.ends_disorder(ack) {
            self.rtts.restart(ack);
        }
        if self.rtts.is_over(ack) {
            if self.rtts.is_trusted() {
                self.look(window, ack);
            } else {
                self.growth.reno(window, &mut self.starter, ack);
            }
            self.rtts.restart(ack);
        } else if window.in_slow_start() && ack.cwnd_limited {
            // As in Linux: the window doubles every round trip. In the paper it doubles every other one.
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
        // As in Linux: the path may have changed.
        self.rtts = RoundRtt::default();
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![("queued", self.queued as f64)]
    }
}
