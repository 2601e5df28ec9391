//! Detects ACKs that the receiver's delayed-ACK timer may have held back. Congestion controls that measure delay precisely use it.

use crate::Ack;

/// Hayes 2010 (CAIA TR 100219A), as in Linux: a receiver that acknowledges several segments at once delays the ACK of a single segment.
#[derive(Clone, Copy, Debug)]
pub struct DelayedAcks {
    /// Number of ACKs for several segments seen, minus the single-segment ACKs suspected since.
    seen: u8,
    most: u8,
}

impl DelayedAcks {
    /// Creates the detector. At most `most` single-segment ACKs in a row are suspected.
    pub fn new(most: u8) -> Self {
        Self { seen: 0, most }
    }

    /// Whether this ACK may have waited for the delayed-ACK timer.
    #[inline]
    pub fn suspects(&mut self, ack: &Ack, mss: u64) -> bool {
        // The receiver sends an ACK that reports a hole at once.
        if ack.acked == 0 || ack.delivered_now != ack.acked {
            return false;
        }
        if ack.acked > mss {
            self.seen = self.seen.saturating_add(1).min(self.most);
            return false;
        }
        let suspect = self.seen > 0;
        self.seen -= u8::from(suspect);
        suspect
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_segments_are_ambiguous_where_others_arrive_in_pairs() {
        let ack = |acked, delivered_now| Ack {
            acked,
            delivered_now,
            ..Ack::default()
        };
        let mut acks = DelayedAcks::new(5);
        assert!(!acks.suspects(&ack(1, 1), 1), "nothing is known yet");
        assert!(!acks.suspects(&ack(2, 2), 1));
        assert!(!acks.suspects(&ack(2, 1), 1), "it filled a hole");
        assert!(acks.suspects(&ack(1, 1), 1));
        assert!(!acks.suspects(&ack(1, 1), 1), "one was seen, one suspected");
        for _ in 0..10 {
            acks.suspects(&ack(2, 2), 1);
        }
        let suspected = (0..10).filter(|_| acks.suspects(&ack(1, 1), 1)).count();
        assert_eq!(suspected, 5);
    }
}
