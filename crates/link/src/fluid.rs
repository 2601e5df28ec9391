//! A transmitter whose rate changes while it sends.

use bloatlab_units::Nanos;

use crate::Course;
use crate::carrier::{Supply, WORK};

/// Sends at the rate of a course, bit by bit: a change in the middle of a packet counts for the bits after it.
pub(crate) struct Fluid {
    course: Course,
    at: Nanos,
    /// Bits that could have been sent so far, times 10^9.
    offered: u128,
    /// What the last packet still lacked at its end in whole nanoseconds; carried on while the transmitter stays busy.
    debt: u128,
}

impl Fluid {
    pub fn new(mut course: Course) -> Self {
        course.at(0);
        Self {
            course,
            at: 0,
            offered: 0,
            debt: 0,
        }
    }

    /// bit/s.
    fn rate(&self) -> u128 {
        // At most 10^13, and not negative.
        self.course.value().round() as u128
    }

    /// Goes to this instant, which no change precedes.
    fn go(&mut self, at: Nanos) {
        self.offered += self.rate() * u128::from(at - self.at);
        self.at = at;
        if at == self.course.until() {
            self.course.step();
        }
    }
}

impl Supply for Fluid {
    fn skip(&mut self, now: Nanos) -> u128 {
        let before = self.offered + std::mem::take(&mut self.debt);
        self.watch(now);
        self.offered.saturating_sub(before)
    }

    fn watch(&mut self, now: Nanos) {
        while self.course.until() <= now {
            self.go(self.course.until());
        }
        self.go(now.max(self.at));
    }

    fn send(&mut self, now: Nanos, bytes: u64, horizon: Nanos) -> Option<Nanos> {
        debug_assert_eq!(now, self.at);
        let mut work = u128::from(bytes) * WORK + self.debt;
        loop {
            let rate = self.rate();
            let until = self.course.until();
            let capacity = rate * u128::from(until - self.at);
            if work < capacity {
                self.go(self.at + (work / rate) as u64);
                self.debt = work % rate;
                return Some(self.at);
            }
            if until > horizon {
                return None;
            }
            work -= capacity;
            self.go(until);
            if work == 0 {
                self.debt = 0;
                return Some(self.at);
            }
        }
    }

    fn offered(&self) -> u128 {
        self.offered
    }
}
