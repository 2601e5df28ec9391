//! The queues of SFQ: who enters which, whose turn it is, and who pays when there is no room.

use std::hint::select_unpredictable;

use bloatlab_units::{Limit, Nanos, Rng};

use super::signals::Signals;
use super::{Overflow, Params, Service};
use crate::classifier::Classes;
use crate::deque::Deques;
use crate::lengths::Lengths;
use crate::list::{Linked, List};
use crate::red::{Law, Signal, Vars};
use crate::slab::{Chain, NONE};
use crate::{Context, DropReason, Ecn, Packet, Qdisc, Sink, mark};

#[derive(Clone, Debug)]
struct Queue {
    chain: Chain,
    /// The queue behind this one in the round.
    next: u32,
    /// Bytes it may still send in its turn.
    allot: i64,
    /// What it holds, for RED.
    bytes: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            chain: Chain::default(),
            next: NONE,
            allot: 0,
            bytes: 0,
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

/// The queue.
pub struct Sfq<P> {
    deques: Deques<P>,
    queues: Vec<Queue>,
    lengths: Lengths,
    /// The queues that hold packets, in the order of their turns.
    active: List,
    classes: Classes,
    limit: u64,
    next_perturb: Nanos,
    law: Option<Law>,
    /// RED's memory of each queue, from its first packet until it is empty; none at all without RED, and apart from the queues, which fill half a
    /// cache line.
    reds: Vec<Vars>,
    rng: Rng,
    params: Params,
    /// Where packets wait while their flows are hashed anew.
    displaced: Vec<P>,
    stats: Stats,
    signals: Signals,
}

impl<P: Packet> Sfq<P> {
    /// Empty queues.
    pub fn new(params: &Params, mut context: Context) -> Self {
        let limit = match params.limit {
            Limit::Packets(n) | Limit::Bytes(n) | Limit::Buffers(n) => n,
        };
        let law = params.red().map(|red| Law::new(&red, &context));
        let red = |law| vec![Vars::new(law); params.divisor as usize];
        Self {
            deques: Deques::default(),
            queues: vec![Queue::default(); params.divisor as usize],
            lengths: Lengths::new(params.divisor),
            active: List::default(),
            classes: Classes::new(params.classifier, &mut context, params.divisor),
            limit,
            next_perturb: if params.perturb.0 == 0 {
                Nanos::MAX
            } else {
                params.perturb.0
            },
            reds: law.as_ref().map_or_else(Vec::new, red),
            law,
            rng: context.rng,
            params: params.clone(),
            displaced: Vec::new(),
            stats: Stats::default(),
            signals: Signals::default(),
        }
    }

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
        let was_empty = self.lengths.of(place) == 0;
        let quantum = self.params.quantum.0 as i64;
        queue.allot = select_unpredictable(was_empty, quantum, queue.allot);
        queue.bytes += u64::from(packet.size());
        self.deques
            .push(&mut queue.chain, packet)
            .set_enqueued_at(at);
        self.lengths.grow(place);
        self.active.push_if(&mut self.queues, place, was_empty);
    }

    /// Whether a packet may enter a queue.
    #[inline]
    fn has_room(&self, place: u32) -> bool {
        let length = self.lengths.of(place);
        match self.params.overflow {
            // Without a branch on whether the queue is empty, which cannot be foretold.
            Overflow::Longest => {
                let needs_queue = length == 0;
                let is_queue_free = self.active.len() < self.params.flows;
                (length < self.params.depth) & (!needs_queue | is_queue_free)
            }
            Overflow::Share => self.has_share(u64::from(length)),
        }
    }

    /// There is no room for a packet that came at `at`: a packet is dropped.
    #[cold]
    fn crowd(&mut self, place: u32, at: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        packet.set_enqueued_at(at);
        match self.params.overflow {
            Overflow::Longest if self.lengths.of(place) >= self.params.depth => {
                self.stats.drop_depth += 1;
                self.congest(place, packet, DropReason::Overflow, sink);
            }
            Overflow::Longest => Self::refuse(&mut self.stats.drop_flows, &packet, sink),
            Overflow::Share => Self::refuse(&mut self.stats.drop_overlimit, &packet, sink),
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
    fn average(&mut self, place: u32, now: Nanos) {
        let Some(law) = &self.law else { return };
        let (vars, length) = (&mut self.reds[place as usize], self.lengths.of(place));
        if length == 0 {
            // Linux: a queue that was empty starts anew.
            *vars = Vars::new(law);
        }
        let bytes = self.queues[place as usize].bytes;
        law.average(vars, now, u64::from(length), bytes);
    }

    /// Shows a packet that comes to a queue to RED, if there is any; whether it may still enter.
    #[inline(never)]
    fn judge(&mut self, place: u32, now: Nanos, packet: &mut P, sink: &mut dyn Sink<P>) -> bool {
        self.average(place, now);
        let Some(law) = &self.law else { return true };
        let (red, packets) = (&mut self.reds[place as usize], self.lengths.of(place));
        match law.judge(red, u64::from(packets), packet.size(), &mut self.rng) {
            Signal::Pass => true,
            signal => {
                packet.set_enqueued_at(now);
                self.signal(place, signal, packet, sink)
            }
        }
    }

    /// Carries RED's signal out, on the oldest packet first if that is the one to drop; whether the packet may still enter.
    #[cold]
    fn signal(
        &mut self,
        place: u32,
        signal: Signal,
        packet: &mut P,
        sink: &mut dyn Sink<P>,
    ) -> bool {
        let counts = self.signals.of(signal);
        if self.params.ecn && !(self.params.harddrop && signal == Signal::Forced) {
            let chain = &self.queues[place as usize].chain;
            let oldest = self.deques.front_mut(chain);
            // A head that carries the signal already leaves it to the arrival.
            if let Some(oldest) =
                oldest.filter(|oldest| self.params.headdrop && oldest.ecn() != Ecn::Ce)
                && mark(oldest)
            {
                counts.marked_head += 1;
                sink.marked(oldest);
                return true;
            }
            if mark(packet) {
                counts.marked += 1;
                sink.marked(packet);
                return true;
            }
        }
        counts.dropped += 1;
        self.congest(place, *packet, DropReason::Law, sink);
        false
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

    /// Whose turn it is: a queue that has used up its turn gets another one, behind the others.
    #[inline]
    fn current(&mut self) -> Option<u32> {
        let quantum = self.params.quantum.0 as i64;
        loop {
            let current = self.active.first()?;
            let queue = &mut self.queues[current as usize];
            if queue.allot > 0 {
                return Some(current);
            }
            queue.allot += quantum;
            self.active.pop(&mut self.queues);
            self.active.push(&mut self.queues, current);
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
            if self.params.overflow == Overflow::Share || self.has_room(place) {
                self.append(place, packet.enqueued_at(), packet);
            } else {
                self.crowd(place, packet.enqueued_at(), packet, sink);
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
        if self.law.is_some() && !self.judge(place, now, &mut packet, sink) {
            return;
        }
        if !self.has_room(place) {
            return self.crowd(place, now, packet, sink);
        }
        self.append(place, now, packet);
        if self.deques.slab().packets() > self.limit {
            self.cut_longest(sink);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, sink: &mut dyn Sink<P>) -> Option<P> {
        if now >= self.next_perturb {
            self.perturb(now, sink);
        }
        let place = self.current()?;
        let queue = &mut self.queues[place as usize];
        let size = self.deques.slab().front(&queue.chain)?.size();
        queue.bytes -= u64::from(size);
        self.lengths.shrink(place);
        let is_empty = self.lengths.of(place) == 0;
        match self.params.service {
            Service::Bytes => {
                queue.allot -= i64::from(size);
                self.active.pop_if(&mut self.queues, is_empty);
            }
            Service::Packets => {
                self.active.pop(&mut self.queues);
                self.active.push_if(&mut self.queues, place, !is_empty);
            }
        }
        self.deques.pop(&mut self.queues[place as usize].chain)
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
            all.extend(self.signals.stats());
        }
        all
    }
}
