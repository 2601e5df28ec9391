//! Detection of losses: RACK (RFC 8985) by time, or three SACKed segments above (RFC 6675) by count.

use std::collections::VecDeque;

use bloatlab_units::{NEVER, Nanos};

use crate::scoreboard::{EVER_RETRANSMITTED, LOST, RETRANSMITTED, Record, SACKED};
use crate::sender::Sender;

/// RFC 6675 section 2.
const DUP_THRESH: u32 = 3;

/// RACK's state (RFC 8985 section 5.2).
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// Of the delivered segment that was sent last: when it was sent, and its end.
    sent_at: Nanos,
    end: u64,
    /// Whether it was a retransmission.
    repeated: bool,
    rtt: Nanos,
    reordering: bool,
    window_multiplier: u64,
    /// Retransmissions in the order in which they were sent: time, first sequence number, and `next` at that time.
    retransmissions: VecDeque<(Nanos, u64, u64)>,
    /// Every first transmission below this sequence number has been judged.
    scanned: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            sent_at: 0,
            end: 0,
            repeated: false,
            rtt: 0,
            reordering: false,
            window_multiplier: 1,
            retransmissions: VecDeque::new(),
            scanned: 0,
        }
    }
}

impl Rack {
    #[inline]
    pub fn on_delivered(&mut self, now: Nanos, record: &Record, min_rtt: Nanos, highest: u64) {
        let rtt = now - record.sent_at;
        if record.is(EVER_RETRANSMITTED) {
            // RFC 8985 section 6.2 step 2: it is too early to be the retransmission's ACK.
            if rtt < min_rtt {
                return;
            }
        } else if record.end() < highest {
            self.reordering = true;
        }
        if (record.sent_at, record.end()) > (self.sent_at, self.end) {
            self.sent_at = record.sent_at;
            self.end = record.end();
            self.repeated = record.is(EVER_RETRANSMITTED);
            self.rtt = rtt;
        }
    }

    /// Records that segments which were sent once were delivered in sequence. `newest` is the newest of them.
    #[inline]
    pub fn on_delivered_in_sequence(&mut self, now: Nanos, newest: &Record) {
        if (newest.sent_at, newest.end()) > (self.sent_at, self.end) {
            self.sent_at = newest.sent_at;
            self.end = newest.end();
            self.repeated = false;
            self.rtt = now - newest.sent_at;
        }
    }

    /// Whether all retransmissions have been judged.
    pub fn is_settled(&self) -> bool {
        self.retransmissions.is_empty()
    }

    /// A spurious retransmission was reported, so wait longer (RFC 8985 section 6.2 step 4).
    pub fn on_duplicate(&mut self) {
        self.reordering = true;
        self.window_multiplier = (self.window_multiplier + 1).min(20);
    }

    pub fn on_retransmit(&mut self, now: Nanos, seq: u64, next: u64) {
        self.retransmissions.push_back((now, seq, next));
    }

    /// Lets first transmissions from this sequence number on be judged again.
    pub fn judge_again(&mut self, seq: u64) {
        self.scanned = self.scanned.min(seq);
    }

    /// Time until a segment is judged lost. `None` if nothing that was sent later has been delivered.
    fn remaining(&self, now: Nanos, sent_at: Nanos, end: u64, window: Nanos) -> Option<Nanos> {
        ((self.sent_at, self.end) > (sent_at, end))
            .then(|| (sent_at + self.rtt + window).saturating_sub(now))
    }
}

/// The three highest SACKed segments. In RFC 6675, everything below the third is lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Highest {
    top: [u64; DUP_THRESH as usize],
    scanned: u64,
}

impl Highest {
    /// Lets segments from this sequence number on be judged again.
    pub fn judge_again(&mut self, seq: u64) {
        self.scanned = self.scanned.min(seq);
    }

    pub fn note(&mut self, seq: u64) {
        let mut seq = seq;
        for slot in &mut self.top {
            if seq > *slot {
                std::mem::swap(&mut seq, slot);
            }
        }
    }
}

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
        self.reorder_timer = if wait > 0 { now + wait } else { NEVER };
        lost
    }

    /// RFC 8985 section 6.2 step 4.
    fn reordering_window(&self) -> Nanos {
        let recovering = self.state != crate::State::Open;
        if !self.rack.reordering && (recovering || self.board.sacked >= DUP_THRESH) {
            return 0;
        }
        // SavedWindow the first RTT sample, the minimum RTT is infinite and sRTT is 0.
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
