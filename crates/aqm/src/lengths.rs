//! Queues by their length, so that the longest is found at once however many there are.

/// For each length the queues that have it, in a ring that also holds the length itself, so that none is ever empty and nothing branches on that.
#[derive(Clone, Debug)]
pub struct Lengths {
    /// The queues; then the lengths, from 0 on.
    nodes: Vec<Node>,
    queues: u32,
    longest: u32,
}

/// A queue or a length in its ring: a length is older than all of its queues, and newer.
#[derive(Clone, Copy, Debug)]
struct Node {
    newer: u32,
    older: u32,
    length: u32,
}

impl Lengths {
    /// So many queues, all empty.
    pub fn new(queues: u32) -> Self {
        // The queues and length 0 are one ring.
        let ring = queues + 1;
        let node = |place| Node {
            newer: (place + 1) % ring,
            older: (place + ring - 1) % ring,
            length: 0,
        };
        Self {
            nodes: (0..ring).map(node).collect(),
            queues,
            longest: 0,
        }
    }

    /// Packets of a queue.
    #[inline]
    pub fn of(&self, queue: u32) -> u32 {
        self.nodes[queue as usize].length
    }

    /// The greatest length.
    #[inline]
    pub fn longest(&self) -> u32 {
        self.longest
    }

    /// A queue of the greatest length; of several, the one that came to it last.
    #[inline]
    pub fn queue(&self) -> Option<u32> {
        (self.longest > 0).then(|| self.nodes[self.ring(self.longest) as usize].older)
    }

    /// A queue has one packet more.
    #[inline]
    pub fn grow(&mut self, queue: u32) {
        let length = self.of(queue) + 1;
        let ring = self.ring(length);
        if ring as usize == self.nodes.len() {
            self.nodes.push(Node {
                newer: ring,
                older: ring,
                length,
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
        let is_left = self.nodes[ring as usize].older == ring;
        self.longest -= u32::from((length == self.longest) & is_left);
    }

    /// The place of a length in its ring.
    #[inline]
    fn ring(&self, length: u32) -> u32 {
        self.queues + length
    }

    /// Makes a queue the newest of a length.
    #[inline]
    fn move_to(&mut self, queue: u32, length: u32) {
        let ring = self.ring(length);
        let Node { newer, older, .. } = self.nodes[queue as usize];
        self.nodes[newer as usize].older = older;
        self.nodes[older as usize].newer = newer;
        let newest = std::mem::replace(&mut self.nodes[ring as usize].older, queue);
        self.nodes[newest as usize].newer = queue;
        self.nodes[queue as usize] = Node {
            newer: ring,
            older: newest,
            length,
        };
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
