//! The scheme that a sender uses, which depends on the receiver's channel report from some slots ago.

use std::collections::VecDeque;

/// Channel reports of one direction.
#[derive(Clone, Debug)]
pub struct Adaptation {
    /// Number of slots from a measurement to its first use.
    delay: u64,
    /// The current scheme; the lowest one until the first report.
    mcs: usize,
    /// Whether the scheme stays the same, whatever is reported.
    is_fixed: bool,
    /// First slot of use, and scheme, of the reports to come.
    reports: VecDeque<(u64, usize)>,
}

impl Adaptation {
    /// Creates it without any report. With a fixed scheme, reports are ignored.
    pub fn new(delay: u64, fixed: Option<usize>) -> Self {
        Self {
            delay,
            mcs: fixed.unwrap_or(0),
            is_fixed: fixed.is_some(),
            reports: VecDeque::new(),
        }
    }

    /// Whether the scheme stays the same, whatever is reported.
    pub fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// Records the measurement of a block in this slot.
    pub fn measured(&mut self, slot: u64, mcs: usize) {
        if self.is_fixed {
            return;
        }
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
        let mut adaptation = Adaptation::new(4, None);
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
        let mut adaptation = Adaptation::new(4, None);
        adaptation.measured(0, 10);
        adaptation.measured(1, 12);
        adaptation.measured(3, 8);
        assert_eq!(
            [3, 4, 5, 6, 7, 9].map(|slot| adaptation.mcs(slot)),
            [0, 10, 12, 12, 8, 8]
        );
    }

    #[test]
    fn a_fixed_scheme_is_used_from_the_first_block_on() {
        let mut adaptation = Adaptation::new(4, Some(17));
        adaptation.measured(0, 3);
        assert_eq!([0, 4, 9].map(|slot| adaptation.mcs(slot)), [17; 3]);
    }
}
