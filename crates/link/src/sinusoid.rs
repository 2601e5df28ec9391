//! A sine wave.

use bloatlab_units::{Duration, MILLISECOND, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::factory::{Factory, HOUR, between};
use crate::{Change, Quantity, Source};

/// A sine wave: `mean` + `amplitude` sin(2 pi (t / `period` + `phase`)), computed at the beginning of each `interval` and constant during it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "Q: Quantity")]
#[schemars(bound = "Q: Quantity")]
pub struct Params<Q> {
    /// The mean value.
    pub mean: Q,
    /// Greatest difference from the mean; at most `mean`.
    pub amplitude: Q,
    /// Length of one period, from 1 ms to 1 h.
    pub period: Duration,
    /// Phase at the start of the run, as a share of the period; at least 0 and below 1.
    #[serde(default)]
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub phase: f64,
    /// Time between two steps, from 1 ms to 1 h.
    #[serde(default = "interval")]
    pub interval: Duration,
}

fn interval() -> Duration {
    Duration(100 * MILLISECOND)
}

impl<Q: Quantity> Factory for Params<Q> {
    fn validate(&self) -> Result<(), String> {
        self.mean.check("mean")?;
        self.amplitude.check("amplitude")?;
        let (mean, amplitude) = (self.mean.number(), self.amplitude.number());
        if amplitude > mean {
            return Err(format!(
                "amplitude: must be at most `mean`, {}, not {}",
                self.mean, self.amplitude
            ));
        }
        if mean + amplitude > Q::GREATEST.number() {
            let greatest = Q::GREATEST;
            return Err(format!(
                "amplitude: with `mean` the value exceeds {greatest}, the greatest allowed value"
            ));
        }
        if !(0.0..1.0).contains(&self.phase) {
            return Err(format!(
                "phase: must be at least 0 and below 1, not {}",
                self.phase
            ));
        }
        between("period", self.period, MILLISECOND, HOUR)?;
        between("interval", self.interval, MILLISECOND, HOUR)
    }

    fn bounds(&self, _nominal: f64) -> (f64, f64) {
        let (mean, amplitude) = (self.mean.number(), self.amplitude.number());
        (mean - amplitude, mean + amplitude)
    }

    fn source(&self, _nominal: f64, _rng: Rng) -> Box<dyn Source> {
        Box::new(Sinusoid {
            mean: self.mean.number(),
            amplitude: self.amplitude.number(),
            period: self.period.0,
            phase: self.phase,
            interval: self.interval.0,
            at: 0,
        })
    }
}

struct Sinusoid {
    mean: f64,
    amplitude: f64,
    period: Nanos,
    phase: f64,
    interval: Nanos,
    at: Nanos,
}

impl Source for Sinusoid {
    fn next(&mut self) -> Change {
        let at = self.at;
        self.at += self.interval;
        // Computed from the start of the wave, so that rounding errors do not accumulate.
        let turn = (at % self.period) as f64 / self.period as f64 + self.phase;
        let sine = libm::sin(std::f64::consts::TAU * turn);
        Change {
            at,
            value: self.mean + self.amplitude * sine,
        }
    }
}
