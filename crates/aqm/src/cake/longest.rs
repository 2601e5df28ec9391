//! The longest of many queues, found in one look and kept up to date in a logarithm of their number.

/// A tournament over the queues' backlogs: every node holds the greater of the two below it.
///
/// It is only kept while overflows happen: an uncongested queue pays nothing for it.
#[derive(Clone, Debug)]
pub struct Longest {
    /// The root is at 1; queue `n` is at `queues + n`.
    nodes: Vec<u32>,
    /// Arrivals for which it will still be kept up to date.
    kept: u32,
}

/// Arrivals without an overflow after which it is let go.
const KEPT: u32 = 65_535;

impl Longest {
    /// A tournament of a power of two of queues, all empty.
    pub fn new(queues: usize) -> Self {
        Self {
            nodes: vec![0; 2 * queues.next_power_of_two()],
            kept: 0,
        }
    }

    /// A packet arrived in a queue, whose backlog is asked for if it matters.
    #[inline]
    pub fn arrived(&mut self, queue: usize, backlog: impl FnOnce() -> u32) {
        if self.kept > 0 {
            self.kept -= 1;
            self.update(queue, backlog());
        }
    }

    /// The backlog of a queue is now this.
    #[inline]
    pub fn update(&mut self, queue: usize, backlog: u32) {
        if self.kept > 0 {
            self.set(queue, backlog);
        }
    }

    fn set(&mut self, queue: usize, backlog: u32) {
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

    /// The longest queue; of equals, the first. The backlogs are asked for if they were not kept.
    pub fn find(&mut self, backlogs: impl Iterator<Item = u32>) -> usize {
        let queues = self.nodes.len() / 2;
        if self.kept == 0 {
            for (leaf, backlog) in self.nodes[queues..].iter_mut().zip(backlogs) {
                *leaf = backlog;
            }
            for node in (1..queues).rev() {
                self.nodes[node] = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
            }
        }
        self.kept = KEPT;
        let mut node = 1;
        while node < queues {
            node *= 2;
            if self.nodes[node] < self.nodes[node + 1] {
                node += 1;
            }
        }
        node - queues
    }
}
