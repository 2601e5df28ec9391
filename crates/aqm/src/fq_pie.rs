//! FQ-PIE: flows are hashed to queues, PIE controls each queue, and deficit round robin serves them, new flows first.

use bloatlab_units::{Bytes, Duration, Limit, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::departure_rate::DepartureRate;
use crate::flow_scheduler::{FlowScheduler, ScheduledFlow, Turn};
use crate::pie::{self, PieController, PieState};
use crate::ring::Capacity;
use crate::slab::{Chain, FlowHash, NONE, Slab};
use crate::tc::{Form, Word};
use crate::{
    Band, BufferDecision, Context, DropReason, Ecn, Factory, Packet, Qdisc, Sink, Slot, Tc,
    Verdict, mark,
};

/// Flow Queue PIE: one queue per flow, served by deficit round robin with sparse flows first, each controlled by PIE.
///
/// It schedules flows as `fq_codel` does, but each queue drops or marks arrivals at random with PIE's probability, which is computed from the delay
/// of that queue. Above `ecn_prob`, it drops packets instead of marking them. Use it to compare two AQM algorithms with the same scheduler. The
/// probability needs several `tupdate`s to rise, so a new flow's burst stays in its queue longer than with CoDel.
///
/// A buffer of segmentation offload is one packet, as in Linux: it is forwarded, marked or dropped as a
/// whole, and leaves whole, even if the deficit becomes negative. Limits count its segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Capacity of all queues together, in packets or bytes. Packets beyond it are dropped on arrival.
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
    /// Target queueing delay.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub target: Duration,
    /// Time between two computations of the drop probabilities.
    #[schemars(extend("x-minimum" = "10us", "x-maximum" = "1h"))]
    pub tupdate: Duration,
    /// Weight of the difference between delay and target, per second (tc writes 16 times this value).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub alpha: f64,
    /// Weight of the change of the delay, per second (tc writes 16 times this value).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub beta: f64,
    /// Mark ECN-capable packets instead of dropping them, while the probability of their queue is at most `ecn_prob`.
    pub ecn: bool,
    /// Drop probability above which ECN-capable packets are dropped, too (tc writes it in percent).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ecn_prob: f64,
    /// Scale the drop probability of small packets by their size.
    pub bytemode: bool,
    /// Estimate the delay from the departure rate of each queue by Little's controller, instead of from timestamps.
    pub dq_rate_estimator: bool,
}

impl Default for Params {
    fn default() -> Self {
        let pie = pie::Params::default();
        Self {
            // tc-fq_pie(8).
            limit: Limit::Packets(10_240),
            memory_limit: Bytes(32 << 20),
            flows: 1024,
            quantum: Bytes(1514),
            target: pie.target,
            tupdate: pie.tupdate,
            alpha: pie.alpha,
            beta: pie.beta,
            ecn: pie.ecn,
            ecn_prob: pie.mark_ecnth,
            bytemode: pie.bytemode,
            dq_rate_estimator: pie.dq_rate_estimator,
        }
    }
}

impl Factory for Params {
    const SOURCE: &'static str = "tc-fq_pie(8), as in Linux 5.6; PIE of RFC 8033";
    const TC: &'static [Tc] = &[Tc {
        name: "fq_pie",
        words: &[
            Word::same("limit", Form::Packets),
            Word::same("flows", Form::Integer),
            Word::same("target", Form::Time),
            Word::same("tupdate", Form::Time),
            Word::same("alpha", Form::Whole(16.0, 32)),
            Word::same("beta", Form::Whole(16.0, 32)),
            Word::same("quantum", Form::Size),
            Word::same("memory_limit", Form::Size),
            Word::same("ecn_prob", Form::Whole(100.0, 100)),
            Word::new("ecn", "ecn", Form::Flag("true")),
            Word::new("noecn", "ecn", Form::Flag("false")),
            Word::new("bytemode", "bytemode", Form::Flag("true")),
            Word::new("nobytemode", "bytemode", Form::Flag("false")),
            Word::new("dq_rate_estimator", "dq_rate_estimator", Form::Flag("true")),
            Word::new(
                "no_dq_rate_estimator",
                "dq_rate_estimator",
                Form::Flag("false"),
            ),
        ],
        required: &[],
        presets: &[],
    }];

    fn check(&self) -> Result<(), String> {
        Capacity::not_in_buffers(self.limit)
    }

    fn build<P: Packet>(&self, mut context: Context) -> Box<dyn Qdisc<P>> {
        let pie = pie::Params {
            target: self.target,
            tupdate: self.tupdate,
            alpha: self.alpha,
            beta: self.beta,
            ecn: self.ecn,
            mark_ecnth: self.ecn_prob,
            bytemode: self.bytemode,
            ..pie::Params::default()
        };
        let flow = Flow {
            chain: Chain::default(),
            turn: Turn::new(0),
            listed: false,
            stirred: false,
            backlog: 0,
            state: PieState::new(&pie),
        };
        let count = self.flows as usize;
        let limit = Capacity::new(self.limit, 1);
        let estimated = if self.dq_rate_estimator { count } else { 0 };
        Box::new(FqPie {
            slab: Slab::default(),
            flows: vec![flow; count],
            rates: vec![DepartureRate::default(); estimated],
            stirred: Bag::new(count),
            scheduler: FlowScheduler::new(self.quantum.0 as i32),
            hash: FlowHash::new(&mut context.rng, self.flows),
            limit,
            room: limit.and(Capacity::new(Limit::Bytes(self.memory_limit.0), 1)),
            controller: PieController::new(&pie, context.mtu).winding_up(),
            tupdate: self.tupdate.0,
            next_update: self.tupdate.0,
            rng: context.rng,
            stats: Stats::default(),
            buffer: BufferDecision::new(Verdict::Forward),
        })
    }
}

/// One queue. It occupies one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Flow {
    chain: Chain,
    turn: Turn,
    /// Backlog in bytes. `memory_limit` keeps it below 2^30.
    backlog: u32,
    /// Whether it is in one of the two lists.
    listed: bool,
    /// Whether it is among the flows that updates may change.
    stirred: bool,
    state: PieState,
}

impl ScheduledFlow for Flow {
    #[inline]
    fn turn(&mut self) -> &mut Turn {
        &mut self.turn
    }
}

/// An unordered set of flows.
struct Bag {
    places: Vec<u32>,
    len: usize,
}

impl Bag {
    /// Creates a set with space for all flows and for one more, which `add_if` writes without need.
    fn new(flows: usize) -> Self {
        Self {
            places: vec![NONE; flows + 1],
            len: 0,
        }
    }

    /// Adds a flow if `wanted`, without a branch.
    #[inline]
    fn add_if(&mut self, place: u32, wanted: bool) {
        self.places[self.len] = place;
        self.len += usize::from(wanted);
    }

    /// Visits all flows and keeps those for which `stay` returns true, without a branch.
    fn retain(&mut self, mut stay: impl FnMut(u32) -> bool) {
        for at in 0..std::mem::take(&mut self.len) {
            let place = self.places[at];
            self.add_if(place, stay(place));
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Stats {
    pkts_in: u64,
    dropped: u64,
    overlimit: u64,
    overmemory: u64,
    ecn_mark: u64,
    new_flow_count: u64,
}

struct FqPie<P> {
    slab: Slab<P>,
    flows: Vec<Flow>,
    /// One per flow, or empty if delays come from timestamps.
    rates: Vec<DepartureRate>,
    /// The flows whose state is not settled. Only these are updated.
    stirred: Bag,
    scheduler: FlowScheduler,
    hash: FlowHash,
    limit: Capacity,
    /// The capacity given by `limit` and `memory_limit`.
    room: Capacity,
    controller: PieController,
    tupdate: Nanos,
    next_update: Nanos,
    rng: Rng,
    stats: Stats,
    /// The decision about the offload buffer that is arriving.
    buffer: BufferDecision<Verdict>,
}

impl<P: Packet> FqPie<P> {
    /// Drops a packet because the queue is full.
    #[cold]
    fn overflow(&mut self, now: Nanos, place: usize, mut packet: P, sink: &mut dyn Sink<P>) {
        let (packets, bytes) = (self.slab.packets(), self.slab.bytes());
        let fits = self.limit.fits(packets, bytes, packet.size());
        self.stats.overlimit += u64::from(!fits);
        self.stats.overmemory += u64::from(fits);
        self.flows[place].state.overflowed();
        self.buffer.note(&packet, Verdict::Drop);
        packet.set_enqueued_at(now);
        sink.dropped(&packet, DropReason::Overflow);
    }

    /// Drops a packet because PIE decided so.
    #[cold]
    fn refuse(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        self.stats.dropped += u64::from(self.buffer.of(&packet).is_none());
        self.buffer.note(&packet, Verdict::Drop);
        packet.set_enqueued_at(now);
        sink.dropped(&packet, DropReason::Aqm);
    }
}

impl<P: Packet> Qdisc<P> for FqPie<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, packet: P, sink: &mut dyn Sink<P>) {
        let (packets, bytes, size) = (self.slab.packets(), self.slab.bytes(), packet.size());
        let place = self.hash.queue(packet.flow());
        let flow = &mut self.flows[place];
        if !self.room.fits(packets, bytes, size) {
            return self.overflow(now, place, packet, sink);
        }
        let backlog = u64::from(flow.backlog);
        let earlier = self.buffer.of(&packet);
        let verdict = earlier.unwrap_or_else(|| {
            self.controller
                .judge(&mut flow.state, backlog, size, &mut self.rng)
        });
        if verdict == Verdict::Drop || (verdict == Verdict::Mark && packet.ecn() == Ecn::NotEct) {
            return self.refuse(now, packet, sink);
        }
        self.stats.pkts_in += 1;
        flow.backlog += size;
        let stored = self.slab.push(&mut flow.chain, packet);
        stored.set_enqueued_at(now);
        self.buffer.note(stored, verdict);
        if verdict == Verdict::Mark && mark(stored) {
            self.stats.ecn_mark += u64::from(earlier.is_none());
            sink.marked(stored);
        }
        if !flow.listed {
            flow.listed = true;
            flow.turn.deficit = self.scheduler.quantum();
            self.stirred.add_if(place as u32, !flow.stirred);
            flow.stirred = true;
            self.stats.new_flow_count += 1;
            self.scheduler.begin(&mut self.flows, place as u32);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, _sink: &mut dyn Sink<P>) -> Option<P> {
        let mut continued = self.scheduler.continued();
        loop {
            let current = match continued.take() {
                Some(sending) if self.slab.follows(&self.flows[sending as usize].chain) => sending,
                _ => self.scheduler.current(&mut self.flows)?,
            };
            let place = current as usize;
            let flow = &mut self.flows[place];
            if let Some(packet) = self.slab.front(&flow.chain) {
                let (size, sojourn) = (packet.size(), now.saturating_sub(packet.enqueued_at()));
                flow.turn.deficit -= size as i32;
                self.scheduler.sent(current, packet.has_more());
                flow.backlog -= size;
                match self.rates.get_mut(place) {
                    Some(rate) => rate.departed(now, packet, u64::from(flow.backlog)),
                    None => flow.state.departed(sojourn, u64::from(flow.backlog)),
                }
                return self.slab.pop(&mut flow.chain);
            }
            if self.scheduler.is_over(&mut self.flows, current) {
                self.flows[place].listed = false;
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

    fn next_wake(&self) -> Option<Nanos> {
        Some(self.next_update)
    }

    fn wake(&mut self, now: Nanos) {
        let (flows, rates, controller) = (&mut self.flows, &self.rates, &self.controller);
        self.stirred.retain(|place| {
            let flow = &mut flows[place as usize];
            let backlog = u64::from(flow.backlog);
            let qdelay = match rates.get(place as usize) {
                Some(rate) => rate.delay(backlog),
                None => flow.state.qdelay(),
            };
            controller.update(&mut flow.state, qdelay, backlog);
            // Whether further updates may change it.
            flow.stirred = flow.listed | !controller.is_settled(&flow.state);
            flow.stirred
        });
        self.next_update = now + self.tupdate;
    }

    /// `prob` and `delay` (seconds) are those of the queue with the highest probability, whose excess over 1 is left out.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        let mut worst = &self.flows[0];
        for flow in &self.flows {
            if flow.state.prob() > worst.state.prob() {
                worst = flow;
            }
        }
        vec![
            ("prob", worst.state.prob().min(1.0)),
            ("delay", worst.state.qdelay()),
            ("pkts_in", self.stats.pkts_in as f64),
            ("overlimit", self.stats.overlimit as f64),
            ("overmemory", self.stats.overmemory as f64),
            ("dropped", self.stats.dropped as f64),
            ("ecn_mark", self.stats.ecn_mark as f64),
            ("new_flow_count", self.stats.new_flow_count as f64),
            ("new_flows_len", f64::from(self.scheduler.new_len())),
            ("old_flows_len", f64::from(self.scheduler.old_len())),
            ("memory_used", self.slab.bytes() as f64),
        ]
    }
}
