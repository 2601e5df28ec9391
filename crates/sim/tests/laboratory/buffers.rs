//! Tests of queues that count buffers, and of metrics of clients whose packets are lost.

use serde_json::json;

use crate::{outcome, value};

/// Time in ms to send 1500 bytes and an Ethernet header at 10 Mbit/s.
const FRAME: f64 = 1514.0 * 8.0 / 10e3;

#[test]
fn twenty_buffers_hold_twenty_times_their_segments() {
    for segments in [1, 2] {
        let outcome = outcome(json!({
            "name": "buffers",
            "duration": "10s",
            "dumbbell": {
                "rate": "10Mbit/s",
                "rtt": "4ms",
                "header": 14,
                "queue": { "kind": "fifo", "limit": "20buffers", "segments_per_buffer": segments },
            },
            "flows": [{ "cca": "reno" }],
        }));
        let of = |metric| value(&outcome.link_metrics, 0, metric).unwrap();
        let held = 20.0 * f64::from(segments);
        assert_eq!(of("max_queue_length"), held, "{segments}");
        // The last packet waits for all before it and for the rest of the current transmission.
        let longest = of("max_sojourn");
        assert!(
            (held - 1.0) * FRAME < longest && longest <= held * FRAME + 1e-6,
            "{longest}"
        );
    }
}

#[test]
fn a_ping_has_a_separate_buffer() {
    let outcome = outcome(json!({
        "name": "pings",
        "duration": "2s",
        "dumbbell": {
            "rate": "10kbit/s",
            "rtt": "0s",
            "queue": { "kind": "fifo", "limit": "5buffers", "segments_per_buffer": 8 },
        },
        "flows": [{ "traffic": { "kind": "ping", "interval": "10ms" } }],
    }));
    assert_eq!(
        value(&outcome.link_metrics, 0, "max_queue_length"),
        Some(5.0)
    );
}

#[test]
fn a_client_counts_retransmitted_syns() {
    // The answers of the server are lost at first. The client repeats its SYN after one second and two more (RFC 6298 sections 2.1 and 5.5).
    for (lost_until, repeats, waited) in [("500ms", 1.0, 1_000.0), ("2900ms", 2.0, 3_000.0)] {
        let outcome = outcome(json!({
            "name": "handshake",
            "duration": "4s",
            "dumbbell": {
                "rate": "10Mbit/s",
                "rtt": "10ms",
                "loss": 0.999_999,
                "vary": { "loss": { "kind": "steps", "steps": [{ "at": lost_until, "value": 0 }] } },
            },
            "flows": [{ "traffic": { "kind": "fetch", "response": "10kB", "interval": "5s" } }],
        }));
        let of = |metric| value(&outcome.probe_metrics, 0, metric).unwrap();
        assert_eq!(
            (of("syn_retransmissions"), of("rtos"), of("transactions")),
            (repeats, 0.0, 1.0)
        );
        assert_eq!(of("connections_with_lost_syn"), 1.0);
        // After two repeats, the window begins with one segment.
        let taken = of("mean_rtt") - waited;
        assert!((20.0..100.0).contains(&taken), "{taken}");
    }
}

#[test]
fn a_client_counts_timeouts_of_both_ends() {
    // The connection exists when the path is cut. The answer is sent again until it arrives.
    let outcome = outcome(json!({
        "name": "timeouts",
        "duration": "4s",
        "dumbbell": {
            "rate": "1Mbit/s",
            "rtt": "10ms",
            "vary": { "loss": { "kind": "steps", "steps": [
                { "at": "60ms", "value": 0.999_999 }, { "at": "1s", "value": 0 },
            ] } },
        },
        "flows": [{ "traffic": { "kind": "fetch", "response": "100kB", "interval": "9s" } }],
    }));
    let of = |metric| value(&outcome.probe_metrics, 0, metric).unwrap();
    assert_eq!((of("syn_retransmissions"), of("transactions")), (0.0, 1.0));
    let own = value(&outcome.flow_metrics, 0, "total_rtos_l4").unwrap();
    assert!(own >= 1.0 && of("rtos") >= own, "{own}, {}", of("rtos"));
}
