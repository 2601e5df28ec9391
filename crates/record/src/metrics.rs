//! Metrics as JSON.

use std::collections::BTreeMap;

use bloatlab_outcome::{Better, Metric, Outcome, metrics};
use serde_json::{Value, json};

use crate::tables::metrics_by_entity;

/// `{"flow_metrics": {flow: {metric: value}}, "link_metrics": ..., "network_metrics": ..., "probe_metrics": ...}`.
pub fn metrics_of(outcome: &Outcome) -> Value {
    let flows = outcome.flows.iter().map(|f| f.name.as_str());
    let links = outcome.links.iter().map(|l| l.name.as_str());
    let probes = outcome.probes.iter().map(|p| p.name.as_str());
    let network: BTreeMap<_, _> = outcome
        .network_metrics
        .iter()
        .map(|v| (v.metric.name, v.value))
        .collect();
    json!({
        "flow_metrics": metrics_by_entity(&outcome.flow_metrics, flows, &[]),
        "link_metrics": metrics_by_entity(&outcome.link_metrics, links, &outcome.queue_stats),
        "network_metrics": network,
        "probe_metrics": metrics_by_entity(&outcome.probe_metrics, probes, &[]),
    })
}

/// A list of `{scope, name, unit, formula, source, better}`.
pub fn metric_definitions() -> Value {
    let scopes = [
        ("flow", metrics::FLOW),
        ("link", metrics::LINK),
        ("probe", metrics::PROBE),
        ("network", metrics::NETWORK),
    ];
    let all = scopes
        .iter()
        .flat_map(|(scope, list)| list.iter().map(move |m| definition(scope, m)));
    Value::Array(all.collect())
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
