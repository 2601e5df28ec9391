//! The state of RACK (RFC 8985): what was delivered last, and what was retransmitted.

use std::collections::VecDeque;

use bloatlab_units::Nanos;

use crate::scoreboard::{EVER_RETRANSMITTED, Record};

/// RFC 6675 section 2.
pub(crate) const DUP_THRESH: u32 = 3;

/// Recoveries for which a longer wait is kept (RFC 8985 section 6.2 step 4).
const PERSISTENCE: u32 = 16;
/// The longest wait, in quarters of the smallest RTT (Linux). The smoothed RTT is a limit, too.
const MOST_QUARTERS: u64 = 255;

/// RACK's state (RFC 8985 section 5.2).
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// Of the delivered segment that was sent last: when it was sent, and its end.
    pub sent_at: Nanos,
    pub end: u64,
    /// Whether it was a retransmission.
    pub repeated: bool,
    /// RTT of the delivered segment that was looked at last, which need not be the one above (RFC 8985 section 6.2 step 2).
    pub rtt: Nanos,
    pub reordering: bool,
    /// How far a segment has been overtaken, bytes.
    pub degree: u64,
    /// How many quarters of the smallest RTT a segment may be late.
    pub window_multiplier: u64,
    /// What was sent when the multiplier last grew: it grows once per round trip.
    round_end: u64,
    /// Recoveries without a spurious retransmission after which the multiplier is 1 again.
    persist: u32,
    /// Retransmissions in the order in which they were sent: time, first sequence number, and `next` at that time.
    pub retransmissions: VecDeque<(Nanos, u64, u64)>,
    /// Every first transmission below this sequence number has been judged.
    pub scanned: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            sent_at: 0,
            end: 0,
            repeated: false,
            rtt: 0,
            reordering: false,
            degree: 0,
            window_multiplier: 1,
            round_end: 0,
            persist: 0,
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
            self.degree = self.degree.max(highest - record.seq);
        }
        self.rtt = rtt;
        if (record.sent_at, record.end()) > (self.sent_at, self.end) {
            self.sent_at = record.sent_at;
            self.end = record.end();
            self.repeated = record.is(EVER_RETRANSMITTED);
        }
    }

    /// Records that segments which were sent once were delivered in sequence. `newest` is the newest of them.
    #[inline]
    pub fn on_delivered_in_sequence(&mut self, now: Nanos, newest: &Record) {
        self.rtt = now - newest.sent_at;
        if (newest.sent_at, newest.end()) > (self.sent_at, self.end) {
            self.sent_at = newest.sent_at;
            self.end = newest.end();
            self.repeated = false;
        }
    }

    /// Whether the path lets segments overtake so many others that the order of ACKs says little. As in Linux, data that SACK reports then grows the
    /// window as data in sequence does. (RFC 5681 only lets data in sequence do so, because a loss may follow.)
    pub fn reorders_far(&self, mss: u64) -> bool {
        self.degree > u64::from(DUP_THRESH) * mss
    }

    /// Whether all retransmissions have been judged.
    pub fn is_settled(&self) -> bool {
        self.retransmissions.is_empty()
    }

    /// A spurious retransmission was reported while data from `una` to `next` is outstanding, so wait longer from now on (RFC 8985 section 6.2
    /// step 4). As in Linux, only if reordering has been seen.
    pub fn on_duplicate(&mut self, una: u64, next: u64) {
        if self.reordering && una >= self.round_end {
            self.window_multiplier = (self.window_multiplier + 1).min(MOST_QUARTERS);
            self.round_end = next;
            self.persist = PERSISTENCE;
        }
    }

    /// A recovery has ended.
    pub fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.window_multiplier = 1;
        }
    }

    pub fn on_retransmit(&mut self, now: Nanos, seq: u64, next: u64) {
        self.retransmissions.push_back((now, seq, next));
    }

    /// Lets first transmissions from this sequence number on be judged again.
    pub fn judge_again(&mut self, seq: u64) {
        self.scanned = self.scanned.min(seq);
    }

    /// Time until a segment is judged lost. `None` if nothing that was sent later has been delivered.
    pub fn remaining(&self, now: Nanos, sent_at: Nanos, end: u64, window: Nanos) -> Option<Nanos> {
        ((self.sent_at, self.end) > (sent_at, end))
            .then(|| (sent_at + self.rtt + window).saturating_sub(now))
    }
}

/// The three highest SACKed segments. In RFC 6675, everything below the third is lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Highest {
    pub top: [u64; DUP_THRESH as usize],
    pub scanned: u64,
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

#[cfg(test)]
mod tests {
    use bloatlab_units::MILLISECOND;

    use super::*;

    /// A segment of ten bytes.
    fn sent(seq: u64, at: u64) -> Record {
        Record {
            seq,
            sent_at: at * MILLISECOND,
            delivered: 0,
            delivered_at: 0,
            first_sent: 0,
            length: 10,
            flags: 0,
        }
    }

    #[test]
    fn a_segment_is_lost_by_the_rtt_of_what_was_looked_at_last() {
        let (ms, now) = (MILLISECOND, 100 * MILLISECOND);
        let (acked, lost, sacked) = (sent(0, 0), sent(10, 0), sent(20, 8));
        let mut rack = Rack::default();
        rack.on_delivered(now, &sacked, ms, 0);
        let remaining = |rack: &Rack| rack.remaining(now, lost.sent_at, lost.end(), 5 * ms);
        // The hole was sent 8 ms before what was delivered: 5 ms are over.
        assert_eq!(remaining(&rack), Some(0));
        // The same ACK also covers the segment before the hole, which was sent with it: 5 ms from now.
        rack.on_delivered(now, &acked, ms, 0);
        assert_eq!((rack.sent_at, rack.rtt), (8 * ms, 100 * ms));
        assert_eq!(remaining(&rack), Some(5 * ms));
    }

    #[test]
    fn a_segment_far_below_the_highest_shows_how_far_the_path_reorders() {
        let mut rack = Rack::default();
        let mut overtaken = |highest| {
            rack.on_delivered(100 * MILLISECOND, &sent(0, 0), 0, highest);
            (rack.reordering, rack.reorders_far(10))
        };
        assert_eq!(overtaken(10), (false, false));
        assert_eq!(overtaken(30), (true, false));
        assert_eq!(overtaken(40), (true, true));
        assert_eq!(overtaken(30), (true, true));
    }

    #[test]
    fn the_wait_grows_once_a_round_trip_and_is_forgotten_after_sixteen_recoveries() {
        let mut rack = Rack::default();
        rack.on_duplicate(0, 100);
        assert_eq!(rack.window_multiplier, 1, "nothing was reordered");
        rack.reordering = true;
        for (una, next, multiplier) in [(0, 100, 2), (50, 150, 2), (100, 200, 3)] {
            rack.on_duplicate(una, next);
            assert_eq!(rack.window_multiplier, multiplier);
        }
        (1..PERSISTENCE).for_each(|_| rack.on_recovered());
        assert_eq!(rack.window_multiplier, 3);
        rack.on_recovered();
        assert_eq!(rack.window_multiplier, 1);
    }
}
