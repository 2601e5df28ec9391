//! The share of bytes that came marked, averaged over round trips: what scalable laws answer with (RFC 8257 section 3.3).

use crate::Ack;

/// Alpha, and the round trip that is being counted.
#[derive(Clone, Copy, Debug)]
pub struct MarkShare {
    gain: f64,
    /// The moving average, 0 to 1.
    pub alpha: f64,
    /// Stream offset whose acknowledgement ends the round trip.
    round_end: u64,
    delivered: u64,
    marked: u64,
}

impl MarkShare {
    /// RFC 8257 section 3.3: alpha starts at 1, so that the first mark halves the window.
    pub fn new(gain: f64) -> Self {
        Self {
            gain,
            alpha: 1.0,
            round_end: 0,
            delivered: 0,
            marked: 0,
        }
    }

    /// Counts an ACK; true if it ends a round trip. What was counted goes on until [`update`](Self::update) or [`skip`](Self::skip).
    #[inline]
    pub fn observe(&mut self, ack: &Ack) -> bool {
        self.delivered += ack.delivered_now;
        self.marked += ack.marked_now;
        ack.una >= self.round_end
    }

    /// Takes what was counted into the average and starts the next round trip.
    pub fn update(&mut self, ack: &Ack) {
        // Marks may be reported after the data they were on.
        let share = (self.marked as f64 / self.delivered.max(1) as f64).min(1.0);
        self.alpha += self.gain * (share - self.alpha);
        self.skip(ack);
    }

    /// Starts the next round trip without.
    pub fn skip(&mut self, ack: &Ack) {
        self.round_end = ack.next;
        self.delivered = 0;
        self.marked = 0;
    }
}
