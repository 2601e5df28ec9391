//! Compound TCP: Reno's window plus a second one, which grows fast while there is no queue and shrinks as one builds up.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};

/// Compound TCP: the sum of Reno's window and a delay-based window.
///
/// While fewer than gamma segments wait in the queue, the delay-based window grows by a power of the whole window. Beyond that it shrinks by what
/// waits. A flow therefore fills a long path quickly and then behaves as Reno. It was the default of Windows for a decade. With a deep queue it
/// behaves as Reno; gamma adapts to shallow queues. If the base RTT was measured too high, or other flows hold a queue, the delay-based window stays
/// empty and only Reno's is left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Scale of the growth of the delay-based window.
    #[schemars(range(min = 0.001, max = 10.0))]
    pub alpha: f64,
    /// Share of the whole window that a loss takes.
    #[schemars(range(min = 0.01, max = 0.9))]
    pub beta: f64,
    /// Exponent of the window in the growth of the delay-based window.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub k: f64,
    /// How fast the delay-based window shrinks per segment in the queue.
    #[schemars(range(min = 0.01, max = 10.0))]
    pub zeta: f64,
    /// Number of queued segments that indicates congestion. If gamma is tuned, this is its largest value.
    #[schemars(range(min = 1.0, max = 10000.0), extend("unit" = "segments"))]
    pub gamma: f64,
    /// Smallest value that tuning may give to gamma.
    #[schemars(range(min = 1.0, max = 10000.0), extend("unit" = "segments"))]
    pub gamma_low: f64,
    /// Tune gamma to three quarters of the segments that Reno's window had in the queue at losses.
    pub tune_gamma: bool,
    /// Below this window, it behaves as Reno.
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

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["ctcp"];
    const SOURCE: &'static str = "K. Tan, J. Song, Q. Zhang, M. Sridharan, A Compound TCP approach for high-speed and long distance networks, IEEE INFOCOM 2006; draft-sridharan-tcpm-ctcp-02";
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: None,
        ns3: None,
        ns2: Some("Agent/TCP/Linux (compound)"),
    };

    fn check(&self) -> Result<(), String> {
        if self.gamma_low <= self.gamma {
            Ok(())
        } else {
            Err(format!(
                "`gamma_low` is {}, but must not be larger than `gamma`, which is {}",
                self.gamma_low, self.gamma
            ))
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

/// Gamma tends to this share of Reno's queue at a loss, and each loss has this weight in the average.
const GAMMA_SHARE: f64 = 0.75;
const GAMMA_WEIGHT: f64 = 0.2;

/// State of one connection.
struct Compound {
    starter: Starter,
    params: Params,
    gamma: f64,
    /// The delay-based window, bytes. The rest of `cwnd` is Reno's.
    dwnd: f64,
    /// Fraction of a byte that is carried over to the next ACK.
    fraction: f64,
    /// Stream offset that ends the round trip, the sum of its RTT samples and their number.
    round_end: u64,
    rtts: Nanos,
    samples: u64,
    /// Share of the window that was queued in the last round trip.
    queued: f64,
}

impl Compound {
    /// Adds bytes, which may be negative, to the window and carries the fraction over.
    fn change(&mut self, window: &mut Window, bytes: f64) {
        let bytes = bytes + self.fraction;
        let whole = libm::floor(bytes);
        self.fraction = bytes - whole;
        window.cwnd = (window.cwnd as i64 + whole as i64).max(2 * window.mss as i64) as u64;
    }

    /// Once per round trip: computes from the mean RTT how much of the window is queued.
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
            // Equation 5: alpha win^k, minus the segment that Reno's window adds.
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
        // Draft section 3.1: Reno's window grows by one segment per round trip of the whole window.
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
        // After idle time, the restart window is Reno's.
        self.dwnd = 0.0;
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![("dwnd", self.dwnd), ("gamma", self.gamma)]
    }
}
