//! A value over time, read at instants that never go back.

use bloatlab_units::Nanos;

use crate::{Change, Source};

/// The value of a source, up to the instant it was read last.
pub struct Course {
    source: Box<dyn Source>,
    value: f64,
    next: Change,
}

impl Course {
    /// A course that has this value until the source's first change.
    pub fn new(nominal: f64, mut source: Box<dyn Source>) -> Self {
        let next = source.next();
        Self {
            source,
            value: nominal,
            next,
        }
    }

    /// The value at this instant, which must not be before the last.
    pub fn at(&mut self, now: Nanos) -> f64 {
        while self.next.at <= now {
            self.step();
        }
        self.value
    }

    /// The value in force.
    pub(crate) fn value(&self) -> f64 {
        self.value
    }

    /// When it ends.
    pub(crate) fn until(&self) -> Nanos {
        self.next.at
    }

    /// Takes the next change.
    pub(crate) fn step(&mut self) {
        self.value = self.next.value;
        let next = self.source.next();
        debug_assert!(next.at > self.next.at);
        self.next = next;
    }
}
