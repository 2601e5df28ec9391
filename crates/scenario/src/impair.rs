//! Impairments of one direction of a dumbbell: losses in bursts, corruption, duplication, jitter.

use bloatlab_link::impairment::{corrupt, duplicate, loss};
use bloatlab_link::{ImpairmentConfig, gilbert_elliott, jitter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Impairments of one direction. A packet meets them in this order: losses in bursts, corruption, duplication, jitter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Impairments {
    /// Losses in bursts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gilbert_elliott: Option<gilbert_elliott::Params>,
    /// Probability that a packet is damaged; below 1. Its receiver discards it because of the checksum.
    #[serde(default)]
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub corrupt: f64,
    /// Probability that a packet is duplicated, from 0 to 1.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub duplicate: f64,
    /// How the delay differs from packet to packet. The propagation delay is then in a separate box.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<jitter::Params>,
}

impl Impairments {
    /// The boxes that act at once, in the order in which packets cross them. Their names begin with `prefix`.
    pub(crate) fn boxes(&self, prefix: &str) -> Vec<ImpairmentConfig> {
        let mut boxes = Vec::new();
        if let Some(bursts) = self.gilbert_elliott {
            let name = format!("{prefix}burst_loss");
            boxes.push(ImpairmentConfig::Loss(loss::Params::bursts(name, bursts)));
        }
        if self.corrupt > 0.0 {
            boxes.push(ImpairmentConfig::Corrupt(corrupt::Params {
                name: format!("{prefix}corrupt"),
                probability: self.corrupt,
                vary: None,
            }));
        }
        if self.duplicate > 0.0 {
            boxes.push(ImpairmentConfig::Duplicate(duplicate::Params {
                name: format!("{prefix}duplicate"),
                probability: self.duplicate,
                vary: None,
            }));
        }
        boxes
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
