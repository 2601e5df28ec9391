//! Stochastic fairness queueing (McKenney 1990): flows hashed to queues that take turns, as in Linux or as in ns-2.

use bloatlab_units::{Bytes, Duration, Limit, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::classifier::{Classes, Classifier};
use crate::deque::Deques;
use crate::lengths::Lengths;
use crate::list::{Linked, List};
use crate::red::{self, Law, Signal, Vars};
use crate::slab::{Chain, NONE};
use crate::{Algorithm, Context, DropReason, Ecn, Form, Packet, Qdisc, Sink, Tc, Word, mark};

/// Stochastic Fairness Queueing: a queue per hash of flow, served in turn; the longest queue pays for overflow.
///
/// Flows are hashed to `divisor` queues, each of which sends `quantum` bytes in its turn, so that a greedy flow cannot push others out.
/// With `perturb` the hash changes from time to time, so that no two flows share a queue for ever. With `redflowlimit` RED keeps each
/// flow's own queue short. Use it as the oldest and simplest fair queueing that Linux has. Without RED, the delay of a bulk flow is bounded
/// by `limit` and `depth` alone.
///
/// As in ns-2: `limit` 40p, `divisor` 16, `service` packets, `overflow` share, `classifier` exact (its hash keeps neighbouring addresses
/// apart).
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
    /// With RED in each queue, on its bytes: the size from which absent thresholds follow. Absent: no RED. With `overflow` longest.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub redflowlimit: Option<Bytes>,
    /// A queue's average size below which RED signals nothing; absent: a third of `max`.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub min: Option<Bytes>,
    /// A queue's average size from which RED signals to every packet; absent: a quarter of `redflowlimit`.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub max: Option<Bytes>,
    /// Size of an average packet, for RED; absent: 1000 bytes.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1MiB"))]
    pub avpkt: Option<Bytes>,
    /// Packets that may come at once without a signal, which determines the weight of RED's average; absent or 0: (2 min + max) / 3.
    #[schemars(range(max = 1_000_000_000))]
    pub burst: Option<u32>,
    /// Probability of RED's signal where the average reaches `max`; absent: 0.02.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: Option<f64>,
    /// RED marks ECN-capable packets instead of dropping them; without `redflowlimit` it changes nothing.
    pub ecn: bool,
    /// RED drops ECN-capable packets too where every packet is signalled to.
    pub harddrop: bool,
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
            redflowlimit: None,
            min: None,
            max: None,
            avpkt: None,
            burst: None,
            probability: None,
            ecn: false,
            harddrop: false,
        }
    }
}

impl Algorithm for Params {
    const SOURCE: &'static str =
        "McKenney, Stochastic Fairness Queueing, INFOCOM 1990; tc-sfq(8); ns-2's SFQ";
    const TC: &'static [Tc] = &[Tc {
        name: "sfq",
        words: &[
            Word::same("limit", Form::PacketsFrom(2)),
            Word::same("perturb", Form::Seconds),
            Word::same("quantum", Form::Size),
            Word::same("depth", Form::Integer),
            Word::same("flows", Form::Integer),
            Word::same("divisor", Form::Integer),
            Word::new("headdrop", "headdrop", Form::Flag("true")),
            Word::same("redflowlimit", Form::WholeBytes),
            Word::same("min", Form::WholeBytes),
            Word::same("max", Form::WholeBytes),
            Word::same("avpkt", Form::Size),
            Word::same("burst", Form::Integer),
            Word::same("probability", Form::Probability),
            Word::same("ecn", Form::Flag("true")),
            Word::same("harddrop", Form::Flag("true")),
        ],
        required: &[],
        presets: &[],
    }];

    fn check(&self) -> Result<(), String> {
        if !matches!(self.limit, Limit::Packets(_)) {
            return Err(format!("limit: {} must be in packets", self.limit));
        }
        match self.red() {
            Some(_) if self.overflow == Overflow::Share => {
                Err("redflowlimit: RED is in Linux's queues, with `overflow` longest".to_owned())
            }
            Some(red) => red.check(),
            None => {
                let given = [
                    ("min", self.min.is_some()),
                    ("max", self.max.is_some()),
                    ("avpkt", self.avpkt.is_some()),
                    ("burst", self.burst.is_some()),
                    ("probability", self.probability.is_some()),
                    ("harddrop", self.harddrop),
                ];
                match given.iter().find(|(_, given)| *given) {
                    Some((name, _)) => Err(format!("{name}: means nothing without redflowlimit")),
                    None => Ok(()),
                }
            }
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
            law: self.red().map(|red| Law::new(&red, &context)),
            rng: context.rng,
            params: self.clone(),
            displaced: Vec::new(),
            stats: Stats::default(),
        })
    }
}

impl Params {
    /// tc-sfq(8): the RED of each queue, as tc and Linux set up theirs.
    fn red(&self) -> Option<red::Params> {
        self.redflowlimit.map(|Bytes(limit)| red::Params {
            limit: Limit::Bytes(limit),
            min: self.min.map(|Bytes(min)| Limit::Bytes(min)),
            max: self.max.map(|Bytes(max)| Limit::Bytes(max)),
            auto: red::Auto::Limit,
            avpkt: Some(self.avpkt.unwrap_or(Bytes(1000))),
            burst: Some(self.burst.unwrap_or(0)),
            probability: self.probability.unwrap_or(0.02),
            gentle: false,
            wait: false,
            bytemode: false,
            ..red::Params::default()
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
    /// What it holds, for RED.
    bytes: u64,
    /// RED's memory of it, from its first packet until it is empty.
    red: Option<Vars>,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            chain: Chain::default(),
            next: NONE,
            allot: 0,
            bytes: 0,
            red: None,
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
    /// RED's, by what it was and what was done.
    prob_drop: u64,
    prob_mark: u64,
    prob_mark_head: u64,
    forced_drop: u64,
    forced_mark: u64,
    forced_mark_head: u64,
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
    law: Option<Law>,
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
        queue.bytes += u64::from(packet.size());
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
        if full {
            self.stats.drop_depth += 1;
            self.congest(place, packet, DropReason::Overflow, sink);
        } else {
            Self::refuse(&mut self.stats.drop_flows, &packet, sink);
        }
    }

    /// A packet of a queue must go: the one that arrives, or with `headdrop` the oldest, whose place it takes.
    #[cold]
    fn congest(&mut self, place: u32, packet: P, reason: DropReason, sink: &mut dyn Sink<P>) {
        if !self.params.headdrop {
            return sink.dropped(&packet, reason);
        }
        let queue = &mut self.queues[place as usize];
        if let Some(oldest) = self.deques.pop(&mut queue.chain) {
            queue.bytes -= u64::from(oldest.size());
            sink.dropped(&oldest, reason);
        }
        queue.bytes += u64::from(packet.size());
        self.deques.push(&mut queue.chain, packet);
    }

    /// Shows RED a queue that a packet comes to.
    #[inline]
    fn average(&mut self, place: u32, now: Nanos) {
        let Some(law) = &self.law else { return };
        let (queue, length) = (&mut self.queues[place as usize], self.lengths.of(place));
        if length == 0 {
            // Linux: a queue that was empty starts anew.
            queue.red = None;
        }
        let vars = queue.red.get_or_insert_with(|| Vars::new(law));
        law.average(vars, now, u64::from(length), queue.bytes);
    }

    /// What RED says to a packet of this size that comes to a queue.
    #[inline]
    fn judge(&mut self, place: u32, now: Nanos, size: u32) -> Signal {
        self.average(place, now);
        match (&self.law, &mut self.queues[place as usize].red) {
            (Some(law), Some(vars)) => law.judge(vars, size, &mut self.rng),
            _ => Signal::Pass,
        }
    }

    /// Carries RED's signal out, on the oldest packet first if that is the one to drop; gives back a packet that may still enter.
    #[cold]
    fn signal(
        &mut self,
        place: u32,
        signal: Signal,
        mut packet: P,
        sink: &mut dyn Sink<P>,
    ) -> Option<P> {
        let stats = &mut self.stats;
        let (dropped, marked, marked_head) = match signal {
            Signal::Forced => (
                &mut stats.forced_drop,
                &mut stats.forced_mark,
                &mut stats.forced_mark_head,
            ),
            _ => (
                &mut stats.prob_drop,
                &mut stats.prob_mark,
                &mut stats.prob_mark_head,
            ),
        };
        if self.params.ecn && !(self.params.harddrop && signal == Signal::Forced) {
            let chain = &self.queues[place as usize].chain;
            let oldest = self.deques.front_mut(chain);
            // A head that carries the signal already leaves it to the arrival.
            if let Some(oldest) =
                oldest.filter(|oldest| self.params.headdrop && oldest.ecn() != Ecn::Ce)
                && mark(oldest)
            {
                *marked_head += 1;
                sink.marked(oldest);
                return Some(packet);
            }
            if mark(&mut packet) {
                *marked += 1;
                sink.marked(&packet);
                return Some(packet);
            }
        }
        *dropped += 1;
        self.congest(place, packet, DropReason::Law, sink);
        None
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
        let queue = &mut self.queues[place as usize];
        let packet = if self.params.headdrop {
            self.deques.pop(&mut queue.chain)
        } else {
            self.deques.pop_back(&mut queue.chain)
        };
        queue.bytes -= packet.as_ref().map_or(0, |packet| u64::from(packet.size()));
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
            self.queues[place as usize].bytes = 0;
        }
        for packet in displaced.drain(..) {
            let place = self.classes.queue(&packet) as u32;
            // Linux: RED's average takes part, but nothing is signalled.
            self.average(place, now);
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
                let signal = self.judge(place, now, packet.size());
                if signal != Signal::Pass {
                    packet.set_enqueued_at(now);
                    match self.signal(place, signal, packet, sink) {
                        Some(passed) => packet = passed,
                        None => return,
                    }
                }
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
        queue.bytes -= packet.as_ref().map_or(0, |packet| u64::from(packet.size()));
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

    /// RED's are reported where it works, as by tc.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        let mut all = vec![
            ("flows", f64::from(self.active.len())),
            ("longest", f64::from(self.lengths.longest())),
            ("drop_overlimit", self.stats.drop_overlimit as f64),
            ("drop_depth", self.stats.drop_depth as f64),
            ("drop_flows", self.stats.drop_flows as f64),
            ("perturbations", self.stats.perturbations as f64),
        ];
        if self.law.is_some() {
            let signals = [
                self.stats.prob_drop,
                self.stats.prob_mark,
                self.stats.prob_mark_head,
                self.stats.forced_drop,
                self.stats.forced_mark,
                self.stats.forced_mark_head,
            ];
            all.extend([
                ("overlimits", signals.iter().sum::<u64>() as f64),
                ("prob_drop", self.stats.prob_drop as f64),
                ("prob_mark", self.stats.prob_mark as f64),
                ("prob_mark_head", self.stats.prob_mark_head as f64),
                ("forced_drop", self.stats.forced_drop as f64),
                ("forced_mark", self.stats.forced_mark as f64),
                ("forced_mark_head", self.stats.forced_mark_head as f64),
            ]);
        }
        all
    }
}
