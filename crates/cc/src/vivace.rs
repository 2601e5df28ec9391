//! PCC Vivace: tries a slightly higher and a slightly lower rate, and moves along the gradient of a utility.

mod interval;

use bloatlab_units::{Nanos, Rng, SECOND, float, larger, whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::interval::{Interval, Intervals, Role};
use crate::{Ack, CongestionControl, Factory, Signal, Window};

/// What the utility penalises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Utility {
    /// A growing RTT and losses.
    #[default]
    Latency,
    /// Losses only.
    Loss,
}

/// PCC Vivace: online learning of the rate, by the gradient of a utility of throughput, latency and loss.
///
/// It sends at a constant rate for about one round trip at a time, alternately above and below its base rate. From the ACKs of each interval it
/// computes which of the two rates had the higher utility. The base rate then moves along that gradient, faster the longer the direction stays the
/// same. It makes no assumption about the cause of loss or delay, and it keeps its rate under a random loss of some percent. It needs several round
/// trips to react, so it is slow on paths that vary. With the latency utility it gets little beside flows that fill the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// What the utility penalises: `latency` or `loss`.
    pub utility: Utility,
    /// Exponent of the rate (in Mbit/s) in the utility's reward.
    #[schemars(range(min = 0.1, max = 0.99))]
    pub exponent: f64,
    /// Weight of the slope of the RTT.
    #[schemars(range(min = 0.0, max = 100_000.0))]
    pub latency_weight: f64,
    /// Weight of the loss ratio.
    #[schemars(range(min = 0.0, max = 10_000.0))]
    pub loss_weight: f64,
    /// How far above and below the base rate it tries, as a share of the base rate.
    #[schemars(range(min = 0.001, max = 0.5))]
    pub epsilon: f64,
    /// Mbit/s of change per unit of the gradient.
    #[schemars(range(min = 0.001, max = 100.0))]
    pub step: f64,
    /// Largest share by which the rate may change in one step, at first.
    #[schemars(range(min = 0.001, max = 1.0))]
    pub bound: f64,
    /// By how much `bound` grows each time a step reaches it.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub bound_step: f64,
    /// Slopes of the RTT smaller than this are treated as noise.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub slope_tolerance: f64,
}

impl Default for Params {
    fn default() -> Self {
        // Dong et al. 2018 sections 3 and 4.
        Self {
            utility: Utility::Latency,
            exponent: 0.9,
            latency_weight: 900.0,
            loss_weight: 11.35,
            epsilon: 0.05,
            step: 1.0,
            bound: 0.05,
            bound_step: 0.1,
            slope_tolerance: 0.01,
        }
    }
}

impl Params {
    /// Section 3: x^t - b x dRTT/dT - c x L.
    fn utility_of(&self, interval: &Interval) -> f64 {
        let x = interval.sent_rate();
        let slope = match interval.slope() {
            slope if slope.abs() < self.slope_tolerance => 0.0,
            slope => slope,
        };
        let latency = match self.utility {
            Utility::Latency => self.latency_weight * x * slope,
            Utility::Loss => 0.0,
        };
        libm::pow(x, self.exponent) - latency - self.loss_weight * x * interval.loss()
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["pcc_vivace"];
    const SOURCE: &'static str =
        "M. Dong et al., PCC Vivace: online-learning congestion control, USENIX NSDI 2018";

    fn build(&self, rng: Rng) -> Box<dyn CongestionControl> {
        Box::new(Vivace::new(self, rng))
    }
}

/// An interval lasts a round trip, or as long as this many segments take if that is longer.
const MIN_SEGMENTS: f64 = 10.0;
/// The window is this many round trips of the rate, so that it does not limit the rate.
const WINDOW_GAIN: f64 = 2.0;
/// The smallest rate, segments per round trip.
const MIN_RATE: f64 = 2.0;
/// The largest rate, bytes per second.
const MAX_RATE: f64 = 1e12;
/// Bytes per second in one Mbit/s.
const MEGABIT: f64 = 125_000.0;

/// Values of the current interval that every ACK needs.
#[derive(Clone, Copy, Default)]
struct Current {
    began: Nanos,
    /// The time that `MIN_SEGMENTS` segments take at its rate, ns.
    least: f64,
    /// Its window per second of RTT, bytes.
    window: f64,
    /// Its rate as an integer, bytes per second.
    pacing: u64,
}

/// State of one connection.
struct Vivace {
    params: Params,
    rng: Rng,
    intervals: Intervals,
    current: Current,
    /// Bytes sent since the current interval began.
    sent: u64,
    /// The rate still doubles from interval to interval.
    starting: bool,
    /// The base rate, bytes per second; 0 before the first RTT.
    rate: f64,
    /// The smoothed RTT; one second before the first sample.
    srtt: Nanos,
    /// Utility and rate of the last interval of the starting phase.
    best: Option<(f64, f64)>,
    /// The remaining intervals of the pair. The next one is the last element.
    planned: Vec<Role>,
    /// Utilities of the two intervals of the pair.
    above: Option<f64>,
    below: Option<f64>,
    /// Number of consecutive decisions in one direction, and that direction.
    confidence: u32,
    rising: bool,
    /// How many times in a row the bound was reached.
    reached: u32,
}

impl Vivace {
    fn new(params: &Params, rng: Rng) -> Self {
        Self {
            rng,
            intervals: Intervals::new(),
            current: Current::default(),
            starting: true,
            rate: 0.0,
            sent: 0,
            srtt: SECOND,
            best: None,
            planned: Vec::with_capacity(2),
            above: None,
            below: None,
            confidence: 0,
            rising: true,
            reached: 0,
            params: params.clone(),
        }
    }

    fn plan_pair(&mut self) {
        self.planned.clear();
        self.planned.extend([Role::Up, Role::Down]);
        if self.rng.chance(0.5) {
            self.planned.reverse();
        }
        (self.above, self.below) = (None, None);
    }

    /// Discards the intervals in progress and plans a new pair.
    fn void(&mut self) {
        self.intervals.clear();
        self.plan_pair();
    }

    /// Starts the next interval at this ACK.
    #[cold]
    fn begin(&mut self, window: &Window, ack: &Ack) {
        if self.intervals.is_full() {
            // Nothing was delivered for that long, so the intervals will give no result.
            self.void();
        }
        let role = if self.starting {
            Role::Starting
        } else {
            self.planned.pop().unwrap_or(Role::Waiting)
        };
        let rate = match role {
            Role::Up => self.rate * (1.0 + self.params.epsilon),
            Role::Down => self.rate * (1.0 - self.params.epsilon),
            Role::Starting | Role::Waiting => self.rate,
        };
        let sent = std::mem::take(&mut self.sent);
        if let Some(current) = self.intervals.latest() {
            (current.ended, current.sent) = (ack.now, sent);
        }
        self.intervals
            .push(Interval::new(role, rate, ack.delivered, ack.now));
        self.current = Current {
            began: ack.now,
            least: MIN_SEGMENTS * window.mss as f64 * 1e9 / rate,
            window: WINDOW_GAIN * rate,
            pacing: (rate as u64).max(1),
        };
    }

    /// Counts the ACK in the interval in which the newest segment it delivered was sent, and finishes the intervals before it.
    fn attribute(&mut self, window: &Window, ack: &Ack) {
        if ack.delivered_now == 0 || self.intervals.is_empty() {
            return;
        }
        let prior = ack.rate.prior_delivered;
        while self.intervals.is_over(prior) {
            let done = self.intervals.pop();
            self.finish(&done, window, ack);
        }
        let interval = self.intervals.oldest();
        if interval.from <= prior {
            interval.acked += ack.delivered_now;
            interval.lost += ack.lost_now;
            if ack.rtt > 0 {
                interval.sample(ack.now, ack.rtt);
            }
        }
    }

    /// Evaluates an interval whose data are all accounted for.
    #[cold]
    fn finish(&mut self, done: &Interval, window: &Window, ack: &Ack) {
        let utility = self.params.utility_of(done);
        match done.role {
            Role::Starting if self.starting => match self.best {
                Some((before, rate)) if utility < before => {
                    // Section 4: return to the rate of the best interval and start learning there.
                    self.starting = false;
                    self.rate = rate;
                    self.plan_pair();
                    self.begin(window, ack);
                }
                _ => self.best = Some((utility, done.rate)),
            },
            Role::Up => self.above = Some(utility),
            Role::Down => self.below = Some(utility),
            Role::Starting | Role::Waiting => {}
        }
        if let (Some(above), Some(below)) = (self.above, self.below) {
            self.decide(above - below);
            self.plan_pair();
            self.begin(window, ack);
        }
    }

    /// Section 4: moves the rate along the gradient, amplified by confidence and bounded.
    fn decide(&mut self, difference: f64) {
        let rate = self.rate / MEGABIT;
        let gradient = difference / (2.0 * self.params.epsilon * rate);
        let rising = gradient > 0.0;
        if rising == self.rising {
            self.confidence += 1;
        } else {
            (self.rising, self.confidence, self.reached) = (rising, 1, 0);
        }
        let n = f64::from(self.confidence);
        let amplifier = if n <= 3.0 { n } else { 2.0 * n - 3.0 };
        let change = (amplifier * self.params.step * gradient).abs();
        let bound = self.params.bound + f64::from(self.reached) * self.params.bound_step;
        if change > bound * rate {
            self.reached += 1;
        } else {
            self.reached = 0;
        }
        let change = change.min(bound * rate) * MEGABIT;
        let moved = self.rate + if rising { change } else { -change };
        self.set_rate(moved);
    }

    fn set_rate(&mut self, rate: f64) {
        // At least two segments of 536 bytes per round trip, whatever the segment size.
        let least = MIN_RATE * 536.0 * 1e9 / self.srtt as f64;
        self.rate = rate.clamp(least.min(MAX_RATE), MAX_RATE);
    }
}

impl CongestionControl for Vivace {
    fn on_handshake(&mut self, window: &mut Window, rtt: Nanos) {
        self.rate = window.initial as f64 * 1e9 / rtt.max(1) as f64;
        window.pacing = whole(self.rate).max(1);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.srtt == 0 {
            return;
        }
        self.srtt = ack.srtt;
        if self.rate == 0.0 {
            self.rate = window.initial as f64 * 1e9 / ack.srtt as f64;
        }
        self.attribute(window, ack);
        if self.intervals.is_empty() {
            self.begin(window, ack);
        } else if ack.delivered_now > 0 {
            let age = float(ack.now - self.current.began);
            if age >= larger(float(ack.srtt), self.current.least) {
                if self.starting {
                    self.set_rate(2.0 * self.rate);
                }
                self.begin(window, ack);
            }
        }
        window.pacing = self.current.pacing;
        let flight = self.current.window * float(ack.srtt) * 1e-9;
        window.cwnd = whole(flight).clamp(window.initial, 1 << 38);
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        // Losses count in the utility only.
        window.ssthresh = window.cwnd.max(2 * window.mss);
    }

    fn on_timeout(&mut self, window: &mut Window, _: Nanos) {
        // No feedback arrives: halve the rate and discard all results.
        self.set_rate(self.rate / 2.0);
        self.starting = false;
        self.confidence = 0;
        self.reached = 0;
        self.void();
        window.cwnd = window.initial;
        window.pacing = whole(self.rate).max(1);
    }

    fn on_idle_restart(&mut self, _: &mut Window, _: Nanos, _: Nanos) {
        self.void();
    }

    fn observes_sends(&self) -> bool {
        true
    }

    fn on_send(&mut self, window: &mut Window, _: Nanos, _: u64, _: bool) {
        self.sent += window.mss;
    }

    // Losses do not change the window.
    fn owns_recovery(&self) -> bool {
        true
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("rate", self.rate),
            ("starting", f64::from(u8::from(self.starting))),
            ("confidence", f64::from(self.confidence)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_units::{MILLISECOND, Streams};

    fn algorithm() -> Vivace {
        Vivace::new(&Params::default(), Streams::new(1).stream("cc"))
    }

    #[test]
    fn the_utility_is_that_of_the_paper() {
        let mut interval = Interval::new(Role::Up, 1e6, 0, 0);
        // 10 Mbit/s, an RTT that grows by 2 %, a loss of 10 %.
        (interval.sent, interval.ended) = (125_000, 100 * MILLISECOND);
        (interval.acked, interval.lost) = (112_500, 12_500);
        for i in 0..5 {
            interval.sample(
                i * 10 * MILLISECOND,
                100 * MILLISECOND + i * MILLISECOND / 5,
            );
        }
        let reward = libm::pow(10.0, 0.9);
        let both = Params::default().utility_of(&interval);
        assert!((both - (reward - 900.0 * 10.0 * 0.02 - 11.35 * 10.0 * 0.1)).abs() < 1e-9);
        let loss = Params {
            utility: Utility::Loss,
            ..Params::default()
        };
        assert!((loss.utility_of(&interval) - (reward - 11.35)).abs() < 1e-9);
        // Slopes below the tolerance are treated as noise.
        let tolerant = Params {
            slope_tolerance: 0.03,
            ..Params::default()
        };
        assert!((tolerant.utility_of(&interval) - (reward - 11.35)).abs() < 1e-9);
    }

    #[test]
    fn steps_follow_the_gradient_grow_with_confidence_and_are_bounded() {
        let mut cc = algorithm();
        cc.srtt = 100 * MILLISECOND;
        cc.rate = 10.0 * MEGABIT;
        let mut rates = Vec::new();
        // The gradient is the difference over 2 * 0.05 * rate: 0.2 each time.
        for _ in 0..4 {
            cc.decide(0.2 * 0.1 * cc.rate / MEGABIT);
            rates.push(cc.rate / MEGABIT);
        }
        // 0.2, 2 * 0.2; 3 * 0.2 exceeds the bound of 0.05; 5 * 0.2 is below the bound of 0.15.
        for (rate, expected) in rates.iter().zip([10.2, 10.6, 11.13, 12.13]) {
            assert!((rate - expected).abs() < 1e-9, "{rates:?}");
        }
        // The other direction starts with confidence 1: 0.2 down.
        cc.decide(-0.2 * 0.1 * cc.rate / MEGABIT);
        assert!((cc.rate / MEGABIT - 11.93).abs() < 1e-9);
        assert_eq!((cc.confidence, cc.reached), (1, 0));
    }
}
