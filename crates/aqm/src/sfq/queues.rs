//! The queues of SFQ: which queue a packet enters, which queue is served, and which packet is dropped when there is no space.

use std::hint::select_unpredictable;

use bloatlab_units::{Limit, Nanos, Rng};

use super::signals::Signals;
use super::{Overflow, Params, Service};
use crate::classifier::Classes;
use crate::deque::Deques;
use crate::lengths::Lengths;
use crate::list::{Linked, List};
use crate::red::{RedController, RedState, Signal};
use crate::slab::{Chain, NONE};
use crate::{Band, Context, DropReason, Ecn, Packet, Qdisc, Sink, Slot, mark};

#[derive(Clone, Debug)]
struct Queue {
    chain: Chain,
    /// The next queue of the round.
    next: u32,
    /// Bytes that it may still send in its turn.
    allot: i64,
    /// Backlog in bytes, for RED.
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

/// The queue discipline.
pub struct Sfq<P> {
    deques: Deques<P>,
    queues: Vec<Queue>,
    lengths: Lengths,
    /// The queues that hold packets, in the order of their turns.
    active: List,
    classes: Classes,
    limit: u64,
    next_perturb: Nanos,
    /// The queue whose offload buffer is being sent; [`NONE`] if there is none.
    sending: u32,
    controller: Option<RedController>,
    /// RED's state of each queue, which is valid from the queue's first packet until the queue is empty. It is empty without RED. It is stored apart
    /// from the queues, which fill half a cache line each.
    reds: Vec<RedState>,
    rng: Rng,
    params: Params,
    /// Temporary storage for packets while the hash changes.
    displaced: Vec<P>,
    stats: Stats,
    signals: Signals,
}

impl<P: Packet> Sfq<P> {
    /// Creates empty queues.
    pub fn new(params: &Params, mut context: Context) -> Self {
        let limit = match params.limit {
            Limit::Packets(n) | Limit::Bytes(n) | Limit::Buffers(n) => n,
        };
        let controller = params.red().map(|red| RedController::new(&red, &context));
        let red = |controller| vec![RedState::new(controller); params.divisor as usize];
        Self {
            deques: Deques::default(),
            queues: vec![Queue::default(); params.divisor as usize],
            lengths: Lengths::new(params.divisor),
            active: List::default(),
            classes: Classes::new(params.classifier, &mut context, params.divisor),
            limit,
            sending: NONE,
            next_perturb: if params.perturb.0 == 0 {
                Nanos::MAX
            } else {
                params.perturb.0
            },
            reds: controller.as_ref().map_or_else(Vec::new, red),
            controller,
            rng: context.rng,
            params: params.clone(),
            displaced: Vec::new(),
            stats: Stats::default(),
            signals: Signals::default(),
        }
    }

    /// Drops a packet by overflow.
    #[cold]
    fn refuse(counter: &mut u64, packet: &P, sink: &mut dyn Sink<P>) {
        *counter += 1;
        sink.dropped(packet, DropReason::Overflow);
    }

    /// Appends a packet to a queue. A queue that was empty joins the round at its end, so that new flows cannot starve old ones.
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

    /// Whether a queue has space for a packet.
    #[inline]
    fn has_room(&self, place: u32) -> bool {
        let length = self.lengths.of(place);
        match self.params.overflow {
            // Whether the queue is empty is unpredictable, so this code does not branch on it.
            Overflow::Longest => {
                let needs_queue = length == 0;
                let is_queue_free = self.active.len() < self.params.flows;
                (length < self.params.depth) & (!needs_queue | is_queue_free)
            }
            Overflow::Share => self.has_share(u64::from(length)),
        }
    }

    /// Drops a packet because there is no space for the one that arrived at `at`.
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

    /// Drops a packet of a queue: the arriving packet, or with `headdrop` the oldest one, whose place the arriving packet takes.
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

    /// Updates RED's average of a queue at an arrival.
    fn average(&mut self, place: u32, now: Nanos) {
        let Some(controller) = &self.controller else {
            return;
        };
        let (state, length) = (&mut self.reds[place as usize], self.lengths.of(place));
        if length == 0 {
            // As in Linux: the average of a queue that was empty is reset.
            *state = RedState::new(controller);
        }
        let bytes = self.queues[place as usize].bytes;
        controller.average(state, now, u64::from(length), bytes);
    }

    /// Applies RED, if enabled, to a packet that arrives at a queue. Returns whether the packet may still enter.
    #[inline(never)]
    fn judge(&mut self, place: u32, now: Nanos, packet: &mut P, sink: &mut dyn Sink<P>) -> bool {
        self.average(place, now);
        let Some(controller) = &self.controller else {
            return true;
        };
        let (red, packets) = (&mut self.reds[place as usize], self.lengths.of(place));
        match controller.judge(red, u64::from(packets), packet.size(), &mut self.rng) {
            Signal::Pass => true,
            signal => {
                packet.set_enqueued_at(now);
                self.signal(place, signal, packet, sink)
            }
        }
    }

    /// Marks or drops a packet for RED's signal. With `headdrop`, this is the oldest packet. Returns whether the arriving packet may still enter.
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
            // If the head is marked already, the arriving packet gets the signal.
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
        self.congest(place, *packet, DropReason::Aqm, sink);
        false
    }

    /// McKenney 1990: drops a packet of the longest queue. If all queues hold one packet, the queue that is served next loses its packet, as in
    /// Linux.
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

    /// Whether the queue whose offload buffer is being sent is the first one and holds more of it.
    #[cold]
    fn continues(&self, sending: u32) -> bool {
        let chain = &self.queues[sending as usize].chain;
        self.active.first() == Some(sending) && self.deques.slab().follows(chain)
    }

    /// The queue to serve. A queue that has used up its turn gets a new quantum and moves behind the others.
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

    /// ns-2: a queue may hold less than half of the space that is left. If there is less space than queues, it may hold at most an equal share.
    #[inline]
    fn has_share(&self, length: u64) -> bool {
        let buckets = u64::from(self.params.divisor);
        let left = self.limit - self.deques.slab().packets();
        length < left / 2 && (left >= buckets || length <= self.limit / buckets)
    }

    /// Changes the hash and moves the packets, in the order of the round. The packets of a flow stay in order (Linux visits its queues by number).
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
            // As in Linux: RED's average is updated, but there are no signals.
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
        if self.controller.is_some() && !self.judge(place, now, &mut packet, sink) {
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
        let sending = std::mem::replace(&mut self.sending, NONE);
        let place = if sending != NONE && self.continues(sending) {
            sending
        } else {
            self.current()?
        };
        let queue = &mut self.queues[place as usize];
        let packet = self.deques.slab().front(&queue.chain)?;
        let size = packet.size();
        self.sending = if packet.has_more() { place } else { NONE };
        queue.bytes -= u64::from(size);
        self.lengths.shrink(place);
        let is_empty = self.lengths.of(place) == 0;
        match self.params.service {
            Service::Bytes => {
                queue.allot -= i64::from(size);
                self.active.pop_if(&mut self.queues, is_empty);
            }
            Service::Packets => {
                if self.sending == NONE || is_empty {
                    self.active.pop(&mut self.queues);
                    self.active.push_if(&mut self.queues, place, !is_empty);
                }
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

    fn contents(&self, visit: &mut dyn FnMut(Slot, &P)) {
        let chains = self.queues.iter().map(|queue| &queue.chain);
        self.deques.slab().contents(0, chains, visit);
    }

    fn bands(&self) -> Vec<Band> {
        Band::single(self.queues.len() as u32)
    }

    /// RED's statistics are reported if RED is enabled, as in tc.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        let mut all = vec![
            ("flows", f64::from(self.active.len())),
            ("longest", f64::from(self.lengths.longest())),
            ("drop_overlimit", self.stats.drop_overlimit as f64),
            ("drop_depth", self.stats.drop_depth as f64),
            ("drop_flows", self.stats.drop_flows as f64),
            ("perturbations", self.stats.perturbations as f64),
        ];
        if self.controller.is_some() {
            all.extend(self.signals.stats());
        }
        all
    }
}
