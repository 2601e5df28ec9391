//! Linux's fair queue (tc-fq(8)): deficit round robin with new flows first, and flows held back to a rate each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bloatlab_units::{Bytes, Duration, Limit, MILLISECOND, NEVER, Nanos, Rate, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::list::Linked;
use crate::ring::Capacity;
use crate::slab::{Chain, FlowHash, NONE, Slab};
use crate::turns::{TakesTurns, Turns};
use crate::{Algorithm, Context, DropReason, Form, Packet, Qdisc, Sink, Tc, Word, mark};

/// Fair Queue: a queue per flow, served in turn by bytes, sparse flows first, no flow faster than `maxrate`.
///
/// Each flow has a queue of its own; a flow that was silent comes first with `initial_quantum` bytes, then all take turns of `quantum`. A
/// `maxrate` holds each flow to a rate by sending its packets at their times. It has no law against standing queues: a greedy flow's own
/// delay grows to `flow_limit` packets, but others do not feel it. Use it for fairness and pacing where endpoints keep their queues short
/// themselves.
///
/// As on a router: packets bring no pacing rate and no departure time of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How much all queues together hold, in packets or bytes; what arrives beyond it is dropped.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Packets that one queue holds; what arrives beyond it is dropped.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub flow_limit: u32,
    /// Bits of a flow's hash that count: with 1023, flows share 1024 queues.
    #[schemars(range(min = 0, max = 65_535))]
    pub orphan_mask: u32,
    /// Bytes a queue may send in its turn.
    #[schemars(extend("x-minimum" = "256B", "x-maximum" = "1MiB"))]
    pub quantum: Bytes,
    /// Bytes a flow may send in its first turn.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GiB"))]
    pub initial_quantum: Bytes,
    /// Hold flows back to `maxrate`.
    pub pacing: bool,
    /// Highest rate of a flow; absent: as fast as the link.
    #[schemars(extend("x-minimum" = "8bit/s"))]
    pub maxrate: Option<Rate>,
    /// Up to this `maxrate` every packet is held back singly, above it turn by turn.
    pub low_rate_threshold: Rate,
    /// How long a queue must have been empty to have at least a quantum to send when it is filled again.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1h"))]
    pub refill_delay: Duration,
    /// Mark every ECN-capable packet that leaves more than this after it might have; absent: never.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1h"))]
    pub ce_threshold: Option<Duration>,
}

impl Default for Params {
    fn default() -> Self {
        // tc-fq(8), with Ethernet's packets of 1514 bytes.
        Self {
            limit: Limit::Packets(10_000),
            flow_limit: 100,
            orphan_mask: 1023,
            quantum: Bytes(3028),
            initial_quantum: Bytes(15_140),
            pacing: true,
            maxrate: None,
            low_rate_threshold: Rate(550_000),
            refill_delay: Duration(40 * MILLISECOND),
            ce_threshold: None,
        }
    }
}

impl Algorithm for Params {
    const SOURCE: &'static str = "tc-fq(8), on forwarded traffic";
    const TC: &'static [Tc] = &[Tc {
        name: "fq",
        words: &[
            Word::same("limit", Form::Packets),
            Word::same("flow_limit", Form::Integer),
            Word::same("orphan_mask", Form::Integer),
            Word::new("pacing", "pacing", Form::Flag("true")),
            Word::new("nopacing", "pacing", Form::Flag("false")),
            Word::same("quantum", Form::WholeBytes),
            Word::same("initial_quantum", Form::WholeBytes),
            Word::same("maxrate", Form::Rate32),
            Word::same("low_rate_threshold", Form::Rate32),
            Word::same("refill_delay", Form::Time),
            Word::same("ce_threshold", Form::Time),
            // Packets bring no departure time.
            Word::new("horizon", "", Form::Unused(&Form::Time)),
            Word::new("horizon_cap", "", Form::Nothing),
            Word::new("horizon_drop", "", Form::Nothing),
            Word::new("offload_horizon", "", Form::Unused(&Form::Time)),
            // How fast Linux finds a flow, and how late its timers may be.
            Word::new("buckets", "", Form::Unused(&Form::Integer)),
            Word::new("timer_slack", "", Form::Unused(&Form::Time)),
            // Linux ignores it.
            Word::new("defrate", "", Form::Unused(&Form::Rate32)),
            Word::new(
                "priomap",
                "",
                Form::Refused("all packets are of one priority"),
            ),
            Word::new(
                "weights",
                "",
                Form::Refused("all packets are of one priority"),
            ),
        ],
        required: &[],
        presets: &[],
    }];

    fn check(&self) -> Result<(), String> {
        Capacity::not_in_buffers(self.limit)
    }

    fn build<P: Packet>(&self, mut context: Context) -> Box<dyn Qdisc<P>> {
        let flow = Flow {
            credit: self.initial_quantum.0 as i64,
            ..Flow::default()
        };
        Box::new(Fq {
            slab: Slab::default(),
            flows: vec![flow; self.orphan_mask as usize + 1],
            turns: Turns::new(self.quantum.0 as i64),
            throttled: BinaryHeap::new(),
            hash: FlowHash::new(&mut context.rng, u32::MAX),
            mask: self.orphan_mask,
            limit: Capacity::new(self.limit, 1),
            flow_limit: self.flow_limit,
            refill_delay: self.refill_delay.0,
            ce_threshold: self.ce_threshold.map_or(NEVER, |threshold| threshold.0),
            pace: self.maxrate.filter(|_| self.pacing).map(|rate| Pace {
                rate,
                singly: rate.0 <= self.low_rate_threshold.0,
                quantum: self.quantum.0,
            }),
            stats: Stats::default(),
        })
    }
}

/// The law of pacing: when a flow that has just sent may send again.
struct Pace {
    rate: Rate,
    /// Every packet waits for its own, not every turn.
    singly: bool,
    quantum: u64,
}

impl Pace {
    /// A flow sent `size` bytes at `now`, although it might have at `due` (0 if it was never held back), and has `credit` left in its turn.
    fn next(
        &self,
        now: Nanos,
        due: Nanos,
        size: u32,
        credit: &mut i64,
        too_long: &mut u64,
    ) -> Nanos {
        let bytes = if self.singly {
            *credit = 0;
            u64::from(size)
        } else if *credit > 0 {
            return due;
        } else {
            u64::from(size).max(self.quantum)
        };
        let (mut wait, _) = self.rate.transmit(bytes, 0);
        if wait > SECOND {
            // Linux: never more than a second, because a socket's rate may change.
            wait = SECOND;
            *too_long += 1;
        }
        if due > 0 {
            // Linux: what was sent late is made up for, by half the wait at most.
            wait -= (wait / 2).min(now - due);
        }
        now + wait
    }
}

/// One queue: a cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Flow {
    chain: Chain,
    /// The flow behind this one in its list.
    next: u32,
    packets: u32,
    /// In a list, or throttled.
    active: bool,
    /// Bytes this queue may still send in its turn.
    credit: i64,
    /// When it may send again; 0 if it was never held back.
    due: Nanos,
    /// Since when it has been inactive.
    idle_since: Nanos,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            chain: Chain::default(),
            next: NONE,
            packets: 0,
            active: false,
            credit: 0,
            due: 0,
            idle_since: 0,
        }
    }
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
        self.credit <= 0
    }

    #[inline]
    fn refill(&mut self, quantum: i64) {
        self.credit += quantum;
    }
}

#[derive(Default)]
struct Stats {
    throttled: u64,
    ce_mark: u64,
    flows_plimit: u64,
    pkts_too_long: u64,
    drop_overlimit: u64,
}

struct Fq<P> {
    slab: Slab<P>,
    flows: Vec<Flow>,
    turns: Turns,
    /// Flows held back: until when, in which order they came, which.
    throttled: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    hash: FlowHash,
    mask: u32,
    limit: Capacity,
    flow_limit: u32,
    refill_delay: Nanos,
    ce_threshold: Nanos,
    pace: Option<Pace>,
    stats: Stats,
}

impl<P: Packet> Fq<P> {
    fn drop_arrival(now: Nanos, mut packet: P, counter: &mut u64, sink: &mut dyn Sink<P>) {
        packet.set_enqueued_at(now);
        *counter += 1;
        sink.dropped(&packet, DropReason::Overflow);
    }

    /// Flows whose time has come go behind the old flows.
    #[inline]
    fn release(&mut self, now: Nanos) {
        while let Some(&Reverse((_, _, flow))) = self
            .throttled
            .peek()
            .filter(|Reverse((until, ..))| *until <= now)
        {
            self.throttled.pop();
            self.turns.resume(&mut self.flows, flow);
        }
    }
}

impl<P: Packet> Qdisc<P> for Fq<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, packet: P, sink: &mut dyn Sink<P>) {
        let held = &self.slab;
        if !self.limit.fits(held.packets(), held.bytes(), packet.size()) {
            return Self::drop_arrival(now, packet, &mut self.stats.drop_overlimit, sink);
        }
        let index = self.hash.bits(packet.flow()) & self.mask;
        let flow = &mut self.flows[index as usize];
        if flow.packets >= self.flow_limit {
            return Self::drop_arrival(now, packet, &mut self.stats.flows_plimit, sink);
        }
        self.slab.push(&mut flow.chain, packet).set_enqueued_at(now);
        flow.packets += 1;
        if !flow.active {
            flow.active = true;
            if now > flow.idle_since + self.refill_delay {
                flow.credit = flow.credit.max(self.turns.quantum());
            }
            self.turns.begin(&mut self.flows, index);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, sink: &mut dyn Sink<P>) -> Option<P> {
        self.release(now);
        loop {
            let current = self.turns.current(&mut self.flows)?;
            let flow = &mut self.flows[current as usize];
            let Some(packet) = self.slab.front_mut(&flow.chain) else {
                if self.turns.is_over(&mut self.flows, current) {
                    let flow = &mut self.flows[current as usize];
                    (flow.active, flow.idle_since) = (false, now);
                }
                continue;
            };
            if flow.due > now {
                self.throttled
                    .push(Reverse((flow.due, self.stats.throttled, current)));
                self.stats.throttled += 1;
                self.turns.take_out(&mut self.flows, current);
                continue;
            }
            let late = now.saturating_sub(packet.enqueued_at().max(flow.due));
            if late > self.ce_threshold && mark(packet) {
                self.stats.ce_mark += 1;
                sink.marked(packet);
            }
            let size = packet.size();
            flow.packets -= 1;
            flow.credit -= i64::from(size);
            if let Some(pace) = &self.pace {
                let too_long = &mut self.stats.pkts_too_long;
                flow.due = pace.next(now, flow.due, size, &mut flow.credit, too_long);
            }
            return self.slab.pop(&mut flow.chain);
        }
    }

    fn is_work_conserving(&self) -> bool {
        self.pace.is_none()
    }

    fn packets(&self) -> u64 {
        self.slab.packets()
    }

    fn bytes(&self) -> u64 {
        self.slab.bytes()
    }

    fn next_wake(&self) -> Option<Nanos> {
        self.throttled.peek().map(|Reverse((until, ..))| *until)
    }

    fn wake(&mut self, now: Nanos) {
        self.release(now);
    }

    /// `throttled` counts how often a flow was held back.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        let active = self.flows.iter().filter(|flow| flow.active).count();
        vec![
            ("flows", active as f64),
            ("throttled_flows", self.throttled.len() as f64),
            ("throttled", self.stats.throttled as f64),
            ("ce_mark", self.stats.ce_mark as f64),
            ("flows_plimit", self.stats.flows_plimit as f64),
            ("pkts_too_long", self.stats.pkts_too_long as f64),
            ("drop_overlimit", self.stats.drop_overlimit as f64),
        ]
    }
}
