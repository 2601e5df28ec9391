//! Connections that cannot be opened are counted.

use bloatlab_scenario::Scenario;
use serde_json::{Value, json};

use crate::{compiled, measured, value};

/// Number of handshakes that the first flow gave up, on a path with this loss.
fn given_up(loss: f64, flow: &Value) -> Option<f64> {
    let document = json!({
        "duration": "300s",
        "dumbbell": { "rate": "1Mbit/s", "rtt": "20ms", "loss": loss },
        "flows": [flow],
    });
    let scenario: Scenario = serde_json::from_value(document).expect("a scenario");
    let outcome = measured(&compiled(&scenario), 1);
    value(&outcome.flow_metrics, 0, "handshakes_given_up_l4")
}

#[test]
fn an_abandoned_handshake_is_counted_once() {
    let download = json!({ "traffic": { "kind": "finite", "bytes": "10kB" } });
    assert_eq!(given_up(0.0, &download), Some(0.0));
    // RFC 6298 section 5: 1 + 2 + ... + 64 s, then the client gives up.
    assert_eq!(given_up(0.9999, &download), Some(1.0));
    // A client that fetches pages tries again with a new connection every 128 s.
    let pages = json!({ "traffic": { "kind": "fetch", "response": "10kB", "interval": "1s" } });
    assert_eq!(given_up(0.9999, &pages), Some(2.0));
    // Traffic without connections does not have this metric.
    let datagrams = json!({ "traffic": { "kind": "cbr", "rate": "8kbit/s", "packet": "100B" } });
    assert_eq!(given_up(0.0, &datagrams), None);
}
