//! An entry of a timeline.

use bloatlab_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// At an instant of the run, a key of the document takes another value.
///
/// What can change: rates, delays and RTTs that do not vary otherwise, queues and their parameters, probabilities of loss, corruption and duplication, and the
/// `stop` of flows. The number after the last flow adds one, such as `flows[3]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When it happens: before everything else of that instant. Above 0 and below `duration`, not before the entry above.
    pub at: Duration,
    /// What changes, such as `dumbbell.rate`, `dumbbell.queue.target`, `boxes[1].delay` or `flows[0].stop`.
    #[schemars(length(min = 1, max = 200))]
    pub key: String,
    /// Its new value, as the document would give it.
    pub value: Value,
}
