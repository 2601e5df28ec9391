//! The connections of a client, one after the other.

use bloatlab_outcome::Step;
use bloatlab_scenario::Scenario;
use bloatlab_tcp::segment::FIN;
use serde_json::{Value, json};

use crate::{compiled, logged, outcome, value};

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

#[test]
fn the_server_ends_the_connection_of_a_page_and_the_client_answers() {
    let scenario = Scenario::from_value(json!({
        "duration": "5s",
        "dumbbell": { "rate": "10Mbit/s", "rtt": "40ms" },
        "flows": [{ "traffic": { "kind": "fetch", "response": "30kB", "interval": "2s" } }],
    }));
    let outcome = logged(&compiled(&scenario.expect("a valid document")), 1);
    let sent = outcome
        .packets
        .iter()
        .filter(|event| event.step == Step::Send);
    let ends: Vec<_> = sent.filter(|event| event.segment.has(FIN)).collect();
    let pages = value(&outcome.probe_metrics, 0, "transactions").unwrap() as usize;
    let of = |direction| {
        ends.iter()
            .filter(move |event| event.direction == direction)
    };
    assert_eq!([0, 1].map(|direction| of(direction).count()), [pages; 2]);
    assert!(
        of(0).all(|event| event.segment.length > 0),
        "with the last data"
    );
    assert!(of(1).all(|event| event.segment.length == 0));
}
