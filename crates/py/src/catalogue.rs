//! The schema of the document, the algorithms and the metrics, as JSON.

use bloatlab_outcome::{Better, Metric, metrics};
use bloatlab_scenario::Scenario;
use pyo3::prelude::*;
use serde_json::{Value, json};

/// JSON Schema of a scenario document.
#[pyfunction]
pub fn schema() -> String {
    Scenario::json_schema().to_string()
}

/// `{"queues": [...], "congestion_controls": [...]}`: kind, aliases, summary, source, parameters.
#[pyfunction]
pub fn algorithms() -> String {
    json!({
        "queues": bloatlab_aqm::describe(),
        "congestion_controls": bloatlab_cc::describe(),
    })
    .to_string()
}

/// A list of `{scope, name, unit, formula, source, better}`.
#[pyfunction]
pub fn metric_definitions() -> String {
    let scopes = [
        ("flow", metrics::FLOW),
        ("link", metrics::LINK),
        ("probe", metrics::PROBE),
        ("network", metrics::NETWORK),
    ];
    let all = scopes
        .iter()
        .flat_map(|(scope, list)| list.iter().map(move |m| definition(scope, m)));
    Value::Array(all.collect()).to_string()
}

fn definition(scope: &str, metric: &Metric) -> Value {
    let better = match metric.better {
        Better::Higher => "higher",
        Better::Lower => "lower",
        Better::None => "none",
    };
    json!({
        "scope": scope,
        "name": metric.name,
        "unit": metric.unit,
        "formula": metric.formula,
        "source": metric.source,
        "better": better,
    })
}

/// The version of the package and a hash of the sources that decide results.
#[pyfunction]
pub fn engine_version() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), "+", env!("BLOATLAB_SOURCES"))
}
