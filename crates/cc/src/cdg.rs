//! CDG: reduces the window at random when the gradient of the delay shows that a queue builds up.

mod hystart;

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::hystart::Train;
use crate::delayed_ack::DelayedAcks;
use crate::elsewhere::{Conversion, Linux, LinuxParameter};
use crate::growth::{Growth, segments};
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};

/// CDG: the faster the queue grows, the likelier a back-off. It needs no delay threshold.
///
/// Once per round trip it compares the smallest and the largest RTT with those of the previous round trip. It averages eight such gradients: the
/// faster the delay grows, the likelier the window is reduced to 70 %. After a few back-offs that do not shorten the queue, it stops backing off,
/// because another flow fills the queue. A shadow window tracks what Reno would have, so that losses cost less. It is used where delay matters and
/// absolute delays cannot be trusted. It fills long paths badly because it backs off on noise, and it works badly at short RTTs with jitter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of gradients that are averaged.
    #[schemars(range(min = 1, max = 256), extend("unit" = "round trips"))]
    pub window: u32,
    /// Share of the window that remains after a back-off.
    #[schemars(range(min = 0.1, max = 0.99))]
    pub backoff_beta: f64,
    /// How fast the probability of a back-off grows: it is 1 - exp(-backoff_factor s), where s is the sum of the gradients in seconds.
    #[schemars(range(min = 0.0, max = 1000.0), extend("unit" = "1/s"))]
    pub backoff_factor: f64,
    /// End slow start at a train of ACKs that lasts half an RTT.
    pub hystart_train: bool,
    /// End slow start when the delay has grown by an eighth.
    pub hystart_delay: bool,
    /// After this many back-offs without effect, stop until the delay falls; 0: never stop.
    #[schemars(range(min = 0, max = 1000))]
    pub use_ineff: u32,
    /// At a loss, reduce to the shadow window if it is larger than half the window.
    pub use_shadow: bool,
    /// A loss while the queue is not believed to be full does not change the window.
    pub use_tolerance: bool,
}

impl Default for Params {
    fn default() -> Self {
        // Linux's values: Hayes and Armitage 2011 with G = 3 ms, which is 42 per second for the sum of eight gradients.
        Self {
            window: 8,
            backoff_beta: 724.0 / 1024.0,
            backoff_factor: 42.0,
            hystart_train: true,
            hystart_delay: true,
            use_ineff: 5,
            use_shadow: true,
            use_tolerance: false,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpCdg"];
    const SOURCE: &'static str = "D. Hayes and G. Armitage, Revisiting TCP congestion control using delay gradients, IFIP Networking 2011; as in Linux";
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: Some(Linux {
            name: "cdg",
            module: Some("tcp_cdg"),
            parameters: &[
                LinuxParameter::new("window", "window", Conversion::Times(1.0), 8),
                LinuxParameter::new(
                    "backoff_beta",
                    "backoff_beta",
                    Conversion::Times(1024.0),
                    724,
                ),
                LinuxParameter::new(
                    "backoff_factor",
                    "backoff_factor",
                    Conversion::Times(1.0),
                    42,
                ),
                LinuxParameter::new("use_ineff", "use_ineff", Conversion::Times(1.0), 5),
                LinuxParameter::new("use_shadow", "use_shadow", Conversion::Flag, 1),
                LinuxParameter::new("use_tolerance", "use_tolerance", Conversion::Flag, 0),
            ],
        }),
        ns3: None,
        ns2: None,
    };

    fn build(&self, rng: Rng) -> Box<dyn CongestionControl> {
        Box::new(Cdg {
            rng,
            gradients: vec![Range::default(); self.window as usize].into(),
            params: self.clone(),
            growth: Growth::default(),
            starter: Starter::new(SlowStart::Standard),
            train: Train::default(),
            delayed: DelayedAcks::new(SUSPECTS),
            rtt: Range::default(),
            last: Range::default(),
            sum: Range::default(),
            filled: 0,
            tail: 0,
            round_end: 0,
            shadow: 0,
            ineffective: 0,
            queue: Queue::Unknown,
            backoff: None,
        })
    }
}

/// A gradient below this, negative, shows that a back-off had an effect; ns over the window (Linux: 32 us).
const EFFECT: i64 = 32_000;
/// Number of consecutive single-segment ACKs that may be suspected to be delayed.
const SUSPECTS: u8 = 5;
/// Gradients smaller than half of this are treated as zero (Linux: 64 us).
const GRAIN: i64 = 64_000;

/// Smallest and largest RTT of a round trip, ns (0: none yet), or their changes.
#[derive(Clone, Copy, Debug, Default)]
struct Range {
    min: i64,
    max: i64,
}

impl Range {
    fn is_empty(self) -> bool {
        self.min == 0 && self.max == 0
    }
}

/// State of the bottleneck's queue as inferred from the gradients (Hayes and Armitage 2011, section 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    Unknown,
    NotFull,
    Full,
}

/// A back-off in progress. The window falls as data are delivered (RFC 6937), until what was in flight is acknowledged.
#[derive(Clone, Copy, Debug)]
struct Backoff {
    until: u64,
    from: u64,
    delivered: u64,
}

/// State of one connection.
struct Cdg {
    params: Params,
    rng: Rng,
    growth: Growth,
    starter: Starter,
    train: Train,
    delayed: DelayedAcks,
    /// RTTs of this round trip and of the previous one.
    rtt: Range,
    last: Range,
    /// Ring of the last gradients, its number of entries, the next index, and the sum.
    gradients: Box<[Range]>,
    filled: u32,
    tail: usize,
    sum: Range,
    round_end: u64,
    /// The window without back-offs, segments.
    shadow: u64,
    /// Number of back-offs since the delay last fell.
    ineffective: u32,
    queue: Queue,
    backoff: Option<Backoff>,
}

impl Cdg {
    /// Returns the gradient over the window, ns, and updates the queue's state.
    fn gradient(&mut self) -> i64 {
        let new = Range {
            min: self.rtt.min - self.last.min,
            max: self.rtt.max - self.last.max,
        };
        let old = std::mem::replace(&mut self.gradients[self.tail], new);
        self.sum.min += new.min - old.min;
        self.sum.max += new.max - old.max;
        let window = self.gradients.len();
        self.tail = (self.tail + 1) % window;
        self.filled = (self.filled + 1).min(self.params.window);
        let Range { min, max } = self.sum;
        // The gradient of the smallest RTT is more reliable. Without it, use that of the largest.
        let sum = if min > 0 { min } else { max };
        if min <= -EFFECT || max <= -EFFECT {
            self.ineffective = 0;
        }
        if self.params.use_tolerance {
            let (min, max) = (rounded(min), rounded(max));
            if min > 0 && max <= 0 {
                self.queue = Queue::Full;
            } else if (min > 0 && max > 0) || max < 0 {
                self.queue = Queue::NotFull;
            }
        }
        // Until the ring is full, the missing gradients are assumed to equal the mean.
        sum * window as i64 / i64::from(self.filled)
    }

    /// Section 2.1: backs off with probability 1 - exp(-g / G).
    fn may_back_off(&mut self, window: &mut Window, ack: &Ack, gradient: i64) -> bool {
        let exponent = self.params.backoff_factor * gradient as f64 * 1e-9;
        if self.rng.uniform() < libm::exp(-exponent) {
            return false;
        }
        if self.params.use_ineff > 0 {
            self.ineffective += 1;
            if self.ineffective > self.params.use_ineff {
                return false;
            }
        }
        let cwnd = segments(window);
        self.shadow = self.shadow.max(cwnd);
        let left = (cwnd as f64 * self.params.backoff_beta) as u64;
        window.ssthresh = left.max(2) * window.mss;
        self.growth.forget();
        self.backoff = Some(Backoff {
            until: ack.next,
            from: window.cwnd,
            delivered: 0,
        });
        true
    }

    /// Continues a back-off. Returns whether it is still in progress.
    fn back_off(&mut self, window: &mut Window, ack: &Ack) -> bool {
        let Some(backoff) = &mut self.backoff else {
            return false;
        };
        if ack.una > backoff.until {
            window.cwnd = window.ssthresh;
            self.end_reduction(ack);
            return false;
        }
        backoff.delivered += ack.delivered_now;
        let cut = backoff.from.saturating_sub(window.ssthresh);
        let gone = u128::from(cut) * u128::from(backoff.delivered) / u128::from(backoff.from);
        let cwnd = backoff.from - (gone as u64).min(cut);
        window.cwnd = cwnd.min(window.cwnd).max(window.mss);
        true
    }

    /// Restarts the gradients after a reduction of the window.
    fn end_reduction(&mut self, ack: &Ack) {
        self.backoff = None;
        self.queue = Queue::Unknown;
        self.round_end = ack.next;
        self.last = std::mem::take(&mut self.rtt);
    }
}

/// Rounds to the nearest multiple of `GRAIN`, half away from zero, and returns the number of multiples.
fn rounded(gradient: i64) -> i64 {
    (gradient + gradient.signum() * GRAIN / 2) / GRAIN
}

impl CongestionControl for Cdg {
    fn on_start(&mut self, window: &mut Window, _: Nanos) {
        self.shadow = segments(window);
    }

    fn observe(&mut self, window: &Window, ack: &Ack) {
        let suspect = self.delayed.suspects(ack, window.mss);
        if ack.rtt == 0 {
            return;
        }
        let rtt = ack.rtt as i64;
        if suspect {
            // A delayed ACK can only lower the smallest RTT.
            self.rtt.min = self.rtt.min.min(rtt);
            return;
        }
        self.rtt.min = if self.rtt.min == 0 {
            rtt
        } else {
            self.rtt.min.min(rtt)
        };
        self.rtt.max = self.rtt.max.max(rtt);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if self.back_off(window, ack) {
            return;
        }
        let Params {
            hystart_train,
            hystart_delay,
            ..
        } = self.params;
        if window.in_slow_start()
            && (hystart_train || hystart_delay)
            && self
                .train
                .is_over(ack, self.rtt.min as Nanos, hystart_train, hystart_delay)
        {
            window.ssthresh = window.cwnd;
        }
        if ack.una > self.round_end && !self.rtt.is_empty() {
            let gradient = if self.last.is_empty() {
                0
            } else {
                self.gradient()
            };
            self.round_end = ack.next;
            self.last = std::mem::take(&mut self.rtt);
            self.train.restart();
            if gradient > 0 && self.may_back_off(window, ack, gradient) {
                return;
            }
        }
        let before = segments(window);
        if ack.cwnd_limited {
            self.growth.reno(window, &mut self.starter, ack);
            self.shadow += segments(window) - before;
        } else {
            self.shadow = self.shadow.min(before);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        self.growth.forget();
        if self.backoff.is_some() {
            // The window is already being reduced.
            return;
        }
        let cwnd = segments(window);
        if self.queue == Queue::NotFull && self.params.use_tolerance {
            window.ssthresh = cwnd.max(2) * window.mss;
            return;
        }
        // Section 2.4: a loss halves the shadow window. At least half of the window remains.
        self.shadow = (self.shadow / 2).min(cwnd);
        let left = if self.params.use_shadow {
            self.shadow.max(cwnd / 2)
        } else {
            cwnd / 2
        };
        window.ssthresh = left.max(2) * window.mss;
    }

    fn on_recovered(&mut self, _: &mut Window, ack: &Ack) {
        self.end_reduction(ack);
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.backoff = None;
    }

    fn on_idle_restart(&mut self, window: &mut Window, _: Nanos, _: Nanos) {
        self.gradients.fill(Range::default());
        self.rtt = Range::default();
        self.last = Range::default();
        self.sum = Range::default();
        self.filled = 0;
        self.tail = 0;
        self.ineffective = 0;
        self.queue = Queue::Unknown;
        self.backoff = None;
        self.delayed = DelayedAcks::new(SUSPECTS);
        self.train = Train::default();
        self.shadow = segments(window);
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        let sum = if self.sum.min > 0 {
            self.sum.min
        } else {
            self.sum.max
        };
        vec![
            ("gradient", sum as f64 * 1e-9),
            ("shadow", self.shadow as f64),
            ("ineffective", f64::from(self.ineffective)),
        ]
    }
}
