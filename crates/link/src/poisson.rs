//! Deliveries at random.

use bloatlab_units::{NEVER, Nanos, Rate, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DELIVERY_BYTES, Deliveries};

/// Deliveries of 1500 bytes as a Poisson process, as on the calibrated paths of Pantheon (Yan et al., USENIX ATC 2018). The mean rate is the constant
/// rate beside `vary`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

impl Params {
    /// The deliveries of a link with this mean rate.
    pub fn deliveries(&self, rate: Rate, rng: Rng) -> Box<dyn Deliveries> {
        Box::new(Poisson {
            rng,
            mean: (DELIVERY_BYTES * 8_000_000_000) as f64 / rate.0.max(1) as f64,
            at: 0,
            fraction: 0.0,
        })
    }
}

struct Poisson {
    rng: Rng,
    /// Mean time between two deliveries, ns.
    mean: f64,
    at: Nanos,
    /// Fraction of a nanosecond that is carried on.
    fraction: f64,
}

impl Deliveries for Poisson {
    fn next(&mut self) -> Nanos {
        let gap = self.rng.exponential(self.mean) + self.fraction;
        let whole = libm::floor(gap);
        self.fraction = gap - whole;
        // A float beyond the range of the integer becomes the largest integer.
        self.at = self.at.saturating_add(whole as u64).min(NEVER - 1);
        self.at
    }
}
