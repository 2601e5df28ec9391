//! What must be retransmitted, in order of sequence numbers.

use std::collections::VecDeque;

/// Bytes `start..end` of the data that a number covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub sn: u64,
    pub start: u32,
    pub end: u32,
}

/// Disjoint spans, in order.
#[derive(Debug, Default)]
pub(crate) struct Retransmissions {
    pending: VecDeque<Span>,
    bytes: u64,
    /// Buffer for a merge, which is reused.
    spare: VecDeque<Span>,
    fresh: Vec<Span>,
}

impl Retransmissions {
    /// The span to retransmit next.
    pub(crate) fn first(&self) -> Option<Span> {
        self.pending.front().copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Number of waiting spans, and their bytes.
    pub(crate) fn waiting(&self) -> (u64, u64) {
        (self.pending.len() as u64, self.bytes)
    }

    /// Removes bytes from the start of the first span.
    pub(crate) fn take(&mut self, bytes: u32) {
        if let Some(first) = self.pending.front_mut() {
            first.start += bytes;
            self.bytes -= u64::from(bytes);
            if first.start >= first.end {
                self.pending.pop_front();
            }
        }
    }

    /// Adds a missing span. Between two calls of [`merge`](Self::merge), spans must be added in order. Returns whether any of it was not waiting
    /// already.
    pub(crate) fn note(&mut self, span: Span) -> bool {
        let Span { sn, mut start, end } = span;
        let before = self.fresh.len();
        let from = self
            .pending
            .partition_point(|p| p.sn < sn || (p.sn == sn && p.end <= start));
        for waits in self.pending.range(from..) {
            if waits.sn != sn || waits.start >= end {
                break;
            }
            if start < waits.start {
                let end = waits.start;
                self.fresh.push(Span { sn, start, end });
            }
            start = start.max(waits.end);
        }
        if start < end {
            self.fresh.push(Span { sn, start, end });
        }
        self.fresh.len() > before
    }

    /// Merges the added spans into the waiting ones.
    pub(crate) fn merge(&mut self) {
        if self.fresh.is_empty() {
            return;
        }
        self.spare.clear();
        let key = |span: &Span| (span.sn, span.start);
        for span in self.fresh.drain(..) {
            while let Some(waits) = self.pending.front().filter(|p| key(p) < key(&span)) {
                self.spare.push_back(*waits);
                self.pending.pop_front();
            }
            self.bytes += u64::from(span.end - span.start);
            self.spare.push_back(span);
        }
        self.spare.append(&mut self.pending);
        std::mem::swap(&mut self.spare, &mut self.pending);
    }

    /// Keeps only the numbers that are still missing.
    pub(crate) fn keep(&mut self, missing: impl Fn(u64) -> bool) {
        let bytes = &mut self.bytes;
        self.pending.retain(|span| {
            let keep = missing(span.sn);
            if !keep {
                *bytes -= u64::from(span.end - span.start);
            }
            keep
        });
    }

    /// Discards everything.
    pub(crate) fn clear(&mut self) {
        self.pending.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span(sn: u64, start: u32, end: u32) -> Span {
        Span { sn, start, end }
    }

    #[test]
    fn retransmissions_already_queued_are_noted_once() {
        let mut again = Retransmissions::default();
        assert!(again.note(span(3, 10, 20)));
        assert!(again.note(span(3, 30, 40)));
        again.merge();
        assert!(!again.note(span(3, 12, 18)));
        assert!(again.note(span(3, 5, 35)));
        assert!(again.note(span(7, 0, 1)));
        again.merge();
        let spans: Vec<Span> = again.pending.iter().copied().collect();
        let starts = [(5, 10), (10, 20), (20, 30), (30, 40)];
        let mut expected: Vec<Span> = starts.map(|(s, e)| span(3, s, e)).to_vec();
        expected.push(span(7, 0, 1));
        assert_eq!(spans, expected);
        assert_eq!(again.waiting(), (5, 36));
        again.keep(|sn| sn == 7);
        again.take(1);
        assert_eq!(again.waiting(), (0, 0));
    }

    proptest! {
        #[test]
        fn it_holds_the_union_of_what_was_noted(rounds in proptest::collection::vec(
            proptest::collection::vec((0_u64..4, 0_u32..20, 1_u32..20), 1..6), 1..8,
        )) {
            let mut again = Retransmissions::default();
            let mut model = [[false; 40]; 4];
            for mut round in rounds {
                round.sort_unstable();
                let mut reached = (0, 0);
                for (sn, start, length) in round {
                    // The spans of one report are disjoint.
                    let start = if sn == reached.0 { start.max(reached.1) } else { start };
                    let end = start + length.min(40 - start);
                    reached = (sn, end);
                    let bytes = &mut model[sn as usize][start as usize..end as usize];
                    let new = bytes.iter().any(|waits| !waits);
                    bytes.fill(true);
                    prop_assert_eq!(again.note(span(sn, start, end)), new);
                }
                again.merge();
                let mut held = [[false; 40]; 4];
                for span in &again.pending {
                    for byte in span.start..span.end {
                        prop_assert!(!std::mem::replace(&mut held[span.sn as usize][byte as usize], true));
                    }
                }
                prop_assert_eq!(held, model);
                let sorted = again.pending.iter().zip(again.pending.iter().skip(1));
                prop_assert!(sorted.clone().all(|(a, b)| (a.sn, a.end) <= (b.sn, b.start)));
                let bytes = model.iter().flatten().filter(|waits| **waits).count();
                prop_assert_eq!(again.waiting().1, bytes as u64);
            }
        }
    }
}
