//! A delay that differs from packet to packet.

use bloatlab_units::{Duration, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::factory::{HOUR, between};

/// Each packet's delay differs from the constant one by a draw of its own; it is never below 0.
///
/// The meaning of `size` and the names of the distributions are netem's. Without `reorder` a packet waits for the one before it; many draws then give the delay of the slowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Jitter")]
pub struct Params {
    /// How far draws go: the bound of `uniform`, the standard deviation of others; above 0, at most 1 h.
    pub size: Duration,
    /// How draws are distributed.
    #[serde(default)]
    pub distribution: Distribution,
    /// A packet may overtake others.
    #[serde(default)]
    pub reorder: bool,
}

/// The distribution of jitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Between -`size` and `size`.
    #[default]
    Uniform,
    /// Normal.
    Normal,
    /// Pareto with shape 3, shifted to mean 0: most are a little early, few very late.
    Pareto,
    /// A quarter of a normal and three quarters of such a Pareto draw.
    Paretonormal,
}

/// Draws by which nothing is later than this many `size`s.
const LATEST: f64 = 100.0;

impl Params {
    /// Refuses values out of range, as `parameter: reason`.
    ///
    /// # Errors
    /// The first that is.
    pub fn validate(&self) -> Result<(), String> {
        between("size", self.size, 1, HOUR)
    }

    /// How much later than the constant delay the next packet is, ns; negative: earlier.
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        let size = self.size.0 as f64;
        match self.distribution {
            Distribution::Uniform => size * (2.0 * rng.uniform() - 1.0),
            Distribution::Normal => rng.normal(size),
            Distribution::Pareto => size * pareto(rng),
            Distribution::Paretonormal => size * (0.25 * rng.normal(1.0) + 0.75 * pareto(rng)),
        }
    }

    /// The most by which a packet is reckoned to be late, ns.
    pub fn latest(&self) -> Nanos {
        let sizes = match self.distribution {
            Distribution::Uniform => 1,
            Distribution::Normal => 9,
            Distribution::Pareto | Distribution::Paretonormal => LATEST as u64,
        };
        self.size.0 * sizes
    }
}

/// Pareto with shape 3 and least value 1 has mean 3/2 and variance 3/4: shifted and scaled to mean 0 and variance 1.
fn pareto(rng: &mut Rng) -> f64 {
    let value = 1.0 / libm::cbrt(1.0 - rng.uniform());
    ((value - 1.5) / libm::sqrt(0.75)).min(LATEST)
}
