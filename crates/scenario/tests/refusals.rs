//! Every refusal names the key and says what is allowed. The golden file shows refusals as users see them.

#[path = "common/refused.rs"]
mod refused;

use bloatlab_scenario::Scenario;
use refused::{boxes, dumbbell, parking_lot, refusal, with};
use serde_json::{Value, json};

fn without(mut document: Value, pointer: &str) -> Value {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer starts with /");
    let table = document
        .pointer_mut(parent)
        .and_then(Value::as_object_mut)
        .expect("a table");
    table.remove(key);
    document
}

/// A dumbbell whose bottleneck is a shaper around this queue.
fn wrapped(queue: Value) -> Value {
    let shaper = json!({ "kind": "htb", "queue": queue });
    with(dumbbell(), "/dumbbell/queue", shaper)
}

#[test]
fn golden_refusals() {
    let d = dumbbell;
    let p = parking_lot;
    let b = boxes;
    let flow = |value: Value| with(d(), "/flows/0", value);
    let traffic = |value: Value| with(d(), "/flows/0/traffic", value);
    let documents = [
        // The run.
        without(d(), "/duration"),
        with(d(), "/duration", json!("0s")),
        with(d(), "/duration", json!("25h")),
        with(d(), "/duration", json!(15)),
        with(d(), "/duration", json!("15")),
        with(d(), "/duration", json!("-15s")),
        with(d(), "/duration", json!("15parsecs")),
        with(d(), "/durration", json!("15s")),
        with(d(), "/name", json!("")),
        with(d(), "/name", json!("line\nbreak")),
        with(d(), "/name", json!(null)),
        with(d(), "/sample_interval", json!("0ms")),
        with(d(), "/sample_interval", json!("1us")),
        with(
            with(d(), "/sample_interval", json!("2us")),
            "/flows/0/count",
            json!(1000),
        ),
        with(d(), "/warmup", json!("15s")),
        json!([]),
        json!("dumbbell"),
        // The network.
        without(d(), "/dumbbell"),
        with(d(), "/parking_lot", p()["parking_lot"].clone()),
        with(d(), "/boxes", b()["boxes"].clone()),
        with(d(), "/dumbbell", json!(null)),
        with(d(), "/dumbbell", json!("fast")),
        without(d(), "/dumbbell/rate"),
        without(d(), "/dumbbell/rtt"),
        with(d(), "/dumbbell/rate", json!("16")),
        with(d(), "/dumbbell/rate", json!("999bit/s")),
        with(d(), "/dumbbell/rate", json!("11Tbit/s")),
        with(d(), "/dumbbell/rtt", json!("61min")),
        with(d(), "/dumbbell/bandwith", json!("16Mbit/s")),
        with(d(), "/dumbbell/loss", json!(1.0)),
        with(d(), "/dumbbell/loss", json!(-0.1)),
        with(d(), "/dumbbell/loss", json!("2%")),
        with(d(), "/dumbbell/reverse_loss", json!(2)),
        with(d(), "/dumbbell/reverse_rate", json!("1bit/s")),
        with(d(), "/dumbbell/access_rate", json!("0bit/s")),
        with(d(), "/dumbbell/device_packets", json!(-1)),
        with(d(), "/dumbbell/device_packets", json!(1.5)),
        with(d(), "/dumbbell/device_packets", json!(2_000_000)),
        with(
            with(d(), "/dumbbell/shaper", json!(true)),
            "/dumbbell/device_packets",
            json!(1),
        ),
        with(d(), "/dumbbell/shaper", json!("yes")),
        with(d(), "/dumbbell/overhead", json!(70_000)),
        with(p(), "/parking_lot/hops", json!(1)),
        with(p(), "/parking_lot/hops", json!(65)),
        with(p(), "/parking_lot/hop_delay", json!("2h")),
        with(p(), "/parking_lot/hop", json!(3)),
        // Queues.
        with(d(), "/dumbbell/queue", json!("fifoo")),
        with(d(), "/dumbbell/queue", json!(80)),
        with(d(), "/dumbbell/queue", json!({ "limit": "80p" })),
        with(d(), "/dumbbell/queue", json!({ "kind": "codell" })),
        with(
            d(),
            "/dumbbell/queue",
            json!({ "kind": "fifo", "limt": "80p" }),
        ),
        with(
            d(),
            "/dumbbell/queue",
            json!({ "kind": "fifo", "limit": 80 }),
        ),
        with(
            d(),
            "/dumbbell/queue",
            json!({ "kind": "fifo", "limit": "80" }),
        ),
        with(
            d(),
            "/dumbbell/queue",
            json!({ "kind": "fifo", "limit": "0p" }),
        ),
        with(
            d(),
            "/dumbbell/queue",
            json!({ "kind": "fifo", "limit": "200000000p" }),
        ),
        with(
            d(),
            "/dumbbell/queue",
            json!({ "kind": "fifo", "limit": "2000GB" }),
        ),
        // Queues inside queues.
        wrapped(json!("fifoo")),
        wrapped(json!({ "limit": "80p" })),
        wrapped(json!({ "kind": "codell" })),
        wrapped(json!({ "kind": "fifo", "limt": "80p" })),
        wrapped(json!({ "kind": "fifo", "limit": "80" })),
        wrapped(json!({ "kind": "fifo", "limit": "0p" })),
        wrapped(json!({ "kind": "fifo", "limit": "200000000p" })),
        wrapped(json!({ "kind": "python", "class": "mine:Queue" })),
        wrapped(json!({ "kind": "tbf", "queue": { "kind": "codel", "target": "5" } })),
        wrapped(json!({ "kind": "priority", "bands": 2, "queues": ["fifo", "fifoo"] })),
        wrapped(
            json!({ "kind": "priority", "bands": 2, "queues": ["fifo", { "kind": "pie", "tupdate": "1" }] }),
        ),
        wrapped(
            json!({ "kind": "priority", "queues": ["fifo", "pie", { "kind": "fifo", "limit": "2000GB" }] }),
        ),
        wrapped((0..8).fold(
            json!("fifo"),
            |inner, _| json!({ "kind": "tbf", "queue": inner }),
        )),
        with(
            d(),
            "/dumbbell/queue",
            json!({ "kind": "htb", "rate_steps": [["1s", "1Mbit/s"]] }),
        ),
        with(
            d(),
            "/dumbbell/queue",
            json!({ "kind": "htb", "rate_steps": [{ "at": "0s", "rate": "1Mbit/s" }] }),
        ),
        with(
            d(),
            "/dumbbell/reverse_queue",
            json!({ "kind": "fifo", "limit": "fat" }),
        ),
        with(
            p(),
            "/parking_lot/queue",
            json!({ "kind": "fifo", "size": "80p" }),
        ),
        with(
            b(),
            "/boxes/0/queue",
            json!({ "kind": "fifo", "limt": "80p" }),
        ),
        with(b(), "/boxes/0/queue", json!("fivo")),
        with(b(), "/boxes/0/queue", json!({ "kind": "fivo" })),
        // Boxes.
        with(b(), "/boxes/0/kind", json!("wire")),
        without(b(), "/boxes/0/kind"),
        without(b(), "/boxes/0/rate"),
        without(b(), "/boxes/1/name"),
        with(b(), "/boxes/0/rate", json!("fast")),
        with(b(), "/boxes/0/rates", json!("1Mbit/s")),
        with(b(), "/boxes/1/delay", json!("2h")),
        with(b(), "/boxes/1/rate", json!("1Mbit/s")),
        with(b(), "/boxes/1/name", json!("uplink")),
        with(b(), "/boxes/1/name", json!(" ")),
        with(b(), "/boxes/2/probability", json!(1)),
        with(b(), "/boxes/2", json!("loss")),
        without(b(), "/flows/0/path"),
        with(b(), "/flows/0/path", json!([])),
        with(b(), "/flows/0/path", json!("uplink")),
        with(b(), "/flows/0/path", json!(["upling"])),
        with(b(), "/flows/0/path", json!(["uplink", "radio", "uplink"])),
        with(b(), "/flows/0/return_path", json!(["back", "home"])),
        without(
            with(b(), "/flows/0/direction", json!("reverse")),
            "/flows/0/return_path",
        ),
        // Flows.
        without(d(), "/flows"),
        with(d(), "/flows", json!([])),
        with(d(), "/flows", json!({})),
        flow(json!("greedy")),
        flow(json!([])),
        flow(json!({ "tcp": [1448] })),
        flow(json!({ "count": 0 })),
        flow(json!({ "count": 100_001 })),
        with(
            flow(json!({ "count": 60_000 })),
            "/flows/1",
            json!({ "count": 60_000 }),
        ),
        flow(json!({ "start": "15s" })),
        flow(json!({ "start": "2s", "stop": "2s" })),
        flow(json!({ "count": 16, "start_interval": "1s" })),
        flow(json!({ "start_jitter": "1h" })),
        flow(json!({ "rtt": "2h" })),
        flow(json!({ "direction": "backward" })),
        flow(json!({ "hops": [1, 2] })),
        flow(json!({ "path": ["bottleneck"] })),
        flow(json!({ "name": "" })),
        flow(json!({ "naem": "bulk" })),
        with(
            flow(json!({ "name": "a", "count": 2 })),
            "/flows/1",
            json!({ "name": "a_2" }),
        ),
        with(p(), "/flows/0/rtt", json!("10ms")),
        with(p(), "/flows/0/hops", json!([0, 2])),
        with(p(), "/flows/0/hops", json!([2, 1])),
        with(p(), "/flows/0/hops", json!([1, 4])),
        with(p(), "/flows/0/hops", json!([1])),
        with(p(), "/flows/0/hops", json!([1, -3])),
        // Congestion control.
        flow(json!({ "cca": "cubik" })),
        flow(json!({ "cca": 1 })),
        flow(json!({ "cca": { "beta": 0.7 } })),
        flow(json!({ "cca": { "kind": "cubic", "beeta": 0.7 } })),
        flow(json!({ "cca": { "kind": "cubic", "beta": "0.7" } })),
        flow(json!({ "cca": { "kind": "cubic", "beta": 7 } })),
        // TCP.
        flow(json!({ "tcp": { "mss": 0 } })),
        flow(json!({ "tcp": { "mss": 65_001 } })),
        flow(json!({ "tcp": { "mss": "1448B" } })),
        flow(json!({ "tcp": { "ack_every": 0 } })),
        flow(json!({ "tcp": { "delayed_ack": "11s" } })),
        flow(json!({ "tcp": { "initial_window": 0 } })),
        flow(json!({ "tcp": { "send_buffer": "2kB" } })),
        flow(json!({ "tcp": { "receive_buffer": "2GiB" } })),
        flow(json!({ "tcp": { "min_rto": "0ms" } })),
        flow(json!({ "tcp": { "initial_rto": "2min" } })),
        flow(json!({ "tcp": { "ecn": "yes" } })),
        flow(json!({ "tcp": { "pacing": "always" } })),
        flow(json!({ "tcp": { "loss_detection": "sack" } })),
        flow(json!({ "tcp": { "nagle": true } })),
        // Traffic.
        traffic(json!("greedi")),
        traffic(json!("cbr")),
        traffic(json!(5)),
        traffic(json!({})),
        traffic(json!({ "kind": "bulk" })),
        traffic(json!({ "kind": "greedy", "bytes": "1MB" })),
        traffic(json!({ "kind": "finite" })),
        traffic(json!({ "kind": "finite", "bytes": "0B" })),
        traffic(json!({ "kind": "finite", "bytes": "1001GB" })),
        traffic(json!({ "kind": "finite", "bytes": 1000 })),
        traffic(json!({ "kind": "cbr", "rate": "1" })),
        traffic(json!({ "kind": "cbr", "rate": "1Mbit/s", "packet": "19B" })),
        traffic(json!({ "kind": "cbr", "rate": "1Mbit/s", "packet": "65508B" })),
        traffic(json!({ "kind": "cbr", "rate": "1Mbit/s", "transport": "sctp" })),
        traffic(json!({ "kind": "poisson", "rate": "1Mbit/s", "size": "100B" })),
        traffic(json!({ "kind": "on_off", "rate": "1Mbit/s", "on": "1s" })),
        traffic(json!({ "kind": "on_off", "rate": "1Mbit/s", "on": "0s", "off": "1s" })),
        traffic(
            json!({ "kind": "on_off", "rate": "1Mbit/s", "on": "1s", "off": "1s", "distribution": "pareto" }),
        ),
        traffic(json!({ "kind": "fetch" })),
        traffic(json!({ "kind": "fetch", "response": "1MB", "conection": "new" })),
        traffic(json!({ "kind": "ping", "interval": "0s" })),
        traffic(json!({ "kind": "ping", "size": "27B" })),
        flow(json!({
            "tcp": { "send_buffer": "4kB" },
            "traffic": { "kind": "cbr", "rate": "1Mbit/s", "packet": "5kB", "transport": "tcp" }
        })),
        // Sizes and times that an engine could not represent.
        with(
            with(
                flow(json!({ "tcp": { "send_buffer": "100MB" } })),
                "/duration",
                json!("24h"),
            ),
            "/dumbbell/rate",
            json!("10Gbit/s"),
        ),
        with(
            d(),
            "/flows/0/traffic",
            json!({ "kind": "cbr", "rate": "10Tbit/s", "packet": "20B" }),
        ),
        json!({
            "duration": "10s",
            "boxes": [{ "kind": "loss", "name": "l", "probability": 0 }],
            "flows": [{ "path": ["l"] }]
        }),
        json!({
            "duration": "10s",
            "boxes": [{ "kind": "delay", "name": "short", "delay": "10ns" }],
            "flows": [{ "path": ["short"] }]
        }),
        json!({
            "duration": "10s",
            "boxes": [{ "kind": "delay", "name": "moon", "delay": "1h" }],
            "flows": [{ "path": ["moon"], "traffic": { "kind": "cbr", "rate": "10Tbit/s", "packet": "65507B" } }]
        }),
    ];
    let messages: Vec<String> = documents.iter().map(refusal).collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn broken_text_and_double_keys() {
    let refusal = |text: &str| Scenario::from_json(text).expect_err(text).to_string();
    let valid = dumbbell().to_string();
    let messages = [
        refusal(""),
        refusal("{"),
        refusal("duration = \"15s\""),
        refusal(&format!("{valid} x")),
        refusal(&valid.replace("\"15s\"", "NaN")),
        refusal(&valid.replace("\"rtt\":", "\"rtt\":\"1ms\",\"rtt\":")),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}
