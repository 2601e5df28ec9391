//! A delay that differs from packet to packet.

use bloatlab_units::{Duration, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::factory::{HOUR, between};

/// The delay of each packet differs from the constant one by a random draw. It is never below 0.
///
/// The meaning of `size` and the names of the distributions are netem's. Without `reorder`, a packet waits for the one before it, so packets often
/// have the delay of a slower packet before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Jitter")]
pub struct Params {
    /// Size of the draws: the bound for `uniform`, the standard deviation for the others. Above 0, at most 1 h.
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
    /// Pareto with shape 3, shifted to mean 0: most packets are slightly early, few are very late.
    Pareto,
    /// A quarter of a normal draw plus three quarters of a Pareto draw.
    Paretonormal,
}

/// Bound of a draw, in units of `size`.
const LATEST: f64 = 100.0;

impl Params {
    /// Refuses values out of range, as `parameter: reason`.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn validate(&self) -> Result<(), String> {
        between("size", self.size, 1, HOUR)
    }

    /// The next draw in ns: positive if the packet is later than the constant delay, negative if it is earlier.
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        let size = self.size.0 as f64;
        match self.distribution {
            Distribution::Uniform => size * (2.0 * rng.uniform() - 1.0),
            Distribution::Normal => rng.normal(size),
            Distribution::Pareto => size * pareto(rng),
            Distribution::Paretonormal => size * (0.25 * rng.normal(1.0) + 0.75 * pareto(rng)),
        }
    }

    /// Largest lateness that estimates assume, ns.
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
