//! COBALT (CoDel and BLUE, alternating): a queue that uses its controller.

mod controller;

use bloatlab_units::{Duration, Limit, MILLISECOND, NEVER, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use controller::{CobaltController, CobaltState, Stats};

use crate::ring::{Capacity, Ring};
use crate::{Context, DropReason, Factory, Packet, Qdisc, Sink, Slot};
use controller::probability;

/// CoDel BLUE Alternate: CoDel whose drop rate decays instead of being reset, and BLUE for flows that do not respond.
///
/// Its CoDel part decreases the drop count step by step while the delay is good, so that it finds its rate at once when the delay becomes bad again.
/// Its BLUE part raises a drop probability when the queue overflows and lowers it when the queue is empty. It is the AQM algorithm of each flow in
/// `cake`; here it controls a single queue. As with CoDel, `interval` should be about the longest usual RTT.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Capacity of the queue, in packets or bytes. Packets beyond it are dropped on arrival.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Acceptable sojourn time.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub target: Duration,
    /// Time from the first packet above the target to the first signal. It should exceed the RTT of most connections.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub interval: Duration,
    /// Let CoDel mark ECN-capable packets instead of dropping them. BLUE always drops.
    pub ecn: bool,
    /// Mark every ECN-capable packet whose sojourn time exceeds this. If absent, this rule is off.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1h"))]
    pub ce_threshold: Option<Duration>,
    /// BLUE's initial drop probability.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pdrop: f64,
    /// Increase of BLUE's drop probability at an overflow, at most once per target.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub increment: f64,
    /// Decrease of BLUE's drop probability when the queue is empty, at most once per target.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub decrement: f64,
    /// Sojourn time above which a packet has the same effect on BLUE as an overflow. If absent, only overflows have.
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

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["CobaltQueueDisc"];
    const SOURCE: &'static str = "Palmei et al., Design and Evaluation of COBALT Queue Discipline, LANMAN 2019; limit and ECN as in ns-3";
    const NEAREST_IN_LINUX: Option<&'static str> = Some("cake");

    fn check(&self) -> Result<(), String> {
        Capacity::not_in_buffers(self.limit)
    }

    fn build<P: Packet>(&self, context: Context) -> Box<dyn Qdisc<P>> {
        let controller = CobaltController {
            ecn: self.ecn,
            ce_threshold: self.ce_threshold.map_or(NEVER, |threshold| threshold.0),
            blue_threshold: self.blue_threshold.map_or(NEVER, |threshold| threshold.0),
            p_inc: probability(self.increment),
            p_dec: probability(self.decrement),
            ..CobaltController::new(self.target.0, self.interval.0)
        };
        Box::new(Cobalt {
            ring: Ring::default(),
            capacity: Capacity::new(self.limit, 1),
            controller,
            state: CobaltState::with_p_drop(self.pdrop),
            rng: context.rng,
            stats: Stats::default(),
        })
    }
}

struct Cobalt<P> {
    ring: Ring<P>,
    capacity: Capacity,
    controller: CobaltController,
    state: CobaltState,
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
            self.controller.overflowed(&mut self.state, now);
            self.stats.drop_overlimit += 1;
            sink.dropped(&packet, DropReason::Overflow);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, sink: &mut dyn Sink<P>) -> Option<P> {
        let (controller, state) = (&self.controller, &mut self.state);
        if self.ring.packets() == 0 {
            controller.emptied(state, now);
            return None;
        }
        let mut bytes = self.ring.bytes();
        while let Some(packet) = self.ring.front_mut() {
            let Some(verdict) = controller.look(packet, state, now, 0, &mut self.rng) else {
                break;
            };
            let size = u64::from(packet.size());
            let last = bytes == size;
            bytes -= size;
            if !controller.obey(verdict, packet, last, now, &mut self.stats, sink) {
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

    fn contents(&self, visit: &mut dyn FnMut(Slot, &P)) {
        self.ring.contents(Slot::default(), visit);
    }

    /// `drop_next` is in seconds since the start of the run.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("count", f64::from(self.state.count())),
            ("dropping", f64::from(u8::from(self.state.dropping()))),
            ("drop_next", self.state.drop_next() as f64 * 1e-9),
            ("p_drop", self.state.p_drop()),
            ("drop_count", self.stats.drop_count as f64),
            ("drop_overlimit", self.stats.drop_overlimit as f64),
            ("ecn_mark", self.stats.ecn_mark as f64),
            ("ce_mark", self.stats.ce_mark as f64),
        ]
    }
}
