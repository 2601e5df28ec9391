//! Boxes, paths and names of compiled documents.

mod common;
#[path = "common/plans.rs"]
mod plans;

use bloatlab_scenario::traffic::ping;
use bloatlab_scenario::{Dumbbell, Flow, Plan, Scenario, Traffic};
use bloatlab_units::{Bytes, Duration, MILLISECOND, Rate, SECOND};
use plans::{delay, link, names, plan};
use serde_json::{Value, json};

#[test]
fn a_dumbbell_with_equal_rtts_has_two_boxes() {
    let plan = plan(json!({
        "duration": "15s", "warmup": "1s",
        "dumbbell": { "rate": "16Mbit/s", "rtt": "15ms", "overhead": 2, "device_packets": 1 },
        "flows": [{ "count": 2 }, { "name": "ping", "traffic": "ping" }]
    }));
    assert_eq!(
        (plan.duration, plan.sample_interval, plan.warmup),
        (15 * SECOND, 100 * MILLISECOND, SECOND)
    );
    assert_eq!(plan.boxes.len(), 2);
    let flows: Vec<&str> = plan.flows.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(flows, ["flow_1", "flow_2", "ping"]);
    for flow in &plan.flows {
        assert_eq!(names(&plan, &flow.forward), ["bottleneck"]);
        assert_eq!(names(&plan, &flow.reverse), ["delay"]);
        assert_eq!(flow.base_rtt, 15 * MILLISECOND);
        assert_eq!((flow.start, flow.stop), (0, 15 * SECOND));
    }
    let bottleneck = link(&plan, "bottleneck");
    assert_eq!(
        (
            bottleneck.delay,
            bottleneck.overhead,
            bottleneck.device_packets
        ),
        (7_500_000, 2, 1)
    );
    assert_eq!(delay(&plan, "delay"), 7_500_000);
    assert_eq!(
        plan.flows[2].traffic,
        Traffic::Ping(ping::Params {
            interval: Duration(200 * MILLISECOND),
            interval_spread: 0.0,
            size: Bytes(64)
        })
    );
}

#[test]
fn hosts_links_are_private_and_come_first() {
    let plan = plan(json!({
        "duration": "15s",
        "dumbbell": { "rate": "16Mbit/s", "rtt": "20ms", "access_rate": "1Gbit/s" },
        "flows": [{ "name": "bulk", "count": 2, "start_interval": "2s", "stop": "20s" }, { "direction": "reverse" }]
    }));
    assert_eq!(
        names(&plan, &plan.flows[0].forward),
        ["access_bulk_1", "bottleneck"]
    );
    assert_eq!(
        names(&plan, &plan.flows[1].forward),
        ["access_bulk_2", "bottleneck"]
    );
    assert_eq!(
        names(&plan, &plan.flows[2].forward),
        ["access_flow_3", "delay"]
    );
    assert_eq!(link(&plan, "access_bulk_1").rate, Rate(1_000_000_000));
    assert_eq!(
        (plan.flows[1].start, plan.flows[1].stop),
        (2 * SECOND, 15 * SECOND)
    );
    assert!(plan.flows.iter().all(|f| f.base_rtt == 20 * MILLISECOND));
}

#[test]
fn a_parking_lot_gives_each_flow_its_hops() {
    let lot = |reverse: Value| {
        plan(json!({
            "duration": "10s",
            "parking_lot": { "hops": 3, "rate": "10Mbit/s", "hop_delay": "5ms", "reverse_rate": reverse },
            "flows": [{}, { "hops": [2, 2] }, { "hops": [2, 3], "direction": "reverse" }]
        }))
    };
    let pure = lot(json!(null));
    assert_eq!(
        names(&pure, &pure.flows[0].forward),
        ["hop_1", "hop_2", "hop_3"]
    );
    assert_eq!(names(&pure, &pure.flows[0].reverse), ["delay_3_hops"]);
    assert_eq!(names(&pure, &pure.flows[1].forward), ["hop_2"]);
    assert_eq!(names(&pure, &pure.flows[2].forward), ["delay_2_hops"]);
    let linked = lot(json!("1Mbit/s"));
    assert_eq!(
        names(&linked, &linked.flows[0].reverse),
        ["reverse_3", "reverse_2", "reverse_1"]
    );
    assert_eq!(
        names(&linked, &linked.flows[2].forward),
        ["reverse_3", "reverse_2"]
    );
    assert_eq!(names(&linked, &linked.flows[2].reverse), ["hop_2", "hop_3"]);
    for plan in [pure, linked] {
        let rtts: Vec<u64> = plan
            .flows
            .iter()
            .map(|f| f.base_rtt / MILLISECOND)
            .collect();
        assert_eq!(rtts, [30, 10, 20]);
    }
}

#[test]
fn named_boxes_keep_their_order_and_may_serve_both_ways() {
    let plan = plan(json!({
        "duration": "10s",
        "boxes": [
            { "kind": "loss", "name": "radio", "probability": 0 },
            { "kind": "link", "name": "up", "rate": "10Mbit/s", "delay": "5ms" },
            { "kind": "link", "name": "down", "rate": "50Mbit/s", "delay": "7ms", "queue": "head_drop" }
        ],
        "flows": [
            { "path": ["up", "radio"], "return_path": ["down"] },
            { "path": ["down"], "return_path": ["up"], "name": "back" },
            { "path": ["up"], "return_path": ["down"], "direction": "reverse" },
            { "path": ["up"] }
        ]
    }));
    let boxes: Vec<&str> = plan.boxes.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(boxes, ["radio", "up", "down"]);
    assert_eq!(
        (&plan.flows[0].forward[..], &plan.flows[0].reverse[..]),
        (&[1, 0][..], &[2][..])
    );
    assert_eq!(
        (&plan.flows[2].forward[..], &plan.flows[2].reverse[..]),
        (&[2][..], &[1][..])
    );
    assert!(plan.flows[3].reverse.is_empty());
    let rtts: Vec<u64> = plan
        .flows
        .iter()
        .map(|f| f.base_rtt / MILLISECOND)
        .collect();
    assert_eq!(rtts, [12, 12, 12, 5]);
}

#[test]
fn ns3_names_are_read() {
    let scenario = Scenario::from_value(json!({
        "duration": "15s",
        "dumbbell": { "DataRate": "16Mbps", "rtt": "15ms", "queue": "FifoQueueDisc" },
        "flows": [{
            "cca": "TcpNewReno",
            "tcp": { "recovery": "TcpPrrRecovery" },
            "traffic": { "kind": "OnOffApplication", "DataRate": "1Mbps", "OnTime": "1s", "OffTime": "1s", "PacketSize": "512B" }
        }]
    }))
    .expect("ns-3's names");
    let flow = &scenario.flows[0];
    assert_eq!(
        (flow.cca.kind(), flow.traffic.kind()),
        ("newreno", "on_off")
    );
}

#[test]
fn a_scenario_is_built_without_text() {
    let dumbbell = Dumbbell::new(Rate(16_000_000), Duration(15 * MILLISECOND));
    let built = Scenario::on_dumbbell(dumbbell, Duration(15 * SECOND), vec![Flow::default()]);
    let read = Scenario::from_json(
        r#"{"duration": "15s", "dumbbell": {"rate": "16Mbit/s", "rtt": "15ms"}, "flows": [{"cca": "cubic", "traffic": "greedy"}]}"#,
    );
    assert_eq!(read.as_ref(), Ok(&built));
}

#[test]
fn the_examples_of_the_documentation_are_valid() {
    let examples = common::examples(include_str!("../../../docs/scenario.md"));
    let radio = common::examples(include_str!("../../../docs/radio.md"));
    let bearers: Vec<Plan> = radio.into_iter().map(plan).collect();
    assert_eq!(
        bearers
            .iter()
            .map(|p| (p.boxes.len(), p.flows.len()))
            .collect::<Vec<_>>(),
        [(8, 3), (6, 1)]
    );
    let compiled: Vec<Plan> = examples.into_iter().map(plan).collect();
    let shapes: Vec<(usize, usize)> = compiled
        .iter()
        .map(|p| (p.boxes.len(), p.flows.len()))
        .collect();
    let expected = [
        (5, 3),
        (6, 1),
        (3, 1),
        (2, 1),
        (6, 4),
        (6, 2),
        (8, 2),
        (3, 3),
        (1, 1),
        // With a timeline, a dumbbell can lose packets in both directions.
        (4, 1),
    ];
    assert_eq!(shapes, expected);
    let rtts: Vec<u64> = compiled[0]
        .flows
        .iter()
        .map(|f| f.base_rtt / MILLISECOND)
        .collect();
    assert_eq!(rtts, [15, 40, 15]);
}

#[test]
fn large_but_reasonable_runs_are_taken() {
    let runs = [
        // 100,000 flows on a shared link cannot have more packets in flight than the link holds.
        json!({
            "duration": "10s", "sample_interval": "1s",
            "dumbbell": { "rate": "1Gbit/s", "rtt": "20ms" }, "flows": [{ "count": 100_000 }]
        }),
        // Fetches share the capacity of their link.
        json!({
            "duration": "1h", "sample_interval": "1s",
            "dumbbell": { "rate": "1Gbit/s", "rtt": "20ms" },
            "flows": [{ "count": 1000, "traffic": { "kind": "fetch", "response": "10MB" } }]
        }),
        // A short transfer in small segments does not change the estimate for the others.
        json!({
            "duration": "1h", "sample_interval": "1s",
            "dumbbell": { "rate": "10Gbit/s", "rtt": "1ms" },
            "flows": [{}, { "tcp": { "mss": 64 }, "traffic": { "kind": "finite", "bytes": "1kB" } }]
        }),
        json!({
            "duration": "10s",
            "dumbbell": { "rate": "100Gbit/s", "rtt": "100us" }, "flows": [{ "count": 10, "tcp": { "mss": 8948 } }]
        }),
    ];
    for run in runs {
        plan(run);
    }
}
