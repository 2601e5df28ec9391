//! BLUE (Feng, Kandlur, Saha, Shin 1999, 2002): a probability that losses raise and an idle link lowers, and one queue under it.

use bloatlab_units::{Duration, Limit, MILLISECOND, NEVER, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ring::{Capacity, Ring};
use crate::{Algorithm, Context, DropReason, Packet, Qdisc, Sink, mark};

/// BLUE: signals at random on arrival, with a probability that rises when packets are lost and falls when the link idles.
///
/// Each loss adds `increment` to a probability and each idle link takes `decrement` from it, at most once every `freeze_time`; arrivals are
/// marked or dropped with that probability. It knows no average queue: losses and idleness alone say whether it signals too little or too
/// much. Use it to compare with RED, which looks at the length instead. The probability moves slowly, so a sudden change of the load costs
/// losses or an idle link for seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How much the queue holds, in packets or bytes; what arrives beyond it is dropped.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Queue above which arrivals raise the probability as losses do, in packets or bytes; absent: only losses do.
    #[schemars(extend("x-minimum" = "1p"))]
    pub threshold: Option<Limit>,
    /// What a loss adds to the probability.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub increment: f64,
    /// What an idle link takes from the probability.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub decrement: f64,
    /// Least time between two changes of the probability.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub freeze_time: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            // Linux's txqueuelen.
            limit: Limit::Packets(1000),
            threshold: None,
            // Feng et al. 2002, table of BLUE's configurations: d1 ten times d2, changes 100 ms apart.
            increment: 0.02,
            decrement: 0.002,
            freeze_time: Duration(100 * MILLISECOND),
            ecn: true,
        }
    }
}

impl Algorithm for Params {
    const ALIASES: &'static [&'static str] = &["BlueQueueDisc"];
    const SOURCE: &'static str =
        "Feng, Kandlur, Saha, Shin, The BLUE Active Queue Management Algorithms, IEEE/ACM ToN 2002";
    const NEAREST_IN_LINUX: Option<&'static str> = Some("sfb");

    fn check(&self) -> Result<(), String> {
        if let Some(Limit::Buffers(_)) = self.threshold {
            return Err("threshold: must be in packets or bytes".to_owned());
        }
        Capacity::not_in_buffers(self.limit)
    }

    fn build<P: Packet>(&self, context: Context) -> Box<dyn Qdisc<P>> {
        Box::new(Blue {
            ring: Ring::default(),
            capacity: Capacity::new(self.limit, 1),
            threshold: self.threshold.map(|threshold| Capacity::new(threshold, 1)),
            ecn: self.ecn,
            law: Law::new(self),
            vars: Vars::default(),
            stats: Stats::default(),
            rng: context.rng,
        })
    }
}

/// BLUE's settings.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    increment: f64,
    decrement: f64,
    freeze_time: Nanos,
}

/// What BLUE remembers of one queue.
#[derive(Clone, Copy, Debug)]
pub struct Vars {
    prob: f64,
    /// Before this the probability stays as it is.
    frozen_until: Nanos,
    /// Since when the link idles.
    idle_since: Nanos,
}

impl Default for Vars {
    fn default() -> Self {
        Self {
            prob: 0.0,
            frozen_until: 0,
            idle_since: NEVER,
        }
    }
}

impl Vars {
    /// The probability of a signal.
    pub fn prob(&self) -> f64 {
        self.prob
    }

    /// The link found nothing to send: it idles until the next arrival.
    #[inline]
    pub fn idle(&mut self, now: Nanos) {
        self.idle_since = self.idle_since.min(now);
    }
}

impl Law {
    /// The law with these settings.
    pub fn new(params: &Params) -> Self {
        Self {
            increment: params.increment,
            decrement: params.decrement,
            freeze_time: params.freeze_time.0,
        }
    }

    /// Feng et al. 2002, section III-A: a packet was lost, or the queue is above its threshold.
    #[inline]
    pub fn lost(&self, vars: &mut Vars, now: Nanos) {
        if now >= vars.frozen_until {
            vars.prob = (vars.prob + self.increment).min(1.0);
            vars.frozen_until = now + self.freeze_time;
        }
    }

    /// A packet arrives: if the link idled, the probability has fallen once at the start and once a freeze time since then.
    #[inline]
    pub fn arrival(&self, vars: &mut Vars, now: Nanos) {
        if vars.idle_since == NEVER {
            return;
        }
        let first = vars.idle_since.max(vars.frozen_until);
        vars.idle_since = NEVER;
        if now < first {
            return;
        }
        let more = (now - first) / self.freeze_time;
        vars.prob = (vars.prob - self.decrement * (more + 1) as f64).max(0.0);
        vars.frozen_until = first + (more + 1) * self.freeze_time;
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Stats {
    early: u64,
    marked: u64,
    pdrop: u64,
}

struct Blue<P> {
    ring: Ring<P>,
    capacity: Capacity,
    threshold: Option<Capacity>,
    ecn: bool,
    law: Law,
    vars: Vars,
    stats: Stats,
    rng: Rng,
}

impl<P: Packet> Qdisc<P> for Blue<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        packet.set_enqueued_at(now);
        let (packets, bytes, size) = (self.ring.packets(), self.ring.bytes(), packet.size());
        self.law.arrival(&mut self.vars, now);
        if !self.capacity.fits(packets, bytes, size) {
            self.law.lost(&mut self.vars, now);
            self.stats.pdrop += 1;
            sink.dropped(&packet, DropReason::Overflow);
            return;
        }
        if self
            .threshold
            .is_some_and(|threshold| !threshold.holds(packets, bytes))
        {
            self.law.lost(&mut self.vars, now);
        }
        if self.rng.chance(self.vars.prob) {
            if !(self.ecn && mark(&mut packet)) {
                self.stats.early += 1;
                sink.dropped(&packet, DropReason::Law);
                return;
            }
            self.stats.marked += 1;
            sink.marked(&packet);
        }
        self.ring.push(packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, _sink: &mut dyn Sink<P>) -> Option<P> {
        let packet = self.ring.pop();
        if packet.is_none() {
            self.vars.idle(now);
        }
        packet
    }

    fn packets(&self) -> u64 {
        self.ring.packets()
    }

    fn bytes(&self) -> u64 {
        self.ring.bytes()
    }

    /// `prob` is that of the last arrival.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("prob", self.vars.prob),
            ("early", self.stats.early as f64),
            ("marked", self.stats.marked as f64),
            ("pdrop", self.stats.pdrop as f64),
        ]
    }
}
