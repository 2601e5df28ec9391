//! Limits on the cost of a run on this machine. They come from the environment, because they do not change results and are not part of the
//! identity of a run. Each worker of a cluster can have different limits.

use std::env;

use bloatlab_scenario::Limits;
use bloatlab_units::Bytes;
use pyo3::PyResult;

use crate::errors::ScenarioError;

/// Variable with the memory that a run may take, such as `16GB`.
const MEMORY: &str = "BLOATLAB_MEMORY";
/// Variable with the number of packets that a run may simulate, such as `50e9`.
const PACKETS: &str = "BLOATLAB_PACKETS";

/// The limits of this process.
pub fn limits(record_packets: bool) -> PyResult<Limits> {
    let wrong = |name: &str, why: String| ScenarioError::new_err(format!("{name}: {why}"));
    let mut limits = Limits {
        record_packets,
        ..Limits::default()
    };
    if let Some(text) = given(MEMORY) {
        let memory = text.parse::<Bytes>();
        limits.memory = memory.map_err(|why| wrong(MEMORY, why.to_string()))?;
    }
    if let Some(text) = given(PACKETS) {
        let packets = text.parse().ok().filter(|&packets: &f64| packets > 0.0);
        let why = || format!("must be a number above 0, such as 50e9, not `{text}`");
        limits.packets = packets.ok_or_else(|| wrong(PACKETS, why()))?;
    }
    Ok(limits)
}

/// The value of an environment variable. An empty variable counts as not set.
fn given(name: &str) -> Option<String> {
    env::var(name).ok().filter(|text| !text.is_empty())
}
