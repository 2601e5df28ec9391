//! Losses in bursts.

use bloatlab_units::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Losses in bursts: a Markov chain with a good and a bad state, which makes a step with each packet (Gilbert 1960, Elliott 1963).
///
/// The chain begins in the good state. The state that a packet finds decides how likely the packet is lost. Names and defaults are those of netem's
/// `loss gemodel`. With `p` and `r` alone this is the simple Gilbert model, whose mean loss is p / (p + r).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GilbertElliott")]
pub struct Params {
    /// Probability of a step from the good to the bad state, above 0.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub p: f64,
    /// Probability of a step from the bad to the good state, above 0; by default 1 - `p`, so that states are independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub r: Option<f64>,
    /// Probability that a packet survives the bad state (netem gives 1 - `h`).
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub h: f64,
    /// Probability that a packet survives the good state (netem gives 1 - `k`).
    #[serde(default = "one")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub k: f64,
}

fn one() -> f64 {
    1.0
}

impl Params {
    /// Probability of a step from the bad to the good state.
    pub fn back(&self) -> f64 {
        self.r.unwrap_or(1.0 - self.p)
    }

    /// Refuses values out of range, as `parameter: reason`.
    ///
    /// # Errors
    /// The first one.
    pub fn validate(&self) -> Result<(), String> {
        for (name, value) in [("p", self.p), ("r", self.r.unwrap_or(1.0))] {
            // This form also refuses NaN.
            if !(value > 0.0 && value <= 1.0) {
                return Err(format!(
                    "{name}: must be above 0 and at most 1, not {value}"
                ));
            }
        }
        if self.back() <= 0.0 {
            return Err("p: needs `r` above 0 if it is 1, because the chain would never leave the bad state".to_owned());
        }
        for (name, value) in [("h", self.h), ("k", self.k)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(format!("{name}: must be between 0 and 1, not {value}"));
            }
        }
        if self.mean() < 1.0 {
            return Ok(());
        }
        Err("k: with this `h`, every packet would be lost; raise `h` or `k`".to_owned())
    }

    /// Share of packets that are lost in the long run.
    pub fn mean(&self) -> f64 {
        let bad = self.p / (self.p + self.back());
        (1.0 - self.k) * (1.0 - bad) + (1.0 - self.h) * bad
    }

    /// A chain in its initial state.
    pub fn chain(self) -> Chain {
        Chain {
            good: [self.p, 1.0 - self.k],
            bad: [self.back(), 1.0 - self.h],
            is_bad: false,
        }
    }
}

/// The chain and its state.
#[derive(Clone, Debug)]
pub struct Chain {
    /// By state, the probabilities of a step to the other state and of a loss.
    good: [f64; 2],
    bad: [f64; 2],
    is_bad: bool,
}

impl Chain {
    /// Whether the next packet is lost.
    pub fn loses(&mut self, rng: &mut Rng) -> bool {
        let [step, loss] = if self.is_bad { self.bad } else { self.good };
        self.is_bad ^= rng.chance(step);
        rng.chance(loss)
    }
}
