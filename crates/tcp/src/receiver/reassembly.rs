//! Data that arrived beyond a hole, and how SACK blocks report it.

use super::{Range, Receiver};
use crate::segment::{Block, Segment};

/// Fragments of a buffer in Linux (`MAX_SKB_FRAGS`), and bytes of a page.
const FRAGMENTS: u64 = 17;
const PAGE: u64 = 4096;

impl Receiver {
    #[cold]
    pub(super) fn out_of_order(&mut self, start: u64, end: u64) {
        let at = self.held.partition_point(|&(_, e)| e < end);
        if end <= self.next {
            self.duplicate = Some((start, end));
            self.quick = self.quick.max(self.quick_acks);
            return;
        }
        if let Some(&(s, _)) = self.held.get(at)
            && s <= start
        {
            self.duplicate = Some((start, end));
            // RFC 2883 section 4: the enclosing block follows the duplicate. Without it, the duplicate would look like new data.
            self.forget(s);
            self.report_first(s);
            return;
        }
        if start <= self.next {
            self.next = end;
            while let Some(&(s, e)) = self.held.front()
                && s <= self.next
            {
                self.held.pop_front();
                self.held_bytes -= e - s;
                self.forget(s);
                self.next = self.next.max(e);
            }
            return;
        }
        if end > self.advertised.max(self.next + self.space.buffer()) {
            return;
        }
        self.hold(start, end);
    }

    /// Whether data from `start` on is not appended to data in one buffer. As in Linux, a buffer has a limited number of fragments, and data has one for
    /// each page that it touches.
    pub(super) fn is_alone(&self, start: u64, end: u64) -> bool {
        if start <= self.next {
            return false;
        }
        let before = self.held.partition_point(|&(_, e)| e < start);
        let Some(&(first, _)) = self.held.get(before).filter(|&&(_, e)| e == start) else {
            return true;
        };
        let length = end - start;
        let whole = FRAGMENTS * length * PAGE / (PAGE + length);
        (start - first) % whole < length
    }

    /// Whether this data will be held in another range than the two most recently changed ones. Linux combines no ACKs about more than two.
    pub(super) fn starts_third_range(&self, start: u64, end: u64) -> bool {
        if start <= self.next {
            return false;
        }
        let touched = self.held.partition_point(|&(_, e)| e < start);
        let Some(&(s, e)) = self.held.get(touched).filter(|&&(s, _)| s <= end) else {
            return self.recent_len >= 2;
        };
        let is_known = s <= start && end <= e;
        !is_known && self.recent_len > 2 && !self.recent[..2].contains(&s)
    }

    fn hold(&mut self, start: u64, end: u64) {
        let first = self.held.partition_point(|&(_, e)| e < start);
        let (mut low, mut high) = (start, end);
        let mut last = first;
        while last < self.held.len() && self.held[last].0 <= end {
            let (s, e) = self.held[last];
            low = low.min(s);
            high = high.max(e);
            self.held_bytes -= e - s;
            self.forget(s);
            last += 1;
        }
        self.held_bytes += high - low;
        if last == first {
            self.held.insert(first, (low, high));
        } else {
            self.held[first] = (low, high);
            self.held.drain(first + 1..last);
        }
        self.report_first(low);
    }

    /// Makes the range that starts here the first one in the next report.
    fn report_first(&mut self, start: u64) {
        self.recent.rotate_right(1);
        self.recent[0] = start;
        self.recent_len = (self.recent_len + 1).min(3);
    }

    fn forget(&mut self, start: u64) {
        let length = usize::from(self.recent_len);
        if let Some(at) = self.recent[..length].iter().position(|&s| s == start) {
            self.recent[at..length].rotate_left(1);
            self.recent_len -= 1;
        }
    }

    #[cold]
    pub(super) fn report(&mut self, segment: &mut Segment) {
        let mut count = 0;
        let mut push = |range: Range| {
            let block: Block = (range.0 as u32, range.1 as u32);
            segment.sack[count] = block;
            count += 1;
        };
        let room = if let Some(range) = self.duplicate.take() {
            push(range);
            2
        } else {
            3
        };
        for &start in self.recent[..usize::from(self.recent_len)]
            .iter()
            .take(room)
        {
            let at = self.held.partition_point(|&(s, _)| s < start);
            if let Some(&range) = self.held.get(at) {
                push(range);
            }
        }
        segment.blocks = count as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpConfig;

    #[test]
    fn a_segment_is_appended_to_what_ends_where_it_starts_while_a_buffer_has_space() {
        const MSS: u64 = 1448;
        let mut receiver = Receiver::new(&TcpConfig::default());
        let alone: Vec<u64> = (2..42)
            .filter(|&index| {
                let (start, end) = (index * MSS, (index + 1) * MSS);
                let is_alone = receiver.is_alone(start, end);
                receiver.out_of_order(start, end);
                is_alone
            })
            .collect();
        // As in Linux 7.2.12, where a buffer took 12, 13 and 12 segments: a segment has 1448/4096 more fragments than one, and 17 fit.
        assert_eq!(alone, [2, 15, 28, 40]);
        assert!(!receiver.is_alone(0, MSS), "not beyond a hole");
        assert!(receiver.is_alone(MSS, 2 * MSS), "before the others");
    }
}
