//! A value that wanders between two bounds.

use bloatlab_units::{Duration, MILLISECOND, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::factory::{Factory, HOUR, between};
use crate::{Change, Quantity, Source};

/// A random walk that starts from the constant value beside `vary`. After each `interval` it moves by dX = `rho` dX + N(0, `sigma`^2), and is clipped
/// to the bounds (CCPerf).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "Q: Quantity")]
#[schemars(bound = "Q: Quantity")]
pub struct Params<Q> {
    /// The lower bound.
    pub min: Q,
    /// The upper bound.
    pub max: Q,
    /// Standard deviation of the draw for each move.
    pub sigma: Q,
    /// Share of the last move that the next one repeats, at least 0 and below 1.
    #[serde(default)]
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub rho: f64,
    /// Time between two moves, from 1 ms to 1 h.
    #[serde(default = "interval")]
    pub interval: Duration,
}

fn interval() -> Duration {
    Duration(100 * MILLISECOND)
}

impl<Q: Quantity> Factory for Params<Q> {
    fn validate(&self) -> Result<(), String> {
        self.max.check("max")?;
        self.min.check("min")?;
        if self.min.number() > self.max.number() {
            let (min, max) = (self.min, self.max);
            return Err(format!("min: must be at most `max`, {max}, not {min}"));
        }
        self.sigma.check("sigma")?;
        if !(0.0..1.0).contains(&self.rho) {
            return Err(format!(
                "rho: must be at least 0 and below 1, not {}",
                self.rho
            ));
        }
        between("interval", self.interval, MILLISECOND, HOUR)
    }

    fn bounds(&self, _nominal: f64) -> (f64, f64) {
        (self.min.number(), self.max.number())
    }

    fn source(&self, nominal: f64, rng: Rng) -> Box<dyn Source> {
        let bounds = (self.min.number(), self.max.number());
        Box::new(RandomWalk {
            rng,
            rho: self.rho,
            sigma: self.sigma.number(),
            bounds,
            interval: self.interval.0,
            value: nominal.clamp(bounds.0, bounds.1),
            moved: 0.0,
            moves: None,
        })
    }
}

struct RandomWalk {
    rng: Rng,
    rho: f64,
    sigma: f64,
    bounds: (f64, f64),
    interval: Nanos,
    value: f64,
    /// The last move, before it was clipped.
    moved: f64,
    moves: Option<u64>,
}

impl Source for RandomWalk {
    fn next(&mut self) -> Change {
        // The first value is the constant one, clipped to the bounds.
        let moves = self.moves.map_or(0, |moves| moves + 1);
        if moves > 0 {
            self.moved = self.rho * self.moved + self.rng.normal(self.sigma);
            self.value = (self.value + self.moved).clamp(self.bounds.0, self.bounds.1);
        }
        self.moves = Some(moves);
        Change {
            at: moves * self.interval,
            value: self.value,
        }
    }
}
