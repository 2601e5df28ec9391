//! Valid documents that together use every key, and a reader for the examples of the documentation.

#![allow(dead_code, reason = "each test file compiles this module by itself")]

use serde_json::{Value, json};

pub fn documents() -> Vec<Value> {
    vec![
        json!({
            "name": "everything on a dumbbell",
            "duration": "15s",
            "sample_interval": "50ms",
            "warmup": "1s",
            "dumbbell": {
                "rate": "16Mbit/s", "rtt": "15ms", "queue": { "kind": "fifo", "limit": "80p" }, "loss": 0.01,
                "reverse_rate": "1Mbit/s", "reverse_queue": "codel", "reverse_loss": 0.1, "access_rate": "1Gbit/s",
                "device_packets": 2, "overhead": 14,
                "vary": {
                    "rate": { "kind": "steps", "steps": [{ "at": "1s", "value": "8Mbit/s" }, { "at": "2s", "value": "0bit/s" }] },
                    "loss": { "kind": "pulse", "lower": 0.0, "upper": 0.1, "period": "2s", "first": "lower" }
                }
            },
            "flows": [
                {
                    "name": "bulk", "count": 3, "start": "10ms", "stop": "14s", "start_interval": "1s",
                    "start_jitter": "5ms", "rtt": "30ms", "cca": { "kind": "cubic", "beta": 0.7 },
                    "tcp": {
                        "mss": 1448, "ack_every": 1, "delayed_ack": "40ms", "quick_acks": 10, "initial_window": 10,
                        "send_buffer": "4MB", "receive_buffer": "6MiB", "ecn": true, "min_rto": "200ms",
                        "initial_rto": "1s", "loss_detection": "dupack", "tail_loss_probe": false,
                        "recovery": "classic", "pacing": "on"
                    }
                },
                { "direction": "reverse", "cca": "bbr", "traffic": { "kind": "finite", "bytes": "10MB" } },
                { "traffic": { "kind": "cbr", "rate": "1Mbit/s", "packet": "200B", "transport": "udp" } },
                { "traffic": { "kind": "poisson", "rate": "100kbit/s" } },
                {
                    "traffic": {
                        "kind": "on_off", "rate": "1Mbit/s", "on": "1s", "off": "500ms",
                        "distribution": "constant", "packet": "1kB", "transport": "tcp"
                    }
                },
                {
                    "traffic": {
                        "kind": "fetch", "request": "300B", "response": "1MB", "interval": "1s", "connection": "persistent"
                    }
                },
                { "name": "ping", "traffic": { "kind": "ping", "interval": "100ms", "size": "84B" } },
                { "traffic": "ping", "cca": "reno" }
            ]
        }),
        json!({
            "duration": "15s",
            "dumbbell": {
                "rate": "3Gbit/s", "rtt": "20ms", "forward_share": 0.25, "reverse_rate": "20Mbit/s",
                "vary": {
                    "rate": { "kind": "mmwave", "preset": "lb", "interval": "200ms", "gap": "10s", "gap_deviation": "1s", "scale": 0.5 },
                    "reverse_rate": { "kind": "mahimahi", "deliveries": [1, 4, 9] },
                    "rtt": { "kind": "handover", "min": "15ms", "max": "40ms", "interval": "15s", "first": "12s", "pause": "50ms" }
                },
                "impair": {
                    "gilbert_elliott": { "p": 0.01, "r": 0.3, "h": 0.2, "k": 0.999 },
                    "corrupt": 0.001, "duplicate": 0.01,
                    "jitter": { "size": "2ms", "distribution": "pareto", "reorder": true }
                },
                "reverse_impair": { "jitter": { "size": "1ms" } }
            },
            "flows": [{}]
        }),
        json!({
            "duration": "1min",
            "parking_lot": {
                "hops": 4, "rate": "10Mbit/s", "hop_delay": "5ms", "queue": "pie", "reverse_rate": "10Mbit/s",
                "device_packets": 1, "overhead": 38
            },
            "flows": [
                { "cca": "newreno" },
                { "hops": [1, 1], "count": 2 },
                { "hops": [3, 4], "direction": "reverse", "traffic": "greedy" }
            ]
        }),
        json!({
            "duration": "10s",
            "boxes": [
                {
                    "kind": "link", "name": "up", "rate": "10Mbit/s", "delay": "5ms",
                    "queue": { "kind": "fq_codel" }, "device_packets": 1, "overhead": 14
                },
                {
                    "kind": "link", "name": "down", "rate": "50Mbit/s", "queue": "head_drop",
                    "vary": {
                        "rate": { "kind": "mahimahi", "deliveries": [0, 3, 3, 9] },
                        "delay": { "kind": "pulse", "lower": "1ms", "upper": "2ms", "period": "10ms" }
                    }
                },
                {
                    "kind": "delay", "name": "sea", "delay": "40ms",
                    "vary": { "kind": "random_walk", "min": "30ms", "max": "50ms", "sigma": "1ms", "rho": 0.5, "interval": "1s" }
                },
                {
                    "kind": "loss", "name": "radio", "probability": 0.001,
                    "vary": { "kind": "steps", "steps": [{ "at": "1s", "value": 1.0 }] }
                },
                { "kind": "link", "name": "cell", "rate": "3Mbit/s", "vary": { "rate": { "kind": "poisson" } } },
                { "kind": "loss", "name": "fade", "gilbert_elliott": { "p": 0.01 } },
                { "kind": "corrupt", "name": "noise", "probability": 0.01,
                    "vary": { "kind": "sinusoid", "mean": 0.1, "amplitude": 0.1, "period": "1s", "phase": 0.5, "interval": "10ms" } },
                { "kind": "duplicate", "name": "twice", "probability": 1.0 },
                { "kind": "delay", "name": "shaky", "delay": "10ms", "jitter": { "size": "5ms", "distribution": "normal" } },
                {
                    "kind": "link", "name": "satellite", "rate": "50Mbit/s",
                    "vary": {
                        "rate": { "kind": "markov", "states": [{ "value": "50Mbit/s", "dwell": "2s" }, { "value": "1Mbit/s", "dwell": "1s", "to": [1, 0] }] }
                    }
                },
                {
                    "kind": "link", "name": "beam", "rate": "2Gbit/s",
                    "vary": { "rate": {
                        "kind": "blockage", "model": "a", "snr": 25, "frequency": 28, "surroundings": "indoor", "orientation": "landscape", "azimuth": 90,
                        "table": [{ "snr": 0, "rate": "100Mbit/s" }, { "snr": 20, "rate": "2Gbit/s" }]
                    } }
                }
            ],
            "flows": [
                { "path": ["up", "cell"] },
                { "path": ["satellite", "fade", "noise", "twice", "shaky", "beam"] },
                { "path": ["up", "radio", "sea"], "return_path": ["sea", "down"] },
                { "path": ["down", "sea"], "return_path": ["up"], "cca": { "kind": "fixed" } },
                { "path": ["up"], "return_path": ["down"], "direction": "reverse", "traffic": "ping" }
            ]
        }),
    ]
}

/// The TOML examples of a page. Reads only the part of TOML that the page uses: tables, lists of tables, and values in one line.
pub fn examples(page: &str) -> Vec<Value> {
    page.split("```toml\n")
        .skip(1)
        .map(|rest| toml(rest.split("```").next().unwrap_or_default()))
        .collect()
}

fn toml(text: &str) -> Value {
    let mut document = json!({});
    let mut place: Vec<&str> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(name) = line
            .strip_prefix("[[")
            .and_then(|rest| rest.strip_suffix("]]"))
        {
            place = name.split('.').collect();
            let list = table(&mut document, &place);
            if list.is_null() {
                *list = json!([]);
            }
            let list = list.as_array_mut().expect("a list of tables");
            list.push(json!({}));
        } else if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            place = name.split('.').collect();
        } else {
            let (key, value) = line.split_once(" = ").expect("key = value");
            let mut place = table(&mut document, &place);
            if let Value::Array(list) = place {
                place = list.last_mut().expect("a table");
            }
            place[key] = scalar(value);
        }
    }
    document
}

/// The table or list at these keys. In a list on the way, the last table is used.
fn table<'a>(document: &'a mut Value, keys: &[&str]) -> &'a mut Value {
    keys.iter().fold(document, |place, &key| match place {
        Value::Array(list) => &mut list.last_mut().expect("a table")[key],
        other => &mut other[key],
    })
}

fn scalar(text: &str) -> Value {
    let Some(inner) = text
        .strip_prefix("{ ")
        .and_then(|rest| rest.strip_suffix(" }"))
    else {
        return serde_json::from_str(text).expect("a value as in JSON");
    };
    let pairs = inner
        .split(", ")
        .map(|pair| pair.split_once(" = ").expect("key = value"));
    Value::Object(
        pairs
            .map(|(key, value)| (key.to_owned(), scalar(value)))
            .collect(),
    )
}
