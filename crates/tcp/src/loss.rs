//! Detection of losses: RACK (RFC 8985) by time, or three SACKed segments above (RFC 6675) by count.

use bloatlab_units::{NEVER, Nanos};

use crate::rack::DUP_THRESH;
use crate::scoreboard::{EVER_RETRANSMITTED, LOST, RETRANSMITTED, SACKED};
use crate::sender::Sender;

impl Sender {
    /// Judges segments after an ACK or when the reordering timer fires. Returns the bytes newly lost.
    #[inline(always)]
    pub(crate) fn detect_losses(&mut self, now: Nanos) -> u64 {
        let lost = if self.use_rack {
            if self.board.sacked == 0
                && self.rack.retransmissions.is_empty()
                && self.reorder_timer == NEVER
            {
                return 0;
            }
            self.detect_by_time(now)
        } else if self.board.sacked >= DUP_THRESH {
            self.detect_by_count()
        } else {
            0
        };
        self.lost += lost;
        lost
    }

    #[cold]
    fn detect_by_time(&mut self, now: Nanos) -> u64 {
        let window = self.reordering_window();
        let mut lost = 0;
        let mut wait = 0;
        // First transmissions were sent in sequence order.
        let mut index = self.board.index_of(self.rack.scanned);
        while let Some(record) = self.board.get(index) {
            if record.flags & (SACKED | LOST | EVER_RETRANSMITTED) == 0 {
                match self
                    .rack
                    .remaining(now, record.sent_at, record.end(), window)
                {
                    Some(0) => lost += self.board.mark_lost(index),
                    Some(rest) => {
                        wait = rest;
                        break;
                    }
                    None => break,
                }
            }
            index += 1;
        }
        self.rack.scanned = self.board.get(index).map_or(self.next, |r| r.seq);
        // Retransmissions were sent in the order of their queue.
        while let Some(&(sent_at, seq, next)) = self.rack.retransmissions.front() {
            let index = self.board.index_of(seq);
            let current = self.board.get(index).filter(|r| {
                r.seq == seq && r.sent_at == sent_at && r.in_pipe() && r.is(EVER_RETRANSMITTED)
            });
            if let Some(record) = current {
                // For equal times, sequence numbers tell the order only among retransmissions. New data below `next` was sent before this
                // retransmission.
                let end = if self.rack.repeated {
                    record.end()
                } else {
                    next
                };
                match self.rack.remaining(now, sent_at, end, window) {
                    Some(0) => lost += self.board.mark_lost(index),
                    Some(rest) => {
                        wait = wait.max(rest);
                        break;
                    }
                    None => break,
                }
            }
            self.rack.retransmissions.pop_front();
        }
        self.reorder_timer = if wait > 0 {
            self.soon(now, wait)
        } else {
            NEVER
        };
        lost
    }

    /// RFC 8985 section 6.2 step 4.
    fn reordering_window(&self) -> Nanos {
        let recovering = self.state != crate::State::Open;
        if !self.rack.reordering && (recovering || self.board.sacked >= DUP_THRESH) {
            return 0;
        }
        // Before the first RTT sample, the minimum RTT is infinite and sRTT is 0.
        (self.rack.window_multiplier.saturating_mul(self.rtt.min) / 4).min(self.rtt.srtt)
    }

    #[cold]
    fn detect_by_count(&mut self) -> u64 {
        let limit = self.highest.top[2];
        let mut lost = 0;
        let mut index = self.board.index_of(self.highest.scanned);
        while let Some(record) = self.board.get(index) {
            if record.seq >= limit {
                break;
            }
            if record.flags & (SACKED | LOST | RETRANSMITTED) == 0 {
                lost += self.board.mark_lost(index);
            }
            index += 1;
        }
        self.highest.scanned = self.highest.scanned.max(limit);
        lost
    }
}
