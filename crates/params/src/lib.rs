//! Parameters of algorithms, read from the schema of their `Params`. They serve the documentation, help and completion, and the checks of what users
//! write. Queues and congestion controls share this crate.

mod check;
mod describe;

pub use check::{check_ranges, read, within};
pub use describe::{Description, Names, Parameter, QUEUE, description};

/// Maximum number of characters of an error message that are shown, because it may quote arbitrarily long input.
pub const LONGEST_MESSAGE: usize = 2000;
