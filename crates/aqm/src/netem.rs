//! Delays every packet in the queue, as Linux's network emulator does.

use bloatlab_units::{Duration, Limit, MILLISECOND, NEVER, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fifo::Fifo;
use crate::ring::Capacity;
use crate::{Context, Factory, Form, Packet, Qdisc, Sink, Slot, Tc, Word};

/// First in, first out; every packet waits for at least `delay`.
///
/// It is Linux's network emulator with a constant delay and nothing else. Delayed packets count in `limit`, and time spent in a standing queue counts
/// as delay. A link of Mininet with a delay and `max_queue_size` is this queue inside `htb`. The delay of a link or of a delay box comes after its
/// queue and holds no place in it; prefer it for everything but a copy of such a set-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Capacity of the queue, in packets, bytes or buffers. Linux counts buffers.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Number of packets that one buffer holds if `limit` is in buffers, as in `fifo`.
    #[schemars(range(min = 1, max = 65_536))]
    pub segments_per_buffer: u32,
    /// Shortest time that a packet stays.
    #[schemars(extend("x-maximum" = "1h"))]
    pub delay: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            limit: Limit::Packets(1000),
            segments_per_buffer: 1,
            delay: Duration(MILLISECOND),
        }
    }
}

impl Factory for Params {
    const SOURCE: &'static str = "tc-netem(8)";
    const TC: &'static [Tc] = &[Tc {
        name: "netem",
        words: &[
            Word::same("limit", Form::PacketsAsSize),
            Word::same("delay", Form::Time).always(),
        ],
        required: &[],
        presets: &[("delay", "\"0s\"")],
    }];

    fn segments_in_buffer(&self) -> u32 {
        self.capacity().segments()
    }

    fn delay(&self) -> Nanos {
        self.delay.0
    }

    fn build<P: Packet>(&self, _context: Context) -> Box<dyn Qdisc<P>> {
        Box::new(Netem {
            fifo: Fifo::new(self.capacity()),
            delay: self.delay.0,
            inside_buffer: false,
            resume: NEVER,
        })
    }
}

impl Params {
    fn capacity(&self) -> Capacity {
        Capacity::new(self.limit, self.segments_per_buffer)
    }
}

struct Netem<P> {
    fifo: Fifo<P>,
    delay: Nanos,
    /// Whether the offload buffer of the last packet has more packets, which follow at once.
    inside_buffer: bool,
    /// When the oldest packet may leave, if it was asked for too early.
    resume: Nanos,
}

impl<P: Packet> Qdisc<P> for Netem<P> {
    fn enqueue(&mut self, now: Nanos, packet: P, sink: &mut dyn Sink<P>) {
        self.fifo.enqueue(now, packet, sink);
    }

    fn dequeue(&mut self, now: Nanos, sink: &mut dyn Sink<P>) -> Option<P> {
        self.resume = NEVER;
        let due = self.fifo.oldest()?.enqueued_at().saturating_add(self.delay);
        if due > now && !self.inside_buffer {
            self.resume = due;
            return None;
        }
        let packet = self.fifo.dequeue(now, sink)?;
        self.inside_buffer = packet.has_more();
        Some(packet)
    }

    fn observes_idleness(&self) -> bool {
        false
    }

    fn is_work_conserving(&self) -> bool {
        false
    }

    fn refuses(&self, packet: &P) -> bool {
        self.fifo.refuses(packet)
    }

    fn packets(&self) -> u64 {
        self.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }

    fn contents(&self, visit: &mut dyn FnMut(Slot, &P)) {
        self.fifo.contents(visit);
    }

    fn next_wake(&self) -> Option<Nanos> {
        Some(self.resume).filter(|&at| at != NEVER)
    }

    fn wake(&mut self, now: Nanos) {
        if self.resume <= now {
            self.resume = NEVER;
        }
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        self.fifo.stats()
    }
}
