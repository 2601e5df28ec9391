//! First in, first out, without a limit.

use bloatlab_units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Capacity, Context, Factory, Packet, Qdisc, Ring, Sink, Slot};

/// First in, first out, without a limit: nothing is ever dropped.
///
/// The delay grows as long as more arrives than leaves. Senders that wait for losses never detect any. Use it as the extreme case of bufferbloat, and
/// where a queue must not interfere, such as on access links that are not the bottleneck. In a long run with greedy loss-based flows, memory use
/// grows with the queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {}

impl Factory for Params {
    const SOURCE: &'static str = "the M/G/1 queue of the textbooks; Nagle, RFC 970";
    const NEAREST_IN_LINUX: Option<&'static str> = Some("pfifo");

    fn build<P: Packet>(&self, _context: Context) -> Box<dyn Qdisc<P>> {
        Box::new(Infinite {
            ring: Ring::default(),
        })
    }
}

struct Infinite<P> {
    ring: Ring<P>,
}

impl<P: Packet> Qdisc<P> for Infinite<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, packet: P, _sink: &mut dyn Sink<P>) {
        self.ring.push(packet).set_enqueued_at(now);
    }

    #[inline]
    fn dequeue(&mut self, _now: Nanos, _sink: &mut dyn Sink<P>) -> Option<P> {
        self.ring.pop()
    }

    fn observes_idleness(&self) -> bool {
        false
    }

    fn tail_drop(&self) -> Option<Capacity> {
        Some(Capacity::ENDLESS)
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
}
