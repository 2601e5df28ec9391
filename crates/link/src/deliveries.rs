//! Instants at which a link may deliver 1500 bytes each, and a transmitter that waits for them.

use bloatlab_units::{Interrupt, NEVER, Nanos};

use crate::carrier::{Supply, WORK};

/// Bytes of one delivery (mahimahi: one MTU).
pub const DELIVERY_BYTES: u64 = 1500;

/// Yields the instants of deliveries in ascending order. Several may be equal. `NEVER` means that there are no more.
pub trait Deliveries: Send {
    /// The next instant.
    fn next(&mut self) -> Nanos;
}

/// A transmitter that sends only at deliveries, as in mahimahi (Netravali et al. 2015). A delivery is lost if no packet waits. The rest of a delivery
/// goes to the next packet that waits. A packet larger than a delivery takes several.
pub(crate) struct Opportunities {
    source: Box<dyn Deliveries>,
    next: Nanos,
    /// Unused bytes of the last delivery.
    left: u64,
    taken: u64,
    interrupt: Interrupt,
}

impl Opportunities {
    pub fn new(mut source: Box<dyn Deliveries>) -> Self {
        let next = source.next();
        Self {
            source,
            next,
            left: 0,
            taken: 0,
            interrupt: Interrupt::default(),
        }
    }

    fn take(&mut self) {
        self.taken += 1;
        let next = if self.interrupt.is_set() {
            NEVER
        } else {
            self.source.next()
        };
        debug_assert!(next >= self.next);
        self.next = next;
    }
}

impl Supply for Opportunities {
    fn skip(&mut self, now: Nanos) -> u128 {
        let before = self.taken * DELIVERY_BYTES - std::mem::take(&mut self.left);
        while self.next <= now && self.next < NEVER {
            self.take();
        }
        u128::from(self.taken * DELIVERY_BYTES - before) * WORK
    }

    fn watch(&mut self, now: Nanos) {
        while self.next < now {
            self.take();
        }
    }

    fn send(&mut self, now: Nanos, bytes: u64, horizon: Nanos) -> Option<Nanos> {
        let (mut wanted, mut at) = (bytes, now);
        while wanted > self.left {
            wanted -= std::mem::take(&mut self.left);
            if self.next > horizon {
                return None;
            }
            at = self.next;
            self.take();
            self.left = DELIVERY_BYTES;
        }
        self.left -= wanted;
        Some(at)
    }

    fn offered(&self) -> u128 {
        u128::from(self.taken * DELIVERY_BYTES) * WORK
    }

    fn heed(&mut self, interrupt: &Interrupt) {
        self.interrupt = interrupt.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A delivery at every nanosecond.
    struct Restless(Nanos);

    impl Deliveries for Restless {
        fn next(&mut self) -> Nanos {
            self.0 += 1;
            self.0
        }
    }

    #[test]
    fn an_interrupted_walk_through_endless_deliveries_ends() {
        let interrupt = Interrupt::default();
        let mut supply = Opportunities::new(Box::new(Restless(0)));
        supply.heed(&interrupt);
        supply.watch(100);
        assert_eq!(supply.taken, 99);
        interrupt.set();
        // Without the interrupt this would take centuries.
        supply.skip(NEVER - 1);
        assert_eq!(supply.send(NEVER - 1, 1500, NEVER - 1), None);
    }
}
