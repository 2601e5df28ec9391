//! Compiled cells: channels, queues, and bearers with their flows.

#[path = "common/plans.rs"]
mod plans;

use bloatlab_scenario::Scenario;
use plans::{link, plan};
use serde_json::json;

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
    // Packets wait in a queue of the UPF.
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
            // Not in the list of any bearer, so it uses the default bearer.
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
