//! Queues by their length, so that the longest is found at once however many there are.

/// For each length the queues that have it, in a ring that also holds the length itself, so that none is ever empty and nothing branches on that.
#[derive(Clone, Debug)]
pub struct Lengths {
    /// Packets of each queue.
    lengths: Vec<u32>,
    /// The neighbours of each queue in its ring; then those of each length, from 0 on.
    links: Vec<Link>,
    longest: u32,
}

/// Neighbours in a ring: a length is older than all of its queues, and newer.
#[derive(Clone, Copy, Debug)]
struct Link {
    newer: u32,
    older: u32,
}

impl Lengths {
    /// So many queues, all empty.
    pub fn new(queues: u32) -> Self {
        // The queues and length 0 are one ring.
        let ring = queues + 1;
        let link = |place| Link {
            newer: (place + 1) % ring,
            older: (place + ring - 1) % ring,
        };
        Self {
            lengths: vec![0; queues as usize],
            links: (0..ring).map(link).collect(),
            longest: 0,
        }
    }

    /// Packets of a queue.
    #[inline]
    pub fn of(&self, queue: u32) -> u32 {
        self.lengths[queue as usize]
    }

    /// The greatest length.
    #[inline]
    pub fn longest(&self) -> u32 {
        self.longest
    }

    /// A queue of the greatest length; of several, the one that came to it last.
    #[inline]
    pub fn queue(&self) -> Option<u32> {
        (self.longest > 0).then(|| self.links[self.ring(self.longest)].older)
    }

    /// A queue has one packet more.
    #[inline]
    pub fn grow(&mut self, queue: u32) {
        let length = self.of(queue) + 1;
        if self.ring(length) == self.links.len() {
            let own = self.links.len() as u32;
            self.links.push(Link {
                newer: own,
                older: own,
            });
        }
        self.move_to(queue, length);
        self.longest = self.longest.max(length);
    }

    /// A queue has one packet less; it must have one.
    #[inline]
    pub fn shrink(&mut self, queue: u32) {
        let length = self.of(queue);
        self.move_to(queue, length - 1);
        let ring = self.ring(length);
        let is_left = self.links[ring].older == ring as u32;
        self.longest -= u32::from(length == self.longest && is_left);
    }

    /// The place of a length in its ring.
    #[inline]
    fn ring(&self, length: u32) -> usize {
        self.lengths.len() + length as usize
    }

    /// Makes a queue the newest of a length.
    #[inline]
    fn move_to(&mut self, queue: u32, length: u32) {
        let Link { newer, older } = self.links[queue as usize];
        self.links[newer as usize].older = older;
        self.links[older as usize].newer = newer;
        let ring = self.ring(length);
        let newest = std::mem::replace(&mut self.links[ring].older, queue);
        self.links[newest as usize].newer = queue;
        self.links[queue as usize] = Link {
            newer: ring as u32,
            older: newest,
        };
        self.lengths[queue as usize] = length;
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
