//! First in, first out: what arrives at a full queue is dropped.

use bloatlab_units::{Limit, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ring::{Bounded, Capacity};
use crate::{Algorithm, Context, DropReason, Form, Packet, Qdisc, Sink, Tc, Word};

/// First in, first out; a packet that finds the queue full is dropped.
///
/// It is the plain buffer of most devices: it signals only by loss, when it is already full. `limit` decides everything: too short costs
/// throughput, too long is bufferbloat, because TCP fills whatever there is. Use it as the case to compare others with, at about one
/// bandwidth-delay product or much more. It has no notion of flows, so one greedy flow delays all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How much the queue holds, in packets, bytes or buffers.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Packets that one buffer holds when `limit` is in buffers: segments that a TCP sender hands over together, one after the other;
    /// anything else has a buffer of its own.
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

impl Algorithm for Params {
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

    fn build<P: Packet>(&self, _context: Context) -> Box<dyn Qdisc<P>> {
        Box::new(Fifo {
            queue: Bounded::new(Capacity::new(self.limit, self.segments_per_buffer)),
        })
    }
}

struct Fifo<P> {
    queue: Bounded<P>,
}

impl<P: Packet> Qdisc<P> for Fifo<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        if self.queue.fits(&packet) {
            self.queue.push(packet).set_enqueued_at(now);
        } else {
            self.queue.refuse(&packet);
            packet.set_enqueued_at(now);
            sink.dropped(&packet, DropReason::Overflow);
        }
    }

    #[inline]
    fn dequeue(&mut self, _now: Nanos, _sink: &mut dyn Sink<P>) -> Option<P> {
        self.queue.pop()
    }

    fn heeds_idleness(&self) -> bool {
        false
    }

    fn tail_drop(&self) -> Option<Capacity> {
        self.queue.capacity().of_single_packets()
    }

    fn packets(&self) -> u64 {
        self.queue.ring().packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.ring().bytes()
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![("buffers", self.queue.buffers() as f64)]
    }
}
