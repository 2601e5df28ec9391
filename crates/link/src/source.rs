//! The interface of a source of changes of a value.

use bloatlab_units::{NEVER, Nanos};

/// A change of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// When the value changes; `NEVER` if it does not change any more.
    pub at: Nanos,
    /// The new value, in the base unit of the quantity.
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
