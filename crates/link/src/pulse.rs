//! A square wave.

use bloatlab_units::{Duration, MILLISECOND, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::factory::{Factory, HOUR, between};
use crate::{Change, Quantity, Source};

/// The level with which a wave begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The upper level.
    #[default]
    Upper,
    /// The lower level.
    Lower,
}

/// A square wave: half of each period at one level, half at the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "Q: Quantity")]
#[schemars(bound = "Q: Quantity")]
pub struct Params<Q> {
    /// The lower level.
    pub lower: Q,
    /// The upper level.
    pub upper: Q,
    /// Time from one rise to the next, from 1 ms to 1 h.
    pub period: Duration,
    /// The level of the first half.
    #[serde(default)]
    pub first: Level,
}

impl<Q: Quantity> Factory for Params<Q> {
    fn validate(&self) -> Result<(), String> {
        self.upper.check("upper")?;
        self.lower.check("lower")?;
        if self.lower.number() > self.upper.number() {
            let (lower, upper) = (self.lower, self.upper);
            return Err(format!(
                "lower: must be at most `upper`, {upper}, not {lower}"
            ));
        }
        between("period", self.period, MILLISECOND, HOUR)
    }

    fn bounds(&self, _nominal: f64) -> (f64, f64) {
        (self.lower.number(), self.upper.number())
    }

    fn source(&self, _nominal: f64, _rng: Rng) -> Box<dyn Source> {
        let (lower, upper) = (self.lower.number(), self.upper.number());
        Box::new(Pulse {
            period: self.period.0,
            levels: match self.first {
                Level::Upper => [upper, lower],
                Level::Lower => [lower, upper],
            },
            halves: 0,
        })
    }
}

struct Pulse {
    period: Nanos,
    /// Levels of the first and of the second half of a period.
    levels: [f64; 2],
    /// Number of half periods that have begun.
    halves: u64,
}

impl Source for Pulse {
    fn next(&mut self) -> Change {
        let (whole, half) = (self.halves / 2, self.halves % 2);
        self.halves += 1;
        // Computed from the start of the period, so that a period of an odd number of ns is not shortened.
        Change {
            at: whole * self.period + half * (self.period / 2),
            value: self.levels[half as usize],
        }
    }
}
