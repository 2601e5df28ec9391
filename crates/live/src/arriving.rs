//! Packets that the last delay of their path holds. When they reach their hosts follows from the delay, so nobody has to see them arrive.

use std::collections::VecDeque;

use bloatlab_units::Nanos;

/// The packets that each of several delays holds.
pub(crate) struct Arriving<T> {
    /// By delay: the packets in the order in which they arrive.
    held: Vec<VecDeque<(Nanos, T)>>,
}

impl<T> Arriving<T> {
    /// Nothing in this number of delays.
    pub fn new(delays: usize) -> Self {
        Self {
            held: (0..delays).map(|_| VecDeque::new()).collect(),
        }
    }

    /// A delay holds a packet until an instant.
    pub fn add(&mut self, delay: usize, at: Nanos, packet: T) {
        let held = &mut self.held[delay];
        // A delay that has decreased lets packets overtake earlier ones.
        let overtaken = held
            .iter()
            .rev()
            .take_while(|(other, _)| *other > at)
            .count();
        held.insert(held.len() - overtaken, (at, packet));
    }

    /// Takes out the packet that arrives first, if it arrives until this instant.
    pub fn next(&mut self, until: Nanos) -> Option<(Nanos, T)> {
        let first =
            |held: &&mut VecDeque<(Nanos, T)>| held.front().map_or(Nanos::MAX, |&(at, _)| at);
        let held = self.held.iter_mut().min_by_key(first)?;
        if first(&held) > until {
            return None;
        }
        held.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_arrive_in_the_order_of_their_instants() {
        let mut arriving = Arriving::new(2);
        for (delay, at) in [(0, 10), (0, 30), (1, 20), (1, 40), (0, 25), (1, 40)] {
            arriving.add(delay, at, (delay, at));
        }
        assert_eq!(arriving.next(9), None);
        let mut order = Vec::new();
        while let Some((at, packet)) = arriving.next(30) {
            assert_eq!(at, packet.1);
            order.push(packet);
        }
        assert_eq!(order, [(0, 10), (1, 20), (0, 25), (0, 30)]);
        assert_eq!(arriving.next(40), Some((40, (1, 40))));
        assert_eq!(Arriving::<()>::new(0).next(Nanos::MAX), None);
    }
}
