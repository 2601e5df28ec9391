//! A value that is set at given instants.

use bloatlab_units::{Duration, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::factory::Factory;
use crate::{Change, Quantity, Source};

/// A value that is set at given instants. Before the first of them it is the constant value beside `vary`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "Q: Quantity")]
#[schemars(bound = "Q: Quantity")]
pub struct Params<Q> {
    /// The changes, in ascending order of time.
    #[schemars(length(min = 1, max = 1_000_000))]
    pub steps: Vec<Step<Q>>,
}

/// One change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "Q: Quantity")]
#[schemars(bound = "Q: Quantity", inline)]
pub struct Step<Q> {
    /// Time since the start of the run.
    pub at: Duration,
    /// The value from then on.
    pub value: Q,
}

impl<Q: Quantity> Factory for Params<Q> {
    fn validate(&self) -> Result<(), String> {
        if self.steps.is_empty() || self.steps.len() > 1_000_000 {
            return Err(format!(
                "steps: must be 1 to 1000000, not {}",
                self.steps.len()
            ));
        }
        for (place, step) in self.steps.iter().enumerate() {
            step.value.check(&format!("steps[{place}].value"))?;
        }
        for (place, pair) in self.steps.windows(2).enumerate() {
            if pair[1].at <= pair[0].at {
                let (before, at) = (pair[0].at, pair[1].at);
                let place = place + 1;
                return Err(format!(
                    "steps[{place}].at: must be after {before}, the step before it, not {at}"
                ));
            }
        }
        Ok(())
    }

    fn bounds(&self, nominal: f64) -> (f64, f64) {
        let values = self.steps.iter().map(|step| step.value.number());
        values.fold((nominal, nominal), |(least, most), value| {
            (value.min(least), value.max(most))
        })
    }

    fn source(&self, _nominal: f64, _rng: Rng) -> Box<dyn Source> {
        let changes = self.steps.iter().map(|step| Change {
            at: step.at.0,
            value: step.value.number(),
        });
        Box::new(Steps(changes.collect::<Vec<_>>().into_iter()))
    }
}

/// The changes to come.
struct Steps(std::vec::IntoIter<Change>);

impl Source for Steps {
    fn next(&mut self) -> Change {
        self.0.next().unwrap_or(Change::NONE)
    }
}
