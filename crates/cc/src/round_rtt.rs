//! The smallest RTT ever and of the round trip: what laws of the Vegas family compare.

use bloatlab_units::{NEVER, Nanos};

use crate::Ack;

/// RTTs of one connection, round trip by round trip.
#[derive(Clone, Copy, Debug)]
pub struct RoundRtt {
    /// Smallest RTT so far; `NEVER` before the first.
    pub base: Nanos,
    /// Smallest RTT of this round trip; `NEVER` before the first.
    pub min: Nanos,
    /// Samples of this round trip.
    pub samples: u32,
    /// Stream offset whose acknowledgement ends the round trip.
    end: u64,
}

impl Default for RoundRtt {
    fn default() -> Self {
        Self {
            base: NEVER,
            min: NEVER,
            samples: 0,
            end: 0,
        }
    }
}

impl RoundRtt {
    /// Takes in the RTT of an ACK, if it has one.
    #[inline]
    pub fn observe(&mut self, ack: &Ack) {
        if ack.rtt > 0 {
            self.base = self.base.min(ack.rtt);
            self.min = self.min.min(ack.rtt);
            self.samples += 1;
        }
    }

    /// Whether this ACK ends the round trip.
    #[inline]
    pub fn is_over(&self, ack: &Ack) -> bool {
        ack.una > self.end
    }

    /// A round trip starts; the base stays.
    pub fn restart(&mut self, ack: &Ack) {
        self.end = ack.next;
        self.min = NEVER;
        self.samples = 0;
    }

    /// Enough samples to trust the smallest: with one or two, a delayed ACK may be all there is (Linux).
    #[inline]
    pub fn is_trusted(&self) -> bool {
        self.samples > 2
    }

    /// How much longer than the base the smallest RTT of this round trip is: the queueing delay.
    #[inline]
    pub fn queueing(&self) -> Nanos {
        self.min.saturating_sub(self.base)
    }
}
