//! The quantities that all other crates use: integer time, rates, bytes, queue limits, and seeded random streams.
//!
//! Nothing in this crate reads a clock. Time is a count of nanoseconds since the start of the run.

mod interrupt;
mod nearest;
mod quantity;
mod random;
mod ring;
mod shown;

pub use interrupt::Interrupt;
pub use nearest::{nearest, suggestion};
pub use quantity::{Bytes, Duration, Frequency, Limit, ParseError, Rate};
pub use random::{Rng, Streams};
pub use ring::Ring;
pub use shown::{is_hidden, shown};

/// An instant: nanoseconds since the start of the run.
pub type Nanos = u64;

/// Converts a count to a float. The conversion goes through i64, which takes one instruction, whereas that of u64 takes several. [`NEVER`] is
/// therefore not allowed.
#[inline]
pub fn float(count: u64) -> f64 {
    debug_assert!(count <= i64::MAX as u64);
    count as i64 as f64
}

/// Truncates a number between 0 and `i64::MAX` to an integer, also through i64 for speed.
#[inline]
pub fn whole(number: f64) -> u64 {
    debug_assert!((0.0..9.2e18).contains(&number));
    number as i64 as u64
}

/// The larger of two numbers, neither of which may be NaN. This takes one instruction; `f64::max` takes several because it handles NaN.
#[inline]
pub fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The smaller of two numbers, neither of which may be NaN.
#[inline]
pub fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// One microsecond in nanoseconds.
pub const MICROSECOND: Nanos = 1_000;
/// One millisecond in nanoseconds.
pub const MILLISECOND: Nanos = 1_000_000;
/// One second in nanoseconds.
pub const SECOND: Nanos = 1_000_000_000;
/// A deadline that never comes.
pub const NEVER: Nanos = u64::MAX;
