//! The connections of a client, one after the other.

use serde_json::{Value, json};

use crate::{outcome, value};

/// Retransmissions of a client that fetches ten pages, each larger than the queue.
fn retransmissions(tcp: &Value) -> f64 {
    let outcome = outcome(json!({
        "duration": "20s",
        "dumbbell": { "rate": "10Mbit/s", "rtt": "40ms", "queue": { "kind": "fifo", "limit": "20p" } },
        "flows": [{
            "tcp": tcp,
            "cca": "reno",
            "traffic": { "kind": "fetch", "response": "300kB", "interval": "2s", "interval_from": "start" },
        }],
    }));
    assert_eq!(value(&outcome.probe_metrics, 0, "transactions"), Some(10.0));
    value(&outcome.flow_metrics, 0, "total_retransmissions_l4").unwrap()
}

#[test]
fn a_page_can_start_with_the_threshold_that_the_earlier_ones_left() {
    let [without, with] =
        [false, true].map(|cached| retransmissions(&json!({ "cached_ssthresh": cached })));
    // Without it, slow start fills the queue with each page; with it, only with the first.
    assert!(without >= 100.0, "{without}");
    assert!((5.0..without / 5.0).contains(&with), "{with}");
}
