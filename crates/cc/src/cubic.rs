//! CUBIC: after a loss the window is a cubic function of time, centred on the window before the loss.

mod whole;

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::elsewhere::{Conversion, Linux, LinuxParameter};
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};
use whole::Whole;

/// Differences between implementations of CUBIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// As in the RFC: once the estimate of Reno's window passes the window before the loss, it grows as fast as Reno.
    #[default]
    Rfc9438,
    /// As in Linux: windows and the cubic are whole segments, so a window of three segments is restored one round trip after its loss. The estimate
    /// of Reno's window always grows slowly. Before the first loss the window grows by at least 5 % per round trip.
    Linux,
}

/// CUBIC: growth by the time since the last loss, never slower than Reno's.
///
/// A loss takes three tenths of the window. The window then returns quickly to near its size before the loss, stays there for a while, and then
/// probes faster and faster. Growth depends on time and not on round trips, so flows of different RTTs share more fairly than with Reno. By default
/// slow start ends by HyStart++ before the queue overflows. CUBIC is the default of Linux, Windows and Apple's systems, so use it as the traffic that
/// a queue must handle. It fills deep buffers as Reno does, and keeps them fuller because it backs off less.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How steep the cubic is (RFC 9438 section 5: C).
    #[schemars(range(min = 0.001, max = 100.0), extend("unit" = "segments/s^3"))]
    pub c: f64,
    /// The share of the window that remains after a loss (RFC 9438 section 4.6).
    #[schemars(range(min = 0.1, max = 0.99))]
    pub beta: f64,
    /// Yield to new flows: choose a lower target if the window is below its last maximum (RFC 9438 section 4.7).
    pub fast_convergence: bool,
    /// Never grow slower than Reno would (RFC 9438 section 4.3).
    pub tcp_friendliness: bool,
    /// How slow start ends (RFC 9438 section 4.10).
    pub slow_start: SlowStart,
    /// How the window grows beyond its size before the loss, and before the first loss: `rfc9438` or `linux`.
    pub variant: Variant,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            tcp_friendliness: true,
            slow_start: SlowStart::HystartPlusPlus,
            variant: Variant::Rfc9438,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpCubic"];
    const SOURCE: &'static str = "RFC 9438";
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: Some(Linux {
            name: "cubic",
            module: Some("tcp_cubic"),
            parameters: &[
                LinuxParameter::new("c", "bic_scale", Conversion::Times(102.4), 41),
                LinuxParameter::new("beta", "beta", Conversion::Times(1024.0), 717),
                LinuxParameter::new("fast_convergence", "fast_convergence", Conversion::Flag, 1),
                LinuxParameter::new("tcp_friendliness", "tcp_friendliness", Conversion::Flag, 1),
                LinuxParameter::new(
                    "slow_start",
                    "hystart",
                    Conversion::Words(&[("standard", 0), ("hystart", 1)]),
                    1,
                ),
            ],
        }),
        ns3: Some("ns3::TcpCubic"),
        ns2: Some("Agent/TCP/Linux (cubic)"),
    };

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Cubic {
            starter: Starter::new(self.slow_start),
            params: self.clone(),
            // RFC 9438 section 4.3: the increase that gives Reno's rate with a decrease by beta.
            alpha_before: 3.0 * (1.0 - self.beta) / (1.0 + self.beta),
            in_epoch: false,
            epoch_start: 0,
            last_ack: 0,
            k: 0.0,
            c: 0.0,
            w_max: 0.0,
            w_est: 0.0,
            cwnd_prior: 0.0,
            fraction: 0.0,
            whole: Whole::default(),
        })
    }
}

/// State of one connection. Windows are bytes here, so `c` is multiplied by the segment size.
struct Cubic {
    starter: Starter,
    params: Params,
    alpha_before: f64,
    /// True from the first ACK of congestion avoidance to the next congestion.
    in_epoch: bool,
    epoch_start: Nanos,
    last_ack: Nanos,
    /// Seconds from the start of the epoch to `w_max`.
    k: f64,
    c: f64,
    w_max: f64,
    w_est: f64,
    cwnd_prior: f64,
    /// Fraction of a byte that is carried over to the next ACK.
    fraction: f64,
    /// Counters of `Variant::Linux`.
    whole: Whole,
}

impl Cubic {
    /// RFC 9438 section 4.2: congestion avoidance starts.
    fn start_epoch(&mut self, window: &Window, now: Nanos) {
        let cwnd = window.cwnd as f64;
        self.in_epoch = true;
        self.epoch_start = now;
        self.c = self.params.c * window.mss as f64;
        self.w_est = cwnd;
        self.fraction = 0.0;
        if cwnd < self.w_max {
            // Equation 2: K = cbrt((W_max - cwnd_epoch) / C).
            self.k = libm::cbrt((self.w_max - cwnd) / self.c);
        } else {
            // Sections 4.8 and 4.10: after a timeout, or after slow start without a loss, K is 0 and W_max is the current window.
            self.k = 0.0;
            self.w_max = cwnd;
        }
    }

    /// Equation 1: W_cubic(t) = C (t - K)^3 + W_max.
    #[inline]
    fn w_cubic(&self, t: f64) -> f64 {
        let t = t - self.k;
        self.c * t * t * t + self.w_max
    }

    fn avoid(&mut self, window: &mut Window, ack: &Ack, acked: u64) {
        if !self.in_epoch {
            self.start_epoch(window, ack.now);
        }
        let cwnd = window.cwnd as f64;
        let t = (ack.now - self.epoch_start) as f64 * 1e-9;
        // Growth is per acknowledged segment, so delayed ACKs do not slow it down.
        let share = acked as f64 / cwnd;
        // Section 4.3: once W_est reaches the window before the loss, alpha is 1.
        let alpha = if self.w_est < self.cwnd_prior {
            self.alpha_before
        } else {
            1.0
        };
        // Equation 4: W_est += alpha * segments_acked / cwnd.
        self.w_est += alpha * window.mss as f64 * share;
        let reno = self.params.tcp_friendliness && self.w_cubic(t) < self.w_est;
        if reno && self.w_est >= cwnd {
            // Section 4.3: Reno would be faster.
            window.cwnd = window.cwnd.max(self.w_est as u64);
            return;
        }
        // Section 4.2: the target one RTT ahead is between cwnd and 1.5 cwnd.
        let target = self
            .w_cubic(t + ack.srtt as f64 * 1e-9)
            .clamp(cwnd, 1.5 * cwnd);
        // Sections 4.4 and 4.5: cwnd += (target - cwnd) / cwnd per segment.
        self.fraction += (target - cwnd) * share;
        let bytes = self.fraction as u64;
        self.fraction -= bytes as f64;
        window.cwnd += bytes;
    }

    /// Congestion avoidance in whole segments (`Variant::Linux`).
    fn avoid_whole(&mut self, window: &mut Window, ack: &Ack, acked: u64) {
        let (mss, cwnd) = (window.mss, window.cwnd / window.mss);
        let origin = |w_max: f64| w_max as u64 / mss;
        if !self.in_epoch {
            self.start_epoch(window, ack.now);
            let missing = origin(self.w_max).saturating_sub(cwnd);
            self.whole.start(cwnd, missing, self.params.c);
        }
        self.whole.acknowledge(acked);
        if self.whole.due(ack.now, cwnd) {
            if !self.whole.is_fresh(ack.now) {
                // Linux computes the target one minimum RTT ahead, not one smoothed RTT.
                let (origin, epoch) = (origin(self.w_max), self.epoch_start);
                let target = self.whole.target(origin, epoch, ack.now, ack.min_rtt);
                let first = self.cwnd_prior == 0.0;
                self.whole.look(ack.now, cwnd, target, first);
            }
            if self.params.tcp_friendliness {
                self.whole.befriend(cwnd, self.alpha_before, mss);
                self.w_est = (self.whole.reno * mss) as f64;
            }
        }
        window.cwnd += self.whole.earn(acked, mss);
    }

    /// Sets the windows after a loss as Linux does: the threshold and, with fast convergence, the next W_max.
    fn cut_whole(&mut self, window: &mut Window) {
        let (mss, cwnd) = (window.mss, window.cwnd / window.mss);
        // Linux's beta is 717 / 1024.
        let beta = libm::round(self.params.beta * 1024.0) as u64;
        let aim = if self.w_max < self.cwnd_prior {
            (cwnd * (1024 + beta)) >> 11
        } else {
            cwnd
        };
        self.w_max = (aim * mss) as f64;
        window.ssthresh = ((cwnd * beta) >> 10).max(2) * mss;
        self.whole.forget();
    }

    /// Section 4.2: excludes time in which the sender did not use the window from the epoch.
    fn skip(&mut self, now: Nanos) {
        self.epoch_start = (self.epoch_start + (now - self.last_ack)).min(now);
        self.last_ack = now;
    }
}

impl CongestionControl for Cubic {
    fn on_start(&mut self, _: &mut Window, now: Nanos) {
        self.last_ack = now;
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.cwnd_limited {
            return self.skip(ack.now);
        }
        self.last_ack = ack.now;
        // Bytes that earlier SACKs delivered do not grow the window.
        let acked = ack.credit();
        if window.in_slow_start() {
            self.starter.observe(window, ack);
        }
        if window.in_slow_start() {
            let increase = self.starter.increase(window, acked);
            window.cwnd += increase.min(window.ssthresh - window.cwnd);
        } else if acked > 0 {
            match self.params.variant {
                Variant::Rfc9438 => self.avoid(window, ack, acked),
                Variant::Linux => self.avoid_whole(window, ack, acked),
            }
        }
    }

    fn on_congestion(&mut self, window: &mut Window, signal: Signal, _: &Ack) {
        let cwnd = window.cwnd as f64;
        self.in_epoch = false;
        self.cwnd_prior = cwnd;
        // Section 4.7: fast convergence.
        self.w_max = if self.params.fast_convergence && cwnd < self.w_max {
            cwnd * (1.0 + self.params.beta) / 2.0
        } else {
            cwnd
        };
        // Section 4.6 allows cwnd instead of flight_size because an unused window does not grow here.
        window.ssthresh = ((cwnd * self.params.beta) as u64).max(2 * window.mss);
        if self.params.variant == Variant::Linux {
            self.cut_whole(window);
        }
        if signal == Signal::Timeout {
            // Section 4.8: the next epoch starts with W_max equal to its initial window.
            self.w_max = 0.0;
            self.cwnd_prior = 0.0;
        }
        self.starter.on_congestion();
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.starter.on_timeout();
    }

    fn on_idle_restart(&mut self, _: &mut Window, now: Nanos, _: Nanos) {
        self.skip(now);
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("w_max", self.w_max),
            ("w_est", self.w_est),
            ("k", self.k),
            (
                "conservative",
                f64::from(u8::from(self.starter.conservative())),
            ),
        ]
    }
}
