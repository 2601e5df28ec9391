//! Small valid documents to change, and their refusals.

use bloatlab_scenario::{CcConfig, QueueConfig, Scenario};
use serde_json::{Value, json};

/// A small valid document on a dumbbell.
pub fn dumbbell() -> Value {
    json!({
        "duration": "15s",
        "dumbbell": { "rate": "16Mbit/s", "rtt": "15ms", "queue": { "kind": "fifo", "limit": "80p" } },
        "flows": [{ "cca": "newreno", "tcp": { "mss": 1448 } }]
    })
}

pub fn parking_lot() -> Value {
    json!({
        "duration": "10s",
        "parking_lot": { "hops": 3, "rate": "10Mbit/s", "hop_delay": "5ms" },
        "flows": [{ "hops": [1, 3] }]
    })
}

pub fn boxes() -> Value {
    json!({
        "duration": "10s",
        "boxes": [
            { "kind": "link", "name": "uplink", "rate": "10Mbit/s", "delay": "5ms", "queue": "fifo" },
            { "kind": "delay", "name": "back", "delay": "5ms" },
            { "kind": "loss", "name": "radio", "probability": 0.01 }
        ],
        "flows": [{ "path": ["uplink", "radio"], "return_path": ["back"] }]
    })
}

/// The document, with the value at a JSON pointer replaced or added.
pub fn with(mut document: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer starts with /");
    match document.pointer_mut(parent).expect("the parent exists") {
        Value::Object(table) => {
            table.insert(key.to_owned(), value);
        }
        Value::Array(list) => {
            let index: usize = key.parse().expect("an index");
            if index < list.len() {
                list[index] = value;
            } else {
                list.push(value);
            }
        }
        _ => panic!("{parent} holds nothing"),
    }
    document
}

pub fn refusal(document: &Value) -> String {
    let from_value = Scenario::from_value(document.clone()).expect_err(&document.to_string());
    let from_text =
        Scenario::from_json(&document.to_string()).expect_err("text is read like values");
    assert_eq!(from_value, from_text);
    assert!(!from_value.path.is_empty());
    // Replaces lists of algorithms, so that a new algorithm does not change these messages.
    let queues: Vec<&str> = QueueConfig::all().iter().map(QueueConfig::kind).collect();
    let controls: Vec<&str> = CcConfig::all().iter().map(CcConfig::kind).collect();
    let shorten = |text: String, names: &[&str], what: &str| text.replace(&names.join(", "), what);
    let text = shorten(from_value.to_string(), &queues, "QUEUES");
    shorten(text, &controls, "CONGESTION_CONTROLS")
}
