//! COBALT (CoDel and BLUE, alternating): one queue under the law.

mod law;

use bloatlab_units::{Duration, Limit, MILLISECOND, NEVER, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use law::{Law, Stats, Vars};

use crate::ring::{Capacity, Ring};
use crate::{Algorithm, Context, DropReason, Packet, Qdisc, Sink};
use law::probability;

/// CoDel BLUE Alternate: CoDel whose drop rate decays instead of being forgotten, and BLUE for flows that do not respond.
///
/// The CoDel in it counts drops down again while the delay is good, step by step, so that it finds its rate at once when the delay is bad
/// again. The BLUE beside it raises a drop probability whenever the queue overflows and lowers it when the queue is empty. It is the law of
/// each flow in `cake`; alone it shows what that law does to a single queue. As with CoDel, `interval` should be about the longest usual
/// round trip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How much the queue holds, in packets or bytes; what arrives beyond it is dropped.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Sojourn time that is acceptable.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub target: Duration,
    /// Time from the first packet above the target to the first signal: a round-trip time that most connections are below.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub interval: Duration,
    /// Let CoDel mark ECN-capable packets instead of dropping them; BLUE drops all the same.
    pub ecn: bool,
    /// Mark every ECN-capable packet whose sojourn time is above this; absent: never.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1h"))]
    pub ce_threshold: Option<Duration>,
    /// BLUE's drop probability at the start.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pdrop: f64,
    /// What an overflow adds to BLUE's drop probability, at most once per target.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub increment: f64,
    /// What an empty queue takes off BLUE's drop probability, at most once per target.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub decrement: f64,
    /// Sojourn time above which a packet counts for BLUE as an overflow does; absent: only overflows count.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub blue_threshold: Option<Duration>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            // ns-3's CobaltQueueDisc: 1000 packets, ECN off.
            limit: Limit::Packets(1000),
            ecn: false,
            ce_threshold: None,
            pdrop: 0.0,
            // Palmei et al., LANMAN 2019, and Linux's cake.
            target: Duration(5 * MILLISECOND),
            interval: Duration(100 * MILLISECOND),
            increment: 1.0 / 256.0,
            decrement: 1.0 / 4096.0,
            blue_threshold: None,
        }
    }
}

impl Algorithm for Params {
    const ALIASES: &'static [&'static str] = &["CobaltQueueDisc"];
    const SOURCE: &'static str = "Palmei et al., Design and Evaluation of COBALT Queue Discipline, LANMAN 2019; limit and ECN as in ns-3";
    const NEAREST_IN_LINUX: Option<&'static str> = Some("cake");

    fn check(&self) -> Result<(), String> {
        Capacity::not_in_buffers(self.limit)
    }

    fn build<P: Packet>(&self, context: Context) -> Box<dyn Qdisc<P>> {
        let law = Law {
            ecn: self.ecn,
            ce_threshold: self.ce_threshold.map_or(NEVER, |threshold| threshold.0),
            blue_threshold: self.blue_threshold.map_or(NEVER, |threshold| threshold.0),
            p_inc: probability(self.increment),
            p_dec: probability(self.decrement),
            ..Law::new(self.target.0, self.interval.0)
        };
        Box::new(Cobalt {
            ring: Ring::default(),
            capacity: Capacity::new(self.limit, 1),
            law,
            vars: Vars::with_p_drop(self.pdrop),
            rng: context.rng,
            stats: Stats::default(),
        })
    }
}

struct Cobalt<P> {
    ring: Ring<P>,
    capacity: Capacity,
    law: Law,
    vars: Vars,
    rng: Rng,
    stats: Stats,
}

impl<P: Packet> Qdisc<P> for Cobalt<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        if self
            .capacity
            .fits(self.ring.packets(), self.ring.bytes(), packet.size())
        {
            self.ring.push(packet).set_enqueued_at(now);
        } else {
            packet.set_enqueued_at(now);
            self.law.overflowed(&mut self.vars, now);
            self.stats.drop_overlimit += 1;
            sink.dropped(&packet, DropReason::Overflow);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, sink: &mut dyn Sink<P>) -> Option<P> {
        let (law, vars) = (&self.law, &mut self.vars);
        if self.ring.packets() == 0 {
            law.emptied(vars, now);
            return None;
        }
        let mut bytes = self.ring.bytes();
        while let Some(packet) = self.ring.front_mut() {
            let Some(verdict) = law.look(packet, vars, now, 0, &mut self.rng) else {
                break;
            };
            let size = u64::from(packet.size());
            let last = bytes == size;
            bytes -= size;
            if !law.obey(verdict, packet, last, now, &mut self.stats, sink) {
                break;
            }
            self.ring.pop();
        }
        self.ring.pop()
    }

    fn packets(&self) -> u64 {
        self.ring.packets()
    }

    fn bytes(&self) -> u64 {
        self.ring.bytes()
    }

    /// `drop_next` is in seconds since the start.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("count", f64::from(self.vars.count())),
            ("dropping", f64::from(u8::from(self.vars.dropping()))),
            ("drop_next", self.vars.drop_next() as f64 * 1e-9),
            ("p_drop", self.vars.p_drop()),
            ("drop_count", self.stats.drop_count as f64),
            ("drop_overlimit", self.stats.drop_overlimit as f64),
            ("ecn_mark", self.stats.ecn_mark as f64),
            ("ce_mark", self.stats.ce_mark as f64),
        ]
    }
}
