//! Every refusal names the key and says what is allowed; the golden file shows them as a user sees them.

use bloatlab_scenario::{CcConfig, QueueConfig, Scenario};
use serde_json::{Value, json};

/// A small valid document on a dumbbell.
fn dumbbell() -> Value {
    json!({
        "duration": "15s",
        "dumbbell": { "rate": "16Mbit/s", "rtt": "15ms", "queue": { "kind": "fifo", "limit": "80p" } },
        "flows": [{ "cca": "newreno", "tcp": { "mss": 1448 } }]
    })
}

fn parking_lot() -> Value {
    json!({
        "duration": "10s",
        "parking_lot": { "hops": 3, "rate": "10Mbit/s", "hop_delay": "5ms" },
        "flows": [{ "hops": [1, 3] }]
    })
}

fn boxes() -> Value {
    json!({
        "duration": "10s",
        "boxes": [
            { "kind": "link", "name": "uplink", "rate": "10Mbit/s", "delay": "5ms", "queue": "fifo" },
            { "kind": "delay", "name": "back", "delay": "5ms" },
            { "kind": "loss", "name": "radio", "probability": 0.01 }
        ],
        "flows": [{ "path": ["uplink", "radio"], "return_path": ["back"] }]
    })
}

/// The document with the value at a JSON pointer replaced or added.
fn with(mut document: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer starts with /");
    match document.pointer_mut(parent).expect("the parent exists") {
        Value::Object(table) => {
            table.insert(key.to_owned(), value);
        }
        Value::Array(list) => {
            let index: usize = key.parse().expect("an index");
            if index < list.len() {
                list[index] = value;
            } else {
                list.push(value);
            }
        }
        _ => panic!("{parent} holds nothing"),
    }
    document
}

fn without(mut document: Value, pointer: &str) -> Value {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer starts with /");
    let table = document
        .pointer_mut(parent)
        .and_then(Value::as_object_mut)
        .expect("a table");
    table.remove(key);
    document
}

/// A dumbbell whose bottleneck is a shaper round this queue.
fn wrapped(queue: Value) -> Value {
    let shaper = json!({ "kind": "htb", "queue": queue });
    with(dumbbell(), "/dumbbell/queue", shaper)
}

fn refusal(document: &Value) -> String {
    let from_value = Scenario::from_value(document.clone()).expect_err(&document.to_string());
    let from_text =
        Scenario::from_json(&document.to_string()).expect_err("text is read like values");
    assert_eq!(from_value, from_text);
    assert!(!from_value.path.is_empty());
    // A new algorithm in a registry is no change of these messages.
    let queues: Vec<&str> = QueueConfig::all().iter().map(QueueConfig::kind).collect();
    let laws: Vec<&str> = CcConfig::all().iter().map(CcConfig::kind).collect();
    let shorten = |text: String, names: &[&str], what: &str| text.replace(&names.join(", "), what);
    let text = shorten(from_value.to_string(), &queues, "QUEUES");
    shorten(text, &laws, "LAWS")
}

#[test]
fn impairments_are_refused_by_their_place() {
    let impair = |value: Value| refusal(&with(dumbbell(), "/dumbbell/impair", value));
    assert_eq!(
        impair(json!({ "corrupt": 1.0 })),
        "dumbbell.impair.corrupt: must be a probability of at least 0 and below 1, not 1"
    );
    assert_eq!(
        impair(json!({ "duplicate": 1.5 })),
        "dumbbell.impair.duplicate: must be between 0 and 1, not 1.5"
    );
    assert_eq!(
        impair(json!({ "gilbert_elliott": { "p": 0.1, "q": 0.1 } })),
        "dumbbell.impair.gilbert_elliott.q: unknown key; did you mean `p`? (allowed: p, r, h, k)"
    );
    assert_eq!(
        impair(json!({ "gilbert_elliott": { "p": 0 } })),
        "dumbbell.impair.gilbert_elliott.p: must be above 0 and at most 1, not 0"
    );
    assert_eq!(
        impair(json!({ "jitter": { "size": "2h" } })),
        "dumbbell.impair.jitter.size: must be between 1ns and 3600s, not 7200s"
    );
    let share = with(dumbbell(), "/dumbbell/forward_share", json!(1.5));
    assert_eq!(
        refusal(&share),
        "dumbbell.forward_share: must be between 0 and 1, not 1.5"
    );
    let both =
        json!({ "kind": "loss", "name": "x", "probability": 0.1, "gilbert_elliott": { "p": 0.1 } });
    assert_eq!(
        refusal(&with(boxes(), "/boxes/1", both)),
        "boxes[1].gilbert_elliott: goes without `probability`, `spacing` and `vary`"
    );
}

#[test]
fn what_varies_is_refused_by_its_place() {
    let vary = |value: Value| refusal(&with(dumbbell(), "/dumbbell/vary", value));
    let pulse =
        |lower: &str| json!({ "kind": "pulse", "lower": lower, "upper": "20ms", "period": "1s" });
    assert_eq!(
        vary(json!({ "rtt": pulse("30ms") })),
        "dumbbell.vary.rtt.lower: must be at most `upper`, 20ms, not 30ms"
    );
    assert_eq!(
        vary(json!({ "rtt": pulse("30") })),
        "dumbbell.vary.rtt.lower: no unit (allowed: ns, us, µs, ms, s, min, h): `30` is not a duration such as `15ms`"
    );
    assert_eq!(
        vary(json!({ "delay": pulse("1ms") })),
        "dumbbell.vary.delay: unknown key (allowed: rate, reverse_rate, rtt, loss)"
    );
    assert_eq!(
        vary(json!({ "rtt": { "kind": "poisson" } })),
        "dumbbell.vary.rtt.kind: unknown value `poisson` (allowed: steps, pulse, random_walk, markov, sinusoid, handover)"
    );
    let steps = |at: &str| {
        let step = |at: &str| json!({ "at": at, "value": "1Mbit/s" });
        json!({ "rate": { "kind": "steps", "steps": [step("2s"), step(at)] } })
    };
    assert_eq!(
        vary(steps("1s")),
        "dumbbell.vary.rate.steps[1].at: must be after 2s, the step before it, not 1s"
    );
    assert_eq!(
        vary(json!({ "rate": { "kind": "mahimahi", "file": "no/such/trace" } })),
        "dumbbell.vary.rate.file: `no/such/trace` cannot be read: No such file or directory (os error 2)"
    );
    assert_eq!(
        vary(json!({ "rate": { "kind": "mahimahi", "deliveries": [4, 3] } })),
        "dumbbell.vary.rate.deliveries[1]: must not be earlier than the delivery before it"
    );
    let mut own = with(dumbbell(), "/dumbbell/vary", json!({ "rtt": pulse("1ms") }));
    own["flows"] = json!([{ "rtt": "1ms" }, {}]);
    assert_eq!(
        refusal(&own),
        "dumbbell.vary.rtt: needs flows with one RTT; some have an `rtt` of their own"
    );
    assert_eq!(
        vary(json!({ "reverse_rate": { "kind": "mmwave" } })),
        "dumbbell.vary.reverse_rate: needs a way back with a rate: give `dumbbell.reverse_rate`"
    );
    assert_eq!(
        vary(json!({ "rate": { "kind": "mmwave", "gap": "9s" } })),
        "dumbbell.vary.rate.gap: nothing blocks the path of `sl`"
    );
    assert_eq!(
        vary(json!({ "rate": { "kind": "blockage", "table": [] } })),
        "dumbbell.vary.rate.table: must have 1 to 1000 rows, not 0"
    );
    // A delay that comes down to nothing is no delay.
    let nothing = with(
        boxes(),
        "/boxes/1/vary",
        json!({ "kind": "steps", "steps": [{ "at": "1s", "value": "0s" }] }),
    );
    let nothing = with(
        with(nothing, "/flows/0/path", json!(["back"])),
        "/flows/0/return_path",
        json!([]),
    );
    assert_eq!(
        refusal(&nothing),
        "flows[0]: the path of `flow_1` has no link and no delay, so simulated time would never advance"
    );
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
        // What an engine could not carry.
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

#[test]
fn a_cell_is_refused_by_its_place() {
    let cell = |cell: Value| refusal(&json!({ "duration": "1s", "cell": cell, "flows": [{}] }));
    let radio = |radio: Value| cell(json!({ "radio": radio }));
    let nowhere = radio(json!({ "ues": [{ "kind": "trace", "file": "nowhere" }] }));
    assert!(
        nowhere.starts_with("cell.radio.ues[0].file: `nowhere` cannot be read"),
        "{nowhere}"
    );
    assert_eq!(
        radio(json!({ "numerology": 5 })),
        "cell.radio.numerology: must be at most 4, not 5"
    );
    assert_eq!(
        radio(json!({ "pattern": "DX" })),
        "cell.radio.pattern: slots are D, U, F or S, not `X`"
    );
    assert_eq!(
        cell(json!({ "backhaul": { "pacer": {} } })),
        "cell.backhaul.pacer: needs `cell.sdap`, whose queue it keeps short"
    );
}

#[test]
fn bearers_and_their_qos_flows_are_refused_by_their_place() {
    let run = |cell: Value, flow: Value| {
        refusal(&json!({ "duration": "1s", "cell": cell, "flows": [flow] }))
    };
    let bearers = |bearers: Value| run(json!({ "bearers": bearers }), json!({}));
    let second = |second: Value| bearers(json!([{ "name": "a", "qfi": [1] }, second]));
    let flow = |qfi: Value| run(json!({}), json!({ "qfi": qfi }));
    let many: Vec<Value> = (0..30)
        .map(|n| json!({ "name": n.to_string(), "qfi": [n] }))
        .collect();
    let messages = [
        // QoS flows.
        flow(json!(64)),
        flow(json!(-1)),
        flow(json!([1])),
        flow(json!("voice")),
        refusal(&with(dumbbell(), "/flows/0/qfi", json!(1))),
        refusal(&with(parking_lot(), "/flows/0/qfi", json!(1))),
        refusal(&with(boxes(), "/flows/0/qfi", json!(1))),
        second(json!({ "name": "b" })),
        second(json!({ "name": "b", "qfi": 2 })),
        second(json!({ "name": "b", "qfi": [2, 64] })),
        second(json!({ "name": "b", "qfi": [2, 1] })),
        second(json!({ "name": "b", "qfi": [2, 3, 2] })),
        // Names.
        bearers(json!([{}])),
        bearers(json!({ "name": "a" })),
        second(json!({ "name": "a", "qfi": [2] })),
        second(json!({ "name": "", "qfi": [2] })),
        second(json!({ "name": "voice_up", "qfi": [2] })),
        second(json!({ "name": "up", "qfi": [2] })),
        second(json!({ "name": "b", "qfi": [2], "prioritised_bitrate": "1Mbit/s" })),
        bearers(json!(many)),
        // Logical channels.
        second(json!({ "name": "b", "qfi": [2], "priority": 0 })),
        second(json!({ "name": "b", "qfi": [2], "priority": 17 })),
        second(json!({ "name": "b", "qfi": [2], "prioritised_bit_rate": "525Mbit/s" })),
        second(json!({ "name": "b", "qfi": [2], "prioritised_bit_rate": "much" })),
        second(json!({ "name": "b", "qfi": [2], "bucket_size_duration": "4ms" })),
        second(json!({ "name": "b", "qfi": [2], "bucket_size_duration": "2s" })),
        // What else is theirs.
        second(json!({ "name": "b", "qfi": [2], "rlc": { "mode": "tm" } })),
        second(json!({ "name": "b", "qfi": [2], "rlc": { "mode": "um", "sn_bits": 7 } })),
        second(json!({ "name": "b", "qfi": [2], "pdcp": { "discard_timer": "1ms" } })),
        second(json!({ "name": "b", "qfi": [2], "queue": "codell" })),
        second(json!({ "name": "b", "qfi": [2], "buffer": "0B" })),
        second(json!({ "name": "b", "qfi": [2], "uplink_buffer": "0B" })),
        second(json!({ "name": "b", "qfi": [2], "sdap": {} })),
        second(json!({ "name": "b", "qfi": [2], "marking": { "target": "1us" } })),
        run(
            json!({
                "bearers": [{ "name": "a", "sdap": { "sizing": { "kind": "bdp" } } }, { "name": "b", "qfi": [1] }],
                "backhaul": { "pacer": {} },
            }),
            json!({}),
        ),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}
