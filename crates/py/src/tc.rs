//! Queues without a scenario: their canonical form, and their tc commands.

use bloatlab_scenario::QueueConfig;
use pyo3::prelude::*;

use crate::errors::ScenarioError;

fn read_queue(queue_json: &str) -> PyResult<QueueConfig> {
    let wrong = |message: String| ScenarioError::new_err(message);
    // The text is read in two steps, because errors of the second step then have no line and column.
    let value: serde_json::Value =
        serde_json::from_str(queue_json).map_err(|error| wrong(error.to_string()))?;
    let queue: QueueConfig =
        serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
    queue.validate().map_err(wrong)?;
    Ok(queue)
}

/// The queue as a table with every parameter. `queue_json` is a name, a tc text or a table.
#[pyfunction]
pub fn queue(queue_json: &str) -> PyResult<String> {
    let queue = read_queue(queue_json)?;
    Ok(serde_json::json!(queue).to_string())
}

/// The tc commands that set the queue up on a network device. With `every`, they include tc's defaults.
#[pyfunction]
#[pyo3(signature = (queue_json, device, every = false))]
pub fn tc(queue_json: &str, device: &str, every: bool) -> PyResult<Vec<String>> {
    let queue = read_queue(queue_json)?;
    queue.to_tc(device, every).map_err(ScenarioError::new_err)
}
