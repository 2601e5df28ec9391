//! Veno: Reno that uses Vegas's estimate to tell congestion losses from random losses.

use bloatlab_units::{NEVER, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::elsewhere::Linux;
use crate::growth::{Growth, half, segments};
use crate::round_rtt::RoundRtt;
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};

/// Veno: Reno with half the growth while its segments are queued, and a smaller reduction for a loss with an empty queue.
///
/// As Vegas, it estimates the number of its queued segments from the RTT above the smallest RTT. With fewer than `beta` of them, the path is not
/// congested: the window grows as Reno's, and a loss is taken to be random and costs a fifth. With more, the window grows every other round trip, and
/// a loss halves it. It was designed for wireless access, where segments are lost without congestion. It works badly where delay misleads: with a
/// base RTT measured on a queue that never empties, it reduces too little.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of queued segments from which the path is considered congested.
    #[schemars(range(min = 0.0, max = 10000.0), extend("unit" = "segments"))]
    pub beta: f64,
    /// Share of the window that a random loss takes. A congestion loss takes half.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub chance_cut: f64,
    /// How slow start ends.
    pub slow_start: SlowStart,
}

impl Default for Params {
    fn default() -> Self {
        // Fu and Liew 2003, section III; Linux.
        Self {
            beta: 3.0,
            chance_cut: 0.2,
            slow_start: SlowStart::Standard,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpVeno"];
    const SOURCE: &'static str = "C. Fu and S. Liew, TCP Veno: TCP enhancement for transmission over wireless access networks, IEEE JSAC 21(2), \
         2003; as in Linux";
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: Some(Linux::module("veno", "tcp_veno")),
        ns3: Some("ns3::TcpVeno"),
        ns2: Some("Agent/TCP/Linux (veno)"),
    };

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Veno {
            starter: Starter::new(self.slow_start),
            params: self.clone(),
            rtts: RoundRtt::default(),
            growth: Growth::default(),
            open: true,
            skip: false,
            queued: 0.0,
        })
    }
}

/// State of one connection.
struct Veno {
    params: Params,
    rtts: RoundRtt,
    growth: Growth,
    starter: Starter,
    /// No loss is being repaired, so the estimate controls the growth. Otherwise the window grows as Reno's.
    open: bool,
    /// The next segment of growth on a congested path is skipped.
    skip: bool,
    /// Number of queued segments at the last ACK.
    queued: f64,
}

impl Veno {
    fn is_congested(&self) -> bool {
        self.queued >= self.params.beta
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        let left = if window.in_slow_start() {
            self.starter.open(window, ack)
        } else {
            ack.credit()
        };
        if left == 0 {
            return;
        }
        if !self.is_congested() {
            self.growth.avoid(window, window.cwnd, left);
        } else if self.growth.collect(left, window.cwnd) {
            // Section III-B: grow by one segment every other round trip.
            if !self.skip {
                window.cwnd += window.mss;
            }
            self.skip = !self.skip;
        }
    }
}

impl CongestionControl for Veno {
    fn observe(&mut self, _: &Window, ack: &Ack) {
        self.rtts.observe(ack);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !self.open || ack.disordered {
            return self.growth.reno(window, &mut self.starter, ack);
        }
        if self.rtts.ends_disorder(ack) {
            self.rtts.min = NEVER;
        }
        if !ack.cwnd_limited {
            return;
        }
        if self.rtts.is_trusted() && self.rtts.min != NEVER {
            // Section II: N = Actual (RTT - BaseRTT). As in Linux, RTT is the smallest since the last ACK, and N is in half segments.
            let halves = 2 * segments(window);
            let carried =
                u128::from(halves) * u128::from(self.rtts.base) / u128::from(self.rtts.min);
            self.queued = (halves - carried as u64) as f64 / 2.0;
            self.grow(window, ack);
        } else {
            self.growth.reno(window, &mut self.starter, ack);
        }
        window.cwnd = window.cwnd.max(2 * window.mss);
        self.rtts.min = NEVER;
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        window.ssthresh = if self.is_congested() {
            half(window)
        } else {
            // Section III-C: the loss was random.
            let left = segments(window) as f64 * (1.0 - self.params.chance_cut);
            (libm::floor(left + 1e-9) as u64).max(2) * window.mss
        };
        self.growth.forget();
        self.starter.on_congestion();
        self.open = false;
    }

    fn on_recovered(&mut self, _: &mut Window, _: &Ack) {
        self.open = true;
        self.rtts.min = NEVER;
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.starter.on_timeout();
    }

    fn on_idle_restart(&mut self, _: &mut Window, _: Nanos, _: Nanos) {
        self.rtts = RoundRtt::default();
        self.skip = false;
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![("queued", self.queued)]
    }
}
