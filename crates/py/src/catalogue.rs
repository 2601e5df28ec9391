//! The schema of the document, the algorithms and the metrics, as JSON.

use bloatlab_outcome::{Better, Metric, metrics};
use bloatlab_scenario::{Scenario, Traffic};
use pyo3::prelude::*;
use serde_json::{Value, json};

/// JSON Schema of a scenario document.
#[pyfunction]
pub fn schema() -> String {
    Scenario::json_schema().to_string()
}

/// `{"queues": [...], "congestion_controls": [...]}`: kind, aliases, summary, source, parameters. A congestion control has its names in other systems
/// too: `elsewhere`.
#[pyfunction]
pub fn algorithms() -> String {
    let names = bloatlab_cc::elsewhere();
    let congestion_controls = bloatlab_cc::describe().iter().map(|description| {
        let mut entry = json!(description);
        let found = names.iter().find(|(kind, _)| *kind == description.kind);
        entry["elsewhere"] = json!(found.map(|(_, elsewhere)| elsewhere));
        entry
    });
    json!({
        "queues": bloatlab_aqm::describe(),
        "congestion_controls": congestion_controls.collect::<Vec<Value>>(),
    })
    .to_string()
}

/// Kinds of traffic that are programs, which only engines in real time run.
#[pyfunction]
pub fn program_kinds() -> Vec<&'static str> {
    Traffic::program_kinds()
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
