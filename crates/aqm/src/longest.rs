//! Finds the longest of many queues without looking at all of them.

/// A tournament tree over the queues' backlogs: every node holds the greater of its two children.
///
/// Departures do not update the tree, so a backlog in it is an upper bound. `find` checks the winner's real backlog and corrects it.
/// The tree is only maintained while overflows happen, so a queue without overflows does not pay for it.
#[derive(Clone, Debug)]
pub struct Longest {
    queues: usize,
    /// The root is at 1, the queues are in the upper half.
    nodes: Vec<u64>,
    /// Number of further arrivals for which the tree is maintained.
    kept: u32,
}

/// Number of arrivals without an overflow after which the tree is no longer maintained.
const KEPT: u32 = 65_535;

impl Longest {
    /// A tree for this number of queues, all empty.
    pub fn new(queues: usize) -> Self {
        Self {
            queues,
            nodes: vec![0; 2 * queues.next_power_of_two()],
            kept: 0,
        }
    }

    /// Notes that a packet arrived in a queue. `backlog` is only called while the tree is maintained.
    #[inline]
    pub fn arrived(&mut self, queue: usize, backlog: impl FnOnce() -> u64) {
        if self.kept > 0 {
            self.kept -= 1;
            self.set(queue, backlog());
        }
    }

    fn set(&mut self, queue: usize, backlog: u64) {
        let mut node = self.nodes.len() / 2 + queue;
        self.nodes[node] = backlog;
        while node > 1 {
            node /= 2;
            let greater = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
            if self.nodes[node] == greater {
                return;
            }
            self.nodes[node] = greater;
        }
    }

    /// Returns the queue with the greatest backlog; the first one if several are equal.
    pub fn find(&mut self, backlog: impl Fn(usize) -> u64) -> usize {
        if self.kept == 0 {
            self.hold(&backlog);
        }
        self.kept = KEPT;
        loop {
            let queue = self.winner();
            let real = backlog(queue);
            if self.nodes[self.nodes.len() / 2 + queue] == real {
                return queue;
            }
            self.set(queue, real);
        }
    }

    /// Builds the tree from the real backlogs.
    fn hold(&mut self, backlog: impl Fn(usize) -> u64) {
        let half = self.nodes.len() / 2;
        for (queue, leaf) in self.nodes[half..][..self.queues].iter_mut().enumerate() {
            *leaf = backlog(queue);
        }
        for node in (1..half).rev() {
            self.nodes[node] = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
        }
    }

    /// Returns the queue with the greatest backlog in the tree.
    fn winner(&self) -> usize {
        let half = self.nodes.len() / 2;
        let mut node = 1;
        while node < half {
            node *= 2;
            if self.nodes[node] < self.nodes[node + 1] {
                node += 1;
            }
        }
        node - half
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_the_same_as_a_full_search(
            queues in 1_usize..20,
            steps in prop::collection::vec((0_usize..20, 0_u64..5, any::<bool>()), 1..300),
        ) {
            let (mut longest, mut backlogs) = (Longest::new(queues), vec![0; queues]);
            for (queue, bytes, is_arrival) in steps {
                let queue = queue % queues;
                if is_arrival {
                    backlogs[queue] += bytes;
                    longest.arrived(queue, || backlogs[queue]);
                } else {
                    backlogs[queue] -= bytes.min(backlogs[queue]);
                }
                if bytes == 0 {
                    let most = backlogs.iter().max().copied();
                    let first = backlogs.iter().position(|&backlog| Some(backlog) == most);
                    prop_assert_eq!(Some(longest.find(|queue| backlogs[queue])), first);
                }
            }
        }
    }
}
