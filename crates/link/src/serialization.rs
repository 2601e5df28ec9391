//! How long a packet takes to be sent at a constant rate.

use bloatlab_units::{Nanos, Rate};

/// Times the packets that are sent one after the other at a constant rate. Divides only when the size of the packets changes.
pub struct Serialization {
    /// The rate.
    pub rate: Rate,
    /// The used part of the nanosecond in which the last packet ended, in units of 1/rate ns.
    carried: u64,
    /// Size of the last packet in bytes, and the time that it takes: whole nanoseconds, and the rest in units of 1/rate ns.
    size: u64,
    time: Nanos,
    rest: u64,
}

impl Serialization {
    /// Starts with a whole nanosecond.
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            carried: 0,
            size: 0,
            time: 0,
            rest: 0,
        }
    }

    /// Returns how long a packet of this many bytes takes. A fraction of a nanosecond is carried over to the next packet, so no capacity is lost.
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

    /// Notes that no packet follows at once: the next one starts with a whole nanosecond.
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
        fn equals_one_division_per_packet(
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
