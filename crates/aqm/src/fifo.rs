//! First in, first out. A packet that arrives at a full queue is dropped.

use bloatlab_units::{Limit, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ring::{Bounded, Capacity};
use crate::{
    BufferDecision, Context, DropReason, Factory, Form, Packet, Qdisc, Sink, Slot, Tc, Word,
};

/// First in, first out; a packet that arrives at a full queue is dropped.
///
/// It is the plain buffer of most devices. It signals congestion only by loss, when it is already full. Everything depends on `limit`: too short a
/// queue costs throughput, and too long a queue is bufferbloat, because TCP fills it. Use it as the baseline, with a limit of about one
/// bandwidth-delay product or much more. It does not distinguish flows, so one greedy flow delays all others.
///
/// A buffer of segmentation offload that does not fit is dropped as a whole, as in Linux. A limit in packets counts its segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub struct Params {
    /// Capacity of the queue, in packets, bytes or buffers.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Number of packets that one buffer holds if `limit` is in buffers. Consecutive segments that a TCP sender hands over together share a buffer.
    /// Every other packet occupies its own buffer.
    #[schemars(range(min = 1, max = 65_536))]
    pub segments_per_buffer: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            // Linux's txqueuelen and ns-3's FifoQueueDisc.
            limit: Limit::Packets(1000),
            segments_per_buffer: 1,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["pfifo", "bfifo", "FifoQueueDisc"];
    const SOURCE: &'static str = "tc-pfifo(8), tc-bfifo(8)";
    // tc-bfifo(8): the default is the device's txqueuelen, in packets or in frames of its MTU; Ethernet's are 1000 and 1514 B.
    const TC: &'static [Tc] = &[
        Tc {
            name: "pfifo",
            words: &[Word::same("limit", Form::PacketsAsSize).always()],
            required: &[],
            presets: &[],
        },
        Tc {
            name: "bfifo",
            words: &[Word::same("limit", Form::LimitBytes).always()],
            required: &[],
            presets: &[("limit", "\"1514000B\"")],
        },
    ];

    fn segments_in_buffer(&self) -> u32 {
        self.capacity().segments()
    }

    fn build<P: Packet>(&self, _context: Context) -> Box<dyn Qdisc<P>> {
        Box::new(Fifo::new(self.capacity()))
    }
}

impl Params {
    /// The capacity that both parameters give.
    pub(crate) fn capacity(&self) -> Capacity {
        Capacity::new(self.limit, self.segments_per_buffer)
    }
}

pub(crate) struct Fifo<P> {
    queue: Bounded<P>,
    /// The offload buffer that is arriving, if it was refused.
    refused: BufferDecision<()>,
}

impl<P: Packet> Fifo<P> {
    pub(crate) fn new(capacity: Capacity) -> Self {
        Self {
            queue: Bounded::new(capacity),
            refused: BufferDecision::new(()),
        }
    }

    /// The packet that leaves next.
    pub(crate) fn oldest(&self) -> Option<&P> {
        self.queue.ring().front()
    }

    /// Drops a packet by overflow, and those of its offload buffer that wait. What arrives later of the buffer is dropped, too.
    #[cold]
    fn refuse(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        self.queue.refuse(&packet);
        self.refused.note(&packet, ());
        packet.set_enqueued_at(now);
        sink.dropped(&packet, DropReason::Overflow);
        while let Some(earlier) = self.queue.take_back(&packet) {
            sink.dropped(&earlier, DropReason::Overflow);
            packet = earlier;
        }
    }
}

impl<P: Packet> Qdisc<P> for Fifo<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, packet: P, sink: &mut dyn Sink<P>) {
        if self.refused.of(&packet).is_none() && self.queue.fits(&packet) {
            self.refused.forget();
            self.queue.push(packet).set_enqueued_at(now);
        } else {
            self.refuse(now, packet, sink);
        }
    }

    #[inline]
    fn dequeue(&mut self, _now: Nanos, _sink: &mut dyn Sink<P>) -> Option<P> {
        self.queue.pop()
    }

    fn observes_idleness(&self) -> bool {
        false
    }

    fn tail_drop(&self) -> Option<Capacity> {
        self.queue.capacity().of_single_packets()
    }

    fn refuses(&self, packet: &P) -> bool {
        !self.queue.fits(packet)
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
