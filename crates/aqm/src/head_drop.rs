//! First in, first out. A full queue drops its oldest packets to accept a new one.

use bloatlab_units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fifo;
use crate::ring::Bounded;
use crate::{Context, DropReason, Factory, Form, Packet, Qdisc, Sink, Slot, Tc, Word};

/// First in, first out; a packet that arrives at a full queue pushes out the oldest packets.
///
/// The oldest packet is lost instead of the newest, so the sender learns of the loss one queueing delay earlier. The delivered packets are fresh,
/// which suits live media. Use it to see the effect of where a packet is dropped. A greedy TCP keeps its queue about as long as that of a `fifo`:
/// only the limit bounds the delay.
///
/// With `limit` in buffers, it drops all packets of the oldest buffer, because only an empty buffer makes space for another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Params(pub fifo::Params);

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["pfifo_head_drop"];
    const SOURCE: &'static str = "tc pfifo_head_drop; Lakshman, Neidhardt, Ott, INFOCOM 1996";
    const TC: &'static [Tc] = &[Tc {
        name: "pfifo_head_drop",
        words: &[Word::same("limit", Form::PacketsAsSize).always()],
        required: &[],
        presets: &[],
    }];

    fn segments_in_buffer(&self) -> u32 {
        self.0.segments_in_buffer()
    }

    fn build<P: Packet>(&self, _context: Context) -> Box<dyn Qdisc<P>> {
        Box::new(HeadDrop {
            queue: Bounded::new(self.0.capacity()),
        })
    }
}

struct HeadDrop<P> {
    queue: Bounded<P>,
}

impl<P: Packet> Qdisc<P> for HeadDrop<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        packet.set_enqueued_at(now);
        // A packet larger than the whole queue must not empty it without fitting.
        if !self.queue.could_ever_fit(packet.size()) {
            sink.dropped(&packet, DropReason::Overflow);
            return;
        }
        while !self.queue.fits(&packet) {
            let Some(oldest) = self.queue.pop() else {
                break;
            };
            sink.dropped(&oldest, DropReason::Overflow);
        }
        self.queue.push(packet);
    }

    #[inline]
    fn dequeue(&mut self, _now: Nanos, _sink: &mut dyn Sink<P>) -> Option<P> {
        self.queue.pop()
    }

    fn observes_idleness(&self) -> bool {
        false
    }

    fn packets(&self) -> u64 {
        self.queue.ring().packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.ring().bytes()
    }

    fn contents(&self, visit: &mut dyn FnMut(Slot, &P)) {
        self.queue.ring().contents(Slot::default(), visit);
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![("buffers", self.queue.buffers() as f64)]
    }
}
