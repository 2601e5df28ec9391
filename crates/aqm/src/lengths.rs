//! Queues sorted by their length, to find the longest in constant time.

/// Per length, a ring of the queues of that length. The ring also contains a node for the length itself, so that it is never empty and needs no
/// branch.
#[derive(Clone, Debug)]
pub struct Lengths {
    /// The nodes of the queues, followed by those of the lengths from 0 on.
    nodes: Vec<Node>,
    queues: u32,
    longest: u32,
}

/// A node of a ring: a queue or a length. The node of a length follows its newest queue and precedes its oldest.
#[derive(Clone, Copy, Debug)]
struct Node {
    newer: u32,
    older: u32,
    length: u32,
}

impl Lengths {
    /// Creates `queues` empty queues.
    pub fn new(queues: u32) -> Self {
        // All queues and the node of length 0 form one ring.
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

    /// Number of packets in a queue.
    #[inline]
    pub fn of(&self, queue: u32) -> u32 {
        self.nodes[queue as usize].length
    }

    /// The largest length.
    #[inline]
    pub fn longest(&self) -> u32 {
        self.longest
    }

    /// The queue with the largest length. If there are several, the one that reached it last.
    #[inline]
    pub fn queue(&self) -> Option<u32> {
        (self.longest > 0).then(|| self.nodes[self.ring(self.longest) as usize].older)
    }

    /// Records that a queue grew by one packet.
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

    /// Records that a queue, which must not be empty, shrank by one packet.
    #[inline]
    pub fn shrink(&mut self, queue: u32) {
        let length = self.of(queue);
        self.move_to(queue, length - 1);
        let ring = self.ring(length);
        let is_left = self.nodes[ring as usize].older == ring;
        self.longest -= u32::from((length == self.longest) & is_left);
    }

    /// The node of a length.
    #[inline]
    fn ring(&self, length: u32) -> u32 {
        self.queues + length
    }

    /// Makes a queue the newest one of a length.
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
        // A fixed sequence that grows and shrinks every queue, to zero and back.
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
    fn of_equal_entries_the_last_added_is_found() {
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
