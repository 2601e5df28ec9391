//! Lost packets.

use bloatlab_units::{Interrupt, Nanos, Rng, Streams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::chance::{Given, Random, VaryingProbability};
use super::factory::{Action, Factory, Impairment};
use super::gilbert_elliott::{self, Chain};
use crate::{Probability, Variation};

/// Drops packets of every kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Unique name.
    pub name: String,
    /// Probability that a packet is lost; below 1.
    #[serde(default)]
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub probability: f64,
    /// How the losses are spaced.
    #[serde(default, skip_serializing_if = "LossSpacing::is_default")]
    pub spacing: LossSpacing,
    /// How the probability varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vary: Option<Variation<Probability>>,
    /// Losses in bursts, in place of a probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gilbert_elliott: Option<gilbert_elliott::Params>,
}

/// How losses of a given probability are spaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossSpacing {
    /// Each packet is lost independently of the others.
    #[default]
    Random,
    /// One packet in every 1/p is lost, as models of response functions assume.
    Even,
}

impl LossSpacing {
    /// Whether it is the default, which a canonical document leaves out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Params {
    /// Losses with a constant probability, independent of each other.
    pub fn random(name: String, probability: f64) -> Self {
        Self {
            name,
            probability,
            spacing: LossSpacing::Random,
            vary: None,
            gilbert_elliott: None,
        }
    }

    /// Losses in bursts.
    pub fn bursts(name: String, bursts: gilbert_elliott::Params) -> Self {
        Self {
            gilbert_elliott: Some(bursts),
            ..Self::random(name, 0.0)
        }
    }

    fn given(&self) -> Given<'_> {
        Given {
            probability: self.probability,
            vary: self.vary.as_ref(),
        }
    }

    /// The probability over time.
    pub fn over_time(&self, streams: &Streams, interrupt: &Interrupt) -> VaryingProbability {
        let given = self.given();
        given.over_time("loss", &self.name, streams, interrupt)
    }
}

impl Factory for Params {
    fn name(&self) -> &str {
        &self.name
    }

    fn validate(&self) -> Result<(), String> {
        self.given().check_below_one()?;
        let Some(bursts) = &self.gilbert_elliott else {
            return Ok(());
        };
        bursts
            .validate()
            .map_err(|why| format!("gilbert_elliott.{why}"))?;
        if self.probability == 0.0 && self.vary.is_none() && self.spacing.is_default() {
            return Ok(());
        }
        Err("gilbert_elliott: cannot be combined with `probability`, `spacing` or `vary`; remove them".to_owned())
    }

    fn build(&self, streams: &Streams, interrupt: &Interrupt) -> Box<dyn Impairment> {
        let name = &self.name;
        let rng = streams.stream(&format!("loss/{name}"));
        let probability = self.over_time(streams, interrupt);
        match (self.gilbert_elliott, self.spacing) {
            (Some(bursts), _) => Box::new(Bursts {
                chain: bursts.chain(),
                rng,
            }),
            (None, LossSpacing::Random) => Box::new(Random {
                probability,
                rng,
                action: Action::Drop,
            }),
            (None, LossSpacing::Even) => Box::new(Even {
                probability,
                due: 0.0,
            }),
        }
    }

    fn probability_mut(&mut self) -> Option<&mut f64> {
        let is_constant = self.vary.is_none() && self.gilbert_elliott.is_none();
        is_constant.then_some(&mut self.probability)
    }

    fn vary(&self) -> Option<&Variation<Probability>> {
        self.vary.as_ref()
    }
}

/// Loses one packet in every 1/p.
struct Even {
    probability: VaryingProbability,
    /// The sum of the probabilities since the last loss, including what that loss left over.
    due: f64,
}

impl Impairment for Even {
    fn pass(&mut self, now: Nanos) -> Action {
        self.due += self.probability.at(now);
        if self.due < 1.0 {
            return Action::Forward;
        }
        self.due -= 1.0;
        Action::Drop
    }

    fn set_probability(&mut self, probability: f64) {
        self.probability.set(probability);
    }
}

/// Loses packets in bursts.
struct Bursts {
    chain: Chain,
    rng: Rng,
}

impl Impairment for Bursts {
    fn pass(&mut self, _now: Nanos) -> Action {
        if self.chain.loses(&mut self.rng) {
            Action::Drop
        } else {
            Action::Forward
        }
    }
}
