//! The scheme that a sender uses, which depends on the receiver's channel report from some slots ago.

use std::collections::VecDeque;

/// Channel reports of one direction.
#[derive(Clone, Debug)]
pub struct Adaptation {
    /// Number of slots from a measurement to its first use.
    delay: u64,
    /// The current scheme; the lowest one until the first report.
    mcs: usize,
    /// First slot of use, and scheme, of the reports to come.
    reports: VecDeque<(u64, usize)>,
}

impl Adaptation {
    /// Creates it without any report.
    pub fn new(delay: u64) -> Self {
        Self {
            delay,
            mcs: 0,
            reports: VecDeque::new(),
        }
    }

    /// Records the measurement of a block in this slot.
    pub fn measured(&mut self, slot: u64, mcs: usize) {
        let last = self.reports.back().map_or(self.mcs, |&(_, last)| last);
        if last != mcs {
            self.reports.push_back((slot + self.delay, mcs));
        }
    }

    /// The scheme for scheduling in this slot.
    pub fn mcs(&mut self, slot: u64) -> usize {
        while let Some(&(from, mcs)) = self.reports.front()
            && from <= slot
        {
            self.mcs = mcs;
            self.reports.pop_front();
        }
        self.mcs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_blocks_go_out_before_the_first_report_is_of_use() {
        // radio.md: filled in slot 0, measured in slot 2, used from slot 6 on.
        let mut adaptation = Adaptation::new(4);
        let used: Vec<usize> = (0..8)
            .map(|slot| {
                if slot >= 2 {
                    adaptation.measured(slot, 28);
                }
                adaptation.mcs(slot)
            })
            .collect();
        assert_eq!(used, [0, 0, 0, 0, 0, 0, 28, 28]);
    }

    #[test]
    fn reports_come_into_force_one_by_one() {
        let mut adaptation = Adaptation::new(4);
        adaptation.measured(0, 10);
        adaptation.measured(1, 12);
        adaptation.measured(3, 8);
        assert_eq!(
            [3, 4, 5, 6, 7, 9].map(|slot| adaptation.mcs(slot)),
            [0, 10, 12, 12, 8, 8]
        );
    }
}
