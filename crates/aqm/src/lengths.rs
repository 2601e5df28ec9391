//! Queues by their length, so that the longest is found at once however many there are.

use crate::slab::NONE;

/// For each length the queues that have it, doubly linked.
#[derive(Clone, Debug)]
pub struct Lengths {
    /// The queue that came to each length last; lengths from 1 on count.
    latest: Vec<u32>,
    queues: Vec<Place>,
    longest: u32,
}

/// A queue among those of its length.
#[derive(Clone, Copy, Debug)]
struct Place {
    length: u32,
    newer: u32,
    older: u32,
}

impl Lengths {
    /// So many queues, all empty.
    pub fn new(queues: u32) -> Self {
        let empty = Place {
            length: 0,
            newer: NONE,
            older: NONE,
        };
        Self {
            latest: vec![NONE; 2],
            queues: vec![empty; queues as usize],
            longest: 0,
        }
    }

    /// Packets of a queue.
    #[inline]
    pub fn of(&self, queue: u32) -> u32 {
        self.queues[queue as usize].length
    }

    /// The greatest length.
    #[inline]
    pub fn longest(&self) -> u32 {
        self.longest
    }

    /// A queue of the greatest length; of several, the one that came to it last.
    #[inline]
    pub fn queue(&self) -> Option<u32> {
        (self.longest > 0).then(|| self.latest[self.longest as usize])
    }

    /// A queue has one packet more.
    #[inline]
    pub fn grow(&mut self, queue: u32) {
        let length = self.of(queue) + 1;
        self.leave(queue);
        if length as usize == self.latest.len() {
            self.latest.push(NONE);
        }
        self.join(queue, length);
        self.longest = self.longest.max(length);
    }

    /// A queue has one packet less; it must have one.
    #[inline]
    pub fn shrink(&mut self, queue: u32) {
        let length = self.of(queue);
        self.leave(queue);
        self.join(queue, length - 1);
        if length == self.longest && self.latest[length as usize] == NONE {
            self.longest = length - 1;
        }
    }

    #[inline]
    fn leave(&mut self, queue: u32) {
        let Place {
            length,
            newer,
            older,
        } = self.queues[queue as usize];
        if length == 0 {
            return;
        }
        if newer == NONE {
            self.latest[length as usize] = older;
        } else {
            self.queues[newer as usize].older = older;
        }
        if older != NONE {
            self.queues[older as usize].newer = newer;
        }
    }

    #[inline]
    fn join(&mut self, queue: u32, length: u32) {
        let place = &mut self.queues[queue as usize];
        place.length = length;
        if length == 0 {
            return;
        }
        let latest = &mut self.latest[length as usize];
        place.newer = NONE;
        place.older = *latest;
        let older = std::mem::replace(latest, queue);
        if older != NONE {
            self.queues[older as usize].newer = queue;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_is_always_known() {
        let mut lengths = Lengths::new(5);
        let mut plain = [0_u32; 5];
        // A fixed sequence that grows and shrinks every queue, to and from nothing.
        let mut state = 1_u32;
        for _ in 0..20_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let queue = (state >> 20) % 5;
            if state >> 31 == 0 && plain[queue as usize] > 0 {
                lengths.shrink(queue);
                plain[queue as usize] -= 1;
            } else {
                lengths.grow(queue);
                plain[queue as usize] += 1;
            }
            let most = plain.iter().copied().max().unwrap_or(0);
            assert_eq!(lengths.longest(), most);
            let named = lengths.queue().map_or(0, |queue| plain[queue as usize]);
            assert_eq!(named, most);
            assert_eq!(lengths.of(queue), plain[queue as usize]);
        }
    }

    #[test]
    fn of_equals_the_last_to_come() {
        let mut lengths = Lengths::new(3);
        [0, 1, 2, 1, 0]
            .into_iter()
            .for_each(|queue| lengths.grow(queue));
        assert_eq!(lengths.queue(), Some(0));
        lengths.shrink(0);
        assert_eq!(lengths.queue(), Some(1));
        lengths.shrink(1);
        assert_eq!((lengths.longest(), lengths.queue()), (1, Some(1)));
        [1, 0, 2]
            .into_iter()
            .for_each(|queue| lengths.shrink(queue));
        assert_eq!((lengths.longest(), lengths.queue()), (0, None));
    }
}
