//! Counts RED's signals to the queues of SFQ, by their kind and effect.

use crate::red::Signal;

/// Counters for signals of one kind.
#[derive(Default)]
pub struct Counts {
    /// Packets dropped.
    pub dropped: u64,
    /// Arrivals marked.
    pub marked: u64,
    /// Oldest packets of a queue that were marked.
    pub marked_head: u64,
}

impl Counts {
    fn sum(&self) -> u64 {
        self.dropped + self.marked + self.marked_head
    }
}

/// Counters for all signals.
#[derive(Default)]
pub struct Signals {
    early: Counts,
    forced: Counts,
}

impl Signals {
    /// The counters for a kind of signal.
    pub fn of(&mut self, signal: Signal) -> &mut Counts {
        match signal {
            Signal::Forced => &mut self.forced,
            Signal::Early | Signal::Pass => &mut self.early,
        }
    }

    /// The counters by tc's names.
    pub fn stats(&self) -> [(&'static str, f64); 7] {
        let (early, forced) = (&self.early, &self.forced);
        [
            ("overlimits", (early.sum() + forced.sum()) as f64),
            ("prob_drop", early.dropped as f64),
            ("prob_mark", early.marked as f64),
            ("prob_mark_head", early.marked_head as f64),
            ("forced_drop", forced.dropped as f64),
            ("forced_mark", forced.marked as f64),
            ("forced_mark_head", forced.marked_head as f64),
        ]
    }
}
