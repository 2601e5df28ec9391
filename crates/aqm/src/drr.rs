//! Deficit round robin (Shreedhar and Varghese 1995): queues take turns, and each sends equally many bytes.

use bloatlab_units::{Bytes, Limit, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::classifier::{Classes, Classifier};
use crate::list::{Linked, List};
use crate::ring::Capacity;
use crate::slab::{Chain, NONE, Slab};
use crate::{
    Band, Context, DropReason, Factory, Form, Packet, PerFlow, Qdisc, Sink, Slot, Tc, Word,
};

/// Deficit Round Robin: one queue per flow, served in turn by bytes. On overflow, the longest queue loses packets.
///
/// Each turn adds `quantum` bytes to the deficit of a queue, and the queue sends while the deficit is large enough. The rest is kept for the next
/// turn. So flows share the link by bytes, whatever the sizes of their packets, at constant cost per packet. Use it for the effect of fair queueing
/// alone, without an AQM algorithm that keeps queues short. Flows with the same hash share a queue, and the delay of a greedy flow is that of a full
/// buffer.
///
/// As in ns-2: `limit` 25000B, `buckets` 10, `quantum` 250B, `classifier` source. Linux's `drr` has what its user sets up: here, a class with a FIFO
/// for each of the `buckets`, and a filter that hashes the flow of each packet. It has no limit of all queues together, so it needs a `flow_limit`, such
/// as 100p, and a `limit` of at least `buckets` times that.
///
/// A buffer of segmentation offload is one packet, as in Linux: it leaves whole, even if the deficit
/// becomes negative. Limits count its segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Capacity of all queues together, in packets or bytes. Beyond it, the queue with the most bytes loses its oldest packets.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Capacity of one queue, in packets or bytes. Packets beyond it are dropped on arrival. If absent, only `limit` applies.
    #[schemars(extend("x-minimum" = "1p"))]
    pub flow_limit: Option<Limit>,
    /// Number of queues.
    #[schemars(range(min = 1, max = 65_536))]
    pub buckets: u32,
    /// Bytes that a queue may send per turn. What it does not use is kept for its next turn while it holds packets.
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "1MiB"))]
    pub quantum: Bytes,
    /// What decides the queue of a packet.
    pub classifier: Classifier,
}

impl Default for Params {
    fn default() -> Self {
        // The source gives no values, and ns-2's (10 queues, 25 kB) suit its time. The number of queues is that of fq_codel, and the limit is that of
        // Linux's FIFO. With a quantum of a full packet, every visit serves a queue (section 4.1: work O(1)).
        Self {
            limit: Limit::Packets(1000),
            flow_limit: None,
            buckets: 1024,
            quantum: Bytes(1514),
            classifier: Classifier::Flow,
        }
    }
}

impl Factory for Params {
    const SOURCE: &'static str = "Shreedhar and Varghese, Efficient Fair Queuing using Deficit Round Robin, SIGCOMM 1995; limits as in ns-2 and Linux";
    const TC: &'static [Tc] = &[Tc {
        name: "drr",
        words: &[
            Word::same("quantum", Form::Size).of_class().always(),
            Word::new("", "buckets", Form::PerFlow(&CLASSES)),
        ],
        required: &[],
        presets: &[],
    }];

    fn check(&self) -> Result<(), String> {
        Capacity::not_in_buffers(self.limit)?;
        self.flow_limit.map_or(Ok(()), |limit| {
            Capacity::not_in_buffers(limit).map_err(|message| format!("flow_{message}"))
        })
    }

    fn build<P: Packet>(&self, mut context: Context) -> Box<dyn Qdisc<P>> {
        Box::new(Drr {
            slab: Slab::default(),
            queues: vec![Queue::default(); self.buckets as usize],
            backlogs: vec![0; self.buckets as usize],
            active: List::default(),
            classes: Classes::new(self.classifier, &mut context, self.buckets),
            quantum: self.quantum.0 as i64,
            limit: Capacity::new(self.limit, 1),
            flow_limit: Capacity::new(self.flow_limit.unwrap_or(Limit::Packets(u64::MAX)), 1),
            sending: NONE,
            drop_overlimit: 0,
            drop_flow_limit: 0,
        })
    }
}

/// Linux's `drr` has what its user sets up. This is what `Classifier` hashes, in the words of tc-flow(8).
const CLASSES: PerFlow = PerFlow {
    number: "buckets",
    keys: (
        "classifier",
        &[
            ("flow", "src,dst,proto,proto-src,proto-dst"),
            ("source", "src"),
        ],
    ),
    each: "flow_limit",
    all: "limit",
};

#[derive(Clone, Debug)]
struct Queue {
    chain: Chain,
    /// The next queue of the round.
    next: u32,
    packets: u32,
    /// Bytes that it may still send in its turn.
    deficit: i64,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            chain: Chain::default(),
            next: NONE,
            packets: 0,
            deficit: 0,
        }
    }
}

impl Linked for Queue {
    #[inline]
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }
}

struct Drr<P> {
    slab: Slab<P>,
    queues: Vec<Queue>,
    /// Bytes in each queue. They are stored separately, because the search for the longest queue reads nothing else.
    backlogs: Vec<u64>,
    /// The queues that hold packets, in the order of their turns.
    active: List,
    classes: Classes,
    quantum: i64,
    limit: Capacity,
    flow_limit: Capacity,
    /// The queue whose offload buffer is being sent; [`NONE`] if there is none.
    sending: u32,
    drop_overlimit: u64,
    drop_flow_limit: u64,
}

impl<P: Packet> Drr<P> {
    /// Removes and returns the oldest packet of a queue. A queue that becomes empty leaves the round.
    #[inline]
    fn take(&mut self, place: u32) -> Option<P> {
        let queue = &mut self.queues[place as usize];
        self.backlogs[place as usize] -= u64::from(self.slab.front(&queue.chain)?.size());
        let packet = self.slab.pop(&mut queue.chain);
        queue.packets -= 1;
        if queue.packets == 0 {
            self.active.remove(&mut self.queues, place);
        }
        packet
    }

    /// Shreedhar and Varghese, section 4: McKenney's buffer stealing. As in ns-2, the queue with the most bytes loses its oldest packet.
    #[cold]
    fn cut_longest(&mut self, sink: &mut dyn Sink<P>) {
        let most = self.backlogs.iter().copied().max().unwrap_or(0);
        let longest = self.backlogs.iter().position(|&backlog| backlog == most);
        if let Some(packet) = longest.and_then(|longest| self.take(longest as u32)) {
            self.drop_overlimit += 1;
            sink.dropped(&packet, DropReason::Overflow);
        }
    }
}

impl<P: Packet> Qdisc<P> for Drr<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        let (size, place) = (packet.size(), self.classes.queue(&packet));
        let queue = &mut self.queues[place];
        let backlog = &mut self.backlogs[place];
        if !self
            .flow_limit
            .fits(u64::from(queue.packets), *backlog, size)
        {
            packet.set_enqueued_at(now);
            self.drop_flow_limit += 1;
            sink.dropped(&packet, DropReason::Overflow);
            return;
        }
        self.slab
            .push(&mut queue.chain, packet)
            .set_enqueued_at(now);
        *backlog += u64::from(size);
        queue.packets += 1;
        if queue.packets == 1 {
            queue.deficit = self.quantum;
            self.active.push(&mut self.queues, place as u32);
        }
        while !self.limit.holds(self.slab.packets(), self.slab.bytes()) {
            self.cut_longest(sink);
        }
    }

    #[inline]
    fn dequeue(&mut self, _now: Nanos, _sink: &mut dyn Sink<P>) -> Option<P> {
        let sending = std::mem::replace(&mut self.sending, NONE);
        loop {
            let current = self.active.first()?;
            let queue = &mut self.queues[current as usize];
            let packet = self.slab.front(&queue.chain)?;
            let (size, has_more) = (i64::from(packet.size()), packet.has_more());
            // The rest of a buffer leaves at once. The queue being served is the first one, unless it lost its packets meanwhile.
            if size <= queue.deficit || (current == sending && packet.follows()) {
                queue.deficit -= size;
                self.sending = if has_more { current } else { NONE };
                return self.take(current);
            }
            // Shreedhar and Varghese, section 3: its turn ends. The next turn starts with the rest of the deficit and a quantum.
            queue.deficit += self.quantum;
            self.active.pop(&mut self.queues);
            self.active.push(&mut self.queues, current);
        }
    }

    fn packets(&self) -> u64 {
        self.slab.packets()
    }

    fn bytes(&self) -> u64 {
        self.slab.bytes()
    }

    fn contents(&self, visit: &mut dyn FnMut(Slot, &P)) {
        let chains = self.queues.iter().map(|queue| &queue.chain);
        self.slab.contents(0, chains, visit);
    }

    fn bands(&self) -> Vec<Band> {
        Band::single(self.queues.len() as u32)
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("active", f64::from(self.active.len())),
            ("drop_overlimit", self.drop_overlimit as f64),
            ("drop_flow_limit", self.drop_flow_limit as f64),
        ]
    }
}
