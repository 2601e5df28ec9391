//! The time that packets take onto a wire.

use bloatlab_units::{Nanos, Rate};

/// Packets that leave one after the other at a constant rate. A division for each would be much, so it is made when their size changes.
pub(crate) struct Serialization {
    pub rate: Rate,
    /// What has gone by of the nanosecond in which the last packet ended, in 1/rate ns.
    carried: u64,
    /// The size reckoned last, bytes, and the time that it takes by itself: whole nanoseconds, and the rest in 1/rate ns.
    size: u64,
    time: Nanos,
    rest: u64,
}

impl Serialization {
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            carried: 0,
            size: 0,
            time: 0,
            rest: 0,
        }
    }

    /// How long a packet of this many bytes takes; a fraction of a nanosecond is carried over to the next, so that no rate is ever lost.
    #[inline]
    pub fn next(&mut self, size: u64) -> Nanos {
        if size != self.size {
            self.size = size;
            (self.time, self.rest) = self.rate.transmit(size, 0);
        }
        self.carried += self.rest;
        if self.carried < self.rate.0 {
            return self.time;
        }
        self.carried -= self.rate.0;
        self.time + 1
    }

    /// Nothing follows at once: the next packet starts with a whole nanosecond.
    #[inline]
    pub fn rest(&mut self) {
        self.carried = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn takes_what_a_division_a_packet_says(
            rate in 1_u64..=400_000_000_000,
            sizes in prop::collection::vec(prop::sample::select(vec![0_u64, 40, 60, 1500, 1514, 9000]), 1..50),
            pause in 0_usize..50,
        ) {
            let mut wire = Serialization::new(Rate(rate));
            let mut carried = 0;
            for (i, &size) in sizes.iter().enumerate() {
                if i == pause {
                    wire.rest();
                    carried = 0;
                }
                let (time, rest) = Rate(rate).transmit(size, carried);
                carried = rest;
                prop_assert_eq!(wire.next(size), time);
            }
        }
    }
}
