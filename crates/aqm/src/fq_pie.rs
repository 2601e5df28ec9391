//! FQ-PIE: flows hashed to queues, each under PIE, served by deficit round robin with new flows first.

use bloatlab_units::{Bytes, Duration, Limit, Nanos, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::list::Linked;
use crate::pie::{self, DepartureRate, Law, Vars};
use crate::ring::Capacity;
use crate::slab::{Chain, FlowHash, NONE, Slab};
use crate::tc::{Form, Word};
use crate::turns::{TakesTurns, Turns};
use crate::{Algorithm, Context, DropReason, Packet, Qdisc, Sink, Tc, Verdict, mark};

/// Flow Queue PIE: a queue per flow, served in turn by bytes, sparse flows first, each queue under PIE.
///
/// It serves its flows as `fq_codel` does, but each queue drops or marks arrivals at random with PIE's probability, computed from that
/// queue's delay. Marks become drops where the probability is above `ecn_prob`. Use it to see what the law changes while the scheduler is
/// the same. The probability needs some `tupdate`s to rise, so a burst of a new flow stands in its queue longer than under CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How much all queues together hold, in packets or bytes; what arrives beyond it is dropped.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Bytes that all queues together hold, counted on the wire (Linux counts the memory of socket buffers).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GiB"))]
    pub memory_limit: Bytes,
    /// Number of queues that flows are hashed to.
    #[schemars(range(min = 1, max = 65_536))]
    pub flows: u32,
    /// Bytes a queue may send in its turn.
    #[schemars(extend("x-minimum" = "256B", "x-maximum" = "1MiB"))]
    pub quantum: Bytes,
    /// The queueing delay that is aimed at.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub target: Duration,
    /// How often the drop probabilities are computed.
    #[schemars(extend("x-minimum" = "10us", "x-maximum" = "1h"))]
    pub tupdate: Duration,
    /// Weight of the delay's distance from the target, per second (tc writes 16 times this).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub alpha: f64,
    /// Weight of the delay's change, per second (tc writes 16 times this).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub beta: f64,
    /// Mark ECN-capable packets instead of dropping them, while their queue's probability is at most `ecn_prob`.
    pub ecn: bool,
    /// Drop probability above which ECN-capable packets are dropped too (tc writes it in percent).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ecn_prob: f64,
    /// Drop small packets in proportion to their size.
    pub bytemode: bool,
    /// Estimate the delay from each queue's departure rate by Little's law, instead of from timestamps.
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

impl Algorithm for Params {
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
            next: NONE,
            listed: false,
            stirred: false,
            deficit: 0,
            backlog: 0,
            delay: 0,
            vars: Vars::new(&pie),
        };
        let count = self.flows as usize;
        let estimated = if self.dq_rate_estimator { count } else { 0 };
        Box::new(FqPie {
            slab: Slab::default(),
            flows: vec![flow; count],
            rates: vec![DepartureRate::default(); estimated],
            stirred: Vec::with_capacity(count),
            turns: Turns::new(self.quantum.0 as i64),
            hash: FlowHash::new(&mut context.rng, self.flows),
            limit: Capacity::new(self.limit, 1),
            memory: Capacity::new(Limit::Bytes(self.memory_limit.0), 1),
            law: Law::new(&pie, context.mtu),
            tupdate: self.tupdate.0,
            next_update: self.tupdate.0,
            rng: context.rng,
            stats: Stats::default(),
        })
    }
}

/// One queue: a cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Flow {
    chain: Chain,
    /// The flow behind this one in its list.
    next: u32,
    /// Bytes this queue may still send in its turn.
    deficit: i32,
    /// Bytes it holds; `memory_limit` keeps them below 2^30.
    backlog: u32,
    /// In one of the two lists.
    listed: bool,
    /// Among those that updates change.
    stirred: bool,
    /// Sojourn time of the packet that left last; 0 once the queue was left empty.
    delay: Nanos,
    vars: Vars,
}

impl Linked for Flow {
    #[inline]
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }
}

impl TakesTurns for Flow {
    #[inline]
    fn is_spent(&self) -> bool {
        self.deficit <= 0
    }

    #[inline]
    fn refill(&mut self, quantum: i64) {
        self.deficit += quantum as i32;
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
    /// One a flow, or none at all if delays come from timestamps.
    rates: Vec<DepartureRate>,
    /// The flows that are not settled, in no order: only they are updated.
    stirred: Vec<u32>,
    turns: Turns,
    hash: FlowHash,
    limit: Capacity,
    memory: Capacity,
    law: Law,
    tupdate: Nanos,
    next_update: Nanos,
    rng: Rng,
    stats: Stats,
}

impl<P: Packet> FqPie<P> {
    /// Computes a flow's drop probability anew; whether further updates may change it.
    fn update(&mut self, place: usize) -> bool {
        let flow = &mut self.flows[place];
        let qdelay = match self.rates.get(place) {
            Some(rate) => rate.delay(u64::from(flow.backlog)),
            None => flow.delay as f64 / SECOND as f64,
        };
        self.law.update(&mut flow.vars, qdelay);
        flow.stirred = flow.listed || !self.law.is_settled(&flow.vars);
        flow.stirred
    }
}

impl<P: Packet> Qdisc<P> for FqPie<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        packet.set_enqueued_at(now);
        let (packets, bytes, size) = (self.slab.packets(), self.slab.bytes(), packet.size());
        let place = self.hash.queue(packet.flow());
        let flow = &mut self.flows[place];
        let fits = self.limit.fits(packets, bytes, size);
        if !fits || !self.memory.fits(packets, bytes, size) {
            self.stats.overlimit += u64::from(!fits);
            self.stats.overmemory += u64::from(fits);
            flow.vars.overflowed();
            sink.dropped(&packet, DropReason::Overflow);
            return;
        }
        let backlog = u64::from(flow.backlog);
        match self.law.judge(&mut flow.vars, backlog, size, &mut self.rng) {
            Verdict::Forward => {}
            Verdict::Mark if mark(&mut packet) => {
                self.stats.ecn_mark += 1;
                sink.marked(&packet);
            }
            Verdict::Mark | Verdict::Drop => {
                self.stats.dropped += 1;
                sink.dropped(&packet, DropReason::Law);
                return;
            }
        }
        self.stats.pkts_in += 1;
        flow.backlog += size;
        self.slab.push(&mut flow.chain, packet);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.turns.quantum() as i32;
            if !flow.stirred {
                flow.stirred = true;
                self.stirred.push(place as u32);
            }
            self.stats.new_flow_count += 1;
            self.turns.begin(&mut self.flows, place as u32);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, _sink: &mut dyn Sink<P>) -> Option<P> {
        loop {
            let current = self.turns.current(&mut self.flows)?;
            let place = current as usize;
            let flow = &mut self.flows[place];
            if let Some(packet) = self.slab.pop(&mut flow.chain) {
                let size = packet.size();
                flow.deficit -= size as i32;
                flow.backlog -= size;
                flow.delay = match flow.backlog {
                    0 => 0,
                    _ => now.saturating_sub(packet.enqueued_at()),
                };
                if let Some(rate) = self.rates.get_mut(place) {
                    rate.departed(now, size, u64::from(flow.backlog));
                }
                return Some(packet);
            }
            if self.turns.is_over(&mut self.flows, current) {
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

    fn next_wake(&self) -> Option<Nanos> {
        Some(self.next_update)
    }

    fn wake(&mut self, now: Nanos) {
        let mut stirred = std::mem::take(&mut self.stirred);
        stirred.retain(|&place| self.update(place as usize));
        self.stirred = stirred;
        self.next_update = now + self.tupdate;
    }

    /// `prob` and `delay` (seconds) are those of the queue whose probability is highest.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        let mut worst = &self.flows[0];
        for flow in &self.flows {
            if flow.vars.prob() > worst.vars.prob() {
                worst = flow;
            }
        }
        vec![
            ("prob", worst.vars.prob()),
            ("delay", worst.delay as f64 / SECOND as f64),
            ("pkts_in", self.stats.pkts_in as f64),
            ("overlimit", self.stats.overlimit as f64),
            ("overmemory", self.stats.overmemory as f64),
            ("dropped", self.stats.dropped as f64),
            ("ecn_mark", self.stats.ecn_mark as f64),
            ("new_flow_count", self.stats.new_flow_count as f64),
            ("new_flows_len", f64::from(self.turns.new_len())),
            ("old_flows_len", f64::from(self.turns.old_len())),
            ("memory_used", self.slab.bytes() as f64),
        ]
    }
}
