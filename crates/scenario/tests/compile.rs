//! What documents become: boxes, paths, names and propagation.

mod common;

use bloatlab_scenario::{Dumbbell, Flow, Plan, PlanBoxKind, PlanLink, Scenario, Traffic};
use bloatlab_units::{Bytes, Duration, MILLISECOND, Rate, SECOND};
use serde_json::{Value, json};

fn plan(document: Value) -> Plan {
    let scenario = Scenario::from_value(document).expect("valid");
    scenario.compile().expect("valid")
}

fn names(plan: &Plan, path: &[usize]) -> Vec<String> {
    path.iter().map(|&i| plan.boxes[i].name.clone()).collect()
}

fn link<'a>(plan: &'a Plan, name: &str) -> &'a PlanLink {
    match &plan
        .boxes
        .iter()
        .find(|b| b.name == name)
        .expect("a box")
        .kind
    {
        PlanBoxKind::Link(link) => link,
        other => panic!("{name} is {other:?}"),
    }
}

fn delay(plan: &Plan, name: &str) -> u64 {
    match plan
        .boxes
        .iter()
        .find(|b| b.name == name)
        .expect("a box")
        .kind
    {
        PlanBoxKind::Delay { delay, .. } => delay,
        ref other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn propagation_is_shared_between_the_ways_as_said() {
    let plan = |share: f64, rtt: &str| {
        let document = serde_json::json!({
            "duration": "1s",
            "dumbbell": { "rate": "1Mbit/s", "rtt": rtt, "forward_share": share },
            "flows": [{}]
        });
        Scenario::from_value(document)
            .and_then(|s| s.compile())
            .expect("a plan")
    };
    for (share, there, back) in [
        (0.0, 0, 100_000_001),
        (0.1, 10_000_000, 90_000_001),
        (0.3, 30_000_000, 70_000_001),
        // Half of an odd nanosecond is on the way back.
        (0.5, 50_000_000, 50_000_001),
        (0.7, 70_000_001, 30_000_000),
        (1.0, 100_000_001, 0),
    ] {
        let plan = plan(share, "100000001ns");
        assert_eq!(link(&plan, "bottleneck").delay, there);
        assert_eq!(delay(&plan, "delay"), back);
        assert_eq!(plan.flows[0].base_rtt, 100_000_001);
    }
}

#[test]
fn impairments_are_boxes_in_order_and_jitter_has_the_propagation() {
    let impair = serde_json::json!({
        "gilbert_elliott": { "p": 0.1 }, "corrupt": 0.1, "duplicate": 0.1, "jitter": { "size": "1ms" }
    });
    let names = |flows: serde_json::Value, reverse_rate: Option<&str>| {
        let mut document = serde_json::json!({
            "duration": "1s",
            "dumbbell": {
                "rate": "1Mbit/s", "rtt": "10ms", "loss": 0.1, "reverse_loss": 0.1, "impair": impair, "reverse_impair": impair,
                "vary": { "rtt": { "kind": "pulse", "lower": "4ms", "upper": "6ms", "period": "1s" } }
            },
            "flows": flows
        });
        if let Some(rate) = reverse_rate {
            document["dumbbell"]["reverse_rate"] = rate.into();
        }
        if flows.as_array().is_some_and(|flows| flows.len() > 1) {
            document["dumbbell"]["vary"] = serde_json::json!({});
        }
        let plan = Scenario::from_value(document)
            .and_then(|s| s.compile())
            .expect("a plan");
        let ways = [&plan.flows[0].forward, &plan.flows[0].reverse];
        let names = ways.map(|way| {
            let names: Vec<&str> = way.iter().map(|&i| plan.boxes[i].name.as_str()).collect();
            names.join(" ")
        });
        (names, plan)
    };
    let (ways, plan) = names(serde_json::json!([{}]), Some("1Mbit/s"));
    let back = "reverse_loss reverse_burst_loss reverse_corrupt reverse_duplicate";
    assert_eq!(
        ways,
        [
            "bottleneck loss burst_loss corrupt duplicate forward_delay".to_owned(),
            format!("reverse {back} delay")
        ]
    );
    assert_eq!(
        link(&plan, "bottleneck").delay + link(&plan, "reverse").delay,
        0
    );
    assert_eq!(
        [delay(&plan, "forward_delay"), delay(&plan, "delay")],
        [5_000_000; 2]
    );
    assert_eq!(plan.flows[0].base_rtt, 10_000_000);
    assert!(link(&plan, "bottleneck").vary_delay.is_none());
    // 3 ms at most, and the millisecond of jitter.
    let last = plan.boxes.last().expect("a box");
    assert_eq!(last.propagation_bounds(), (2_000_000, 4_000_000));
    let (ways, _) = names(serde_json::json!([{ "rtt": "20ms" }, {}]), None);
    assert_eq!(
        ways,
        [
            "bottleneck loss burst_loss corrupt duplicate delay_20ms".to_owned(),
            format!("{back} reverse_delay_20ms")
        ]
    );
}

#[test]
fn halves_of_a_varying_rtt_share_their_stream() {
    let document = serde_json::json!({
        "duration": "1s",
        "dumbbell": {
            "rate": "1Mbit/s", "rtt": "15ns",
            "vary": { "rtt": { "kind": "pulse", "lower": "3ns", "upper": "9ns", "period": "1s" }, "loss": { "kind": "pulse", "lower": 0.0, "upper": 0.1, "period": "1s" } }
        },
        "flows": [{}]
    });
    let plan = Scenario::from_value(document)
        .and_then(|s| s.compile())
        .expect("a plan");
    assert_eq!(plan.flows[0].base_rtt, 15);
    let there = link(&plan, "bottleneck")
        .vary_delay
        .clone()
        .expect("varies");
    assert_eq!(there.bounds(), (1, 4));
    let PlanBoxKind::Delay {
        vary: Some(back), ..
    } = &plan.boxes[plan.flows[0].reverse[0]].kind
    else {
        panic!("the way back varies");
    };
    assert_eq!(back.bounds(), (2, 5));
    assert_eq!(there.stream, back.stream);
    // A loss that is nothing at first has a box all the same.
    assert_eq!(plan.boxes[plan.flows[0].forward[1]].name, "loss");
}

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
        Traffic::Ping {
            interval: Duration(200 * MILLISECOND),
            size: Bytes(64)
        }
    );
}

#[test]
fn an_odd_nanosecond_is_not_lost() {
    let plan = plan(json!({
        "duration": "1s", "dumbbell": { "rate": "1Mbit/s", "rtt": "7ns" }, "flows": [{}]
    }));
    assert_eq!(
        (
            link(&plan, "bottleneck").delay,
            delay(&plan, "delay"),
            plan.flows[0].base_rtt
        ),
        (3, 4, 7)
    );
}

#[test]
fn own_rtts_move_propagation_out_of_shared_links() {
    let plan = plan(json!({
        "duration": "15s",
        "dumbbell": { "rate": "16Mbit/s", "rtt": "20ms", "loss": 0.01, "reverse_rate": "1Mbit/s", "reverse_loss": 0.02 },
        "flows": [{ "rtt": "10ms" }, {}, { "rtt": "10ms" }, { "rtt": "0s", "direction": "reverse" }]
    }));
    let rtts: Vec<u64> = plan
        .flows
        .iter()
        .map(|f| f.base_rtt / MILLISECOND)
        .collect();
    assert_eq!(rtts, [10, 20, 10, 0]);
    assert_eq!(link(&plan, "bottleneck").delay, 0);
    assert_eq!(link(&plan, "reverse").delay, 0);
    assert_eq!(
        names(&plan, &plan.flows[0].forward),
        ["bottleneck", "loss", "delay_10ms"]
    );
    assert_eq!(
        names(&plan, &plan.flows[0].reverse),
        ["reverse", "reverse_loss", "reverse_delay_10ms"]
    );
    assert_eq!(plan.flows[0].forward, plan.flows[2].forward);
    assert_eq!(
        names(&plan, &plan.flows[3].forward),
        ["reverse", "reverse_loss", "reverse_delay_0s"]
    );
    assert_eq!(
        names(&plan, &plan.flows[3].reverse),
        ["bottleneck", "loss", "delay_0s"]
    );
}

#[test]
fn one_rtt_for_all_flows_needs_no_private_delays() {
    let plan = plan(json!({
        "duration": "15s",
        "dumbbell": { "rate": "16Mbit/s", "rtt": "20ms", "reverse_rate": "16Mbit/s" },
        "flows": [{ "rtt": "10ms", "count": 2 }]
    }));
    assert_eq!(plan.boxes.len(), 2);
    assert_eq!(
        (
            link(&plan, "bottleneck").delay,
            link(&plan, "reverse").delay
        ),
        (5 * MILLISECOND, 5 * MILLISECOND)
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
        [(8, 3)]
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
        // 100,000 flows on a shared link cannot have more under way than it holds.
        json!({
            "duration": "10s", "sample_interval": "1s",
            "dumbbell": { "rate": "1Gbit/s", "rtt": "20ms" }, "flows": [{ "count": 100_000 }]
        }),
        // Fetches share their link's capacity.
        json!({
            "duration": "1h", "sample_interval": "1s",
            "dumbbell": { "rate": "1Gbit/s", "rtt": "20ms" },
            "flows": [{ "count": 1000, "traffic": { "kind": "fetch", "response": "10MB" } }]
        }),
        // A short transfer in small segments says nothing of the others.
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

#[test]
fn channels_of_every_kind_are_read_again_from_the_canonical_form() {
    let ues = json!([
        { "kind": "fixed", "snr_db": 20.0 },
        { "kind": "scenario", "position_m": [30.0, 40.0] },
        { "kind": "scenario", "mobility": { "kind": "random_waypoint", "from_m": [0.0, 10.0], "to_m": [0.0, 90.0] } },
        { "kind": "trace", "samples": [[0.0, 20.0], [1.0, 5.0]] }
    ]);
    let document = json!({ "duration": "1s", "cell": { "radio": { "ues": ues } }, "flows": [{}] });
    let scenario = Scenario::from_value(document).expect("valid");
    let again = Scenario::from_json(&scenario.to_canonical_json()).expect("canonical");
    assert_eq!(again, scenario);
    let refused = json!({ "duration": "1s", "cell": { "radio": { "ues": [{ "kind": ["fixed"] }] } }, "flows": [{}] });
    let why = Scenario::from_value(refused).expect_err("a list where none may be");
    assert_eq!(
        why.to_string(),
        "cell.radio.ues[0].kind: must not be a list"
    );
}

#[test]
fn only_queues_that_can_be_long_count_in_a_flow_s_sojourn() {
    let transits = |cell: serde_json::Value| -> Vec<bool> {
        let plan = Scenario::from_value(json!({ "duration": "1s", "cell": cell, "flows": [{}] }))
            .and_then(|s| s.compile())
            .expect("valid");
        ["wire", "upf", "ue_1"]
            .map(|name| link(&plan, name).transit)
            .to_vec()
    };
    assert_eq!(transits(json!({})), [true, true, false]);
    // A queue in the UPF is there to be waited in.
    let upf = json!({ "backhaul": { "rate": "100Mbit/s", "queue": "codel" } });
    assert_eq!(transits(upf), [true, false, false]);
}

/// A cell of two UEs with three bearers each.
fn bearers() -> serde_json::Value {
    json!({
        "radio": { "rlc": { "mode": "am" }, "ues": [{ "kind": "fixed", "snr_db": 20.0 }, { "kind": "fixed", "snr_db": 9.0 }] },
        "queue": "codel", "buffer": "1MB", "uplink_buffer": "2MB",
        "sdap": { "sizing": { "kind": "drql" } },
        "bearers": [
            { "name": "best_effort" },
            {
                "name": "voice", "qfi": [1, 5], "priority": 2, "prioritised_bit_rate": "infinite",
                "rlc": { "mode": "um" }, "pdcp": { "sn_bits": 12 }, "queue": "infinite", "buffer": "20kB",
                "uplink_queue": "fq_codel", "uplink_buffer": "30kB", "marking": { "target": "5ms" },
            },
            {
                "name": "video", "qfi": [2], "priority": 5, "prioritised_bit_rate": "8Mbit/s",
                "bucket_size_duration": "50ms", "sdap": { "queue": "pie", "sizing": { "kind": "bdp" } },
            },
        ],
    })
}

#[test]
fn flows_go_both_ways_on_the_bearer_of_their_qos_flow() {
    let document = json!({
        "duration": "1s", "cell": bearers(),
        "flows": [
            {}, { "qfi": 5 }, { "ue": 2, "qfi": 2 }, { "ue": 2, "qfi": 1, "direction": "reverse" },
            // On no bearer's list: the default one.
            { "qfi": 63 },
        ],
    });
    let plan = plan(document);
    let ways = |flow: usize| -> [Vec<&str>; 2] {
        let flow = &plan.flows[flow];
        [&flow.forward, &flow.reverse]
            .map(|way| way.iter().map(|&i| plan.boxes[i].name.as_str()).collect())
    };
    let back = |radio| vec![radio, "backhaul_up", "wire_up"];
    let down = |sdap, radio| vec!["wire", "upf", sdap, radio];
    let default = [
        down("sdap_1_best_effort", "ue_1_best_effort"),
        back("ue_1_best_effort_up"),
    ];
    assert_eq!(ways(0), default);
    assert_eq!(
        ways(1),
        [down("sdap_1_voice", "ue_1_voice"), back("ue_1_voice_up")]
    );
    assert_eq!(
        ways(2),
        [down("sdap_2_video", "ue_2_video"), back("ue_2_video_up")]
    );
    assert_eq!(
        ways(3),
        [back("ue_2_voice_up"), down("sdap_2_voice", "ue_2_voice")]
    );
    assert_eq!(ways(4), default);
}

#[test]
fn a_bearer_inherits_what_it_does_not_set() {
    let document = json!({ "duration": "1s", "cell": bearers(), "flows": [{}] });
    let plan = plan(document.clone());
    let of = |name: &str| {
        let link = link(&plan, name);
        let port = link.radio.expect("a bearer");
        (link.queue.kind(), port.buffer, link.header, port.bearer)
    };
    assert_eq!(of("ue_1_best_effort"), ("codel", 1_000_000, 4, 0));
    assert_eq!(of("ue_1_best_effort_up"), ("infinite", 2_000_000, 4, 1));
    assert_eq!(of("ue_1_voice"), ("infinite", 20_000, 3, 2));
    assert_eq!(of("ue_1_voice_up"), ("fq_codel", 30_000, 3, 3));
    assert_eq!(of("ue_2_video_up"), ("infinite", 2_000_000, 4, 11));
    assert_eq!(link(&plan, "sdap_2_video").queue.kind(), "pie");
    let gate = link(&plan, "sdap_2_video").gate.as_ref().expect("a gate");
    assert_eq!((gate.ue, gate.bearer), (1, 2));
    let cell = plan.cell.expect("a cell");
    let marks: Vec<bool> = cell.bearers.iter().map(|b| b.marking.is_some()).collect();
    assert_eq!(marks, [false, true, false]);
    let modes = cell
        .bearers
        .iter()
        .map(|b| serde_json::to_value(&b.params.rlc).expect("json")["mode"].clone());
    assert_eq!(modes.collect::<Vec<_>>(), ["am", "um", "am"]);
    let channels: Vec<(u8, String, String)> = cell
        .bearers
        .iter()
        .map(|b| b.params.channel)
        .map(|c| {
            (
                c.priority,
                c.prioritised_bit_rate.to_string(),
                c.bucket_size_duration.to_string(),
            )
        })
        .collect();
    let written = |(p, rate, bucket): (u8, &str, &str)| (p, rate.to_owned(), bucket.to_owned());
    assert_eq!(
        channels,
        [
            (16, "0bit/s", "100ms"),
            (2, "infinite", "100ms"),
            (5, "8Mbit/s", "50ms")
        ]
        .map(written)
    );
    let scenario = Scenario::from_value(document).expect("valid");
    let again = Scenario::from_json(&scenario.to_canonical_json()).expect("canonical");
    assert_eq!(again, scenario);
}

#[test]
fn a_cell_without_bearers_says_nothing_of_them() {
    let document = json!({ "duration": "1s", "cell": {}, "flows": [{ "qfi": 9 }] });
    let scenario = Scenario::from_value(document).expect("valid");
    assert!(!scenario.to_canonical_json().contains("bearers"));
    let plan = scenario.compile().expect("valid");
    let names: Vec<&str> = plan.boxes.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(
        names,
        ["wire", "wire_up", "upf", "backhaul_up", "ue_1", "ue_1_up"]
    );
}
