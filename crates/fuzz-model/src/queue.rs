//! Any queue of the registry under any operations: the operation model of `bloatlab-aqm-model`.

use arbitrary::{Arbitrary, Unstructured};
use bloatlab_aqm_model::Episode;

/// Runs the episode that these bytes choose, twice.
///
/// # Panics
/// If the queue breaks a promise of the trait `Qdisc`.
pub fn queue(bytes: &[u8]) {
    if let Ok(episode) = Episode::arbitrary_take_rest(Unstructured::new(bytes)) {
        episode.run(true);
    }
}
