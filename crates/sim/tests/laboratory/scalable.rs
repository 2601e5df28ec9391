//! Scalable congestion controls with early marks: DCTCP compared with Linux's, and Prague beside CUBIC.

use bloatlab_outcome::Outcome;
use bloatlab_scenario::Scenario;
use serde_json::{Value, json};

use crate::{compiled, measured, value};

fn run(document: Value, seed: u64) -> Outcome {
    let scenario: Scenario = serde_json::from_value(document).expect("a scenario");
    measured(&compiled(&scenario), seed)
}

fn flow(outcome: &Outcome, index: usize, metric: &str) -> f64 {
    value(&outcome.flow_metrics, index, metric).expect(metric)
}

fn link(outcome: &Outcome, metric: &str) -> f64 {
    let at = outcome.links.iter().position(|l| l.name == "bottleneck");
    value(&outcome.link_metrics, at.expect("the bottleneck"), metric).expect(metric)
}

#[test]
fn dctcp_beside_linux() {
    // Linux 7.2 in virtual time, four flows through red that marks every packet from a threshold of 30 packets on; 20 s to 59.9 s. Two runs:
    // goodput 191.25 Mbit/s, sRTT 11.62 and 11.63 ms, 48.01 and 47.99 segments in flight, 16.6 % of the packets marked.
    for (seed, starts, srtt, in_flight) in [
        (1, [0.0168, 0.1304, 0.2360, 0.3190], 11.620_81, 48.005),
        (2, [0.0232, 0.1455, 0.2365, 0.3108], 11.626_05, 47.986_2),
    ] {
        // Linux's htb passes on a packet as soon as it leaves the queue.
        let rtt = 10.0 - 1514.0 * 8.0 / 200e6 * 1e3;
        let sender = |start: f64| {
            json!({
                "cca": "dctcp", "start": format!("{start}s"), "source": "A", "destination": "B",
                "tcp": { "quick_acks": 16, "send_buffer": "64MB", "receive_buffer": "64MB", "ecn": true },
            })
        };
        let mut flows: Vec<Value> = starts.map(sender).into();
        flows.push(json!({ "traffic": { "kind": "ping", "interval": "20ms", "size": "84B" }, "source": "A", "destination": "B" }));
        let outcome = run(
            json!({
                "duration": "59.9s", "warmup": "20s", "flows": flows,
                "dumbbell": {
                    "rate": "200Mbit/s", "rtt": format!("{rtt:.6}ms"), "header": 14,
                    "queue": "red limit 1000000 min 45420 max 46934 avpkt 1514 burst 31 probability 1 bandwidth 200mbit ecn",
                },
            }),
            seed,
        );
        let mean = |metric: &str| (0..4).map(|i| flow(&outcome, i, metric)).sum::<f64>() / 4.0;
        let marks = link(&outcome, "marks") / link(&outcome, "arrivals");
        let theirs = [
            (4.0 * mean("mean_throughput_l4"), 191.25),
            (mean("mean_srtt_l4"), srtt),
            (mean("mean_in_flight_l4"), in_flight),
            (marks, 0.166),
        ];
        for (ours, linux) in theirs {
            assert!((ours / linux - 1.0).abs() < 0.05, "{ours} for {linux}");
        }
        assert_eq!(mean("total_retransmissions_l4"), 0.0);
    }
}

#[test]
fn prague_beside_cubic_under_dualpi2() {
    let outcome = run(
        json!({
            "duration": "60s", "warmup": "20s",
            "dumbbell": { "rate": "50Mbit/s", "rtt": "20ms", "queue": "dualpi2" },
            "flows": [{ "cca": "prague" }, { "cca": "cubic" }],
        }),
        7,
    );
    // RFC 9332 section 2.1: rates are roughly equal, the low-latency queue stays below its step of 1 ms, the classic one at its target of 15 ms.
    let [prague, cubic] = [0, 1].map(|i| flow(&outcome, i, "mean_throughput_l4"));
    assert!(
        (0.5..2.0).contains(&(prague / cubic)),
        "{prague} and {cubic} Mbit/s"
    );
    let [low, classic] = [0, 1].map(|i| flow(&outcome, i, "mean_sojourn_l4"));
    assert!(low < 0.5, "{low} ms");
    assert!((12.0..18.0).contains(&classic), "{classic} ms");
    assert!(link(&outcome, "utilization") > 0.98);
    // Its packets are ECT(1), so none is dropped.
    assert_eq!(flow(&outcome, 0, "drops_l4"), 0.0);
    assert!(flow(&outcome, 0, "marks_l4") > 0.0);
    assert!(flow(&outcome, 1, "drops_l4") > 0.0);
}

#[test]
fn prague_alone_keeps_the_queue_at_the_step() {
    // RFC 9332 appendix A: all L4S packets that waited longer than 1 ms are marked. At 10 Mbit/s, a packet takes longer than that.
    for (rate, delays) in [(10.0, 0.0..3.0), (50.0, 0.9..1.3), (200.0, 0.9..1.3)] {
        let outcome = run(
            json!({
                "duration": "60s", "warmup": "20s",
                "dumbbell": { "rate": format!("{rate}Mbit/s"), "rtt": "20ms", "queue": "dualpi2" },
                "flows": [{ "cca": "prague" }],
            }),
            7,
        );
        let p99 = flow(&outcome, 0, "p99_sojourn_l4");
        assert!(delays.contains(&p99), "{p99} ms at {rate} Mbit/s");
        assert!(flow(&outcome, 0, "mean_sojourn_l4") < 1.0);
        assert!(flow(&outcome, 0, "mean_throughput_l4") > 0.94 * rate);
        assert_eq!(link(&outcome, "drops"), 0.0);
    }
}

#[test]
fn prague_without_accecn_is_not_an_l4s_flow() {
    // With DCTCP's feedback, as the user may choose, Prague behaves as Reno with ECT(0) and uses the classic queue.
    let outcome = run(
        json!({
            "duration": "60s", "warmup": "20s",
            "dumbbell": { "rate": "50Mbit/s", "rtt": "20ms", "queue": "dualpi2" },
            "flows": [
                { "cca": "prague", "tcp": { "ecn": "dctcp" } },
                { "cca": "reno", "tcp": { "ecn": true } },
            ],
        }),
        7,
    );
    let [prague, reno] = [0, 1].map(|i| flow(&outcome, i, "mean_throughput_l4"));
    assert!(
        (0.6..1.6).contains(&(prague / reno)),
        "{prague} and {reno} Mbit/s"
    );
    assert!((12.0..18.0).contains(&flow(&outcome, 0, "mean_sojourn_l4")));
}
