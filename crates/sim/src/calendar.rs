//! The pending events.
//!
//! An event is one 128-bit key: instant, then order among those of its instant, then target. Keys compare as integers.

use std::cmp::Reverse;
use std::mem::replace;

use bloatlab_units::Nanos;
use dary_heap::QuaternaryHeap;

/// Instant in the high 64 bits, order in the next 40, target in the low 24.
pub(crate) type Key = u128;

/// No event.
pub(crate) const NO_EVENT: Key = u128::MAX;

const TARGET_BITS: u32 = 24;

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

/// Stands for the earliest event while it is unknown. Before every event.
const UNKNOWN: Key = 0;

/// A priority queue of events: a 4-ary heap, whose cost does not depend on how the times are distributed.
pub(crate) struct Calendar {
    /// The earliest event, which is not in the heap. After a `pop` it is unknown until the next `push` or `settle`: most events schedule another one,
    /// which then replaces the first of the heap in one step.
    first: Key,
    others: QuaternaryHeap<Reverse<Key>>,
}

impl Calendar {
    pub fn new() -> Self {
        Self {
            first: NO_EVENT,
            others: QuaternaryHeap::new(),
        }
    }

    /// The earliest event, `NO_EVENT`, or something before every event: then `settle` finds the earliest.
    #[inline]
    pub fn peek(&self) -> Key {
        self.first
    }

    /// Finds the earliest event if it is unknown. Returns whether it was.
    #[inline]
    pub fn settle(&mut self) -> bool {
        let unknown = self.first == UNKNOWN;
        if unknown {
            self.first = self.others.pop().map_or(NO_EVENT, |Reverse(key)| key);
        }
        unknown
    }

    #[inline(never)]
    pub fn push(&mut self, key: Key) {
        if self.first != UNKNOWN {
            let later = key.max(self.first);
            self.first = key.min(self.first);
            if later != NO_EVENT {
                self.others.push(Reverse(later));
            }
            return;
        }
        self.first = match self.others.peek_mut() {
            Some(mut earliest) if earliest.0 < key => replace(&mut earliest.0, key),
            _ => key,
        };
    }

    /// Removes the earliest event, which must be known.
    #[inline]
    pub fn pop(&mut self) -> Key {
        debug_assert!(self.first != UNKNOWN && self.first != NO_EVENT);
        replace(&mut self.first, UNKNOWN)
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
                calendar.settle();
                prop_assert_eq!(calendar.peek(), model.first().copied().unwrap_or(NO_EVENT));
                if pop && let Some(expected) = model.pop_first() {
                    now = instant(expected);
                    prop_assert_eq!(calendar.pop(), expected);
                }
            }
            while let Some(expected) = model.pop_first() {
                calendar.settle();
                prop_assert_eq!(calendar.pop(), expected);
            }
            calendar.settle();
            prop_assert_eq!(calendar.peek(), NO_EVENT);
        }
    }

    #[test]
    fn a_crowd_at_one_instant_takes_no_longer() {
        // If each event passed all events before it, this many would take hours.
        let crowd = 1_000_000;
        let mut calendar = Calendar::new();
        for order in 1..=crowd {
            calendar.push(key(5, order, 0));
        }
        for order in 1..=crowd {
            calendar.settle();
            assert_eq!(calendar.pop(), key(5, order, 0));
        }
    }

    #[test]
    fn simultaneous_events_leave_in_their_order() {
        let mut calendar = Calendar::new();
        for order in [3_u64, 1, 2] {
            calendar.push(key(5, order, 9));
        }
        let orders: Vec<u64> = (0..3)
            .map(|_| {
                calendar.settle();
                (calendar.pop() as u64) >> TARGET_BITS
            })
            .collect();
        assert_eq!(orders, [1, 2, 3]);
    }
}
