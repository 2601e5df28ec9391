//! Heavy-Hitter Filter (tc-hhf(8)): flows that send much share one queue. All other flows share a second one, which has priority and a larger share.

use bloatlab_units::{Bytes, Duration, Limit, MILLISECOND, Nanos, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::heavy_hitters::HeavyHitters;
use crate::list::{Linked, List};
use crate::ring::{Capacity, Ring};
use crate::slab::{FlowHash, NONE};
use crate::{
    Band, BufferDecision, Context, DropReason, Factory, Form, Packet, Qdisc, Sink, Slot, Tc, Word,
};

/// Heavy-Hitter Filter: detects the flows that send much, and keeps short flows out of their queue.
///
/// Four arrays of counters, each with a different hash, add up the bytes of flows over `reset_timeout`. A flow whose smallest counter exceeds
/// `admit_bytes` is a heavy hitter. There are two queues; the queue of all other flows has `non_hh_weight` times the share. Use it where short flows
/// and calls share a link of hundreds of Mbit/s with a few large flows. With the defaults, a flow is a heavy hitter only above 128 KiB in 40 ms,
/// which is 26 Mbit/s. On a slower link there is never a heavy hitter, and the queue behaves exactly as `head_drop` with the same `limit`. For such
/// links, choose a lower `admit_bytes`.
///
/// A flow that becomes a heavy hitter changes queues, and its packets may be reordered once.
///
/// A buffer of segmentation offload is one packet, as in Linux: it enters the queue of its first
/// segment and leaves whole, even if the deficit becomes negative. Limits count its segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Capacity of both queues together, in packets or bytes. Beyond it, the oldest packets are dropped, those of heavy hitters first.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Bytes that the queue of heavy hitters may send per turn.
    #[schemars(extend("x-minimum" = "256B", "x-maximum" = "1MiB"))]
    pub quantum: Bytes,
    /// Largest number of heavy hitters that are known at a time.
    #[schemars(range(min = 1, max = 65_536))]
    pub hh_limit: u32,
    /// How long bytes are counted before the counters are reset.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub reset_timeout: Duration,
    /// Bytes in one reset period above which a flow is a heavy hitter.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GiB"))]
    pub admit_bytes: Bytes,
    /// How long a heavy hitter must be idle to be forgotten.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub evict_timeout: Duration,
    /// The queue of the other flows may send this many times `quantum` per turn.
    #[schemars(range(min = 1, max = 1024))]
    pub non_hh_weight: u32,
}

impl Default for Params {
    fn default() -> Self {
        // tc-hhf(8).
        Self {
            limit: Limit::Packets(1000),
            quantum: Bytes(1514),
            hh_limit: 2048,
            reset_timeout: Duration(40 * MILLISECOND),
            admit_bytes: Bytes(128 << 10),
            evict_timeout: Duration(SECOND),
            non_hh_weight: 2,
        }
    }
}

impl Factory for Params {
    const SOURCE: &'static str = "tc-hhf(8); Estan and Varghese, New Directions in Traffic Measurement and Accounting, SIGCOMM 2002";
    const TC: &'static [Tc] = &[Tc {
        name: "hhf",
        words: &[
            Word::same("limit", Form::Packets),
            Word::same("quantum", Form::WholeBytes),
            Word::same("hh_limit", Form::Integer),
            Word::same("reset_timeout", Form::Time),
            Word::same("admit_bytes", Form::WholeBytes),
            Word::same("evict_timeout", Form::Time),
            Word::same("non_hh_weight", Form::Integer),
        ],
        required: &[],
        presets: &[],
    }];

    fn check(&self) -> Result<(), String> {
        Capacity::not_in_buffers(self.limit)
    }

    fn build<P: Packet>(&self, mut context: Context) -> Box<dyn Qdisc<P>> {
        let quantum = self.quantum.0 as i64;
        Box::new(Hhf {
            queues: [
                Queue::new(quantum * i64::from(self.non_hh_weight)),
                Queue::new(quantum),
            ],
            new: List::default(),
            old: List::default(),
            // All bits of the hash are used.
            hash: FlowHash::new(&mut context.rng, u32::MAX),
            filter: HeavyHitters::new(
                self.admit_bytes.0 as u32,
                self.reset_timeout.0,
                self.evict_timeout.0,
                self.hh_limit,
            ),
            capacity: Capacity::new(self.limit, 1),
            arriving: BufferDecision::new(OTHERS),
            sending: None,
            drop_overlimit: 0,
        })
    }
}

const OTHERS: usize = 0;
const HEAVY: usize = 1;

struct Queue<P> {
    ring: Ring<P>,
    /// Bytes per turn.
    quantum: i64,
    /// Bytes that it may still send in its turn.
    deficit: i64,
    next: u32,
    /// Whether it is in one of the two lists.
    listed: bool,
}

impl<P> Queue<P> {
    fn new(quantum: i64) -> Self {
        Self {
            ring: Ring::default(),
            quantum,
            deficit: 0,
            next: NONE,
            listed: false,
        }
    }
}

impl<P> Linked for Queue<P> {
    #[inline]
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }
}

struct Hhf<P> {
    queues: [Queue<P>; 2],
    new: List,
    old: List,
    hash: FlowHash,
    filter: HeavyHitters,
    capacity: Capacity,
    /// The queue of the offload buffer that is arriving. Its first packet decides.
    arriving: BufferDecision<usize>,
    /// The queue whose offload buffer is being sent.
    sending: Option<usize>,
    drop_overlimit: u64,
}

impl<P: Packet> Qdisc<P> for Hhf<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, packet: P, sink: &mut dyn Sink<P>) {
        let hash = self.hash.bits(packet.flow());
        let heavy = self.filter.heavy(now, hash, packet.size());
        let own = if heavy { HEAVY } else { OTHERS };
        let index = self.arriving.of(&packet).unwrap_or(own);
        let heavy = index == HEAVY;
        self.arriving.note(&packet, index);
        let queue = &mut self.queues[index];
        queue.ring.push(packet).set_enqueued_at(now);
        if !queue.listed {
            // As in fq_codel, a queue that was empty is served first. The queue of heavy hitters never is.
            queue.listed = true;
            queue.deficit = queue.quantum;
            let list = if heavy { &mut self.old } else { &mut self.new };
            list.push(&mut self.queues, index as u32);
        }
        while !self.capacity.holds(self.packets(), self.bytes()) {
            let [others, heavy] = &mut self.queues;
            let Some(oldest) = heavy.ring.pop().or_else(|| others.ring.pop()) else {
                break;
            };
            self.drop_overlimit += 1;
            sink.dropped(&oldest, DropReason::Overflow);
        }
    }

    #[inline]
    fn dequeue(&mut self, _now: Nanos, _sink: &mut dyn Sink<P>) -> Option<P> {
        if let Some(sending) = self.sending.take() {
            let queue = &mut self.queues[sending];
            if let Some(packet) = queue.ring.front().filter(|packet| packet.follows()) {
                queue.deficit -= i64::from(packet.size());
                self.sending = packet.has_more().then_some(sending);
                return queue.ring.pop();
            }
        }
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let current = list.first()?;
            let queue = &mut self.queues[current as usize];
            if queue.deficit <= 0 {
                queue.deficit += queue.quantum;
                list.pop(&mut self.queues);
                self.old.push(&mut self.queues, current);
                continue;
            }
            if let Some(packet) = queue.ring.front() {
                queue.deficit -= i64::from(packet.size());
                self.sending = packet.has_more().then_some(current as usize);
                return queue.ring.pop();
            }
            list.pop(&mut self.queues);
            if is_new {
                // It first moves to the old list, otherwise short flows could starve heavy hitters.
                self.old.push(&mut self.queues, current);
            } else {
                self.queues[current as usize].listed = false;
            }
        }
    }

    fn packets(&self) -> u64 {
        self.queues[OTHERS].ring.packets() + self.queues[HEAVY].ring.packets()
    }

    fn bytes(&self) -> u64 {
        self.queues[OTHERS].ring.bytes() + self.queues[HEAVY].ring.bytes()
    }

    fn contents(&self, visit: &mut dyn FnMut(Slot, &P)) {
        for (band, queue) in (0..).zip(&self.queues) {
            queue.ring.contents(Slot::band(band), visit);
        }
    }

    fn bands(&self) -> Vec<Band> {
        vec![Band::new("other flows", 1), Band::new("heavy hitters", 1)]
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("drop_overlimit", self.drop_overlimit as f64),
            ("hh_overlimit", self.filter.overlimit as f64),
            ("hh_tot_count", self.filter.total as f64),
            ("hh_cur_count", f64::from(self.filter.current)),
        ]
    }
}
