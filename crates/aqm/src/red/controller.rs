//! RED's controller: the average queue, the probability of a signal, and the spacing of signals.

use bloatlab_units::{MILLISECOND, NEVER, Nanos, Rng};

use super::Params;
use crate::{Context, DropReason, Packet, Sink, mark};

/// Floyd, Gummadi, Shenker 2001, figure 1: the probability is adapted twice a second.
pub const INTERVAL: Nanos = 500 * MILLISECOND;

/// RED's parameters, in the units of its computation.
#[derive(Clone, Copy, Debug)]
pub struct RedController {
    min: f64,
    max: f64,
    in_bytes: bool,
    weight: f64,
    /// Decrease of the average's logarithm per nanosecond of idle time.
    decay: f64,
    probability: f64,
    avpkt: f64,
    gentle: bool,
    wait: bool,
    bytemode: bool,
    /// The smallest number of queued packets at which it signals.
    least: u64,
    /// Whether it computes in integers as Linux's `choke`; see [`in_integers`](RedController::in_integers).
    integers: bool,
    /// The weight in the average of the first arrival after an idle time; 0 if it is no sample.
    idle_weight: f64,
    adaptive: bool,
    ecn: bool,
    harddrop: bool,
    nodrop: bool,
}

/// RED's state of one queue.
#[derive(Clone, Copy, Debug)]
pub struct RedState {
    avg: f64,
    max_p: f64,
    /// Packets since the last signal, or in byte mode their total size in average packets; `None` while the probability is 0 or 1.
    count: Option<f64>,
    /// Position of the next signal between its bounds, uniform in [0, 1).
    spacing: f64,
    idle_since: Nanos,
}

/// RED's counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// Packets dropped by RED.
    pub early: u64,
    /// Packets marked by RED.
    pub marked: u64,
    /// Packets dropped because the queue was full.
    pub pdrop: u64,
    /// Packets that got a signal, whether they were marked, dropped or passed.
    pub overlimits: u64,
}

/// RED's decision about an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// No signal.
    Pass,
    /// A signal to this packet.
    Early,
    /// A signal because the average is so high that every packet gets one.
    Forced,
}

impl RedState {
    /// The state of a new queue.
    pub fn new(controller: &RedController) -> Self {
        Self {
            avg: 0.0,
            max_p: controller.probability,
            count: None,
            spacing: 0.0,
            idle_since: NEVER,
        }
    }

    /// The average queue, in the unit of the thresholds.
    pub fn avg(&self) -> f64 {
        self.avg
    }

    /// The probability at `max`.
    pub fn max_p(&self) -> f64 {
        self.max_p
    }

    /// Records that the link found nothing to send. It is idle until the next arrival.
    #[inline]
    pub fn idle(&mut self, now: Nanos) {
        self.idle_since = self.idle_since.min(now);
    }
}

impl RedController {
    /// Creates the controller of a queue with these surroundings.
    pub fn new(params: &Params, context: &Context) -> Self {
        let avpkt = params
            .avpkt
            .map_or(f64::from(context.mtu), |size| size.0 as f64);
        let (min, max, in_bytes) = params.thresholds(context.rate, avpkt);
        // Floyd, Gummadi, Shenker 2001, section 4.3, as in ns-2: ten round trips, each 100 ms or three times the link's delay.
        let packet_rate = context.rate.0.max(1) as f64 / 8.0 / avpkt;
        let rtt = (3.0 * (context.delay as f64 * 1e-9 + 1.0 / packet_rate)).max(0.1);
        let automatic = -libm::expm1(-1.0 / (10.0 * rtt * packet_rate));
        let weight = match params.burst_weight(avpkt) {
            Some(weight) => weight,
            None if params.weight > 0.0 => params.weight,
            None => automatic,
        };
        let bandwidth = params.bandwidth.unwrap_or(context.rate).0 as f64;
        Self {
            min,
            max,
            in_bytes,
            weight,
            // Floyd and Jacobson 1993, section 4: as if an empty queue had been sampled at the rate of average packets.
            decay: -libm::log1p(-weight) * bandwidth / 8.0 / avpkt * 1e-9,
            probability: params.probability,
            avpkt,
            gentle: params.gentle,
            wait: params.wait,
            bytemode: params.bytemode,
            // ns-2 and ns-3: signal only if more than one byte or packet is queued, depending on the unit of the thresholds.
            least: match (params.spare_empty, in_bytes) {
                (false, _) => 0,
                (true, true) => 1,
                (true, false) => 2,
            },
            integers: false,
            idle_weight: if params.idle_sample { weight } else { 0.0 },
            adaptive: params.adaptive,
            ecn: params.ecn,
            harddrop: params.harddrop,
            nodrop: params.nodrop,
        }
    }

    /// Computes in integers as Linux's `choke`, whose thresholds are so few packets that it shows. The average has binary places only for its weight: an
    /// arrival changes it by the weight times a whole number. The probability and the spacing of signals count whole packets. An average that equals a
    /// threshold is not above it.
    pub(crate) fn in_integers(self) -> Self {
        Self {
            integers: true,
            ..self
        }
    }

    /// Whether the average is beyond a threshold.
    #[inline]
    fn beyond(&self, avg: f64, threshold: f64) -> bool {
        if self.integers {
            avg > threshold
        } else {
            avg >= threshold
        }
    }

    /// The weight of an arrival in the average.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Whether [`adapt`](RedController::adapt) must be called every [`INTERVAL`].
    pub fn adaptive(&self) -> bool {
        self.adaptive
    }

    /// The averages between which the probability rises linearly.
    pub fn thresholds(&self) -> (f64, f64) {
        (self.min, self.max)
    }

    /// Updates the average with the queue that an arrival sees. Returns whether the average is beyond `min`.
    #[inline]
    pub fn average(&self, state: &mut RedState, now: Nanos, packets: u64, bytes: u64) -> bool {
        if state.idle_since == NEVER {
            let queue = if self.in_bytes { bytes } else { packets };
            let avg = if self.integers {
                libm::floor(state.avg)
            } else {
                state.avg
            };
            state.avg += self.weight * (queue as f64 - avg);
        } else {
            state.avg = self.average_at(state, now) * (1.0 - self.idle_weight);
            state.idle_since = NEVER;
        }
        self.beyond(state.avg, self.min)
    }

    /// The average at `now`, which may be in an idle time.
    fn average_at(&self, state: &RedState, now: Nanos) -> f64 {
        let idle = now.saturating_sub(state.idle_since);
        if idle == 0 || state.avg == 0.0 {
            return state.avg;
        }
        state.avg * libm::exp(-self.decay * idle as f64)
    }

    /// The probability of a signal at the current average, before spacing and size are considered.
    #[inline]
    pub fn probability(&self, state: &RedState) -> f64 {
        if state.avg < self.min {
            0.0
        } else if state.avg < self.max {
            state.max_p * (state.avg - self.min) / (self.max - self.min)
        } else if self.gentle && state.avg < 2.0 * self.max {
            state.max_p + (1.0 - state.max_p) * (state.avg - self.max) / self.max
        } else {
            1.0
        }
    }

    /// Judges an arrival of `size` bytes that sees `packets` packets. The average must be updated before.
    #[inline]
    pub fn judge(&self, state: &mut RedState, packets: u64, size: u32, rng: &mut Rng) -> Signal {
        if !self.beyond(state.avg, self.min) || packets < self.least {
            state.count = None;
            return Signal::Pass;
        }
        let certain = if self.gentle {
            2.0 * self.max
        } else {
            self.max
        };
        if self.beyond(state.avg, certain) {
            state.count = None;
            return Signal::Forced;
        }
        let unit = if self.bytemode {
            f64::from(size) / self.avpkt
        } else {
            1.0
        };
        let Some(count) = state.count else {
            state.count = Some(0.0);
            state.spacing = rng.uniform();
            return Signal::Pass;
        };
        // Floyd and Jacobson 1993, section 7: the spacing is uniform. As in Linux, there is one random number per signal, not per packet.
        let count = count + unit;
        let due = if self.integers {
            self.is_due_in_integers(state, count)
        } else if self.wait {
            (count + unit) * self.probability(state) > 1.0 + state.spacing
        } else {
            count * self.probability(state) > state.spacing
        };
        state.count = Some(if due { 0.0 } else { count });
        if !due {
            return Signal::Pass;
        }
        state.spacing = rng.uniform();
        Signal::Early
    }

    /// Whether a signal is due after `count` packets: whole packets above `min`, times `count`, against a whole multiple of the probability's step.
    #[inline]
    fn is_due_in_integers(&self, state: &RedState, count: f64) -> bool {
        let excess = libm::floor(state.avg - self.min);
        excess * count >= libm::floor(state.spacing * (self.max - self.min) / self.probability)
    }

    /// Marks or drops the packet according to a signal. Returns whether the packet may pass.
    #[inline]
    pub fn signal<P: Packet>(
        &self,
        signal: Signal,
        packet: &mut P,
        stats: &mut Stats,
        sink: &mut dyn Sink<P>,
    ) -> bool {
        if signal == Signal::Pass {
            return true;
        }
        stats.overlimits += 1;
        let may_mark = self.ecn && !(self.harddrop && signal == Signal::Forced);
        if may_mark && mark(packet) {
            stats.marked += 1;
            sink.marked(packet);
            return true;
        }
        if may_mark && self.nodrop {
            return true;
        }
        stats.early += 1;
        sink.dropped(packet, DropReason::Aqm);
        false
    }

    /// Floyd, Gummadi, Shenker 2001, figure 1: changes the probability at `max` by additive increase and multiplicative decrease.
    pub fn adapt(&self, state: &mut RedState, now: Nanos) {
        let (avg, range) = (self.average_at(state, now), self.max - self.min);
        if avg > self.min + 0.6 * range && state.max_p <= 0.5 {
            state.max_p += (state.max_p / 4.0).min(0.01);
        } else if avg < self.min + 0.4 * range && state.max_p >= 0.01 {
            state.max_p *= 0.9;
        }
    }
}
