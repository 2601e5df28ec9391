//! CHOKe (Pan, Prabhakar, Psounis 2000): RED that holds each arrival against a packet drawn from the queue.

use bloatlab_units::{Bytes, Limit, Nanos, Rate, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::red::{self, Law, Signal, Stats, Vars};
use crate::ring::Capacity;
use crate::tc::{Form, Tc, Word};
use crate::{Algorithm, Context, DropReason, Packet, Qdisc, Sink};

/// CHOose and Keep for responsive flows, CHOose and Kill for unresponsive ones: an arrival and a packet drawn from the queue that are of
/// one flow both go.
///
/// An arrival is compared with a packet drawn at random from the queue: a flow that holds much of the queue meets itself often, and loses
/// two packets each time. So flows that do not slow down are held back without any state per flow. What survives the draw is judged by RED,
/// whose thresholds and `probability` it shares. Use it where unresponsive traffic shares a single queue with TCP. It stops no flow
/// entirely, and with few flows it punishes responsive ones too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How much the queue holds, in packets or bytes; what arrives beyond it is dropped.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Average queue below which nothing is signalled, in packets or bytes; absent: a third of `max`.
    #[schemars(extend("x-minimum" = "1p", "x-maximum" = "1000000000000p"))]
    pub min: Option<Limit>,
    /// Average queue from which every packet is signalled to, in the unit of `min`; absent: a quarter of `limit`.
    #[schemars(extend("x-minimum" = "1p", "x-maximum" = "1000000000000p"))]
    pub max: Option<Limit>,
    /// Size of an average packet.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1MiB"))]
    pub avpkt: Bytes,
    /// Packets that may come at once without a signal, which determines the average's weight; 0: (2 min + max) / 3.
    #[schemars(range(max = 1_000_000_000))]
    pub burst: u32,
    /// Rate at which the average decays while the link idles: the link's, which tc wants to be told.
    #[schemars(extend("x-minimum" = "1bit/s"))]
    pub bandwidth: Rate,
    /// Probability of a signal just below `max`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: f64,
    /// Mark ECN-capable packets instead of dropping them, save those of a flow that was drawn.
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

impl Algorithm for Params {
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
        let law = Law::new(&self.red(), &context);
        Box::new(Choke {
            queue: Holes::default(),
            capacity: Capacity::new(self.limit, 1),
            vars: Vars::new(&law),
            law,
            stats: Stats::default(),
            matched: 0,
            rng: context.rng,
        })
    }
}

impl Params {
    /// The RED underneath: Linux's, and that of 1993.
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

/// A FIFO out of whose middle packets may be taken: they leave holes, which are skipped once they come to an end.
///
/// A power-of-two ring; the slots at both ends hold packets, and those beyond them are not holes.
#[derive(Debug)]
struct Holes<P> {
    slots: Vec<P>,
    /// Which slots between the ends are holes.
    holes: Vec<bool>,
    head: usize,
    /// Slots from the first packet to the last.
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

    /// Closes the holes if they are half of the ring, else doubles it; new slots hold copies of `filler` until used.
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

    /// The packet at a place counted from the head, unless there is a hole.
    #[inline]
    fn get(&self, place: usize) -> Option<&P> {
        let slot = self.slot(place);
        (!self.holes[slot]).then(|| &self.slots[slot])
    }

    /// Takes the packet that came first.
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

    /// Takes the packet at a place counted from the head, if one is there.
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

    /// The place of a packet drawn at random; there must be one. Linux: three draws, for holes, and then the head.
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
    capacity: Capacity,
    law: Law,
    vars: Vars,
    stats: Stats,
    /// Arrivals whose flow was drawn; a packet of the queue was dropped with each.
    matched: u64,
    rng: Rng,
}

impl<P: Packet> Qdisc<P> for Choke<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        packet.set_enqueued_at(now);
        let (packets, bytes, size) = (self.queue.packets, self.queue.bytes, packet.size());
        let above = self.law.average(&mut self.vars, now, packets, bytes);
        if above && packets > 0 {
            // Pan, Prabhakar, Psounis 2000, figure 1: the comparison comes before the thresholds.
            let place = self.queue.draw(&mut self.rng);
            let same = self
                .queue
                .get(place)
                .is_some_and(|drawn| drawn.flow() == packet.flow());
            if same && let Some(drawn) = self.queue.take(place) {
                self.matched += 1;
                sink.dropped(&drawn, DropReason::Law);
                sink.dropped(&packet, DropReason::Law);
                return;
            }
        }
        let signal: Signal = self.law.judge(&mut self.vars, packets, size, &mut self.rng);
        if !self.law.signal(signal, &mut packet, &mut self.stats, sink) {
            return;
        }
        if self.capacity.fits(packets, bytes, size) {
            self.queue.push(packet);
        } else {
            self.stats.pdrop += 1;
            sink.dropped(&packet, DropReason::Overflow);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, _sink: &mut dyn Sink<P>) -> Option<P> {
        let packet = self.queue.pop();
        if packet.is_none() {
            self.vars.idle(now);
        }
        packet
    }

    fn packets(&self) -> u64 {
        self.queue.packets
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes
    }

    /// `avg` is in the unit of the thresholds; `matched` counts arrivals dropped with a packet drawn from the queue.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("avg", self.vars.avg()),
            ("prob", self.law.probability(&self.vars)),
            ("early", self.stats.early as f64),
            ("marked", self.stats.marked as f64),
            ("pdrop", self.stats.pdrop as f64),
            ("overlimits", self.stats.overlimits as f64),
            ("matched", self.matched as f64),
        ]
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
        // The last leaves no hole.
        assert_eq!((queue.take(15), queue.span), (Some(15), 15));
        (16..17).for_each(|n| queue.push(n));
        // No room behind the last: the ten holes are closed.
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
    fn a_draw_never_ends_in_a_hole() {
        let mut queue = Holes::default();
        (0..16_u64).for_each(|n| queue.push(n));
        (1..15).for_each(|place| assert!(queue.take(place).is_some()));
        let mut rng = Streams::new(1).stream("choke");
        let drawn: Vec<usize> = (0..1000).map(|_| queue.draw(&mut rng)).collect();
        assert!(drawn.iter().all(|place| [0, 15].contains(place)));
        // Three draws of one sixteenth each, 0.176, find the last; else the head is taken.
        let last = drawn.iter().filter(|&&place| place == 15).count();
        assert!((115..230).contains(&last), "{last}");
    }
}
