//! Storage for disciplines with many queues: all share one slab of packets, and each queue is a chain in it.

use std::hint::select_unpredictable;

use bloatlab_units::Rng;

use crate::Packet;

/// No place, no flow.
pub(crate) const NONE: u32 = u32::MAX;

/// Packets of many queues in one growing block. The place that was freed last is used first, because it is still in the cache.
///
/// Links are stored apart from packets. A packet that fills a cache line then stays in one line, and many links share another.
#[derive(Debug)]
pub struct Slab<P> {
    places: Vec<Place<P>>,
    /// For each place, the next place in its chain or in the list of free places.
    next: Vec<u32>,
    free: u32,
    /// Narrower than `bytes`. Otherwise both would be loaded as one vector right after each was stored separately, which stalls.
    packets: u32,
    bytes: u64,
}

/// A packet, aligned to a cache line. Without this, a vector usually starts in the middle of a cache line.
#[derive(Debug)]
#[repr(align(64))]
struct Place<P>(P);

/// A FIFO of packets in a [`Slab`].
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    head: u32,
    tail: u32,
}

impl Chain {
    /// The place of its newest packet.
    #[inline]
    pub(crate) fn tail(&self) -> u32 {
        self.tail
    }
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            head: NONE,
            tail: NONE,
        }
    }
}

impl<P> Default for Slab<P> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            next: Vec::new(),
            free: NONE,
            packets: 0,
            bytes: 0,
        }
    }
}

impl<P: Packet> Slab<P> {
    /// Number of packets in all chains.
    #[inline]
    pub fn packets(&self) -> u64 {
        u64::from(self.packets)
    }

    /// Number of bytes in all chains.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends a packet to a chain. Returns a reference to the stored packet, to stamp it there.
    #[inline(always)]
    pub fn push(&mut self, chain: &mut Chain, packet: P) -> &mut P {
        self.packets += 1;
        self.bytes += u64::from(packet.size());
        if self.free == NONE {
            self.grow(packet);
        }
        let place = self.free;
        self.free = self.next[place as usize];
        // Whether a chain is empty is unpredictable, so this code does not branch on it. The first packet of a chain is temporarily linked to itself.
        let is_first = chain.head == NONE;
        chain.head = select_unpredictable(is_first, place, chain.head);
        let last = select_unpredictable(is_first, place, chain.tail);
        self.next[last as usize] = place;
        self.next[place as usize] = NONE;
        chain.tail = place;
        let stored = &mut self.places[place as usize].0;
        *stored = packet;
        stored
    }

    /// Adds a free place, which holds a copy of `filler` until it is used.
    #[cold]
    fn grow(&mut self, filler: P) {
        self.free = self.places.len() as u32;
        self.places.push(Place(filler));
        self.next.push(NONE);
    }

    /// Removes and returns the oldest packet of a chain.
    #[inline]
    pub fn pop(&mut self, chain: &mut Chain) -> Option<P> {
        let place = chain.head;
        if place == NONE {
            return None;
        }
        chain.head = self.release(place);
        Some(self.places[place as usize].0)
    }

    /// Removes the oldest packet of a chain, which must not be empty.
    #[inline]
    pub(crate) fn discard(&mut self, chain: &mut Chain) {
        chain.head = self.release(chain.head);
    }

    /// Removes and returns the newest packet of a chain. `before` is the place of the packet before it.
    #[inline]
    pub(crate) fn pop_back(&mut self, chain: &mut Chain, before: u32) -> Option<P> {
        let place = chain.tail;
        if place == chain.head {
            return self.pop(chain);
        }
        chain.tail = before;
        self.next[before as usize] = NONE;
        self.release(place);
        Some(self.places[place as usize].0)
    }

    /// Frees a place whose packet is no longer stored. Returns the next place in its chain.
    #[inline]
    fn release(&mut self, place: u32) -> u32 {
        self.packets -= 1;
        self.bytes -= u64::from(self.places[place as usize].0.size());
        let next = std::mem::replace(&mut self.next[place as usize], self.free);
        self.free = place;
        next
    }

    /// The oldest packet of a chain.
    #[inline]
    pub fn front(&self, chain: &Chain) -> Option<&P> {
        self.places.get(chain.head as usize).map(|place| &place.0)
    }

    /// Whether the oldest packet of a chain [follows](Packet::follows) the one before it.
    #[inline]
    pub(crate) fn follows(&self, chain: &Chain) -> bool {
        self.front(chain).is_some_and(Packet::follows)
    }

    /// The newest packet of a chain.
    #[inline]
    pub fn back(&self, chain: &Chain) -> Option<&P> {
        self.front(chain)?;
        self.places.get(chain.tail as usize).map(|place| &place.0)
    }

    /// All packets of a chain, oldest first.
    pub fn iter(&self, chain: &Chain) -> impl Iterator<Item = &P> {
        let mut place = chain.head;
        std::iter::from_fn(move || {
            let (packet, next) = self.at(place)?;
            place = next;
            Some(packet)
        })
    }

    /// The place of the oldest packet of a chain; [`NONE`] if there is none.
    #[inline]
    pub(crate) fn first(&self, chain: &Chain) -> u32 {
        chain.head
    }

    /// The packet at a place, and the next place in its chain.
    #[inline]
    pub(crate) fn at(&self, place: u32) -> Option<(&P, u32)> {
        let packet = self.places.get(place as usize)?;
        Some((&packet.0, self.next[place as usize]))
    }

    /// Removes and returns the packet at `place`, which follows `previous` in its chain. If it is the oldest, `previous` is [`NONE`].
    pub(crate) fn take(&mut self, chain: &mut Chain, previous: u32, place: u32) -> P {
        let next = self.release(place);
        match self.next.get_mut(previous as usize) {
            Some(before) => *before = next,
            None => chain.head = next,
        }
        if chain.tail == place {
            chain.tail = previous;
        }
        self.places[place as usize].0
    }

    /// The oldest packet of a chain, mutable, to mark it.
    #[inline]
    pub fn front_mut(&mut self, chain: &Chain) -> Option<&mut P> {
        self.places
            .get_mut(chain.head as usize)
            .map(|place| &mut place.0)
    }
}

/// Maps flows to queues. The mapping depends on the random stream, so different flows collide with different seeds.
#[derive(Clone, Copy, Debug)]
pub struct FlowHash {
    perturbation: u64,
    queues: u64,
}

impl FlowHash {
    /// A hash with the values 0, 1, ..., `queues` - 1.
    pub fn new(rng: &mut Rng, queues: u32) -> Self {
        Self {
            perturbation: rng.bits(),
            queues: u64::from(queues),
        }
    }

    /// The queue of a flow.
    #[inline]
    pub fn queue(&self, flow: u64) -> usize {
        ((u64::from(self.bits(flow)) * self.queues) >> 32) as usize
    }

    /// The hash of a flow before it is mapped to a queue.
    #[inline]
    pub fn bits(&self, flow: u64) -> u32 {
        // SplitMix64's finaliser (Steele, Lea, Flood, OOPSLA 2014). It spreads every bit of the flow to the high half.
        let mut z = flow.wrapping_add(self.perturbation);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use bloatlab_units::{Nanos, Streams};

    impl Packet for u64 {
        fn size(&self) -> u32 {
            100
        }
        fn flow(&self) -> u64 {
            *self
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn set_ce(&mut self) {}
        fn enqueued_at(&self) -> Nanos {
            0
        }
        fn set_enqueued_at(&mut self, _now: Nanos) {}
    }

    #[test]
    fn freed_places_are_used_again() {
        let (mut slab, mut chains) = (Slab::default(), [Chain::default(); 2]);
        for round in 0..100_u64 {
            for n in 0..10 {
                slab.push(&mut chains[n % 2], round * 10 + n as u64);
            }
            assert_eq!((slab.packets(), slab.bytes()), (10, 1000));
            assert_eq!(slab.front(&chains[1]), Some(&(round * 10 + 1)));
            for n in 0..10 {
                assert_eq!(slab.pop(&mut chains[n % 2]), Some(round * 10 + n as u64));
            }
            assert_eq!(slab.pop(&mut chains[0]), None);
        }
        assert_eq!(slab.places.len(), 10);
    }

    #[test]
    fn packets_are_taken_from_anywhere() {
        let (mut slab, mut chain) = (Slab::default(), Chain::default());
        let places: Vec<u32> = (0..5_u64)
            .map(|n| {
                slab.push(&mut chain, n);
                chain.tail
            })
            .collect();
        assert_eq!(slab.take(&mut chain, places[1], places[2]), 2);
        assert_eq!(slab.take(&mut chain, NONE, places[0]), 0);
        assert_eq!(slab.take(&mut chain, places[3], places[4]), 4);
        assert_eq!((slab.packets(), slab.back(&chain)), (2, Some(&3)));
        slab.push(&mut chain, 9);
        let rest: Vec<_> = std::iter::from_fn(|| slab.pop(&mut chain)).collect();
        assert_eq!(rest, [1, 3, 9]);
        assert_eq!((slab.back(&chain), slab.places.len()), (None, 5));
    }

    #[test]
    fn flows_spread_evenly_and_otherwise_under_another_seed() {
        let hash = |seed| FlowHash::new(&mut Streams::new(seed).stream("queue"), 1024);
        let mut counts = [0_u32; 1024];
        (0..102_400).for_each(|flow| counts[hash(1).queue(flow)] += 1);
        // Chi-squared with 1023 degrees of freedom: mean 1023, standard deviation 45.
        let chi: f64 = counts
            .iter()
            .map(|&count| (f64::from(count) - 100.0).powi(2) / 100.0)
            .sum();
        assert!((chi - 1023.0).abs() < 4.0 * 45.0, "{chi}");
        assert!((0..100).any(|flow| hash(1).queue(flow) != hash(2).queue(flow)));
    }
}
