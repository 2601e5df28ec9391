//! RED's law: the average queue, the probability of a signal, and the distance between signals.

use bloatlab_units::{MILLISECOND, NEVER, Nanos, Rng};

use super::Params;
use crate::{Context, DropReason, Packet, Sink, mark};

/// Floyd, Gummadi, Shenker 2001, figure 1: the probability adapts twice a second.
pub const INTERVAL: Nanos = 500 * MILLISECOND;

/// RED's settings, in the units in which it computes.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    min: f64,
    max: f64,
    in_bytes: bool,
    weight: f64,
    /// What the average's logarithm loses in a nanosecond of idleness.
    decay: f64,
    probability: f64,
    avpkt: f64,
    gentle: bool,
    wait: bool,
    bytemode: bool,
    /// The fewest packets in a queue with which there is a signal.
    least: u64,
    adaptive: bool,
    ecn: bool,
    harddrop: bool,
    nodrop: bool,
}

/// What RED remembers of one queue.
#[derive(Clone, Copy, Debug)]
pub struct Vars {
    avg: f64,
    max_p: f64,
    /// Packets since the last signal, or in byte mode their size in average packets; none while no signal is near.
    count: Option<f64>,
    /// Where between its bounds the next signal is due, uniform in [0, 1).
    spacing: f64,
    idle_since: Nanos,
}

/// What RED counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// Packets dropped by the law.
    pub early: u64,
    /// Packets marked by the law.
    pub marked: u64,
    /// Packets dropped because the queue was full.
    pub pdrop: u64,
    /// Packets signalled to, whatever became of them.
    pub overlimits: u64,
}

/// What RED says to an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Nothing.
    Pass,
    /// This packet's turn has come.
    Early,
    /// The average is so high that every packet is signalled to.
    Forced,
}

impl Vars {
    /// The state of a queue that has seen nothing yet.
    pub fn new(law: &Law) -> Self {
        Self {
            avg: 0.0,
            max_p: law.probability,
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

    /// The link found nothing to send: it idles until the next arrival.
    #[inline]
    pub fn idle(&mut self, now: Nanos) {
        self.idle_since = self.idle_since.min(now);
    }
}

impl Law {
    /// The law with these settings at this place.
    pub fn new(params: &Params, context: &Context) -> Self {
        let avpkt = params
            .avpkt
            .map_or(f64::from(context.mtu), |size| size.0 as f64);
        let (min, max, in_bytes) = params.thresholds(context.rate, avpkt);
        // Floyd, Gummadi, Shenker 2001, section 4.3, as ns-2 has it: ten round trips, each 100 ms or three times the link's delay.
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
            // Floyd and Jacobson 1993, section 4: as if empty-queue samples had come at the rate of average packets.
            decay: -libm::log1p(-weight) * bandwidth / 8.0 / avpkt * 1e-9,
            probability: params.probability,
            avpkt,
            gentle: params.gentle,
            wait: params.wait,
            bytemode: params.bytemode,
            // ns-2 and ns-3: where more than one is queued, byte or packet by the unit of the thresholds.
            least: match (params.spare_empty, in_bytes) {
                (false, _) => 0,
                (true, true) => 1,
                (true, false) => 2,
            },
            adaptive: params.adaptive,
            ecn: params.ecn,
            harddrop: params.harddrop,
            nodrop: params.nodrop,
        }
    }

    /// The weight of an arrival in the average.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Whether [`adapt`](Law::adapt) wants to be called every [`INTERVAL`].
    pub fn adaptive(&self) -> bool {
        self.adaptive
    }

    /// Where signals begin, and where the linear stretch ends.
    pub fn thresholds(&self) -> (f64, f64) {
        (self.min, self.max)
    }

    /// Takes an arrival's view of the queue into the average; says whether that is at `min` or above.
    #[inline]
    pub fn average(&self, vars: &mut Vars, now: Nanos, packets: u64, bytes: u64) -> bool {
        if vars.idle_since == NEVER {
            let queue = if self.in_bytes { bytes } else { packets };
            vars.avg += self.weight * (queue as f64 - vars.avg);
        } else {
            vars.avg = self.average_at(vars, now);
            vars.idle_since = NEVER;
        }
        vars.avg >= self.min
    }

    /// The average at an instant that may fall into an idle time.
    fn average_at(&self, vars: &Vars, now: Nanos) -> f64 {
        let idle = now.saturating_sub(vars.idle_since);
        if idle == 0 || vars.avg == 0.0 {
            return vars.avg;
        }
        vars.avg * libm::exp(-self.decay * idle as f64)
    }

    /// The probability of a signal at the present average, before spacing and size.
    #[inline]
    pub fn probability(&self, vars: &Vars) -> f64 {
        if vars.avg < self.min {
            0.0
        } else if vars.avg < self.max {
            vars.max_p * (vars.avg - self.min) / (self.max - self.min)
        } else if self.gentle && vars.avg < 2.0 * self.max {
            vars.max_p + (1.0 - vars.max_p) * (vars.avg - self.max) / self.max
        } else {
            1.0
        }
    }

    /// Judges an arrival of `size` bytes that finds so many packets, and whose view of the queue has been taken into the average.
    #[inline]
    pub fn judge(&self, vars: &mut Vars, packets: u64, size: u32, rng: &mut Rng) -> Signal {
        if vars.avg < self.min || packets < self.least {
            vars.count = None;
            return Signal::Pass;
        }
        if vars.avg
            >= if self.gentle {
                2.0 * self.max
            } else {
                self.max
            }
        {
            vars.count = None;
            return Signal::Forced;
        }
        let unit = if self.bytemode {
            f64::from(size) / self.avpkt
        } else {
            1.0
        };
        let Some(count) = vars.count else {
            vars.count = Some(0.0);
            vars.spacing = rng.uniform();
            return Signal::Pass;
        };
        // Floyd and Jacobson 1993, section 7: the distance is uniform; one draw a distance, as Linux does, not one a packet.
        let count = count + unit;
        let due = if self.wait {
            (count + unit) * self.probability(vars) > 1.0 + vars.spacing
        } else {
            count * self.probability(vars) > vars.spacing
        };
        vars.count = Some(if due { 0.0 } else { count });
        if !due {
            return Signal::Pass;
        }
        vars.spacing = rng.uniform();
        Signal::Early
    }

    /// Carries a signal out; says whether the packet may pass.
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
        sink.dropped(packet, DropReason::Law);
        false
    }

    /// Floyd, Gummadi, Shenker 2001, figure 1: additive increase, multiplicative decrease of the probability at `max`.
    pub fn adapt(&self, vars: &mut Vars, now: Nanos) {
        let (avg, range) = (self.average_at(vars, now), self.max - self.min);
        if avg > self.min + 0.6 * range && vars.max_p <= 0.5 {
            vars.max_p += (vars.max_p / 4.0).min(0.01);
        } else if avg < self.min + 0.4 * range && vars.max_p >= 0.01 {
            vars.max_p *= 0.9;
        }
    }
}
