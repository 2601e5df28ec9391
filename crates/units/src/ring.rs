//! A first-in, first-out queue in a ring whose size is a power of two.

use std::ops::{Index, IndexMut};

/// A first-in, first-out queue. The ring grows by doubling and never shrinks.
///
/// `head` and `tail` count all values that were ever removed and appended. A mask turns such a count into a slot.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Vec<T>,
    head: usize,
    tail: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            head: 0,
            tail: 0,
        }
    }
}

impl<T: Copy> Ring<T> {
    /// Number of values in the queue.
    #[inline]
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    /// Whether the queue is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    #[inline]
    fn slot(&self, count: usize) -> usize {
        count & self.slots.len().wrapping_sub(1)
    }

    /// The oldest value.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.get(0)
    }

    /// The oldest value, mutably.
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.get_mut(0)
    }

    /// The value at this index, counted from the oldest.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        if index >= self.len() {
            return None;
        }
        self.slots.get(self.slot(self.head.wrapping_add(index)))
    }

    /// The value at this index, counted from the oldest, mutably.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index >= self.len() {
            return None;
        }
        let slot = self.slot(self.head.wrapping_add(index));
        self.slots.get_mut(slot)
    }

    /// Appends a value and returns a reference to it.
    #[inline]
    pub fn push_back(&mut self, value: T) -> &mut T {
        if self.len() == self.slots.len() {
            self.grow(value);
        }
        let slot = self.slot(self.tail);
        self.tail = self.tail.wrapping_add(1);
        let place = &mut self.slots[slot];
        *place = value;
        place
    }

    /// Removes and returns the oldest value.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let oldest = *self.front()?;
        self.head = self.head.wrapping_add(1);
        Some(oldest)
    }

    /// Removes the `count` oldest values. The queue must hold at least this many.
    #[inline]
    pub fn drop_front(&mut self, count: usize) {
        debug_assert!(count <= self.len());
        self.head = self.head.wrapping_add(count);
    }

    /// Removes the `count` newest values; there must be as many.
    #[inline]
    pub fn drop_back(&mut self, count: usize) {
        debug_assert!(count <= self.len());
        self.tail = self.tail.wrapping_sub(count);
    }

    /// Doubles the ring. New slots hold copies of `filler` until they are used.
    #[cold]
    fn grow(&mut self, filler: T) {
        let (held, head) = (self.len(), self.slot(self.head));
        self.slots.rotate_left(head);
        (self.head, self.tail) = (0, held);
        let doubled = (self.slots.len() * 2).max(4);
        self.slots.resize(doubled, filler);
    }

    /// Number of values at the front that satisfy `before`. They must all precede those that do not satisfy it.
    pub fn partition_point(&self, mut before: impl FnMut(&T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle).is_some_and(&mut before) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// All values, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

impl<T: Copy> Index<usize> for Ring<T> {
    type Output = T;

    /// # Panics
    ///
    /// If `index` is not below the length.
    fn index(&self, index: usize) -> &T {
        self.get(index).expect("index below the length")
    }
}

impl<T: Copy> IndexMut<usize> for Ring<T> {
    /// # Panics
    ///
    /// If `index` is not below the length.
    fn index_mut(&mut self, index: usize) -> &mut T {
        self.get_mut(index).expect("index below the length")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn holds_what_a_deque_holds(steps in proptest::collection::vec((0_u8..5, 0_usize..8), 1..300)) {
            let (mut ring, mut deque) = (Ring::default(), VecDeque::new());
            for (number, (step, count)) in steps.into_iter().enumerate() {
                match step {
                    0 => prop_assert_eq!(ring.pop_front(), deque.pop_front()),
                    1 => {
                        let count = count.min(deque.len());
                        ring.drop_front(count);
                        deque.drain(..count);
                    }
                    2 => {
                        let count = count.min(deque.len());
                        ring.drop_back(count);
                        deque.truncate(deque.len() - count);
                    }
                    _ => {
                        prop_assert_eq!(*ring.push_back(number), number);
                        deque.push_back(number);
                    }
                }
                prop_assert!(ring.iter().eq(deque.iter()));
                prop_assert_eq!((ring.len(), ring.is_empty()), (deque.len(), deque.is_empty()));
                prop_assert_eq!(ring.front(), deque.front());
                prop_assert_eq!(ring.get(count), deque.get(count));
                let middle = number / 2;
                prop_assert_eq!(ring.partition_point(|&v| v < middle), deque.partition_point(|&v| v < middle));
            }
        }
    }
}
