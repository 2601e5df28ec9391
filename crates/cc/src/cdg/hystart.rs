//! How CDG ends slow start in Linux: Hybrid Slow Start with its own constants.

use bloatlab_units::{MICROSECOND, MILLISECOND, Nanos};

use crate::Ack;

/// ACKs closer than this belong to one train.
const ACK_DELTA: Nanos = 3 * MILLISECOND;
/// The smallest forward delay and delay bound.
const LEAST: Nanos = 125 * MICROSECOND;
/// Number of ACKs of a round trip before its smallest RTT is trusted.
const SAMPLES: u32 = 8;

/// The ACK train of a round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Train {
    /// Smallest RTT so far; 0 before the first sample.
    base: Nanos,
    start: Nanos,
    /// When the train's last ACK came; 0 before the first.
    last: Nanos,
    samples: u32,
}

impl Train {
    /// Starts a round trip.
    pub fn restart(&mut self) {
        self.last = 0;
        self.samples = 0;
    }

    /// Whether slow start should end at this ACK. `rtt` is the smallest RTT of the round trip, 0 if there is none.
    pub fn is_over(&mut self, ack: &Ack, rtt: Nanos, train: bool, delay: bool) -> bool {
        if self.base == 0 || (rtt > 0 && rtt < self.base) {
            self.base = rtt;
        }
        if self.base == 0 {
            return false;
        }
        (train && self.is_long(ack)) || (delay && self.is_late(rtt))
    }

    /// Whether the train lasts as long as the one-way delay to the receiver, which means that the pipe is full.
    fn is_long(&mut self, ack: &Ack) -> bool {
        if self.last == 0 || !ack.cwnd_limited {
            self.last = ack.now;
            self.start = ack.now;
        } else if ack.now < self.last + ACK_DELTA {
            self.last = ack.now;
            return ack.now > self.start + (self.base / 2).max(LEAST);
        }
        false
    }

    fn is_late(&mut self, rtt: Nanos) -> bool {
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        rtt > (self.base + self.base / 8).max(LEAST)
    }
}
