//! Builds a generator of values over time from its parameters.

use bloatlab_units::{Duration, Nanos, Rng, SECOND};

use crate::pauses::Pauses;
use crate::source::Source;

/// The longest period, ns.
pub(crate) const HOUR: Nanos = 3600 * SECOND;

/// Most changes per second of a generator that changes twice per interval, with intervals of at least a millisecond.
const SELDOM: f64 = 2e3;

/// The parameters of a generator. They also build it.
pub(crate) trait Factory {
    /// Refuses values out of range, as `parameter: reason`.
    fn validate(&self) -> Result<(), String>;

    /// The least and the greatest possible value. `nominal` is the constant value beside `vary`.
    fn bounds(&self, nominal: f64) -> (f64, f64);

    /// Builds the source of changes.
    fn source(&self, nominal: f64, rng: Rng) -> Box<dyn Source>;

    /// Mean number of changes per second.
    fn changes_per_second(&self) -> f64 {
        SELDOM
    }

    /// The times during which nothing arrives, if a delay has such pauses.
    fn pauses(&self) -> Option<Pauses> {
        None
    }
}

/// Refuses a duration out of range.
pub(crate) fn between(name: &str, value: Duration, low: Nanos, high: Nanos) -> Result<(), String> {
    if (low..=high).contains(&value.0) {
        return Ok(());
    }
    let (low, high) = (Duration(low), Duration(high));
    Err(format!(
        "{name}: must be between {low} and {high}, not {value}"
    ))
}
