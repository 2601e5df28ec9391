//! What a queue and a flow mean on Linux: tc commands, kernel modules and sysctls.

use bloatlab_scenario::{Flow, QueueConfig};
use pyo3::prelude::*;

use crate::errors::ScenarioError;

fn read_queue(queue_json: &str) -> PyResult<QueueConfig> {
    bloatlab_scenario::read_queue(queue_json).map_err(ScenarioError::new_err)
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

/// The commands that give the TCP connection of a flow its congestion control and its settings on a Linux host; none for a flow without TCP. `device`
/// is the network device.
#[pyfunction]
pub fn sysctl(flow_json: &str, device: &str) -> PyResult<Vec<String>> {
    let refused = |key: &str, why: String| ScenarioError::new_err(format!("{key}.{why}"));
    let flow: Flow = serde_json::from_str(flow_json)
        .map_err(|error| ScenarioError::new_err(error.to_string()))?;
    if !flow.traffic.is_tcp() {
        return Ok(Vec::new());
    }
    let cca = flow.cca.linux_commands();
    let mut commands = cca.map_err(|why| refused("cca", why))?;
    let tcp = flow.tcp.linux_commands(device);
    commands.extend(tcp.map_err(|why| refused("tcp", why))?);
    Ok(commands)
}
