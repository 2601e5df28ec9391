//! The average share of marked bytes per round trip, on which scalable congestion controls base their reduction (RFC 8257 section 3.3).

use crate::Ack;

/// The average, alpha, and the counters of the current round trip.
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

    /// Counts an ACK and returns whether it ends a round trip. The counters continue until [`update`](Self::update) or [`skip`](Self::skip).
    #[inline]
    pub fn observe(&mut self, ack: &Ack) -> bool {
        self.delivered += ack.delivered_now;
        self.marked += ack.marked_now;
        ack.una >= self.round_end
    }

    /// Adds the counted share to the average and starts the next round trip.
    pub fn update(&mut self, ack: &Ack) {
        // Marks may be reported later than the data that carried them.
        let share = (self.marked as f64 / self.delivered.max(1) as f64).min(1.0);
        self.alpha += self.gain * (share - self.alpha);
        self.skip(ack);
    }

    /// Starts the next round trip without changing the average.
    pub fn skip(&mut self, ack: &Ack) {
        self.round_end = ack.next;
        self.delivered = 0;
        self.marked = 0;
    }
}
