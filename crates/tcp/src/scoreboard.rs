//! The outstanding segments: one record per segment in sequence order, with its SACKed, lost and retransmitted flags, and the pipe (RFC 6675).

use bloatlab_units::{Nanos, Ring};

/// It was delivered out of order.
pub(crate) const SACKED: u8 = 1;
/// It was judged lost.
pub(crate) const LOST: u8 = 2;
/// A retransmission of it is in flight.
pub(crate) const RETRANSMITTED: u8 = 4;
/// It was retransmitted at some time, so its RTT is ambiguous (Karn).
pub(crate) const EVER_RETRANSMITTED: u8 = 8;
/// It was sent while the application had no more data.
pub(crate) const APP_LIMITED: u8 = 16;
/// It carries FIN, which takes one sequence number and is not payload.
pub(crate) const WITH_FIN: u8 = 32;
/// It is the last one of the offload buffer in which it was first sent.
pub(crate) const ENDS_BUFFER: u8 = 64;

/// One outstanding segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub seq: u64,
    pub sent_at: Nanos,
    /// `delivered`, the time of its last change, and the start of the send window when this was sent (delivery-rate-estimation section 3.2).
    pub delivered: u64,
    pub delivered_at: Nanos,
    pub first_sent: Nanos,
    /// Number of sequence numbers that it takes.
    pub length: u32,
    pub flags: u8,
}

impl Record {
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.length)
    }

    pub fn is(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// Whether it counts towards the pipe: not delivered, and not lost without a retransmission.
    pub fn in_pipe(&self) -> bool {
        !self.is(SACKED) && (!self.is(LOST) || self.is(RETRANSMITTED))
    }
}

/// Segments acknowledged in sequence, each of which was sent only once.
pub(crate) struct InSequence {
    /// When the oldest segment was sent.
    pub oldest: Nanos,
    pub newest: Record,
    pub bytes: u64,
}

/// The outstanding segments of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    records: Ring<Record>,
    /// Bytes in flight.
    pub pipe: u64,
    /// Number of segments that are SACKed and not yet acknowledged in sequence.
    pub sacked: u32,
    /// Number of segments that are lost and wait to be retransmitted.
    pub to_retransmit: u32,
    /// No segment below this sequence number waits to be retransmitted.
    retransmit_from: u64,
    /// Highest end of a SACK block.
    pub highest_sacked: u64,
    /// SACK blocks of the last report, so that only new parts are walked.
    seen: [(u64, u64); 3],
}

impl Scoreboard {
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn get(&self, index: usize) -> Option<&Record> {
        self.records.get(index)
    }

    /// The newest record ends an offload buffer.
    #[inline]
    pub fn end_buffer(&mut self) {
        if let Some(newest) = self.records.len().checked_sub(1) {
            self.records[newest].flags |= ENDS_BUFFER;
        }
    }

    #[inline]
    pub fn push(&mut self, record: Record) {
        self.pipe += u64::from(record.length);
        self.records.push_back(record);
    }

    /// Index of the first record that ends after `seq`.
    pub fn index_of(&self, seq: u64) -> usize {
        let Some(front) = self.records.front() else {
            return 0;
        };
        // Segments nearly always have the same size, so the first guess is usually right.
        let guess = (seq.saturating_sub(front.seq) / u64::from(front.length.max(1))) as usize;
        if let Some(record) = self.records.get(guess)
            && record.seq <= seq
            && seq < record.end()
        {
            return guess;
        }
        self.records.partition_point(|r| r.end() <= seq)
    }

    /// Removes and returns the first record if it is entirely below `ack`.
    #[inline]
    pub fn pop_acked(&mut self, ack: u64) -> Option<Record> {
        let record = *self.records.front()?;
        if record.end() > ack {
            return None;
        }
        self.records.pop_front();
        if record.flags & (SACKED | LOST) == 0 {
            self.pipe -= u64::from(record.length);
        } else {
            self.pop_marked(&record);
        }
        Some(record)
    }

    /// Removes all records that are entirely below `ack`. Returns `None` and removes nothing if there are no such records or one of them was ever
    /// marked.
    #[inline]
    pub fn pop_in_sequence(&mut self, ack: u64) -> Option<InSequence> {
        let &oldest = self.records.front()?;
        let (mut newest, mut count, mut flags) = (oldest, 0, 0);
        while let Some(record) = self.records.get(count)
            && record.end() <= ack
        {
            newest = *record;
            flags |= record.flags;
            count += 1;
        }
        if count == 0 || flags & (SACKED | LOST | EVER_RETRANSMITTED) != 0 {
            return None;
        }
        let bytes = newest.end() - oldest.seq;
        self.records.drop_front(count);
        self.pipe -= bytes;
        Some(InSequence {
            oldest: oldest.sent_at,
            newest,
            bytes,
        })
    }

    fn pop_marked(&mut self, record: &Record) {
        if record.in_pipe() {
            self.pipe -= u64::from(record.length);
        }
        if record.is(SACKED) {
            self.sacked -= 1;
        } else if record.is(LOST) && !record.is(RETRANSMITTED) {
            self.to_retransmit -= 1;
        }
    }

    /// Marks the segments in the SACK blocks. Calls `newly` for each segment that was not known to be delivered.
    pub fn sack(&mut self, blocks: &[(u64, u64)], mut newly: impl FnMut(&Record)) {
        let mut walked = [(0, 0); 3];
        for (slot, &(start, end)) in blocks.iter().enumerate() {
            // If a block grew at its end since the last report, walk only the new part.
            let known = self
                .seen
                .iter()
                .find(|s| s.0 == start && s.1 <= end && s.1 > s.0);
            let from = known.map_or(start, |s| s.1);
            if from < end {
                self.sack_range(from, end, &mut newly);
            }
            walked[slot] = (start, end);
        }
        self.seen = walked;
    }

    fn sack_range(&mut self, from: u64, end: u64, newly: &mut impl FnMut(&Record)) {
        let mut index = self.index_of(from);
        while let Some(record) = self.records.get_mut(index) {
            if record.end() > end {
                break;
            }
            if record.seq >= from && !record.is(SACKED) {
                if record.in_pipe() {
                    self.pipe -= u64::from(record.length);
                } else {
                    self.to_retransmit -= 1;
                }
                newly(record);
                record.flags |= SACKED;
                self.sacked += 1;
            }
            index += 1;
        }
        self.highest_sacked = self.highest_sacked.max(end);
    }

    /// Marks the last transmission of the record at `index` as lost. Returns its bytes.
    pub fn mark_lost(&mut self, index: usize) -> u64 {
        let record = &mut self.records[index];
        debug_assert!(record.in_pipe());
        record.flags = record.flags & !RETRANSMITTED | LOST;
        self.pipe -= u64::from(record.length);
        self.to_retransmit += 1;
        self.retransmit_from = self.retransmit_from.min(record.seq);
        u64::from(record.length)
    }

    /// Marks everything that was not delivered as lost, after a timeout. Returns the bytes newly lost.
    pub fn mark_all_lost(&mut self) -> u64 {
        (0..self.records.len())
            .map(|i| {
                if self.records[i].in_pipe() {
                    self.mark_lost(i)
                } else {
                    0
                }
            })
            .sum()
    }

    /// Whether anything that was judged lost is still outstanding, retransmitted or not.
    pub fn any_lost(&self) -> bool {
        let missing = |record: &Record| record.flags & (LOST | SACKED) == LOST;
        self.to_retransmit > 0 || self.records.iter().any(missing)
    }

    /// Whether anything outstanding was ever retransmitted.
    pub fn any_retransmitted(&self) -> bool {
        let repeated = |r: &Record| r.flags & (EVER_RETRANSMITTED | SACKED) == EVER_RETRANSMITTED;
        self.records.iter().any(repeated)
    }

    /// Number of segments whose retransmission is outstanding.
    pub fn retransmissions(&self) -> u64 {
        let outstanding = |r: &&Record| r.flags & (RETRANSMITTED | SACKED) == RETRANSMITTED;
        self.records.iter().filter(outstanding).count() as u64
    }

    /// Marks what was judged lost and not retransmitted as in flight again.
    pub fn undo_losses(&mut self) {
        if self.to_retransmit == 0 {
            return;
        }
        for index in 0..self.records.len() {
            let record = &mut self.records[index];
            if record.flags & (LOST | SACKED | RETRANSMITTED) == LOST {
                record.flags &= !LOST;
                self.pipe += u64::from(record.length);
            }
        }
        self.to_retransmit = 0;
    }

    /// Returns the index of the next record to retransmit.
    pub fn next_lost(&mut self) -> Option<usize> {
        if self.to_retransmit == 0 {
            return None;
        }
        let mut index = self.index_of(self.retransmit_from);
        while let Some(record) = self.records.get(index) {
            if record.flags & (LOST | SACKED | RETRANSMITTED) == LOST {
                self.retransmit_from = record.seq;
                return Some(index);
            }
            index += 1;
        }
        debug_assert!(false, "to_retransmit counts what is lost");
        None
    }

    /// Records that the record at `index` is retransmitted.
    pub fn retransmit(&mut self, index: usize, stamp: impl FnOnce(&mut Record)) -> Record {
        let record = &mut self.records[index];
        if record.is(LOST) && !record.is(RETRANSMITTED) {
            self.to_retransmit -= 1;
            self.pipe += u64::from(record.length);
            record.flags |= RETRANSMITTED;
            self.retransmit_from = self.retransmit_from.max(record.end());
        }
        record.flags |= EVER_RETRANSMITTED;
        stamp(record);
        *record
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pipe, number of SACKed segments and number of segments to retransmit, counted from scratch.
    fn recount(board: &Scoreboard) -> (u64, u32, u32) {
        let count =
            |f: &dyn Fn(&Record) -> bool| board.records.iter().filter(|r| f(r)).count() as u32;
        let in_pipe = board.records.iter().filter(|r| r.in_pipe());
        (
            in_pipe.map(|r| u64::from(r.length)).sum(),
            count(&|r| r.is(SACKED)),
            count(&|r| r.flags & (LOST | SACKED | RETRANSMITTED) == LOST),
        )
    }

    fn record(seq: u64) -> Record {
        Record {
            seq,
            sent_at: 0,
            delivered: 0,
            delivered_at: 0,
            first_sent: 0,
            length: 10,
            flags: 0,
        }
    }

    proptest! {
        #[test]
        fn running_counts_agree_with_a_recount(steps in proptest::collection::vec((0_u8..6, 0_u64..40, 1_u64..8), 1..300)) {
            let mut board = Scoreboard::default();
            let (mut una, mut next) = (0, 0);
            for (what, at, length) in steps {
                match what {
                    0 | 1 => {
                        board.push(record(next));
                        next += 10;
                    }
                    2 if next > una => {
                        let start = una + 10 * (at % ((next - una) / 10));
                        let end = (start + 10 * length).min(next);
                        board.sack(&[(start, end)], |_| {});
                    }
                    3 if !board.is_empty() => {
                        let index = at as usize % board.len();
                        if board.get(index).is_some_and(Record::in_pipe) {
                            board.mark_lost(index);
                        }
                    }
                    4 => {
                        if let Some(index) = board.next_lost() {
                            prop_assert!((0..index).all(|i| board.records[i].flags & (LOST | SACKED | RETRANSMITTED) != LOST));
                            board.retransmit(index, |_| {});
                        }
                    }
                    5 if at == 0 => board.undo_losses(),
                    _ => {
                        una = (una + 10 * at).min(next);
                        while board.pop_acked(una).is_some() {}
                    }
                }
                prop_assert_eq!((board.pipe, board.sacked, board.to_retransmit), recount(&board));
            }
        }
    }
}
