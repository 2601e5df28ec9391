//! Tests of hosts' own links: what TCP keeps waiting there, and what it does when the queue is full.

use bloatlab_outcome::Outcome;
use bloatlab_scenario::Scenario;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{compiled, config, logged, measured, value};

/// Memory of a buffer besides its payload.
const OVERHEAD: f64 = 832.0;

/// A server sends `bytes` over its own link, which is the slowest, and a router's link.
fn document(host: &str, limit: &str, segments: u32, tcp: &Value, bytes: u64) -> Value {
    let queue = json!({ "kind": "fifo", "limit": limit, "segments_per_buffer": segments });
    let mut tcp = tcp.clone();
    tcp["receive_buffer"] = json!("16MB");
    json!({
        "name": "own-links",
        "duration": "60s",
        "boxes": [
            { "kind": "link", "name": "own", "rate": "10Mbit/s", "delay": "1ms", "host": host, "queue": queue },
            { "kind": "link", "name": "router", "rate": "100Mbit/s", "delay": "1ms" },
            { "kind": "delay", "name": "back", "delay": "2ms" },
        ],
        "flows": [{
            "cca": "reno",
            "path": ["own", "router"],
            "return_path": ["back"],
            "tcp": tcp,
            "traffic": { "kind": "finite", "bytes": format!("{bytes}B") },
        }],
    })
}

fn run(document: Value) -> Outcome {
    let scenario = Scenario::from_value(document).expect("a valid document");
    measured(&compiled(&scenario), 7)
}

fn of_link(outcome: &Outcome, metric: &str) -> f64 {
    value(&outcome.link_metrics, 0, metric).unwrap_or_default()
}

fn of_flow(outcome: &Outcome, metric: &str) -> Option<f64> {
    value(&outcome.flow_metrics, 0, metric)
}

#[test]
fn small_queues_keep_two_buffers() {
    for segments in [1, 2, 8] {
        // With this shift the pacing rate adds nothing. A router's queue holds the whole window.
        let tcp = json!({ "initial_window": 100, "pacing_shift": 31 });
        let limit = "1000buffers";
        let outcome = run(document("device", limit, segments, &tcp, 2_000_000));
        let longest = of_link(&outcome, "max_queue_length");
        assert_eq!(longest, f64::from(2 * segments), "{segments}");
        let routed = run(document("none", limit, segments, &tcp, 2_000_000));
        assert!(of_link(&routed, "max_queue_length") > 90.0);
    }
}

#[test]
fn small_queues_count_the_buffers_that_a_sender_makes() {
    // At an RTT of 100 ms a sender of 40 segments makes buffers of two. A queue that could hold larger ones does not change that.
    let tcp = json!({
        "initial_window": 40, "pacing_shift": 31, "segmentation_offload": true, "gso_max_segs": 44,
    });
    let mut document = document("device", "1000buffers", 44, &tcp, 200_000);
    document["boxes"][1]["delay"] = json!("50ms");
    document["boxes"][2]["delay"] = json!("50ms");
    let outcome = run(document);
    assert_eq!(of_link(&outcome, "max_queue_length"), 4.0);
}

#[test]
fn a_queue_of_two_buffers_is_enough_and_the_link_stays_busy() {
    // With this shift the pacing rate adds nothing to the two buffers.
    let tcp = json!({ "pacing_shift": 31 });
    let outcome = run(document("device", "2p", 1, &tcp, 5_000_000));
    assert_eq!(of_link(&outcome, "drops"), 0.0);
    assert_eq!(of_flow(&outcome, "total_retransmissions_l4"), Some(0.0));
    // 3454 segments of 1448 B, each in 1500 B.
    let least = 3454.0 * 1500.0 * 8.0 / 10e6;
    let taken = of_flow(&outcome, "flow_completion_time_l4").unwrap();
    assert!(least < taken && taken < least + 0.05, "{taken} s");
}

#[test]
fn small_queues_have_no_effect_with_netem_or_when_off() {
    let off = json!({ "initial_window": 50, "small_queues": false });
    let on = json!({ "initial_window": 50 });
    for (host, tcp) in [("device", &off), ("netem", &on)] {
        let outcome = run(document(host, "1000buffers", 1, tcp, 200_000));
        assert!(of_link(&outcome, "max_queue_length") > 45.0, "{host}");
    }
}

#[test]
fn a_full_queue_of_the_sender_loses_nothing_and_shrinks_the_window() {
    let tcp = json!({});
    let outcome = run(document("netem", "20p", 1, &tcp, 5_000_000));
    assert_eq!(of_link(&outcome, "drops"), 0.0);
    assert_eq!(of_link(&outcome, "max_queue_length"), 20.0);
    assert_eq!(of_flow(&outcome, "total_retransmissions_l4"), Some(0.0));
    let taken = of_flow(&outcome, "flow_completion_time_l4").unwrap();
    assert!(taken < 4.3, "{taken} s");
    // A router's queue drops what does not fit.
    let routed = run(document("none", "20p", 1, &tcp, 5_000_000));
    assert!(of_link(&routed, "drops") > 0.0);
}

#[test]
fn the_limit_follows_the_pacing_rate_and_its_bound() {
    let longest = |tcp: Value| {
        let mut document = document("device", "10000p", 1, &tcp, 20_000_000);
        // 2 cwnd/sRTT is 2 x 100 x 1448 B / 4 ms = 72 MB/s until the queue has grown. In 2^-10 s, 70 kB leave.
        document["boxes"][0]["rate"] = json!("50Mbit/s");
        of_link(&run(document), "max_queue_length")
    };
    let few = longest(json!({ "initial_window": 100 }));
    let more = longest(json!({ "initial_window": 100, "pacing_shift": 4 }));
    let bounded =
        longest(json!({ "initial_window": 100, "pacing_shift": 4, "limit_output_bytes": "20kB" }));
    assert!(bounded < few && few < more, "{few} {bounded} {more}");
    let memory = bounded * (1448.0 + OVERHEAD);
    assert!((20e3..20e3 + 2500.0).contains(&memory), "{memory}");
}

proptest! {
    #![proptest_config(config(64))]

    /// The waiting bytes stay within the limit, nothing is lost if two buffers fit, and the flow completes.
    #[test]
    fn a_flow_stays_within_its_limit(
        bytes in 1_u64..600_000,
        segments in 1_u32..=4,
        buffers in 2_u32..40,
        window in prop_oneof![Just(1_u32), 2_u32..64],
        rate in 1_u64..200,
        most in 1_u64..200_000,
        offload in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let tcp = json!({
            "initial_window": window,
            "limit_output_bytes": format!("{most}B"),
            "segmentation_offload": offload,
            "gso_max_segs": segments,
        });
        let mut document = document("device", &format!("{buffers}buffers"), segments, &tcp, bytes);
        document["boxes"][0]["rate"] = json!(format!("{rate}Mbit/s"));
        let scenario = Scenario::from_value(document).expect("a valid document");
        let outcome = logged(&compiled(&scenario), seed);
        let buffer = 1448.0 * f64::from(segments) + OVERHEAD;
        let payload = of_link(&outcome, "max_queue_bytes");
        // A buffer is handed over while less than the limit waits. Of a lonely buffer the ACK never waits.
        let headers = 1.0 + 52.0 / 1448.0;
        prop_assert!(payload <= (most as f64 + 2.0 * buffer) * headers + 60.0, "{payload}");
        prop_assert_eq!(of_link(&outcome, "drops"), 0.0);
        prop_assert_eq!(of_flow(&outcome, "total_retransmissions_l4"), Some(0.0));
        prop_assert!(of_flow(&outcome, "flow_completion_time_l4").is_some());
    }
}
