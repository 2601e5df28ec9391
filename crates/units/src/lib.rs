//! Quantities every other crate speaks in: integer time, rate, bytes, queue limits, and seeded random streams.
//!
//! Nothing here reads a clock. Time is a count of nanoseconds since the start of the run.

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

/// A count as a float. Through i64, whose conversion is one instruction, where that of u64 is a sequence; so not for [`NEVER`].
#[inline]
pub fn float(count: u64) -> f64 {
    debug_assert!(count <= i64::MAX as u64);
    count as i64 as f64
}

/// The whole part of a number that is neither negative nor beyond `i64::MAX`, by the same shorter way.
#[inline]
pub fn whole(number: f64) -> u64 {
    debug_assert!((0.0..9.2e18).contains(&number));
    number as i64 as u64
}

/// The larger of two numbers: one instruction, where `f64::max` is several for what it does about NaN; so not for NaN.
#[inline]
pub fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The smaller of two numbers, neither of which is NaN, likewise.
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
