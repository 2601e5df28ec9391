//! An entry of a timeline.

use bloatlab_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// At an instant of the run, a key of the document gets another value.
///
/// These keys can change: rates, delays, RTTs and probabilities of impairments, unless they vary by `vary`; queues and their parameters; and the `stop`
/// of flows. The index after that of the last flow adds a flow, such as `flows[3]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When it happens, before all other events of that instant. Above 0, below `duration`, and not before the previous entry.
    pub at: Duration,
    /// The key, such as `dumbbell.rate`, `dumbbell.queue.target`, `boxes[1].delay` or `flows[0].stop`.
    #[schemars(length(min = 1, max = 200))]
    pub key: String,
    /// Its new value, written as in the document.
    pub value: Value,
}
