//! Which ACKs the receiver's delayed-ACK timer may have held back: a part that laws share which measure delays finely.

use crate::Ack;

/// Hayes 2010 (CAIA TR 100219A), as in Linux: who acknowledges several segments at once delays the ACK of a lone one.
#[derive(Clone, Copy, Debug)]
pub struct DelayedAcks {
    /// ACKs of several segments seen, less the lone ones suspected since.
    seen: u8,
    most: u8,
}

impl DelayedAcks {
    /// Nothing is known of the receiver; so many lone ACKs in a row can be suspected at most.
    pub fn new(most: u8) -> Self {
        Self { seen: 0, most }
    }

    /// Whether this ACK may have waited for the timer.
    #[inline]
    pub fn suspects(&mut self, ack: &Ack, mss: u64) -> bool {
        // An ACK that reports a hole is sent at once.
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
    fn lone_segments_are_suspect_where_others_come_in_pairs() {
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
