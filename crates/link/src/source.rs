//! The interface of a law that moves a value.

use bloatlab_units::{NEVER, Nanos};

/// A value's change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// From this instant on; `NEVER`: it stays as it is.
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

/// Yields one change after the other. Instants ascend; a change at 0 sets the first value.
pub trait Source: Send {
    /// The next change.
    fn next(&mut self) -> Change;
}
