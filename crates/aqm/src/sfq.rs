//! Stochastic fairness queueing (McKenney 1990): flows hashed to queues that take turns, as in Linux or as in ns-2.

use bloatlab_units::{Bytes, Duration, Limit, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::classifier::{Classes, Classifier};
use crate::deque::Deques;
use crate::lengths::Lengths;
use crate::list::{Linked, List};
use crate::slab::{Chain, NONE};
use crate::{Algorithm, Context, DropReason, Form, Packet, Qdisc, Sink, Tc, Word};

/// Stochastic Fairness Queueing: a queue per hash of flow, served in turn; the longest queue pays for overflow.
///
/// As in ns-2: `limit` 40p, `divisor` 16, `service` packets, `overflow` share, `classifier` exact (its hash keeps neighbouring addresses apart).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Packets that all queues together hold.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Number of queues that flows are hashed to.
    #[schemars(range(min = 1, max = 65_536))]
    pub divisor: u32,
    /// Most queues in use at a time; what arrives for one more is dropped. With `overflow` longest.
    #[schemars(range(min = 1, max = 65_536))]
    pub flows: u32,
    /// Packets that one queue holds. With `overflow` longest.
    #[schemars(range(min = 1, max = 65_536))]
    pub depth: u32,
    /// Bytes a queue may send in its turn. With `service` bytes.
    #[schemars(extend("x-minimum" = "256B", "x-maximum" = "1MiB"))]
    pub quantum: Bytes,
    /// Whether turns are equal in bytes or in packets.
    pub service: Service,
    /// Who pays when there is no room.
    pub overflow: Overflow,
    /// Drop a queue's oldest packet instead of its latest. With `overflow` longest.
    pub headdrop: bool,
    /// How often flows are hashed anew, and the packets that are queued with them; 0s: never.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "24h"))]
    pub perturb: Duration,
    /// What decides the queue of a packet.
    pub classifier: Classifier,
}

/// What is equal in each turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    /// Bytes, by deficit round robin (Linux).
    Bytes,
    /// Packets, one a turn (McKenney 1990, ns-2).
    Packets,
}

/// Who pays when there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// The queue with the most packets (McKenney 1990, Linux).
    Longest,
    /// The packet that arrives, if its queue has half as many packets as there is room left, or more than its equal part when fewer packets
    /// fit than there are queues (ns-2).
    Share,
}

impl Default for Params {
    fn default() -> Self {
        // tc-sfq(8), with Ethernet's packets of 1514 bytes.
        Self {
            limit: Limit::Packets(127),
            divisor: 1024,
            flows: 127,
            depth: 127,
            quantum: Bytes(1514),
            service: Service::Bytes,
            overflow: Overflow::Longest,
            headdrop: false,
            perturb: Duration(0),
            classifier: Classifier::Flow,
        }
    }
}

impl Algorithm for Params {
    const SOURCE: &'static str =
        "McKenney, Stochastic Fairness Queueing, INFOCOM 1990; tc-sfq(8); ns-2's SFQ";
    const TC: &'static [Tc] = &[Tc {
        name: "sfq",
        words: &[
            Word::same("limit", Form::Packets),
            Word::same("perturb", Form::Seconds),
            Word::same("quantum", Form::Size),
            Word::same("depth", Form::Integer),
            Word::same("flows", Form::Integer),
            Word::same("divisor", Form::Integer),
            Word::new("headdrop", "headdrop", Form::Flag("true")),
        ],
        required: &[],
        presets: &[],
    }];

    fn check(&self) -> Result<(), String> {
        match self.limit {
            Limit::Packets(_) => Ok(()),
            limit => Err(format!("limit: {limit} must be in packets")),
        }
    }

    fn build<P: Packet>(&self, mut context: Context) -> Box<dyn Qdisc<P>> {
        let limit = match self.limit {
            Limit::Packets(n) | Limit::Bytes(n) | Limit::Buffers(n) => n,
        };
        Box::new(Sfq {
            deques: Deques::default(),
            queues: vec![Queue::default(); self.divisor as usize],
            lengths: Lengths::new(self.divisor),
            active: List::default(),
            classes: Classes::new(self.classifier, &mut context, self.divisor),
            limit,
            next_perturb: if self.perturb.0 == 0 {
                Nanos::MAX
            } else {
                self.perturb.0
            },
            rng: context.rng,
            params: self.clone(),
            displaced: Vec::new(),
            stats: Stats::default(),
        })
    }
}

#[derive(Clone, Debug)]
struct Queue {
    chain: Chain,
    /// The queue behind this one in the round.
    next: u32,
    /// Bytes it may still send in its turn.
    allot: i64,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            chain: Chain::default(),
            next: NONE,
            allot: 0,
        }
    }
}

impl Linked for Queue {
    #[inline]
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }
}

#[derive(Default)]
struct Stats {
    drop_overlimit: u64,
    drop_depth: u64,
    drop_flows: u64,
    perturbations: u64,
}

struct Sfq<P> {
    deques: Deques<P>,
    queues: Vec<Queue>,
    lengths: Lengths,
    /// The queues that hold packets, in the order of their turns.
    active: List,
    classes: Classes,
    limit: u64,
    next_perturb: Nanos,
    rng: Rng,
    params: Params,
    /// Where packets wait while their flows are hashed anew.
    displaced: Vec<P>,
    stats: Stats,
}

impl<P: Packet> Sfq<P> {
    /// Drops a packet that has no place.
    #[cold]
    fn refuse(counter: &mut u64, packet: &P, sink: &mut dyn Sink<P>) {
        *counter += 1;
        sink.dropped(packet, DropReason::Overflow);
    }

    /// Appends a packet to a queue; a queue that was empty joins the round at its end, so that new flows cannot starve old ones.
    #[inline]
    fn append(&mut self, place: u32, at: Nanos, packet: P) {
        let queue = &mut self.queues[place as usize];
        self.deques
            .push(&mut queue.chain, packet)
            .set_enqueued_at(at);
        self.lengths.grow(place);
        if self.lengths.of(place) == 1 {
            queue.allot = self.params.quantum.0 as i64;
            self.active.push(&mut self.queues, place);
        }
    }

    /// Appends a packet that entered at `at`, where `flows` and `depth` allow it.
    #[inline]
    fn admit(&mut self, place: u32, at: Nanos, packet: P, sink: &mut dyn Sink<P>) {
        let length = self.lengths.of(place);
        let full = length >= self.params.depth;
        if full || (length == 0 && self.active.len() >= self.params.flows) {
            self.admit_to_full(place, at, packet, full, sink);
        } else {
            self.append(place, at, packet);
        }
    }

    /// The queue is full, or none is free: a packet is dropped.
    #[cold]
    fn admit_to_full(
        &mut self,
        place: u32,
        at: Nanos,
        mut packet: P,
        full: bool,
        sink: &mut dyn Sink<P>,
    ) {
        packet.set_enqueued_at(at);
        if !full {
            return Self::refuse(&mut self.stats.drop_flows, &packet, sink);
        }
        let counter = &mut self.stats.drop_depth;
        if !self.params.headdrop {
            return Self::refuse(counter, &packet, sink);
        }
        let chain = &mut self.queues[place as usize].chain;
        if let Some(oldest) = self.deques.pop(chain) {
            Self::refuse(counter, &oldest, sink);
        }
        self.deques.push(chain, packet);
    }

    /// McKenney 1990: buffer stealing from the longest queue; when all hold a single packet, Linux takes that of the queue whose turn it is.
    #[cold]
    fn cut_longest(&mut self, sink: &mut dyn Sink<P>) {
        let all_single = self.lengths.longest() == 1;
        let longest = if all_single {
            self.active.first()
        } else {
            self.lengths.queue()
        };
        let Some(place) = longest else { return };
        let chain = &mut self.queues[place as usize].chain;
        let packet = if self.params.headdrop {
            self.deques.pop(chain)
        } else {
            self.deques.pop_back(chain)
        };
        self.lengths.shrink(place);
        if all_single {
            self.active.pop(&mut self.queues);
        }
        if let Some(packet) = packet {
            Self::refuse(&mut self.stats.drop_overlimit, &packet, sink);
        }
    }

    /// ns-2: no queue may hold a third of the buffer, or half of what the others leave it; in the last places only an equal part.
    #[inline]
    fn has_share(&self, length: u64) -> bool {
        let buckets = u64::from(self.params.divisor);
        let left = self.limit - self.deques.slab().packets();
        length < left / 2 && (left >= buckets || length <= self.limit / buckets)
    }

    /// Hashes the flows anew; their packets go over in the order of the round, each flow's in order (Linux goes through its queues by number).
    #[cold]
    fn perturb(&mut self, now: Nanos, sink: &mut dyn Sink<P>) {
        let period = self.params.perturb.0;
        self.next_perturb += (now - self.next_perturb) / period * period + period;
        self.stats.perturbations += 1;
        self.classes.perturb(&mut self.rng);
        let mut displaced = std::mem::take(&mut self.displaced);
        while let Some(place) = self.active.first() {
            self.active.pop(&mut self.queues);
            while let Some(packet) = self.deques.pop(&mut self.queues[place as usize].chain) {
                self.lengths.shrink(place);
                displaced.push(packet);
            }
        }
        for packet in displaced.drain(..) {
            let place = self.classes.queue(&packet) as u32;
            match self.params.overflow {
                Overflow::Longest => self.admit(place, packet.enqueued_at(), packet, sink),
                Overflow::Share => self.append(place, packet.enqueued_at(), packet),
            }
        }
        self.displaced = displaced;
    }
}

impl<P: Packet> Qdisc<P> for Sfq<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        if now >= self.next_perturb {
            self.perturb(now, sink);
        }
        let place = self.classes.queue(&packet) as u32;
        match self.params.overflow {
            Overflow::Longest => {
                self.admit(place, now, packet, sink);
                if self.deques.slab().packets() > self.limit {
                    self.cut_longest(sink);
                }
            }
            Overflow::Share if self.has_share(u64::from(self.lengths.of(place))) => {
                self.append(place, now, packet);
            }
            Overflow::Share => {
                packet.set_enqueued_at(now);
                Self::refuse(&mut self.stats.drop_overlimit, &packet, sink);
            }
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, sink: &mut dyn Sink<P>) -> Option<P> {
        if now >= self.next_perturb {
            self.perturb(now, sink);
        }
        let place = loop {
            let current = self.active.first()?;
            let queue = &mut self.queues[current as usize];
            if queue.allot > 0 {
                break current;
            }
            queue.allot += self.params.quantum.0 as i64;
            self.active.pop(&mut self.queues);
            self.active.push(&mut self.queues, current);
        };
        let queue = &mut self.queues[place as usize];
        if self.params.service == Service::Bytes {
            queue.allot -= i64::from(self.deques.slab().front(&queue.chain)?.size());
        }
        let packet = self.deques.pop(&mut queue.chain);
        self.lengths.shrink(place);
        if self.lengths.of(place) == 0 {
            self.active.pop(&mut self.queues);
        } else if self.params.service == Service::Packets {
            self.active.pop(&mut self.queues);
            self.active.push(&mut self.queues, place);
        }
        packet
    }

    fn packets(&self) -> u64 {
        self.deques.slab().packets()
    }

    fn bytes(&self) -> u64 {
        self.deques.slab().bytes()
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("flows", f64::from(self.active.len())),
            ("longest", f64::from(self.lengths.longest())),
            ("drop_overlimit", self.stats.drop_overlimit as f64),
            ("drop_depth", self.stats.drop_depth as f64),
            ("drop_flows", self.stats.drop_flows as f64),
            ("perturbations", self.stats.perturbations as f64),
        ]
    }
}
