//! CHOKe (Pan, Prabhakar, Psounis 2000): RED that compares each arrival with a random packet of the queue.

use bloatlab_units::{Bytes, Limit, Nanos, Rate, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::red::{self, RedAdmission};
use crate::tc::{Form, Tc, Word};
use crate::{Context, DropReason, Factory, Packet, Qdisc, Sink, Slot};

/// CHOose and Keep for responsive flows, CHOose and Kill for unresponsive flows: drops an arrival and a random packet of the queue if both are of the
/// same flow.
///
/// Each arrival is compared with a random packet of the queue. A flow that has much of the queue often matches itself, and loses two packets each
/// time. So flows that do not slow down are limited without any state per flow. An arrival that does not match is judged by RED, whose thresholds and
/// `probability` it shares. Use it where unresponsive traffic shares a single queue with TCP. It stops no flow entirely, and with few flows it
/// penalises responsive ones, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Capacity of the queue, in packets or bytes. Packets beyond it are dropped on arrival.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Average queue below which there are no signals, in packets or bytes. If absent, a third of `max`.
    #[schemars(extend("x-minimum" = "1p", "x-maximum" = "1000000000000p"))]
    pub min: Option<Limit>,
    /// Average queue from which every packet gets a signal, in the unit of `min`. If absent, a quarter of `limit`.
    #[schemars(extend("x-minimum" = "1p", "x-maximum" = "1000000000000p"))]
    pub max: Option<Limit>,
    /// Size of an average packet.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1MiB"))]
    pub avpkt: Bytes,
    /// Number of packets that may arrive at once without a signal. It determines the weight of the average. 0: (2 min + max) / 3.
    #[schemars(range(max = 1_000_000_000))]
    pub burst: u32,
    /// Rate at which the average decays while the link is idle. It should be the link's rate. tc requires it.
    #[schemars(extend("x-minimum" = "1bit/s"))]
    pub bandwidth: Rate,
    /// Probability of a signal just below `max`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: f64,
    /// Mark ECN-capable packets instead of dropping them. Packets that match a packet of the queue are dropped anyway.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Self {
        // tc-choke(8), which refers to tc-red(8); the limit is Linux's txqueuelen.
        Self {
            limit: Limit::Packets(1000),
            min: None,
            max: None,
            avpkt: Bytes(1000),
            burst: 0,
            bandwidth: Rate(10_000_000),
            probability: 0.02,
            ecn: false,
        }
    }
}

impl Factory for Params {
    const SOURCE: &'static str = "Pan, Prabhakar, Psounis, INFOCOM 2000; tc-choke(8)";
    const TC: &'static [Tc] = &[Tc {
        name: "choke",
        words: &[
            Word::same("limit", Form::Packets),
            Word::same("min", Form::Packets),
            Word::same("max", Form::Packets),
            Word::same("avpkt", Form::Size),
            Word::same("burst", Form::Integer),
            Word::same("bandwidth", Form::Rate32),
            Word::same("probability", Form::Probability),
            Word::same("ecn", Form::Flag("true")),
        ],
        required: &["limit", "bandwidth"],
        presets: &[],
    }];

    fn check(&self) -> Result<(), String> {
        self.red().check()
    }

    fn build<P: Packet>(&self, context: Context) -> Box<dyn Qdisc<P>> {
        Box::new(Choke {
            queue: Holes::default(),
            admission: RedAdmission::new(&self.red(), context).in_integers(),
            matched: 0,
        })
    }
}

impl Params {
    /// The parameters of its RED: as in Linux, the RED of 1993.
    fn red(&self) -> red::Params {
        red::Params {
            limit: self.limit,
            min: self.min,
            max: self.max,
            auto: red::Auto::Limit,
            avpkt: Some(self.avpkt),
            burst: Some(self.burst),
            bandwidth: Some(self.bandwidth),
            probability: self.probability,
            gentle: false,
            wait: false,
            bytemode: false,
            spare_empty: false,
            harddrop: false,
            ecn: self.ecn,
            ..red::Params::default()
        }
    }
}

/// A FIFO from whose middle packets may be taken. They leave holes, which are skipped when they reach an end.
///
/// It is a power-of-two ring. The slots at both ends hold packets, and slots outside the ends are not holes.
#[derive(Debug)]
struct Holes<P> {
    slots: Vec<P>,
    /// Whether a slot between the ends is a hole.
    holes: Vec<bool>,
    head: usize,
    /// Number of slots from the first packet to the last.
    span: usize,
    packets: u64,
    bytes: u64,
}

impl<P> Default for Holes<P> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            holes: Vec::new(),
            head: 0,
            span: 0,
            packets: 0,
            bytes: 0,
        }
    }
}

impl<P: Packet> Holes<P> {
    #[inline]
    fn slot(&self, place: usize) -> usize {
        (self.head + place) & (self.slots.len() - 1)
    }

    #[inline]
    fn push(&mut self, packet: P) {
        if self.span == self.slots.len() {
            self.make_room(packet);
        }
        let slot = self.slot(self.span);
        self.slots[slot] = packet;
        self.span += 1;
        self.packets += 1;
        self.bytes += u64::from(packet.size());
    }

    /// Closes the holes if they are half of the ring or more, otherwise doubles the ring. New slots hold copies of `filler` until they are used.
    #[cold]
    fn make_room(&mut self, filler: P) {
        self.slots.rotate_left(self.head);
        self.holes.rotate_left(self.head);
        self.head = 0;
        if self.packets as usize > self.slots.len() / 2 || self.slots.is_empty() {
            let doubled = (self.slots.len() * 2).max(16);
            self.slots.resize(doubled, filler);
            self.holes.resize(doubled, false);
            return;
        }
        let mut filled = 0;
        for place in 0..self.span {
            if !std::mem::take(&mut self.holes[place]) {
                self.slots[filled] = self.slots[place];
                filled += 1;
            }
        }
        self.span = filled;
    }

    /// The packet at a place counted from the head, or `None` for a hole.
    #[inline]
    fn get(&self, place: usize) -> Option<&P> {
        let slot = self.slot(place);
        (!self.holes[slot]).then(|| &self.slots[slot])
    }

    /// Removes and returns the oldest packet.
    #[inline]
    fn pop(&mut self) -> Option<P> {
        if self.span == 0 {
            return None;
        }
        let packet = &self.slots[self.head];
        self.packets -= 1;
        self.bytes -= u64::from(packet.size());
        self.head = self.slot(1);
        self.span -= 1;
        while std::mem::take(&mut self.holes[self.head]) {
            self.head = self.slot(1);
            self.span -= 1;
        }
        Some(*packet)
    }

    /// Removes and returns the packet at a place counted from the head, if there is one.
    #[inline]
    fn take(&mut self, place: usize) -> Option<P> {
        if place == 0 {
            return self.pop();
        }
        if place >= self.span {
            return None;
        }
        let packet = *self.get(place)?;
        self.packets -= 1;
        self.bytes -= u64::from(packet.size());
        let slot = self.slot(place);
        self.holes[slot] = true;
        loop {
            let last = self.slot(self.span - 1);
            if !std::mem::take(&mut self.holes[last]) {
                return Some(packet);
            }
            self.span -= 1;
        }
    }

    /// The place of a random packet of a queue that is not empty. As in Linux: up to three draws, because of holes, and then the head.
    #[inline]
    fn draw(&self, rng: &mut Rng) -> usize {
        (0..3)
            .map(|_| rng.below(self.span as u64) as usize)
            .find(|&place| self.get(place).is_some())
            .unwrap_or(0)
    }
}

struct Choke<P> {
    queue: Holes<P>,
    admission: RedAdmission,
    /// Arrivals dropped because they matched. A packet of the queue was dropped with each of them.
    matched: u64,
}

impl<P: Packet> Qdisc<P> for Choke<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        packet.set_enqueued_at(now);
        let (packets, bytes) = (self.queue.packets, self.queue.bytes);
        let above = self.admission.average(now, packets, bytes);
        if above && packets > 0 {
            // Pan, Prabhakar, Psounis 2000, figure 1: the comparison comes before the thresholds.
            let place = self.queue.draw(&mut self.admission.rng);
            let same = self
                .queue
                .get(place)
                .is_some_and(|drawn| drawn.flow() == packet.flow());
            if same && let Some(drawn) = self.queue.take(place) {
                self.matched += 1;
                sink.dropped(&drawn, DropReason::Aqm);
                sink.dropped(&packet, DropReason::Aqm);
                return;
            }
        }
        if self.admission.admits(packets, bytes, &mut packet, sink) {
            self.queue.push(packet);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, _sink: &mut dyn Sink<P>) -> Option<P> {
        self.admission.dequeued(now, self.queue.pop())
    }

    fn packets(&self) -> u64 {
        self.queue.packets
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes
    }

    fn contents(&self, visit: &mut dyn FnMut(Slot, &P)) {
        let kept = (0..self.queue.span).filter_map(|place| self.queue.get(place));
        kept.for_each(|packet| visit(Slot::default(), packet));
    }

    /// `matched` counts the arrivals dropped together with a packet of the queue.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        let mut stats = self.admission.stats();
        stats.push(("matched", self.matched as f64));
        stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_units::Streams;

    #[test]
    fn holes_are_skipped_at_the_ends_and_closed_before_the_ring_grows() {
        let mut queue = Holes::default();
        (0..16_u64).for_each(|n| queue.push(n));
        (1..11).for_each(|place| assert_eq!(queue.take(place), Some(place as u64)));
        assert_eq!((queue.packets, queue.span, queue.take(5)), (6, 16, None));
        // Taking the last packet leaves no hole.
        assert_eq!((queue.take(15), queue.span), (Some(15), 15));
        (16..17).for_each(|n| queue.push(n));
        // There is no slot behind the last packet, so the ten holes are closed.
        queue.push(17);
        assert_eq!((queue.packets, queue.span, queue.slots.len()), (7, 7, 16));
        (18..27).for_each(|n| queue.push(n));
        assert_eq!((queue.span, queue.slots.len()), (16, 16));
        queue.push(27);
        assert_eq!((queue.span, queue.slots.len()), (17, 32));
        (1..4).for_each(|place| assert!(queue.take(place).is_some()));
        let left: Vec<u64> = std::iter::from_fn(|| queue.take(0)).collect();
        assert_eq!(left[..3], [0, 14, 16]);
        assert_eq!((left.len(), queue.packets, queue.bytes), (14, 0, 0));
    }

    #[test]
    fn a_random_choice_never_selects_a_hole() {
        let mut queue = Holes::default();
        (0..16_u64).for_each(|n| queue.push(n));
        (1..15).for_each(|place| assert!(queue.take(place).is_some()));
        let mut rng = Streams::new(1).stream("choke");
        let drawn: Vec<usize> = (0..1000).map(|_| queue.draw(&mut rng)).collect();
        assert!(drawn.iter().all(|place| [0, 15].contains(place)));
        // Three draws find the last packet with probability 1/16 each, in total 0.176. Otherwise the head is taken.
        let last = drawn.iter().filter(|&&place| place == 15).count();
        assert!((115..230).contains(&last), "{last}");
    }
}
