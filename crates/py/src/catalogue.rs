//! The schema of the document, the algorithms and the metrics, as JSON.

use bloatlab_scenario::{Scenario, Traffic};
use pyo3::prelude::*;

/// JSON Schema of a scenario document.
#[pyfunction]
pub fn schema() -> String {
    Scenario::json_schema().to_string()
}

/// `{"queues": [...], "congestion_controls": [...]}`: kind, aliases, summary, source, parameters. A congestion control has its names in other systems
/// too: `elsewhere`.
#[pyfunction]
pub fn algorithms() -> String {
    bloatlab_scenario::algorithms().to_string()
}

/// Kinds of traffic that are programs, which only engines in real time run.
#[pyfunction]
pub fn program_kinds() -> Vec<&'static str> {
    Traffic::program_kinds()
}

/// A list of `{scope, name, unit, formula, source, better}`.
#[pyfunction]
pub fn metric_definitions() -> String {
    bloatlab_record::metric_definitions().to_string()
}

/// The version of the package and a hash of the sources that decide results.
#[pyfunction]
pub fn engine_version() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), "+", env!("BLOATLAB_SOURCES"))
}
