//! FQ-CoDel (RFC 8290): flows are hashed to queues, CoDel controls each queue, and deficit round robin serves them, new flows first.

use bloatlab_units::{Bytes, Duration, Limit, MILLISECOND, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::codel::{CodelController, CodelState, Head, Stats};
use crate::flow_scheduler::{FlowScheduler, ScheduledFlow, Turn};
use crate::longest::Longest;
use crate::ring::Capacity;
use crate::slab::{Chain, FlowHash, Slab};
use crate::{Band, Context, DropReason, Factory, Form, Packet, Qdisc, Sink, Slot, Tc, Word};

/// Flow Queue CoDel: one queue per flow, served by deficit round robin with sparse flows first, each controlled by CoDel.
///
/// Flows are hashed to `flows` queues. A queue that becomes active is served before the old ones for one `quantum`. Therefore calls, queries and the
/// first packets of a page hardly wait. All other queues take turns of `quantum` bytes. CoDel drops in each queue separately, and an overflow drops
/// from the queue with the most bytes. Use it as the default at any bottleneck. A bulk flow has the delay of CoDel, and very slow links need a larger
/// `target`. Two flows with the same hash share one queue.
///
/// A buffer of segmentation offload is one packet, as in Linux: it is forwarded, marked or dropped as a
/// whole, and leaves whole, even if the deficit becomes negative. Limits count its segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Capacity of all queues together, in packets or bytes. Beyond it, packets are dropped from the head of the longest queue.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Capacity of all queues together in bytes on the wire (Linux counts the memory of socket buffers).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GiB"))]
    pub memory_limit: Bytes,
    /// Number of queues that flows are hashed to.
    #[schemars(range(min = 1, max = 65_536))]
    pub flows: u32,
    /// Bytes that a queue may send per turn.
    #[schemars(extend("x-minimum" = "256B", "x-maximum" = "1MiB"))]
    pub quantum: Bytes,
    /// Acceptable sojourn time. Longer sojourn times are tolerated for up to one interval.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub target: Duration,
    /// How long the sojourn time may stay above the target. It should exceed the RTT of most connections.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub interval: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Mark every ECN-capable packet whose sojourn time exceeds this. If absent, this rule is off.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1h"))]
    pub ce_threshold: Option<Duration>,
    /// Largest number of packets dropped at once from the longest queue when the limit is exceeded.
    #[schemars(range(min = 1, max = 65_536))]
    pub drop_batch: u32,
}

impl Default for Params {
    fn default() -> Self {
        // RFC 8290 section 5.2; memory_limit and drop_batch as in tc-fq_codel(8).
        Self {
            limit: Limit::Packets(10_240),
            memory_limit: Bytes(32 << 20),
            flows: 1024,
            quantum: Bytes(1514),
            target: Duration(5 * MILLISECOND),
            interval: Duration(100 * MILLISECOND),
            ecn: true,
            ce_threshold: None,
            drop_batch: 64,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["FqCoDelQueueDisc"];
    const SOURCE: &'static str = "RFC 8290; memory_limit and drop_batch as in tc-fq_codel(8)";
    const TC: &'static [Tc] = &[Tc {
        name: "fq_codel",
        words: &[
            Word::same("limit", Form::Packets),
            Word::same("flows", Form::Integer),
            // tc-fq_codel(8): the default is the device's MTU with its header; Ethernet's is 1514 B.
            Word::same("quantum", Form::WholeBytes),
            Word::same("target", Form::Time),
            Word::same("interval", Form::Time),
            Word::same("memory_limit", Form::Size),
            Word::same("ecn", Form::Flag("true")),
            Word::new("noecn", "ecn", Form::Flag("false")),
            Word::same("ce_threshold", Form::Time),
            Word::new(
                "ce_threshold_selector",
                "",
                Form::Refused("`ce_threshold` applies to every packet"),
            ),
            Word::same("drop_batch", Form::Integer),
        ],
        required: &[],
        presets: &[],
    }];

    fn check(&self) -> Result<(), String> {
        Capacity::not_in_buffers(self.limit)
    }

    fn build<P: Packet>(&self, mut context: Context) -> Box<dyn Qdisc<P>> {
        let memory = Capacity::new(Limit::Bytes(self.memory_limit.0), 1);
        let flow = Flow {
            chain: Chain::default(),
            turn: Turn::new(0),
            listed: false,
            state: CodelState::default(),
        };
        Box::new(FqCodel {
            slab: Slab::default(),
            flows: vec![flow; self.flows as usize],
            backlogs: vec![0; self.flows as usize],
            fattest: Longest::new(self.flows as usize),
            scheduler: FlowScheduler::new(self.quantum.0 as i32),
            hash: FlowHash::new(&mut context.rng, self.flows),
            room: Capacity::new(self.limit, 1).and(memory),
            memory,
            drop_batch: self.drop_batch,
            controller: CodelController::new(
                self.target,
                self.interval,
                context.mtu,
                self.ecn,
                self.ce_threshold,
            ),
            stats: Stats::default(),
            new_flow_count: 0,
            drop_overmemory: 0,
        })
    }
}

/// One queue. It occupies one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Flow {
    chain: Chain,
    turn: Turn,
    /// Whether it is in one of the two lists.
    listed: bool,
    state: CodelState,
}

impl ScheduledFlow for Flow {
    #[inline]
    fn turn(&mut self) -> &mut Turn {
        &mut self.turn
    }
}

struct FqCodel<P> {
    slab: Slab<P>,
    flows: Vec<Flow>,
    /// Bytes in each queue. They are stored separately, because the search for the longest queue reads nothing else.
    backlogs: Vec<u64>,
    fattest: Longest,
    scheduler: FlowScheduler,
    hash: FlowHash,
    /// The capacity given by `limit` and `memory_limit`.
    room: Capacity,
    memory: Capacity,
    drop_batch: u32,
    controller: CodelController,
    stats: Stats,
    new_flow_count: u64,
    drop_overmemory: u64,
}

impl<P: Packet> FqCodel<P> {
    /// Drops packets until the limits hold.
    #[cold]
    fn make_room(&mut self, sink: &mut dyn Sink<P>) {
        let fits_memory = self.memory.holds(self.slab.packets(), self.slab.bytes());
        self.drop_overmemory += u64::from(!fits_memory);
        while !self.room.holds(self.slab.packets(), self.slab.bytes()) {
            self.cut_fattest(sink);
        }
    }

    /// RFC 8290 section 4.1: drops packets from the head of the queue with the most bytes, up to half of its bytes or `drop_batch` packets.
    fn cut_fattest(&mut self, sink: &mut dyn Sink<P>) {
        let fattest = self.fattest.find(|queue| self.backlogs[queue]);
        let most = self.backlogs[fattest];
        let mut dropped = 0;
        while dropped < self.drop_batch {
            let Some(packet) = self.slab.pop(&mut self.flows[fattest].chain) else {
                break;
            };
            dropped += 1;
            self.backlogs[fattest] -= u64::from(packet.size());
            sink.dropped(&packet, DropReason::Overflow);
            if packet.has_more() {
                self.drop_rest(fattest, sink);
            }
            if self.backlogs[fattest] <= most / 2 {
                break;
            }
        }
        self.flows[fattest].state.add_signals(dropped);
        self.stats.drop_overlimit += u64::from(dropped);
    }

    /// Drops the rest of an offload buffer at the head of a queue.
    fn drop_rest(&mut self, queue: usize, sink: &mut dyn Sink<P>) {
        let chain = &mut self.flows[queue].chain;
        while self.slab.follows(chain) {
            let Some(packet) = self.slab.pop(chain) else {
                break;
            };
            self.backlogs[queue] -= u64::from(packet.size());
            sink.dropped(&packet, DropReason::Overflow);
            if !packet.has_more() {
                break;
            }
        }
    }
}

/// One queue as CoDel sees it. As in Linux, the backlog is that of all queues; in RFC 8290 section 4.2 it is that of this queue.
struct SubQueue<'a, P> {
    slab: &'a mut Slab<P>,
    chain: &'a mut Chain,
    backlog: &'a mut u64,
    /// Size of the last packet taken.
    taken: u32,
    /// Whether its offload buffer has more packets.
    has_more: bool,
}

impl<P: Packet> Head<P> for SubQueue<'_, P> {
    #[inline]
    fn head(&mut self) -> Option<(&mut P, u64)> {
        let bytes = self.slab.bytes();
        let packet = self.slab.front_mut(self.chain)?;
        Some((packet, bytes))
    }

    #[inline]
    fn pop(&mut self) -> Option<P> {
        let packet = self.slab.pop(self.chain)?;
        self.taken = packet.size();
        self.has_more = packet.has_more();
        *self.backlog -= u64::from(self.taken);
        Some(packet)
    }
}

impl<P: Packet> Qdisc<P> for FqCodel<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, packet: P, sink: &mut dyn Sink<P>) {
        let (size, index) = (packet.size(), self.hash.queue(packet.flow()));
        let flow = &mut self.flows[index];
        self.slab.push(&mut flow.chain, packet).set_enqueued_at(now);
        self.backlogs[index] += u64::from(size);
        self.fattest.arrived(index, || self.backlogs[index]);
        if !flow.listed {
            // RFC 8290 section 4.1: a queue that was empty is new, and starts with a full quantum.
            flow.listed = true;
            flow.turn.deficit = self.scheduler.quantum();
            self.new_flow_count += 1;
            self.scheduler.begin(&mut self.flows, index as u32);
        }
        if !self.room.holds(self.slab.packets(), self.slab.bytes()) {
            self.make_room(sink);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, sink: &mut dyn Sink<P>) -> Option<P> {
        let mut continued = self.scheduler.continued();
        loop {
            let current = match continued.take() {
                Some(sending) if self.slab.follows(&self.flows[sending as usize].chain) => sending,
                _ => self.scheduler.current(&mut self.flows)?,
            };
            let index = current as usize;
            let flow = &mut self.flows[index];
            let mut queue = SubQueue {
                slab: &mut self.slab,
                chain: &mut flow.chain,
                backlog: &mut self.backlogs[index],
                taken: 0,
                has_more: false,
            };
            let packet =
                self.controller
                    .dequeue(&mut flow.state, &mut self.stats, now, sink, &mut queue);
            if packet.is_some() {
                flow.turn.deficit -= queue.taken as i32;
                self.scheduler.sent(current, queue.has_more);
                return packet;
            }
            if self.scheduler.is_over(&mut self.flows, current) {
                self.flows[index].listed = false;
            }
        }
    }

    fn packets(&self) -> u64 {
        self.slab.packets()
    }

    fn bytes(&self) -> u64 {
        self.slab.bytes()
    }

    fn contents(&self, visit: &mut dyn FnMut(Slot, &P)) {
        let chains = self.flows.iter().map(|flow| &flow.chain);
        self.slab.contents(0, chains, visit);
    }

    fn bands(&self) -> Vec<Band> {
        Band::single(self.flows.len() as u32)
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("new_flow_count", self.new_flow_count as f64),
            ("new_flows_len", f64::from(self.scheduler.new_len())),
            ("old_flows_len", f64::from(self.scheduler.old_len())),
            ("drop_count", self.stats.drop_count as f64),
            ("drop_overlimit", self.stats.drop_overlimit as f64),
            ("drop_overmemory", self.drop_overmemory as f64),
            ("ecn_mark", self.stats.ecn_mark as f64),
            ("ce_mark", self.stats.ce_mark as f64),
            ("memory_used", self.slab.bytes() as f64),
        ]
    }
}
