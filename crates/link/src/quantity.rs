//! What may vary: a rate, a delay, a probability of loss.

use std::fmt;

use bloatlab_units::{Duration, Rate, SECOND};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A value that a source can compute with. Sources use floats, which represent every allowed rate and delay exactly.
pub trait Quantity:
    Copy
    + Send
    + PartialEq
    + PartialOrd
    + fmt::Display
    + fmt::Debug
    + Serialize
    + DeserializeOwned
    + JsonSchema
    + 'static
{
    /// The largest value.
    const GREATEST: Self;

    /// In its base unit: bit/s, ns, 1.
    fn number(self) -> f64;

    /// Refuses what is above the largest value, or no number.
    fn check(self, name: &str) -> Result<(), String> {
        // Written so that NaN is refused.
        if (0.0..=Self::GREATEST.number()).contains(&self.number()) {
            return Ok(());
        }
        let greatest = Self::GREATEST;
        Err(format!(
            "{name}: must be at least 0 and at most {greatest}, not {self}"
        ))
    }
}

impl Quantity for Rate {
    const GREATEST: Self = Rate(10_000_000_000_000);

    fn number(self) -> f64 {
        self.0 as f64
    }
}

impl Quantity for Duration {
    const GREATEST: Self = Duration(3600 * SECOND);

    fn number(self) -> f64 {
        self.0 as f64
    }
}

/// A probability, from 0 to 1.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Probability(#[schemars(range(min = 0.0, max = 1.0))] pub f64);

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Quantity for Probability {
    const GREATEST: Self = Probability(1.0);

    fn number(self) -> f64 {
        self.0
    }
}
