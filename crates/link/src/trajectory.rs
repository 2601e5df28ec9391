//! A value over time, read at instants that never go back.

use bloatlab_units::{Interrupt, Nanos};

use crate::{Change, Source};

/// The value of a source at the instant of the last reading.
pub struct Trajectory {
    source: Box<dyn Source>,
    value: f64,
    next: Change,
    interrupt: Interrupt,
}

impl Trajectory {
    /// A trajectory with this value until the first change of the source.
    pub fn new(nominal: f64, mut source: Box<dyn Source>) -> Self {
        let next = source.next();
        Self {
            source,
            value: nominal,
            next,
            interrupt: Interrupt::default(),
        }
    }

    /// Once this is set, the trajectory has no further change. So a long search through many changes ends.
    pub fn interrupted_by(mut self, interrupt: &Interrupt) -> Self {
        self.heed(interrupt);
        self
    }

    pub(crate) fn heed(&mut self, interrupt: &Interrupt) {
        self.interrupt = interrupt.clone();
    }

    /// The value at this instant, which must not precede the last one.
    pub fn at(&mut self, now: Nanos) -> f64 {
        while self.next.at <= now {
            self.step();
        }
        self.value
    }

    /// The current value.
    pub(crate) fn value(&self) -> f64 {
        self.value
    }

    /// When the value changes next.
    pub(crate) fn until(&self) -> Nanos {
        self.next.at
    }

    /// Takes the next change.
    pub(crate) fn step(&mut self) {
        self.value = self.next.value;
        let next = if self.interrupt.is_set() {
            Change::NONE
        } else {
            self.source.next()
        };
        debug_assert!(next.at > self.next.at);
        self.next = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_units::NEVER;

    /// A change at every nanosecond.
    struct Restless(Nanos);

    impl Source for Restless {
        fn next(&mut self) -> Change {
            self.0 += 1;
            Change {
                at: self.0,
                value: 1.0,
            }
        }
    }

    #[test]
    fn an_interrupted_walk_through_endless_changes_ends() {
        let interrupt = Interrupt::default();
        let mut trajectory = Trajectory::new(0.0, Box::new(Restless(0))).interrupted_by(&interrupt);
        assert_eq!(trajectory.at(5), 1.0);
        assert_eq!(trajectory.until(), 6);
        interrupt.set();
        // Without the interrupt this would take centuries.
        assert_eq!(trajectory.at(NEVER - 1), 1.0);
        assert_eq!(trajectory.until(), NEVER);
    }
}
