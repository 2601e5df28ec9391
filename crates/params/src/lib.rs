//! Parameters of algorithms, read once from the schema of their `Params`: for documentation, help and completion, and for checking what a user
//! writes. Queues and congestion controls share it.

mod check;
mod describe;

pub use check::{check_ranges, read, within};
pub use describe::{Description, Names, Parameter, QUEUE, description};

/// Characters of a complaint that are shown: it may quote what a user wrote, however long.
pub const LONGEST_MESSAGE: usize = 2000;
