//! The plan as JSON: its keys, the paths of queues, and documents whose files are gone.

use bloatlab_scenario::Scenario;
use serde_json::{Value, json};

fn view(document: &Value) -> Value {
    let view = Scenario::plan_view(&document.to_string());
    serde_json::to_value(view.unwrap_or_else(|error| panic!("{error}"))).unwrap()
}

fn link<'a>(view: &'a Value, name: &str) -> &'a Value {
    let boxes = view["boxes"].as_array().unwrap();
    boxes.iter().find(|item| item["name"] == name).unwrap()
}

/// Names of the links with the paths of their queues.
fn queue_paths(view: &Value) -> Vec<(&str, Option<&str>)> {
    let boxes = view["boxes"].as_array().unwrap().iter();
    let links = boxes.filter(|item| item["kind"] == "link");
    links
        .map(|item| (item["name"].as_str().unwrap(), item["queue_path"].as_str()))
        .collect()
}

#[test]
fn a_dumbbell_with_a_timeline() {
    let document = json!({
        "name": "one flow", "duration": "10s", "warmup": "1s",
        "dumbbell": { "rate": "10Mbit/s", "rtt": "40ms", "queue": { "kind": "infinite" }, "header": 14, "device_packets": 1 },
        "flows": [{ "cca": { "kind": "fixed", "window": 10 }, "dscp": "EF" }],
        "timeline": [
            { "at": "2s", "key": "dumbbell.rate", "value": "5Mbit/s" },
            { "at": "3s", "key": "dumbbell.queue", "value": { "kind": "infinite" } },
            { "at": "4s", "key": "flows[1]", "value": { "name": "late", "cca": { "kind": "fixed", "window": 10 }, "traffic": "ping" } },
            { "at": "5s", "key": "flows[1].stop", "value": "6s" }
        ]
    });
    let late = json!({
        "name": "late", "start_ns": 4_000_000_000_u64, "stop_ns": 10_000_000_000_u64, "base_rtt_ns": 40_000_000,
        "forward": ["bottleneck", "loss"], "reverse": ["reverse_loss", "delay"], "dscp": 0, "traffic": "ping",
        "cca": { "kind": "fixed", "window": 10 }
    });
    let view = view(&document);
    let cca = view["flows"][0]["cca"].clone();
    assert_eq!(cca["kind"], "fixed");
    let mut late = late;
    late["cca"] = cca.clone();
    assert_eq!(
        view,
        json!({
            "name": "one flow", "duration_ns": 10_000_000_000_u64, "warmup_ns": 1_000_000_000, "sample_interval_ns": 100_000_000,
            "boxes": [
                {
                    "name": "bottleneck", "kind": "link", "queue_path": "dumbbell.queue", "queue": { "kind": "infinite" }, "limit": null,
                    "rate_bps": 10_000_000, "greatest_rate_bps": 10_000_000, "rate_varies": false,
                    "delay_ns": 20_000_000, "delay_varies": false, "header": 14, "overhead": 0, "device_packets": 1, "air": null
                },
                { "name": "loss", "kind": "impairment", "parameters": { "kind": "loss", "name": "loss", "probability": 0.0 } },
                { "name": "reverse_loss", "kind": "impairment", "parameters": { "kind": "loss", "name": "reverse_loss", "probability": 0.0 } },
                { "name": "delay", "kind": "delay", "delay_ns": 20_000_000, "varies": false }
            ],
            "flows": [{
                "name": "flow_1", "start_ns": 0, "stop_ns": 10_000_000_000_u64, "base_rtt_ns": 40_000_000,
                "forward": ["bottleneck", "loss"], "reverse": ["reverse_loss", "delay"], "dscp": 46, "traffic": "greedy",
                "cca": cca
            }],
            "timeline": [
                { "at_ns": 2_000_000_000_u64, "effects": [{ "kind": "rate", "name": "bottleneck", "rate_bps": 5_000_000 }] },
                { "at_ns": 3_000_000_000_u64, "effects": [] },
                { "at_ns": 4_000_000_000_u64, "effects": [{ "kind": "start", "flow": late }] },
                { "at_ns": 5_000_000_000_u64, "effects": [{ "kind": "stop", "name": "late", "stop_ns": 6_000_000_000_u64 }] }
            ]
        })
    );
}

#[test]
fn the_limit_of_a_queue_has_its_unit() {
    let limit = |queue: Value| {
        let document = json!({
            "duration": "1s", "dumbbell": { "rate": "10Mbit/s", "rtt": "40ms", "queue": queue }, "flows": [{}]
        });
        link(&view(&document), "bottleneck")["limit"].clone()
    };
    let fifo = |limit: &str| json!({ "kind": "fifo", "limit": limit });
    assert_eq!(limit(fifo("80p")), json!({ "packets": 80 }));
    assert_eq!(limit(fifo("10kB")), json!({ "bytes": 10_000 }));
    assert_eq!(limit(fifo("5buffers")), json!({ "buffers": 5 }));
    assert_eq!(limit(json!("fq_codel")), json!({ "packets": 10_240 }));
    let cake = json!({ "kind": "cake", "memlimit": "2MB" });
    assert_eq!(limit(cake), json!({ "bytes": 2_000_000 }));
    assert_eq!(limit(json!("cake")), Value::Null);
}

#[test]
fn queues_that_a_document_sets_have_a_path() {
    let dumbbell = json!({
        "duration": "1s", "flows": [{}],
        "dumbbell": { "rate": "10Mbit/s", "rtt": "40ms", "reverse_rate": "1Mbit/s", "access_rate": "1Gbit/s" }
    });
    assert_eq!(
        queue_paths(&view(&dumbbell)),
        [
            ("bottleneck", Some("dumbbell.queue")),
            ("reverse", Some("dumbbell.reverse_queue")),
            ("access_flow_1", None),
        ]
    );
    let lot = json!({
        "duration": "1s", "flows": [{}],
        "parking_lot": { "hops": 2, "rate": "10Mbit/s", "hop_delay": "1ms", "reverse_rate": "1Mbit/s" }
    });
    assert_eq!(
        queue_paths(&view(&lot)),
        [
            ("hop_1", Some("parking_lot.queue")),
            ("hop_2", Some("parking_lot.queue")),
            ("reverse_1", None),
            ("reverse_2", None),
        ]
    );
    let boxes = json!({
        "duration": "1s", "flows": [{ "path": ["a", "b"] }],
        "boxes": [
            { "kind": "delay", "name": "a", "delay": "1ms" },
            { "kind": "link", "name": "b", "rate": "1Mbit/s" }
        ]
    });
    assert_eq!(queue_paths(&view(&boxes)), [("b", Some("boxes.1.queue"))]);
}

#[test]
fn a_bearer_inherits_the_queue_of_its_cell() {
    let cell = json!({
        "duration": "1s", "flows": [{}],
        "cell": {
            "bearers": [{ "name": "video", "queue": "codel" }, { "name": "rest", "qfi": [1], "sdap": { "sizing": { "kind": "bdp" } } }]
        }
    });
    let view = view(&cell);
    assert_eq!(
        queue_paths(&view),
        [
            ("wire", None),
            ("wire_up", None),
            ("upf", Some("cell.backhaul.queue")),
            ("backhaul_up", None),
            ("ue_1_video", Some("cell.bearers.0.queue")),
            ("ue_1_video_up", Some("cell.uplink_queue")),
            ("ue_1_rest", Some("cell.queue")),
            ("ue_1_rest_up", Some("cell.uplink_queue")),
            ("sdap_1_rest", Some("cell.bearers.1.sdap.queue")),
        ]
    );
}

#[test]
fn files_are_not_read() {
    let vary = |kind: &str| json!({ "rate": { "kind": kind, "file": "gone.trace" } });
    let mut document = json!({
        "duration": "4s", "flows": [{}],
        "dumbbell": { "rate": "10Mbit/s", "rtt": "40ms", "vary": vary("file") }
    });
    for kind in ["file", "mahimahi"] {
        document["dumbbell"]["vary"] = vary(kind);
        let view = view(&document);
        let bottleneck = link(&view, "bottleneck");
        assert_eq!(bottleneck["rate_bps"], 10_000_000);
        assert_eq!(bottleneck["greatest_rate_bps"], Value::Null);
        assert_eq!(bottleneck["rate_varies"], true);
    }
    document["timeline"] = json!([{ "at": "1s", "key": "dumbbell.rate", "value": "1Mbit/s" }]);
    let refused = Scenario::plan_view(&document.to_string()).unwrap_err();
    assert_eq!(refused.path, "timeline[0].key");

    let cell = json!({
        "duration": "1s", "flows": [{}],
        "cell": { "radio": { "ues": [{ "kind": "trace", "file": "gone.snr" }] } }
    });
    assert_eq!(view(&cell)["boxes"][4]["name"], "ue_1");

    let steps =
        json!({ "rate": { "kind": "steps", "steps": [{ "at": "1s", "value": "20Mbit/s" }] } });
    let document = json!({
        "duration": "4s", "flows": [{}],
        "dumbbell": { "rate": "10Mbit/s", "rtt": "40ms", "vary": steps }
    });
    assert_eq!(
        link(&view(&document), "bottleneck")["greatest_rate_bps"],
        20_000_000
    );
}
