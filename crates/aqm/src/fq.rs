//! Linux's fair queue (tc-fq(8)): deficit round robin with new flows first, and a maximum rate per flow.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bloatlab_units::{Bytes, Duration, Limit, MILLISECOND, NEVER, Nanos, Rate, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flow_scheduler::{FlowScheduler, ScheduledFlow, Turn};
use crate::ring::Capacity;
use crate::slab::{Chain, FlowHash, Slab};
use crate::{Band, Context, DropReason, Factory, Form, Packet, Qdisc, Sink, Slot, Tc, Word, mark};

/// Fair Queue: one queue per flow, served by deficit round robin with sparse flows first, no flow faster than `maxrate`.
///
/// Each flow has its own queue. A flow that was idle is served first with `initial_quantum` bytes; then all flows take turns of `quantum` bytes. With
/// a `maxrate`, each flow's packets are paced at that rate. It has no AQM algorithm, so the queue of a greedy flow grows to `flow_limit` packets.
/// Other flows are not affected. Use it for fairness and pacing where the endpoints themselves keep their queues short.
///
/// It behaves as on a router: packets carry neither a pacing rate nor a departure time.
///
/// A buffer of segmentation offload is one packet, as in Linux: it leaves whole, even if the deficit
/// becomes negative. Limits count its segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Capacity of all queues together, in packets or bytes. Packets beyond it are dropped on arrival.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Capacity of one queue in packets. Packets beyond it are dropped on arrival.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub flow_limit: u32,
    /// Bit mask of a flow's hash: with 1023, flows share 1024 queues.
    #[schemars(range(min = 0, max = 65_535))]
    pub orphan_mask: u32,
    /// Bytes that a queue may send per turn.
    #[schemars(extend("x-minimum" = "256B", "x-maximum" = "1MiB"))]
    pub quantum: Bytes,
    /// Bytes that a flow may send in its first turn.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GiB"))]
    pub initial_quantum: Bytes,
    /// Limit flows to `maxrate`.
    pub pacing: bool,
    /// Highest rate of a flow. If absent, the link's rate.
    #[schemars(extend("x-minimum" = "8bit/s"))]
    pub maxrate: Option<Rate>,
    /// Up to this `maxrate`, every packet is delayed separately; above it, every turn is.
    pub low_rate_threshold: Rate,
    /// A queue that was empty for longer than this gets at least one quantum when it becomes active again.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1h"))]
    pub refill_delay: Duration,
    /// Mark every ECN-capable packet that leaves later than it could have by more than this. If absent, this rule is off.
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

const NO_DEPARTURE_TIME: &str = "packets carry no departure time";

impl Factory for Params {
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
            Word::new(
                "horizon",
                "",
                Form::OnlyDefault(&Form::Time, "10s", NO_DEPARTURE_TIME),
            ),
            Word::new("horizon_cap", "", Form::Refused(NO_DEPARTURE_TIME)),
            Word::new("horizon_drop", "", Form::Default),
            Word::new(
                "offload_horizon",
                "",
                Form::OnlyDefault(&Form::Time, "0us", "no device paces packets"),
            ),
            Word::new(
                "buckets",
                "",
                Form::OnlyDefault(
                    &Form::Integer,
                    "1024",
                    "flows are found without a hash table",
                ),
            ),
            Word::new(
                "timer_slack",
                "",
                Form::OnlyDefault(&Form::Time, "10us", "timers are exact"),
            ),
            Word::new("defrate", "", Form::Refused("Linux ignores it")),
            Word::new(
                "priomap",
                "",
                Form::Refused("all packets have the same priority"),
            ),
            Word::new(
                "weights",
                "",
                Form::Refused("all packets have the same priority"),
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
            turn: Turn::new(self.initial_quantum.0 as i32),
            chain: Chain::default(),
            packets: 0,
            active: false,
            due: 0,
            idle_since: 0,
        };
        Box::new(Fq {
            slab: Slab::default(),
            flows: vec![flow; self.orphan_mask as usize + 1],
            scheduler: FlowScheduler::new(self.quantum.0 as i32),
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

/// Pacing: when a flow that has just sent may send again.
struct Pace {
    rate: Rate,
    /// Whether every packet is delayed separately, instead of every turn.
    singly: bool,
    quantum: u64,
}

impl Pace {
    /// Returns when the flow may send again. It sent `size` bytes at `now`, could have sent at `due` (0 if it was never delayed), and has `credit`
    /// bytes left in its turn.
    fn next(
        &self,
        now: Nanos,
        due: Nanos,
        size: u32,
        credit: &mut i32,
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
            // As in Linux: wait at most one second, because a socket's rate may change.
            wait = SECOND;
            *too_long += 1;
        }
        if due > 0 {
            // As in Linux: a late packet shortens the next wait, but at most by half.
            wait -= (wait / 2).min(now - due);
        }
        now + wait
    }

    /// Like `next`, for the rest of an offload buffer, which leaves at once and delays what comes after it.
    #[cold]
    fn extend(&self, now: Nanos, due: Nanos, size: u32, credit: &mut i32) -> Nanos {
        if self.singly {
            *credit = 0;
        } else if *credit > 0 {
            return due;
        }
        let (wait, _) = self.rate.transmit(u64::from(size), 0);
        due.max(now) + wait.min(SECOND)
    }
}

/// One queue. It occupies one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Flow {
    chain: Chain,
    turn: Turn,
    packets: u32,
    /// Whether it is in a list or throttled.
    active: bool,
    /// When it may send again; 0 if it was never delayed.
    due: Nanos,
    /// When it became inactive.
    idle_since: Nanos,
}

impl ScheduledFlow for Flow {
    #[inline]
    fn turn(&mut self) -> &mut Turn {
        &mut self.turn
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
    scheduler: FlowScheduler,
    /// Throttled flows: when each may send again, its number in order of throttling, and the flow.
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

    /// Moves flows that may send again behind the old flows.
    #[inline]
    fn release(&mut self, now: Nanos) {
        while let Some(&Reverse((_, _, flow))) = self
            .throttled
            .peek()
            .filter(|Reverse((until, ..))| *until <= now)
        {
            self.throttled.pop();
            self.scheduler.resume(&mut self.flows, flow);
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
                flow.turn.deficit = flow.turn.deficit.max(self.scheduler.quantum());
            }
            self.scheduler.begin(&mut self.flows, index);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, sink: &mut dyn Sink<P>) -> Option<P> {
        self.release(now);
        let mut continued = self.scheduler.continued();
        loop {
            let (current, joins) = match continued.take() {
                Some(sending) if self.slab.follows(&self.flows[sending as usize].chain) => {
                    (sending, true)
                }
                _ => (self.scheduler.current(&mut self.flows)?, false),
            };
            let flow = &mut self.flows[current as usize];
            let Some(packet) = self.slab.front_mut(&flow.chain) else {
                if self.scheduler.is_over(&mut self.flows, current) {
                    let flow = &mut self.flows[current as usize];
                    (flow.active, flow.idle_since) = (false, now);
                }
                continue;
            };
            if flow.due > now && !joins {
                self.throttled
                    .push(Reverse((flow.due, self.stats.throttled, current)));
                self.stats.throttled += 1;
                self.scheduler.take_out(&mut self.flows, current);
                continue;
            }
            let late = now.saturating_sub(packet.enqueued_at().max(flow.due));
            if late > self.ce_threshold && mark(packet) {
                self.stats.ce_mark += 1;
                sink.marked(packet);
            }
            let size = packet.size();
            self.scheduler.sent(current, packet.has_more());
            flow.packets -= 1;
            flow.turn.deficit -= size as i32;
            if let Some(pace) = &self.pace {
                let too_long = &mut self.stats.pkts_too_long;
                let credit = &mut flow.turn.deficit;
                flow.due = if joins {
                    pace.extend(now, flow.due, size, credit)
                } else {
                    pace.next(now, flow.due, size, credit, too_long)
                };
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

    fn contents(&self, visit: &mut dyn FnMut(Slot, &P)) {
        let chains = self.flows.iter().map(|flow| &flow.chain);
        self.slab.contents(0, chains, visit);
    }

    fn bands(&self) -> Vec<Band> {
        Band::single(self.flows.len() as u32)
    }

    fn next_wake(&self) -> Option<Nanos> {
        self.throttled.peek().map(|Reverse((until, ..))| *until)
    }

    fn wake(&mut self, now: Nanos) {
        self.release(now);
    }

    /// `throttled` counts how often a flow was delayed.
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
