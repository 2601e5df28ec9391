//! The interface of an algorithm that changes a value over time.

use bloatlab_units::{NEVER, Nanos};

/// A change of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Time of the change. `NEVER` means that the value does not change any more.
    pub at: Nanos,
    /// The value, in the quantity's base unit.
    pub value: f64,
}

impl Change {
    /// There is no further change.
    pub const NONE: Self = Self {
        at: NEVER,
        value: 0.0,
    };
}

/// Yields changes in ascending order of time. A change at 0 sets the first value.
pub trait Source: Send {
    /// The next change.
    fn next(&mut self) -> Change;
}
