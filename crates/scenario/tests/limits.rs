//! Limits on the cost, size, depth and names of a document.

use bloatlab_scenario::{Disk, Limits, Scenario};
use bloatlab_units::Bytes;
use serde_json::{Value, json};

fn document(flows: Value) -> Value {
    json!({ "duration": "2h", "dumbbell": { "rate": "10Mbit/s", "rtt": "20ms" }, "flows": flows })
}

fn refusal(document: &Value) -> String {
    let from_text = Scenario::from_json(&document.to_string()).expect_err("refused");
    let from_value = Scenario::from_value(document.clone()).expect_err("refused");
    assert_eq!(from_text, from_value);
    let text = from_text.to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

fn accepted(document: &Value) {
    Scenario::from_value(document.clone()).expect("accepted");
}

fn within(document: &Value, limits: &Limits) -> Result<(), String> {
    let loaded = Scenario::load(&document.to_string(), &Disk, limits);
    loaded.map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn every_reply_of_a_ping_is_a_row() {
    let ping = |interval: &str| {
        document(json!([{}, { "traffic": { "kind": "ping", "interval": interval } }]))
    };
    let refused = refusal(&ping("1us"));
    assert!(
        refused.starts_with("flows[1].traffic.interval: the run needs about 36")
            && refused.contains("are for up to 7 billion rows of replies; at most 8.0 GB are allowed; lengthen `interval`"),
        "{refused}"
    );
    accepted(&ping("1ms"));
    // Many of them, which together cost too much.
    let many =
        document(json!([{ "count": 1000, "traffic": { "kind": "ping", "interval": "10ms" } }]));
    assert!(refusal(&many).starts_with("flows[0].traffic.interval: the run needs about"));
}

#[test]
fn every_page_of_a_client_is_a_row() {
    let mut fetches =
        document(json!([{ "count": 1000, "traffic": { "kind": "fetch", "response": "1B" } }]));
    fetches["dumbbell"] = json!({ "rate": "10Gbit/s", "rtt": "1us" });
    let limits = Limits {
        packets: f64::INFINITY,
        ..Limits::default()
    };
    let refused = within(&fetches, &limits).unwrap_err();
    assert!(
        refused.starts_with("flows[0].traffic.interval: "),
        "{refused}"
    );
}

#[test]
fn samples_of_flows_that_are_over_are_no_rows() {
    let mut short = document(json!([{ "count": 1000, "stop": "1s" }]));
    short["sample_interval"] = json!("1ms");
    accepted(&short);
    short["flows"] = json!([{ "count": 1000 }]);
    assert!(refusal(&short).starts_with("sample_interval: the run needs about"));
}

#[test]
fn what_waits_in_an_endless_queue_takes_memory() {
    let mut full = document(json!([{ "traffic": { "kind": "cbr", "rate": "1Gbit/s" } }]));
    accepted(&full);
    full["dumbbell"]["queue"] = json!("infinite");
    let refused = refusal(&full);
    assert!(
        refused.starts_with("flows[0]: ") && refused.contains("packets under way at once"),
        "{refused}"
    );
    full["dumbbell"]["queue"] = json!({ "kind": "fifo", "limit": "1GB" });
    accepted(&full);
}

/// Only the slowest link on a path fills its queue; the limits of faster links do not count.
#[test]
fn many_flows_with_links_of_their_own_fit() {
    let mut many = document(json!([{ "count": 20_000 }]));
    many["duration"] = json!("2s");
    many["dumbbell"]["access_rate"] = json!("1Gbit/s");
    accepted(&many);
    // Now the access links are the bottlenecks: each flow fills a queue.
    many["dumbbell"]["rate"] = json!("10Tbit/s");
    assert!(refusal(&many).starts_with("flows[0]: the run needs about"));
}

#[test]
fn writes_that_wait_in_a_send_buffer_take_memory() {
    let cbr = json!({ "kind": "cbr", "rate": "100Mbit/s", "packet": "20B", "transport": "tcp" });
    let tcp = json!({ "send_buffer": "1GB", "receive_buffer": "1GB" });
    let flow = |count: u32| json!([{ "count": count, "traffic": cbr, "tcp": tcp }]);
    let mut writes = document(flow(1));
    writes["duration"] = json!("10s");
    accepted(&writes);
    writes["flows"] = flow(100);
    assert!(refusal(&writes).starts_with("flows[0]: the run needs about"));
}

#[test]
fn the_record_of_packets_takes_memory_where_it_is_asked_for() {
    let run = document(json!([{}]));
    within(&run, &Limits::default()).expect("without a record");
    let refused = within(
        &run,
        &Limits {
            record_packets: true,
            memory: Bytes(1_000_000_000),
            ..Limits::default()
        },
    );
    let refused = refused.unwrap_err();
    assert!(
        refused.starts_with("duration: the run needs about")
            && refused.contains("are for the record of up to"),
        "{refused}"
    );
}

#[test]
fn limits_can_be_raised() {
    let samples = {
        let mut long = document(json!([{ "count": 100 }]));
        long["sample_interval"] = json!("1ms");
        long
    };
    assert!(
        within(&samples, &Limits::default())
            .unwrap_err()
            .ends_with("or raise the limit with BLOATLAB_MEMORY")
    );
    within(
        &samples,
        &Limits {
            memory: Bytes(1_000_000_000_000),
            ..Limits::default()
        },
    )
    .expect("raised");
    let mut packets = document(json!([{}]));
    packets["dumbbell"]["rate"] = json!("1Tbit/s");
    packets["flows"][0]["tcp"] = json!({ "send_buffer": "1GB", "receive_buffer": "1GB" });
    assert!(
        within(&packets, &Limits::default())
            .unwrap_err()
            .ends_with("or raise the limit with BLOATLAB_PACKETS")
    );
    within(
        &packets,
        &Limits {
            packets: 1e15,
            ..Limits::default()
        },
    )
    .expect("raised");
}

/// A rate that changes every nanosecond costs as much as packets do.
#[test]
fn changes_and_deliveries_count() {
    let vary = |rate: Value| {
        let mut document = document(json!([{}]));
        document["duration"] = json!("24h");
        document["dumbbell"]["vary"] = json!({ "rate": rate });
        document
    };
    let states = |dwell: &str| {
        let state = |value: &str| json!({ "value": value, "dwell": dwell });
        json!({ "kind": "markov", "states": [state("1Mbit/s"), state("2Mbit/s")] })
    };
    let refused = refusal(&vary(states("1us")));
    assert!(
        refused.starts_with("dumbbell.vary: changes up to 86 billion times in this run"),
        "{refused}"
    );
    accepted(&vary(states("1ms")));
    let deliveries: Vec<u32> = vec![1; 100_000];
    let refused = refusal(&vary(
        json!({ "kind": "mahimahi", "deliveries": deliveries }),
    ));
    assert!(refused.starts_with("d"), "{refused}");
    accepted(&vary(
        json!({ "kind": "mahimahi", "deliveries": [1, 2, 3] }),
    ));
}

#[test]
fn parameters_are_not_multiplied_without_bound() {
    let params = "x".repeat(100_000);
    let cca = json!({ "kind": "python", "class": "a:B", "params": { "x": params } });
    accepted(&document(json!([{ "cca": cca }])));
    let refused = refusal(&document(
        json!([{ "count": 100_000, "cca": cca, "stop": "1s" }]),
    ));
    assert!(
        refused.starts_with("flows[0].cca: has parameters of 100"),
        "{refused}"
    );
    let mut queue = document(json!([{}]));
    queue["dumbbell"]["queue"] =
        json!({ "kind": "python", "class": "a:B", "params": { "x": "x".repeat(1_000_000) } });
    assert!(refusal(&queue).starts_with("dumbbell.queue: has parameters of 1000"));
}

/// Documents with this name in every place that takes one.
fn named(name: &str) -> Vec<(&'static str, Value)> {
    let flow = |key: &str| {
        let mut flow = json!({});
        flow[key] = json!(name);
        document(json!([flow]))
    };
    let mut scenario = document(json!([{}]));
    scenario["name"] = json!(name);
    let boxes = json!({ "duration": "1s", "boxes": [{ "kind": "link", "name": name, "rate": "1Mbit/s" }], "flows": [{ "path": [name] }] });
    let cell =
        json!({ "duration": "1s", "cell": { "bearers": [{ "name": name }] }, "flows": [{}] });
    vec![
        ("name", scenario),
        ("flows[0].name", flow("name")),
        ("flows[0].source", flow("source")),
        ("flows[0].destination", flow("destination")),
        ("boxes[0].name", boxes),
        ("cell.bearers[0].name", cell),
    ]
}

#[test]
fn names_hide_nothing() {
    let hidden = [
        '\0', '\n', '\r', '\t', '\u{1b}', '\u{7f}', '\u{85}', '\u{9b}', '\u{61c}', '\u{200e}',
        '\u{200f}', '\u{2028}', '\u{2029}',
    ];
    let directions = ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}');
    for c in hidden.into_iter().chain(directions) {
        for (path, document) in named(&format!("a{c}b")) {
            let why = format!(
                "{path}: must not contain control characters, line breaks or marks of text direction; it contains U+{:04X}",
                u32::from(c)
            );
            assert_eq!(refusal(&document), why);
        }
    }
    for (path, document) in named(&"x".repeat(65)) {
        assert_eq!(
            refusal(&document),
            format!("{path}: must have 1 to 64 characters, not 65")
        );
    }
    for (_, document) in named("Ñandú 5 GHz ↑ نص") {
        accepted(&document);
    }
}

#[test]
fn a_refusal_shows_no_hidden_character_and_not_all_of_a_long_text() {
    let mut unknown = document(json!([{ "path": ["a\u{202e}\n\u{1b}[2Jb"] }]));
    unknown["dumbbell"] = Value::Null;
    unknown["boxes"] = json!([{ "kind": "link", "name": "up", "rate": "1Mbit/s" }]);
    assert!(
        refusal(&unknown)
            .starts_with("flows[0].path[0]: no box is named `a\\u{202e}\\n\\u{1b}[2Jb`")
    );
    let mut key = document(json!([{}]));
    key[format!("a\n{}", "b".repeat(1_000_000))] = json!(1);
    assert!(refusal(&key).len() < 1000);
    let mut value = document(json!([{}]));
    value["duration"] = json!("9".repeat(1_000_000));
    assert!(refusal(&value).len() < 3000);
}

#[test]
fn text_is_refused_by_its_key() {
    let text = document(json!([{ "name": "a", "rtt": "1ms" }])).to_string();
    let refusal = |from: &str, to: &str| {
        assert!(text.contains(from));
        let refused = Scenario::from_json(&text.replace(from, to))
            .expect_err(to)
            .to_string();
        assert!(!refused.contains('\n'), "{refused}");
        refused
    };
    assert!(refusal("\"1ms\"", "NaN").starts_with("flows[0].rtt: is not JSON: expected value"));
    assert!(refusal("\"1ms\"", "-Infinity").starts_with("flows[0].rtt: is not JSON: "));
    assert!(
        refusal("\"1ms\"", "1e999").starts_with("flows[0].rtt: is not JSON: number out of range")
    );
    assert!(refusal("\"a\"", "\"\\ud800\"").starts_with("flows[0].name: is not JSON: "));
    assert!(
        refusal("\"rtt\":\"1ms\"", "\"rtt\":\"1ms\",\"rtt\":\"2ms\"")
            .starts_with("flows[0].rtt: is given twice")
    );
    assert_eq!(
        refusal(
            "\"name\":\"a\"",
            "\"cca\":{\"kind\":\"cubic\",\"kind\":\"bbr\"}"
        ),
        "flows[0].cca.kind: is given twice"
    );
    let huge = "9".repeat(10_000);
    assert!(refusal("\"a\"", &huge).starts_with("flows[0].name: is not JSON: number out of range"));
    assert!(
        refusal("\"a\"", "123456789012345678901234567890")
            .starts_with("flows[0].name: must be a string")
    );
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let refused = refusal("\"a\"", &deep);
    assert!(
        refused.starts_with("flows[0].name[0][0]")
            && refused.ends_with(
                "is nested too deep; at most 64 tables and lists may be inside each other"
            ),
        "{refused}"
    );
    let bom = Scenario::from_json(&format!("\u{feff}{text}"))
        .expect_err("a mark")
        .to_string();
    assert!(bom.starts_with("document: is not JSON: "), "{bom}");
}

#[test]
fn depth_is_bounded_in_values_too() {
    let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!({ "params": [inner] }));
    // Five levels are above `deep`: the document, `flows`, the flow, its congestion control, `params`.
    let of = |levels| {
        document(json!([{ "cca": { "kind": "python", "class": "a:B", "params": deep(levels) } }]))
    };
    accepted(&of(29));
    assert!(refusal(&of(31)).contains("is nested too deep"));
}

#[test]
fn a_text_that_is_too_long_is_refused() {
    let text = document(json!([{}])).to_string() + &" ".repeat(64_000_000);
    let refused = Scenario::from_json(&text)
        .expect_err("too long")
        .to_string();
    assert!(
        refused.starts_with("document: has 64 MB; at most 64 MB are allowed"),
        "{refused}"
    );
}

#[test]
fn files_are_limited_in_all() {
    let path = std::env::temp_dir().join(format!("bloatlab-together-{}", std::process::id()));
    // A sparse file, which takes no room on the disk.
    std::fs::File::create(&path)
        .unwrap()
        .set_len(200_000_000)
        .unwrap();
    let link = |place: usize| json!({ "kind": "link", "name": format!("l{place}"), "rate": "1Mbit/s", "vary": { "rate": { "kind": "file", "file": path } } });
    let boxes: Vec<Value> = (0..10).map(link).collect();
    let refused =
        refusal(&json!({ "duration": "1s", "boxes": boxes, "flows": [{ "path": ["l0"] }] }));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(
        refused,
        "boxes[5].vary.rate.file: makes 1200MB of files in this scenario; at most 1GB are allowed"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_is_no_trace() {
    let device = |key: &str, value: Value| {
        let mut document = document(json!([{}]));
        document[key] = value;
        refusal(&document)
    };
    for kind in ["file", "mahimahi"] {
        let vary = json!({ "rate": "1Mbit/s", "rtt": "1ms", "vary": { "rate": { "kind": kind, "file": "/dev/zero" } } });
        assert!(
            device("dumbbell", vary)
                .starts_with("dumbbell.vary.rate.file: `/dev/zero` is not a regular file")
        );
    }
    let mut cell = json!({ "duration": "1s", "flows": [{}] });
    cell["cell"] = json!({ "radio": { "ues": [{ "kind": "trace", "file": "/dev/zero" }] } });
    assert!(
        refusal(&cell).starts_with("cell.radio.ues[0].file: `/dev/zero` is not a regular file")
    );
}

#[test]
fn other_base_stations_of_a_cell_count() {
    let cell = |others: usize| {
        let ues = vec![json!({ "kind": "scenario" }); 256];
        let interferers = vec![json!({ "position_m": [0, 500] }); others];
        let radio = json!({ "ues": ues, "interferers": interferers });
        json!({ "duration": "1h", "cell": { "radio": radio }, "flows": [{ "traffic": { "kind": "ping", "interval": "1s" } }] })
    };
    assert!(Scenario::from_value(cell(0)).is_ok());
    // 7.2 million slots, 256 UEs, 1.5 each for 64 base stations and 0.1: 177 billion.
    let why = refusal(&cell(64));
    assert!(
        why.starts_with("cell.radio.ues: this run of 1h may have 177 billion packets"),
        "{why}"
    );
}
