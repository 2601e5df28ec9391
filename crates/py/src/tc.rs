//! Reads a queue and prints its tc commands.

use bloatlab_scenario::QueueConfig;
use pyo3::prelude::*;

use crate::errors::ScenarioError;

fn read_queue(queue_json: &str) -> PyResult<QueueConfig> {
    let wrong = |message: String| ScenarioError::new_err(message);
    // The JSON reader adds line and column to an error, which mean nothing for a value.
    let value: serde_json::Value =
        serde_json::from_str(queue_json).map_err(|error| wrong(error.to_string()))?;
    let queue: QueueConfig =
        serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
    queue.validate().map_err(wrong)?;
    Ok(queue)
}

/// The queue (a name, tc's words or a table, in JSON) as a table with every parameter.
#[pyfunction]
pub fn queue(queue_json: &str) -> PyResult<String> {
    let queue = read_queue(queue_json)?;
    Ok(serde_json::json!(queue).to_string())
}

/// The tc commands that set up the queue on a network device. With `every`, they include parameters at tc's defaults.
#[pyfunction]
#[pyo3(signature = (queue_json, device, every = false))]
pub fn tc(queue_json: &str, device: &str, every: bool) -> PyResult<Vec<String>> {
    let queue = read_queue(queue_json)?;
    queue.to_tc(device, every).map_err(ScenarioError::new_err)
}
