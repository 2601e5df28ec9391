//! Compound TCP: Reno's window plus one that grows fast while there is no queue and goes as one builds up.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Law, Signal, Window};

/// Compound TCP: the sum of Reno's window and a delay-based one.
///
/// The delay-based window grows by a power of the whole while fewer than gamma segments wait in the queue, and gives back what waits beyond that, so that a
/// flow fills a long path quickly and then is Reno. It was Windows' default for a decade. Where the queue is deep it
/// behaves as Reno; gamma tunes itself to shallow queues. With a base RTT measured too high, or beside flows that hold a queue, the
/// second window stays empty and only Reno's is left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Scale of the growth of the delay-based window.
    #[schemars(range(min = 0.001, max = 10.0))]
    pub alpha: f64,
    /// Share of the whole window that a loss takes.
    #[schemars(range(min = 0.01, max = 0.9))]
    pub beta: f64,
    /// Power of the window by which the delay-based one grows.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub k: f64,
    /// How fast the delay-based window falls for each segment in the queue.
    #[schemars(range(min = 0.01, max = 10.0))]
    pub zeta: f64,
    /// Segments in the queue that mean congestion; the largest, if it is tuned.
    #[schemars(range(min = 1.0, max = 10000.0), extend("unit" = "segments"))]
    pub gamma: f64,
    /// The smallest gamma that tuning may reach.
    #[schemars(range(min = 1.0, max = 10000.0), extend("unit" = "segments"))]
    pub gamma_low: f64,
    /// Tune gamma to three quarters of what Reno's window had in the queue at losses.
    pub tune_gamma: bool,
    /// Window below which it is Reno.
    #[schemars(range(min = 1, max = 100_000), extend("unit" = "segments"))]
    pub low_window: u32,
    /// How slow start ends.
    pub slow_start: SlowStart,
}

impl Default for Params {
    fn default() -> Self {
        // Tan et al. 2006 section III; draft-sridharan-tcpm-ctcp-02 section 3.
        Self {
            alpha: 0.125,
            beta: 0.5,
            k: 0.75,
            zeta: 1.0,
            gamma: 30.0,
            gamma_low: 5.0,
            tune_gamma: true,
            low_window: 38,
            slow_start: SlowStart::Standard,
        }
    }
}

impl Law for Params {
    const ALIASES: &'static [&'static str] = &["ctcp"];
    const SOURCE: &'static str = "K. Tan, J. Song, Q. Zhang, M. Sridharan, A Compound TCP approach for high-speed and long distance networks, IEEE INFOCOM 2006; draft-sridharan-tcpm-ctcp-02";

    fn check(&self) -> Result<(), String> {
        if self.gamma_low <= self.gamma {
            Ok(())
        } else {
            Err("`gamma_low` must not be larger than `gamma`".to_owned())
        }
    }

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Compound {
            starter: Starter::new(self.slow_start),
            gamma: self.gamma,
            params: self.clone(),
            dwnd: 0.0,
            fraction: 0.0,
            round_end: 0,
            rtts: 0,
            samples: 0,
            queued: 0.0,
        })
    }
}

/// Share of Reno's queue at a loss that gamma aims at, and the weight of a loss in its average.
const GAMMA_SHARE: f64 = 0.75;
const GAMMA_WEIGHT: f64 = 0.2;

/// The law.
struct Compound {
    starter: Starter,
    params: Params,
    gamma: f64,
    /// The delay-based window, bytes; what is left of `cwnd` is Reno's.
    dwnd: f64,
    /// Part of a byte that the window could not take.
    fraction: f64,
    /// Stream offset that ends the round trip, and its RTT samples.
    round_end: u64,
    rtts: Nanos,
    samples: u64,
    /// Share of the window that waited in the queue in the last round trip.
    queued: f64,
}

impl Compound {
    /// Adds bytes, or takes them, and keeps what is no whole byte.
    fn change(&mut self, window: &mut Window, bytes: f64) {
        let bytes = bytes + self.fraction;
        let whole = libm::floor(bytes);
        self.fraction = bytes - whole;
        window.cwnd = (window.cwnd as i64 + whole as i64).max(2 * window.mss as i64) as u64;
    }

    /// Once a round trip: the mean RTT tells how much of the window waits in the queue.
    fn end_round(&mut self, window: &mut Window, ack: &Ack) {
        self.round_end = ack.next;
        let Some(mean) = self.rtts.checked_div(self.samples) else {
            return;
        };
        (self.rtts, self.samples) = (0, 0);
        self.queued = 1.0 - ack.min_rtt as f64 / mean.max(1) as f64;
        if window.in_slow_start() || !ack.cwnd_limited {
            return;
        }
        let mss = window.mss as f64;
        let segments = window.cwnd as f64 / mss;
        // Tan et al. 2006 equation 3: Diff = (win / baseRTT - win / RTT) baseRTT.
        let waiting = segments * self.queued;
        let change = if waiting >= self.gamma {
            -(self.params.zeta * waiting * mss).min(self.dwnd)
        } else if segments >= f64::from(self.params.low_window) {
            // Equation 5: alpha win^k, of which Reno's window takes one segment.
            mss * (self.params.alpha * libm::pow(segments, self.params.k) - 1.0).max(0.0)
        } else {
            0.0
        };
        self.dwnd += change;
        self.change(window, change);
    }
}

impl CongestionControl for Compound {
    fn observe(&mut self, _: &Window, ack: &Ack) {
        if ack.rtt > 0 {
            self.rtts += ack.rtt;
            self.samples += 1;
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.una > self.round_end {
            self.end_round(window, ack);
        }
        if !ack.cwnd_limited {
            return;
        }
        let acked = self.starter.open(window, ack);
        // Draft section 3.1: Reno's window grows by a segment a round trip of the whole.
        let grown = window.mss as f64 * acked as f64 / window.cwnd as f64;
        self.change(window, grown);
    }

    fn on_congestion(&mut self, window: &mut Window, signal: Signal, _: &Ack) {
        let reno = (window.cwnd as f64 - self.dwnd).max(0.0);
        if self.params.tune_gamma && self.queued > 0.0 {
            let sample = GAMMA_SHARE * self.queued * reno / window.mss as f64;
            let tuned = (1.0 - GAMMA_WEIGHT) * self.gamma + GAMMA_WEIGHT * sample;
            self.gamma = tuned.clamp(self.params.gamma_low, self.params.gamma);
        }
        let left = (1.0 - self.params.beta) * window.cwnd as f64;
        window.ssthresh = (left as u64).max(2 * window.mss);
        // Equation 5: dwnd = win (1 - beta) - cwnd / 2.
        self.dwnd = match signal {
            Signal::Timeout => 0.0,
            _ => (left - reno / 2.0).max(0.0),
        };
        self.fraction = 0.0;
        self.starter.on_congestion();
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.starter.on_timeout();
    }

    fn on_idle_restart(&mut self, _: &mut Window, _: Nanos, _: Nanos) {
        // The restart window is Reno's.
        self.dwnd = 0.0;
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![("dwnd", self.dwnd), ("gamma", self.gamma)]
    }
}
