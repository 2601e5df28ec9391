//! Illinois: the mean queueing delay sets how fast the window grows and how much a loss takes.

use bloatlab_units::{NEVER, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::elsewhere::{Conversion, Linux, LinuxParameter};
use crate::growth::segments;
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};

/// Illinois: fast growth and small decreases while the queue is short, slow growth and halving while it is long.
///
/// Losses decide when to reduce the window; delay decides by how much. Once per round trip, the mean queueing delay is compared with the largest one
/// seen. Their ratio sets the increase `alpha` (from 10 down to 0.3 segments per round trip) and the decrease `beta` (from an eighth up to a half).
/// The window as a function of time is therefore concave: it gets close to the point of loss quickly and stays near it for long. It was designed for
/// long, fast paths. It works badly at short RTTs with a short queue, where delay carries no information. Like every congestion control that waits
/// for losses, it fills the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Increase per round trip while the queue is long.
    #[schemars(range(min = 0.01, max = 1.0), extend("unit" = "segments"))]
    pub alpha_min: f64,
    /// Increase per round trip while the queue is empty.
    #[schemars(range(min = 1.0, max = 100.0), extend("unit" = "segments"))]
    pub alpha_max: f64,
    /// Share of the window that a loss takes while the queue is short.
    #[schemars(range(min = 0.01, max = 0.9))]
    pub beta_min: f64,
    /// Share of the window that a loss takes while the queue is long.
    #[schemars(range(min = 0.01, max = 0.9))]
    pub beta_max: f64,
    /// Share of the largest queueing delay up to which the queue is considered empty.
    #[schemars(range(min = 0.0, max = 0.99))]
    pub empty: f64,
    /// Share of the largest queueing delay up to which a loss takes `beta_min`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub short: f64,
    /// Share of the largest queueing delay from which a loss takes `beta_max`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub long: f64,
    /// Windows smaller than this behave as Reno's.
    #[schemars(range(min = 1, max = 10000), extend("unit" = "segments"))]
    pub reno_below: u32,
    /// Round trips with an empty queue after which `alpha_max` returns.
    #[schemars(range(min = 1, max = 1000), extend("unit" = "round trips"))]
    pub theta: u32,
    /// How slow start ends.
    pub slow_start: SlowStart,
}

impl Default for Params {
    fn default() -> Self {
        // Liu, Basar and Srikant 2008, section 4. Linux has the same values, except `reno_below`, which is 10 in the paper.
        Self {
            alpha_min: 0.3,
            alpha_max: 10.0,
            beta_min: 0.125,
            beta_max: 0.5,
            empty: 0.01,
            short: 0.1,
            long: 0.8,
            reno_below: 15,
            theta: 5,
            slow_start: SlowStart::Standard,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpIllinois"];
    const SOURCE: &'static str = "S. Liu, T. Basar and R. Srikant, TCP-Illinois: A loss and delay-based congestion control algorithm for \
         high-speed networks, VALUETOOLS 2006; as in Linux";
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: Some(Linux {
            name: "illinois",
            module: Some("tcp_illinois"),
            parameters: &[
                LinuxParameter::new("reno_below", "win_thresh", Conversion::Times(1.0), 15),
                LinuxParameter::new("theta", "theta", Conversion::Times(1.0), 5),
            ],
        }),
        ns3: Some("ns3::TcpIllinois"),
        ns2: Some("Agent/TCP/Linux (illinois)"),
    };

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Illinois {
            alpha: self.alpha_max,
            beta: self.beta_max,
            starter: Starter::new(self.slow_start),
            params: self.clone(),
            base: NEVER,
            longest: 0,
            sum: 0,
            samples: 0,
            round_end: 0,
            queue_seen: false,
            empty_rounds: 0,
            acked: 0,
        })
    }

    fn check(&self) -> Result<(), String> {
        if self.beta_min > self.beta_max {
            return Err(format!(
                "`beta_min` is {}, but must not be larger than `beta_max`, which is {}",
                self.beta_min, self.beta_max
            ));
        }
        if self.short > self.long {
            return Err(format!(
                "`short` is {}, but must not be larger than `long`, which is {}",
                self.short, self.long
            ));
        }
        Ok(())
    }
}

/// Linux computes the increase in 128ths of a segment and the decrease in 64ths of the window, rounded down. The decrease is half a 64th smaller on
/// average.
const ALPHA_PARTS: f64 = 128.0;
const BETA_PARTS: f64 = 64.0;

/// Rounds `value` down to a multiple of `1 / parts`.
fn whole(value: f64, parts: f64) -> f64 {
    libm::floor(value * parts) / parts
}

/// State of one connection.
struct Illinois {
    params: Params,
    starter: Starter,
    /// Increase in segments per round trip, and the share that a loss takes.
    alpha: f64,
    beta: f64,
    /// Smallest and largest RTT so far.
    base: Nanos,
    longest: Nanos,
    /// Sum of the RTTs of this round trip.
    sum: Nanos,
    samples: u64,
    round_end: u64,
    /// Whether a queue was seen, and how many round trips in a row it has been empty since.
    queue_seen: bool,
    empty_rounds: u32,
    /// Bytes acknowledged since the window last grew.
    acked: u64,
}

impl Illinois {
    fn restart_round(&mut self, next: u64) {
        self.round_end = next;
        self.sum = 0;
        self.samples = 0;
    }

    fn reno(&mut self) {
        self.alpha = 1.0;
        self.beta = self.params.beta_max;
    }

    /// Once per round trip: sets `alpha` and `beta` from the mean queueing delay.
    fn adapt(&mut self, window: &Window) {
        if segments(window) < u64::from(self.params.reno_below) {
            self.reno();
        } else if let Some(mean) = self.sum.checked_div(self.samples) {
            let delay = mean.saturating_sub(self.base) as f64;
            let longest = (self.longest - self.base) as f64;
            self.alpha = whole(self.increase(delay, longest), ALPHA_PARTS);
            self.beta = whole(self.decrease(delay, longest), BETA_PARTS);
        }
    }

    /// Section 3: alpha = k1 / (k2 + d), from `alpha_max` with an empty queue to `alpha_min` with the longest one.
    fn increase(&mut self, delay: f64, longest: f64) -> f64 {
        let Params {
            alpha_min,
            alpha_max,
            empty,
            theta,
            ..
        } = self.params;
        let low = empty * longest;
        if delay <= low {
            if self.queue_seen {
                // Section 4: a queue must appear empty for `theta` round trips to be considered empty.
                self.empty_rounds += 1;
                if self.empty_rounds < theta {
                    return self.alpha;
                }
                self.empty_rounds = 0;
                self.queue_seen = false;
            }
            return alpha_max;
        }
        self.queue_seen = true;
        let (range, over) = (longest - low, delay - low);
        range * alpha_max / (range + over * (alpha_max - alpha_min) / alpha_min)
    }

    /// Section 3: beta = k3 + k4 d, between `beta_min` and `beta_max`.
    fn decrease(&self, delay: f64, longest: f64) -> f64 {
        let (low, high) = (self.params.short * longest, self.params.long * longest);
        let (least, most) = (self.params.beta_min, self.params.beta_max);
        if delay <= low {
            least
        } else if delay >= high {
            most
        } else {
            least + (most - least) * (delay - low) / (high - low)
        }
    }
}

impl CongestionControl for Illinois {
    fn observe(&mut self, _: &Window, ack: &Ack) {
        if ack.rtt > 0 {
            self.base = self.base.min(ack.rtt);
            self.longest = self.longest.max(ack.rtt);
            self.sum += ack.rtt;
            self.samples += 1;
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.una > self.round_end {
            self.adapt(window);
            self.restart_round(ack.next);
        }
        if !ack.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            self.starter.open(window, ack);
            return;
        }
        // As in Linux: what SACK reported before counts, too. So the ACK that ends a recovery counts for the whole recovery.
        self.acked += ack.acked;
        let earned = (self.acked as f64 * self.alpha / window.cwnd as f64) as u64;
        if earned > 0 {
            // Linux drops the remainder.
            self.acked = 0;
            window.cwnd += earned * window.mss;
        }
    }

    fn on_congestion(&mut self, window: &mut Window, signal: Signal, ack: &Ack) {
        let cwnd = segments(window);
        let cut = (cwnd as f64 * self.beta) as u64;
        window.ssthresh = (cwnd - cut).max(2) * window.mss;
        self.acked = 0;
        self.starter.on_congestion();
        if signal == Signal::Timeout {
            self.reno();
            self.queue_seen = false;
            self.empty_rounds = 0;
            self.restart_round(ack.next);
        }
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.starter.on_timeout();
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![("alpha", self.alpha), ("beta", self.beta)]
    }
}
