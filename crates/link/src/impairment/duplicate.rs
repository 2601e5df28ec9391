//! Duplicated packets.

use bloatlab_units::{Interrupt, Streams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::chance::{Given, Random, VaryingProbability};
use super::factory::{Action, Factory, Impairment};
use crate::{Probability, Variation};

/// Duplicates packets. The copy follows at the same instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Unique name.
    pub name: String,
    /// Probability that a packet is duplicated, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: f64,
    /// How the probability varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vary: Option<Variation<Probability>>,
}

impl Params {
    fn given(&self) -> Given<'_> {
        Given {
            probability: self.probability,
            vary: self.vary.as_ref(),
        }
    }

    /// The probability over time.
    pub fn over_time(&self, streams: &Streams, interrupt: &Interrupt) -> VaryingProbability {
        let given = self.given();
        given.over_time("duplicate", &self.name, streams, interrupt)
    }
}

impl Factory for Params {
    fn name(&self) -> &str {
        &self.name
    }

    fn validate(&self) -> Result<(), String> {
        self.given().check()
    }

    fn build(&self, streams: &Streams, interrupt: &Interrupt) -> Box<dyn Impairment> {
        let name = &self.name;
        Box::new(Random {
            probability: self.over_time(streams, interrupt),
            rng: streams.stream(&format!("duplicate/{name}")),
            action: Action::Duplicate,
        })
    }

    fn probability_mut(&mut self) -> Option<&mut f64> {
        self.vary.is_none().then_some(&mut self.probability)
    }

    fn vary(&self) -> Option<&Variation<Probability>> {
        self.vary.as_ref()
    }

    fn copies(&self) -> f64 {
        let greatest = |vary: &Variation<Probability>| vary.bounds(self.probability).1;
        1.0 + self.vary.as_ref().map_or(self.probability, greatest)
    }
}
