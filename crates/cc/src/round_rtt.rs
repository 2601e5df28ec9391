//! The smallest RTT of the connection and that of the current round trip. Congestion controls of the Vegas family compare the two.

use bloatlab_units::{NEVER, Nanos};

use crate::Ack;

/// RTTs of one connection, by round trip.
#[derive(Clone, Copy, Debug)]
pub struct RoundRtt {
    /// Smallest RTT so far; `NEVER` before the first sample.
    pub base: Nanos,
    /// Smallest RTT of this round trip; `NEVER` before the first sample.
    pub min: Nanos,
    /// Number of samples in this round trip.
    pub samples: u32,
    /// Stream offset whose acknowledgement ends the round trip.
    end: u64,
    /// Segments overtook others since the last ACK in sequence.
    disordered: bool,
}

impl Default for RoundRtt {
    fn default() -> Self {
        Self {
            base: NEVER,
            min: NEVER,
            samples: 0,
            end: 0,
            disordered: false,
        }
    }
}

impl RoundRtt {
    /// Records the RTT of an ACK, if it has one.
    #[inline]
    pub fn observe(&mut self, ack: &Ack) {
        if ack.rtt > 0 {
            self.base = self.base.min(ack.rtt);
            self.min = self.min.min(ack.rtt);
            self.samples += 1;
        }
        self.disordered |= ack.disordered;
    }

    /// Whether segments overtook others and this ACK ends that. As in Linux, RTTs are measured anew then.
    #[inline]
    pub fn ends_disorder(&mut self, ack: &Ack) -> bool {
        !ack.disordered && std::mem::take(&mut self.disordered)
    }

    /// Whether this ACK ends the round trip.
    #[inline]
    pub fn is_over(&self, ack: &Ack) -> bool {
        ack.una > self.end
    }

    /// Starts a new round trip. The base RTT is kept.
    pub fn restart(&mut self, ack: &Ack) {
        self.end = ack.next;
        self.min = NEVER;
        self.samples = 0;
    }

    /// Whether there are enough samples to trust the smallest. One or two samples may all come from delayed ACKs (Linux).
    #[inline]
    pub fn is_trusted(&self) -> bool {
        self.samples > 2
    }

    /// The queueing delay: the smallest RTT of this round trip minus the base RTT.
    #[inline]
    pub fn queueing(&self) -> Nanos {
        self.min.saturating_sub(self.base)
    }
}
