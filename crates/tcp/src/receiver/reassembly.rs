//! Data that arrived beyond a hole, and how SACK blocks report it.

use super::{Range, Receiver};
use crate::segment::{Block, Segment};

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
