//! The pending events: a calendar queue whose bucket width follows the density of events.
//!
//! An event is one 128-bit key: instant, then order of creation, then target. Keys compare as integers, so simultaneous events leave in the order
//! they were made.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bloatlab_units::Nanos;

/// Instant in the high 64 bits, order of creation in the next 40, target in the low 24.
pub(crate) type Key = u128;

/// No event.
pub(crate) const NO_EVENT: Key = u128::MAX;

const TARGET_BITS: u32 = 24;
const BUCKETS: usize = 1024;
const WORDS: usize = BUCKETS / 64;
const EMPTY: u32 = u32::MAX;
/// Events between two looks at the bucket width.
const REVIEW: u32 = 4096;

/// The instant of an event.
#[inline]
pub(crate) fn instant(key: Key) -> Nanos {
    (key >> 64) as u64
}

/// The target of an event.
#[inline]
pub(crate) fn target(key: Key) -> u32 {
    key as u32 & ((1 << TARGET_BITS) - 1)
}

#[inline]
pub(crate) fn key(at: Nanos, order: u64, target: u32) -> Key {
    debug_assert!(target < 1 << TARGET_BITS);
    u128::from(at) << 64 | u128::from(order << TARGET_BITS | u64::from(target))
}

#[derive(Clone, Copy)]
struct Node {
    key: Key,
    next: u32,
}

/// A priority queue of events.
pub(crate) struct Calendar {
    /// The earliest event, kept out of the buckets.
    first: Key,
    /// Last nodes of sorted lists in `nodes`, by bucket number modulo their count. The node after the last is the first: an event that is later than
    /// all of its bucket, as every one of many at the same instant is, goes in without a walk.
    tails: [u32; BUCKETS],
    occupied: [u64; WORDS],
    nodes: Vec<Node>,
    free: u32,
    /// Events beyond the last bucket.
    later: BinaryHeap<Reverse<Key>>,
    /// Bucket number from which buckets are in force.
    current: u64,
    shift: u32,
    pops: u32,
    reviewed_at: Nanos,
}

impl Calendar {
    pub fn new() -> Self {
        Self {
            first: NO_EVENT,
            tails: [EMPTY; BUCKETS],
            occupied: [0; WORDS],
            nodes: Vec::with_capacity(64),
            free: EMPTY,
            later: BinaryHeap::new(),
            current: 0,
            shift: 16,
            pops: 0,
            reviewed_at: 0,
        }
    }

    /// The earliest event, or `NO_EVENT`.
    #[inline]
    pub fn peek(&self) -> Key {
        self.first
    }

    #[inline(never)]
    pub fn push(&mut self, key: Key) {
        if key < self.first {
            let second = std::mem::replace(&mut self.first, key);
            if second != NO_EVENT {
                self.insert(second);
            }
        } else {
            self.insert(key);
        }
    }

    /// Takes the earliest event off; there must be one.
    #[inline(never)]
    pub fn pop(&mut self) -> Key {
        let key = self.first;
        self.pops += 1;
        if self.pops >= REVIEW {
            self.review(instant(key));
        }
        self.first = self.extract();
        key
    }

    #[inline]
    fn insert(&mut self, key: Key) {
        let bucket = instant(key) >> self.shift;
        if bucket >= self.current + BUCKETS as u64 {
            self.later.push(Reverse(key));
            return;
        }
        // An event earlier than the bucket in force belongs to that bucket: it is sorted there.
        let slot = bucket.max(self.current) as usize % BUCKETS;
        let node = self.allocate(key);
        let tail = self.tails[slot];
        if tail == EMPTY {
            self.nodes[node as usize].next = node;
            self.tails[slot] = node;
            self.occupied[slot / 64] |= 1 << (slot % 64);
            return;
        }
        let mut at = tail;
        if key > self.nodes[tail as usize].key {
            self.tails[slot] = node;
        } else {
            // Ends at the tail at the latest.
            while key > self.nodes[self.nodes[at as usize].next as usize].key {
                at = self.nodes[at as usize].next;
            }
        }
        self.nodes[node as usize].next = self.nodes[at as usize].next;
        self.nodes[at as usize].next = node;
    }

    #[inline]
    fn allocate(&mut self, key: Key) -> u32 {
        if self.free == EMPTY {
            self.nodes.push(Node { key, next: EMPTY });
            return (self.nodes.len() - 1) as u32;
        }
        let node = self.free;
        self.free = self.nodes[node as usize].next;
        self.nodes[node as usize].key = key;
        node
    }

    #[inline]
    fn extract(&mut self) -> Key {
        loop {
            if let Some(slot) = self.first_occupied() {
                let base = self.current as usize % BUCKETS;
                self.current += ((slot + BUCKETS - base) % BUCKETS) as u64;
                self.admit();
                return self.take(slot);
            }
            let Some(Reverse(next)) = self.later.peek() else {
                return NO_EVENT;
            };
            self.current = instant(*next) >> self.shift;
            self.admit();
        }
    }

    fn take(&mut self, slot: usize) -> Key {
        let tail = self.tails[slot];
        let node = self.nodes[tail as usize].next;
        let Node { key, next } = self.nodes[node as usize];
        if node == tail {
            self.tails[slot] = EMPTY;
            self.occupied[slot / 64] &= !(1 << (slot % 64));
        } else {
            self.nodes[tail as usize].next = next;
        }
        self.nodes[node as usize].next = self.free;
        self.free = node;
        key
    }

    /// First occupied slot at or after the current one, going round.
    #[inline]
    fn first_occupied(&self) -> Option<usize> {
        let base = self.current as usize % BUCKETS;
        let (word, bit) = (base / 64, base % 64);
        let here = self.occupied[word] >> bit << bit;
        if here != 0 {
            return Some(word * 64 + here.trailing_zeros() as usize);
        }
        for step in 1..=WORDS {
            let at = (word + step) % WORDS;
            let bits = self.occupied[at];
            if bits != 0 {
                return Some(at * 64 + bits.trailing_zeros() as usize);
            }
        }
        None
    }

    /// Moves events of the far heap that now lie within the buckets.
    #[inline]
    fn admit(&mut self) {
        while let Some(&Reverse(key)) = self.later.peek() {
            if instant(key) >> self.shift >= self.current + BUCKETS as u64 {
                return;
            }
            self.later.pop();
            self.insert(key);
        }
    }

    /// Sets the bucket width to about the mean gap between events.
    #[cold]
    fn review(&mut self, now: Nanos) {
        let gap = (now - self.reviewed_at) / u64::from(self.pops);
        self.pops = 0;
        self.reviewed_at = now;
        let wanted = (64 - gap.leading_zeros()).clamp(4, 32);
        if wanted.abs_diff(self.shift) < 2 {
            return;
        }
        let mut events: Vec<Key> = self.later.drain().map(|Reverse(key)| key).collect();
        for slot in 0..BUCKETS {
            while self.tails[slot] != EMPTY {
                events.push(self.take(slot));
            }
        }
        self.shift = wanted;
        self.current = now >> wanted;
        for key in events {
            self.insert(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn leaves_like_a_sorted_list(steps in proptest::collection::vec((0_u64..4, 0_u64..50_000_000, any::<bool>()), 1..3000), scale in 0_u32..14) {
            let mut calendar = Calendar::new();
            let mut model = std::collections::BTreeSet::new();
            let mut now = 0;
            for (order, (pushes, delay, pop)) in steps.into_iter().enumerate() {
                for i in 0..pushes {
                    let k = key(now + ((delay * (i + 1)) >> scale), order as u64 * 4 + i, 7);
                    calendar.push(k);
                    model.insert(k);
                }
                prop_assert_eq!(calendar.peek(), model.first().copied().unwrap_or(NO_EVENT));
                if pop && let Some(expected) = model.pop_first() {
                    now = instant(expected);
                    prop_assert_eq!(calendar.pop(), expected);
                }
            }
            while let Some(expected) = model.pop_first() {
                prop_assert_eq!(calendar.pop(), expected);
            }
            prop_assert_eq!(calendar.peek(), NO_EVENT);
        }
    }

    #[test]
    fn width_follows_density_without_losing_order() {
        let mut calendar = Calendar::new();
        // As in the engine: a key of zero would be no later than `last` at its start.
        let mut order = 1;
        for gap in [3_u64, 100_000, 40, 5_000_000] {
            let mut now = if calendar.peek() == NO_EVENT {
                0
            } else {
                instant(calendar.peek())
            };
            for _ in 0..20 {
                calendar.push(key(now, order, 0));
                order += 1;
            }
            let mut last = 0;
            for _ in 0..20_000 {
                let k = calendar.pop();
                assert!(k > last);
                last = k;
                now = instant(k);
                calendar.push(key(now + gap * 20, order, 0));
                order += 1;
            }
        }
    }

    #[test]
    fn a_crowd_at_one_instant_goes_in_without_a_walk() {
        // Walked through one by one, this many would take hours.
        let crowd = 1_000_000;
        let mut calendar = Calendar::new();
        for order in 1..=crowd {
            calendar.push(key(5, order, 0));
        }
        for order in 1..=crowd {
            assert_eq!(calendar.pop(), key(5, order, 0));
        }
    }

    #[test]
    fn simultaneous_events_leave_in_the_order_made() {
        let mut calendar = Calendar::new();
        for order in [3_u64, 1, 2] {
            calendar.push(key(5, order, 9));
        }
        let orders: Vec<u64> = (0..3)
            .map(|_| (calendar.pop() as u64) >> TARGET_BITS)
            .collect();
        assert_eq!(orders, [1, 2, 3]);
    }
}
