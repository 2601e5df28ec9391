//! When an ACK that only reports data beyond a hole waits for more of such data.

use bloatlab_units::Nanos;

use crate::RttEstimator;

/// ACKs that are sent at once for each hole, so that the sender detects the loss as early as without compression.
const AT_ONCE: u32 = 3;
/// Largest number of ACKs that one ACK stands for (Linux's `tcp_comp_sack_nr`).
const MOST: u32 = 44;
/// The longest delay in percent of sRTT (Linux's `tcp_comp_sack_rtt_percent`).
const PERCENT_OF_RTT: Nanos = 33;

/// Linux's SACK compression.
#[derive(Clone, Debug)]
pub(super) struct Compression {
    longest: Nanos,
    /// The start of the hole, and how many ACKs were sent at once for it.
    hole: u64,
    at_once: u32,
    /// Segments since the last ACK that wait for the next.
    waiting: u32,
}

impl Compression {
    /// `longest` is the longest delay; 0 turns compression off.
    pub(super) fn new(longest: Nanos) -> Self {
        Self {
            longest,
            hole: 0,
            at_once: 0,
            waiting: 0,
        }
    }

    /// How long the ACK for a segment beyond the hole at `hole` may wait; `None`: not at all.
    pub(super) fn delay(&mut self, hole: u64, rtt: &RttEstimator) -> Option<Nanos> {
        if self.longest == 0 || self.waiting >= MOST {
            return None;
        }
        if self.hole != hole {
            (self.hole, self.at_once) = (hole, 0);
        }
        if self.at_once < AT_ONCE {
            self.at_once += 1;
            return None;
        }
        self.waiting += 1;
        let share = rtt.srtt * PERCENT_OF_RTT / 100;
        Some(if share == 0 {
            self.longest
        } else {
            self.longest.min(share)
        })
    }

    /// Whether a segment waits for its ACK.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// An ACK is sent.
    pub(super) fn restart(&mut self) {
        self.waiting = 0;
    }
}
