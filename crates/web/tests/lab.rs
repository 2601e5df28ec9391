//! Labs beside batch runs: events, contents of queues, rows and digests.

use std::collections::{BTreeMap, BTreeSet};

use bloatlab_record::Values;
use bloatlab_web::{Lab, Memory, SeriesKind, deliveries, run};
use serde_json::{Value, json};

const ENQUEUE: f64 = 0.0;
const DEQUEUE: f64 = 1.0;
const DROP: f64 = 2.0;

fn lab(document: &Value) -> Lab {
    Lab::load(&document.to_string(), 1, false, Memory::default()).unwrap()
}

fn digest(document: &str) -> String {
    let result: Value =
        serde_json::from_str(&run(document, 1, &Memory::default()).unwrap()).unwrap();
    result["digest"].as_str().unwrap().to_owned()
}

fn golden() -> BTreeMap<String, Value> {
    serde_json::from_str(include_str!("../../../tests/golden/scenarios.json")).unwrap()
}

/// One run of packets as `contents` gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    band: u32,
    queue: u32,
    flow: u32,
    ce: u32,
    packets: u32,
}

/// The contents of a link: whether the order is known, and the runs.
fn contents(lab: &Lab, link: usize) -> (bool, Vec<Run>) {
    let numbers = lab.contents(link);
    let runs = numbers[1..].chunks(5).map(|numbers| Run {
        band: numbers[0],
        queue: numbers[1],
        flow: numbers[2],
        ce: numbers[3],
        packets: numbers[4],
    });
    (numbers[0] == 1, runs.collect())
}

/// Name and number of queues of each band.
fn bands(lab: &Lab, link: usize) -> Vec<(String, u64)> {
    let bands: Value = serde_json::from_str(&lab.bands(link)).unwrap();
    let band = |band: &Value| {
        let name = band["name"].as_str().unwrap().to_owned();
        (name, band["queues"].as_u64().unwrap())
    };
    bands.as_array().unwrap().iter().map(band).collect()
}

/// The packets of each link and flow, by `contents`.
fn held(lab: &Lab) -> BTreeMap<(u64, u64), i64> {
    let mut held = BTreeMap::new();
    for link in 0..lab.entities(SeriesKind::Links).len() {
        let bands = bands(lab, link);
        for run in contents(lab, link).1 {
            let (_, queues) = bands[run.band as usize];
            assert!(u64::from(run.queue) < queues, "{run:?}");
            *held.entry((link as u64, run.flow.into())).or_default() += i64::from(run.packets);
        }
    }
    held
}

/// Steps a lab to its end, and checks at each step that what was enqueued was dequeued or dropped, or is held.
fn conserves_packets(name: &str, document: &Value) {
    let mut lab = lab(document);
    let mut waiting: BTreeMap<(u64, u64), i64> = BTreeMap::new();
    let mut last = 0.0;
    let steps = 40;
    for step in 1..=steps {
        lab.advance(lab.duration() * f64::from(step) / f64::from(steps + 1))
            .unwrap();
        for event in lab.take_events(usize::MAX).chunks(6) {
            assert!(event[0] >= last, "{name}: {} after {last}", event[0]);
            last = event[0];
            if event[2] < 0.0 {
                continue;
            }
            let change = match event[1] {
                ENQUEUE => 1,
                DEQUEUE | DROP => -1,
                _ => 0,
            };
            *waiting
                .entry((event[2] as u64, event[3] as u64))
                .or_default() += change;
        }
        assert_eq!(lab.events_left_out(), 0, "{name}");
        waiting.retain(|_, count| *count != 0);
        assert_eq!(waiting, held(&lab), "{name} at {}", lab.now());
    }
    lab.finish().unwrap();
    assert_eq!(
        lab.digest().unwrap(),
        digest(&document.to_string()),
        "{name}"
    );
}

#[test]
fn events_conserve_packets_and_leave_the_digest_alone() {
    let chosen = golden().into_iter().filter(|(name, document)| {
        let is_of_network = !name.contains(": ");
        is_of_network || document.get("cell").is_some() || name.starts_with("queue: ")
    });
    let mut count = 0;
    for (name, document) in chosen {
        conserves_packets(&name, &document);
        count += 1;
    }
    assert!(count > 20, "{count}");
}

fn home() -> Value {
    json!({
        "duration": "6s",
        "dumbbell": { "rate": "10Mbit/s", "rtt": "30ms", "queue": { "kind": "fifo", "limit": "200p" } },
        "flows": [{ "name": "download", "cca": "cubic" }, { "name": "ping", "traffic": { "kind": "ping", "interval": "100ms" } }],
        "timeline": [{ "at": "4s", "key": "dumbbell.rate", "value": "5Mbit/s" }]
    })
}

#[test]
fn changes_are_in_the_document_and_later_entries_stay() {
    let mut lab = lab(&home());
    lab.advance(1.0).unwrap();
    lab.apply(r#"{"key": "dumbbell.queue", "value": "fq_codel"}"#)
        .unwrap();
    lab.advance(2.5).unwrap();
    lab.apply(r#"{"key": "flows[2]", "value": {"name": "upload", "cca": "bbr"}}"#)
        .unwrap();
    lab.apply(r#"{"key": "flows[0].stop", "value": "3s"}"#)
        .unwrap();
    assert_eq!(lab.flow_names(), ["download", "ping", "upload"]);
    assert_eq!(lab.entities(SeriesKind::Flows), ["download", "upload"]);
    lab.advance(5.0).unwrap();
    lab.apply(r#"{"key": "dumbbell.queue", "value": {"kind": "fifo", "limit": "50p"}}"#)
        .unwrap();
    held(&lab);
    lab.finish().unwrap();
    let document: Value = serde_json::from_str(&lab.document()).unwrap();
    let times: Vec<&str> = document["timeline"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["at"].as_str().unwrap())
        .collect();
    assert_eq!(times, ["1s", "2500ms", "2500ms", "4s", "5s"]);
    assert_eq!(lab.digest().unwrap(), digest(&lab.document()));
}

/// A lab of 10 Mbit/s with these flows, after two seconds.
fn lab_with(queue: Value, flows: Value) -> Lab {
    let mut lab = lab(&json!({
        "duration": "3s",
        "dumbbell": { "rate": "10Mbit/s", "rtt": "30ms", "queue": queue },
        "flows": flows
    }));
    lab.advance(2.0).unwrap();
    lab
}

#[test]
fn a_fifo_holds_packets_in_the_order_in_which_they_leave() {
    let flows = json!([{ "cca": "cubic" }, { "cca": "cubic" }]);
    let mut lab = lab_with(json!({ "kind": "fifo", "limit": "200p" }), flows);
    assert_eq!(bands(&lab, 0), [(String::new(), 1)]);
    let (in_order, runs) = contents(&lab, 0);
    assert!(in_order && runs.len() > 2, "{runs:?}");
    let mut expected = runs
        .iter()
        .flat_map(|run| vec![f64::from(run.flow); run.packets as usize]);
    lab.take_events(usize::MAX);
    lab.advance(2.05).unwrap();
    let events = lab.take_events(usize::MAX);
    let left = events
        .chunks(6)
        .filter(|event| event[1] == DEQUEUE && event[2] == 0.0);
    let mut count = 0;
    for event in left {
        assert_eq!(expected.next(), Some(event[3]));
        count += 1;
    }
    assert!(count > 30, "{count}");
}

#[test]
fn more_runs_than_the_limit_are_totals() {
    let flows = json!([{ "traffic": { "kind": "cbr", "rate": "90Mbit/s" } }, { "traffic": { "kind": "cbr", "rate": "90Mbit/s" } }]);
    let lab = lab_with(json!({ "kind": "fifo", "limit": "20000p" }), flows);
    let (in_order, runs) = contents(&lab, 0);
    assert!(!in_order);
    let flows: Vec<u32> = runs.iter().map(|run| run.flow).collect();
    assert_eq!(flows, [0, 1]);
    let packets: u32 = runs.iter().map(|run| run.packets).sum();
    assert!((19_990..=20_000).contains(&packets), "{packets}");
}

#[test]
fn cake_has_tins_and_a_queue_for_each_flow() {
    let flows = json!([{ "dscp": "CS1" }, {}, {}, { "dscp": "EF" }]);
    let mut lab = lab_with(json!({ "kind": "cake", "diffserv": "diffserv4" }), flows);
    let tins = bands(&lab, 0);
    let names: Vec<&str> = tins.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Bulk", "Best Effort", "Video", "Voice"]);
    let mut places = BTreeMap::new();
    for step in 0..100 {
        lab.advance(2.0 + f64::from(step) * 1e-2).unwrap();
        for run in contents(&lab, 0).1 {
            let place = places.entry(run.flow).or_insert((run.band, run.queue));
            assert_eq!(*place, (run.band, run.queue));
            assert_eq!(run.band, [0, 1, 1, 3][run.flow as usize]);
        }
    }
    let queues: BTreeSet<_> = places.values().collect();
    assert_eq!(queues.len(), 4, "{places:?}");
}

#[test]
fn dualpi2_has_two_queues_and_marks_are_seen() {
    let flows = json!([{ "cca": "prague" }, { "cca": "cubic" }]);
    let mut lab = lab_with(json!("dualpi2"), flows);
    assert_eq!(bands(&lab, 0), [("L".to_owned(), 1), ("C".to_owned(), 1)]);
    let mut marked = 0.0;
    for step in 0..900 {
        lab.advance(2.0 + f64::from(step) * 1e-3).unwrap();
        for run in contents(&lab, 0).1 {
            assert_eq!(run.band, run.flow);
        }
        let events = lab.take_events(usize::MAX);
        let sent = events
            .chunks(6)
            .filter(|event| event[1] == DEQUEUE && event[3] == 0.0);
        marked += sent.map(|event| event[5]).sum::<f64>();
    }
    assert!(marked > 10.0, "{marked}");
}

#[test]
fn red_holds_the_packets_that_it_marked() {
    let queue = json!({ "kind": "red", "ecn": true });
    let mut lab = lab_with(queue, json!([{ "cca": "cubic", "tcp": { "ecn": true } }]));
    let mut marked = 0;
    for step in 0..100 {
        lab.advance(2.0 + f64::from(step) * 1e-2).unwrap();
        marked += contents(&lab, 0).1.iter().map(|run| run.ce).sum::<u32>();
    }
    assert!(marked > 0);
    lab.finish().unwrap();
    assert!(lab.contents(0).is_empty());
    assert_eq!(lab.bands(0), "[]");
}

#[test]
fn rows_are_those_of_the_tables() {
    let mut lab = lab(&home());
    let mut rows = Vec::new();
    for step in 1..=7 {
        lab.advance(f64::from(step)).unwrap();
        rows.extend(lab.take_rows(SeriesKind::Links));
    }
    lab.finish().unwrap();
    rows.extend(lab.take_rows(SeriesKind::Links));
    let columns = lab.columns(SeriesKind::Links);
    assert_eq!(columns[..3], ["time_s", "entity", "queue_packets"]);
    let table = lab.table_csv("link_series").unwrap();
    let mut lines = table.lines();
    assert_eq!(
        lines.next().unwrap().split(',').skip(2).collect::<Vec<_>>(),
        columns[2..]
    );
    let shown = |row: &[f64]| {
        let values = row.iter().enumerate().map(|(place, value)| match place {
            1 => "bottleneck".to_owned(),
            _ if value.is_nan() => String::new(),
            _ => value.to_string(),
        });
        values.collect::<Vec<_>>().join(",")
    };
    assert_eq!(
        lines.collect::<Vec<_>>(),
        rows.chunks(columns.len()).map(shown).collect::<Vec<_>>()
    );
    assert!(lab.take_rows(SeriesKind::Links).is_empty());
    assert_eq!(lab.take_rows(SeriesKind::Probes).len() % 3, 0);
    assert!(!lab.columns(SeriesKind::Flows).is_empty());
}

#[test]
fn memory_is_bounded_by_the_latest_events() {
    let document = json!({
        "duration": "5s",
        "dumbbell": { "rate": "200Mbit/s", "rtt": "10ms" },
        "flows": [{ "cca": "cubic" }]
    });
    let mut lab = lab(&document);
    lab.advance(4.0).unwrap();
    let taken = lab.take_events(1000);
    assert_eq!(taken.len(), 6 * 1000);
    assert!(taken[0] > 3.9 && lab.events_left_out() > 130_000);
    assert!(lab.take_events(1000).is_empty());
    assert_eq!(lab.events_left_out(), 0);
}

#[test]
fn packets_are_kept_on_request() {
    let document = home().to_string();
    let mut with = Lab::load(&document, 1, true, Memory::default()).unwrap();
    assert_eq!(
        with.pcap().unwrap_err(),
        "the run has not ended; finish it first"
    );
    with.finish().unwrap();
    assert!(with.pcap().unwrap().len() > 100_000);
    assert!(
        with.table_csv("packets")
            .unwrap()
            .starts_with("time_ns,event,box,flow")
    );
    assert_eq!(with.digest().unwrap(), digest(&document));
    let mut without = lab(&home());
    without.finish().unwrap();
    assert_eq!(
        without.pcap().unwrap_err(),
        "the run did not record its packets"
    );
}

#[test]
fn files_come_from_memory() {
    let document = json!({
        "duration": "3s",
        "dumbbell": { "rate": "10Mbit/s", "rtt": "20ms", "vary": { "rate": { "kind": "mahimahi", "file": "lte.trace" } } },
        "flows": [{ "cca": "cubic" }]
    });
    let text = document.to_string();
    let load = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Lab::load(
            &text,
            1,
            false,
            Memory::new(names, vec!["1\n2\n4\n9\n".to_owned()]),
        )
    };
    load(&["lte.trace"]).unwrap().finish().unwrap();
    let refused = load(&["other"]).err().unwrap();
    assert!(
        refused.starts_with("dumbbell.vary.rate.file: "),
        "{refused}"
    );
    assert!(refused.contains("no such file in the browser"), "{refused}");
}

#[test]
fn errors_are_one_line() {
    let refused = |document: Value| {
        Lab::load(&document.to_string(), 1, false, Memory::default())
            .err()
            .unwrap()
    };
    let dear = refused(json!({
        "duration": "24h",
        "dumbbell": { "rate": "100Gbit/s", "rtt": "10ms" },
        "flows": [{}]
    }));
    assert!(
        dear.contains("packets are allowed")
            && dear.ends_with("command line with `bloatlab simulate`"),
        "{dear}"
    );
    assert!(!dear.contains('\n'));
    assert_eq!(
        refused(json!({ "duration": "1s", "dumbbell": { "rate": "1Mbit/s", "rtt": "1ms", "queue": "fifoo" }, "flows": [{}] }))
            .split(';')
            .next()
            .unwrap(),
        "dumbbell.queue: unknown queue `fifoo`"
    );
    let mut fixed = home();
    fixed.as_object_mut().unwrap().remove("timeline");
    let mut lab = lab(&fixed);
    let why = lab
        .apply(r#"{"key": "dumbbell.rate", "value": "5Mbit/s"}"#)
        .unwrap_err();
    assert_eq!(
        why,
        "timeline: is required for changes during a run; give `[]` if nothing else changes"
    );
    lab.finish().unwrap();
    let why = lab
        .apply(r#"{"key": "dumbbell.rate", "value": "5Mbit/s"}"#)
        .unwrap_err();
    assert_eq!(why, "the run has ended; start it again to change it");
    let why = lab.table_csv("nothing").unwrap_err();
    assert!(
        why.starts_with("table: must be one of flows, links, probes, flow_series"),
        "{why}"
    );
}

#[test]
fn a_rate_trace_becomes_deliveries_and_a_wrong_line_is_named() {
    assert_eq!(deliveries("a", "1\n3\n3\n").unwrap(), [1, 3, 3]);
    let why = deliveries("photo.txt", "1\n2\n<b>\n").unwrap_err();
    assert_eq!(
        why,
        "file: `photo.txt` line 3: must be a whole number of milliseconds"
    );
    assert!(deliveries("a", "5\n4\n").unwrap_err().contains("line 2"));
    assert!(deliveries("a", "").is_err());
}

#[test]
fn columns_have_the_values_of_the_csv() {
    let mut lab = lab(&home());
    lab.finish().unwrap();
    for table in ["flows", "flow_series", "probe_series", "link_metrics"] {
        let csv = lab.table_csv(table).unwrap();
        let columns = lab.table_columns(table).unwrap();
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(csv.lines().next().unwrap(), names.join(","));
        for (row, line) in csv.lines().skip(1).enumerate() {
            let values = columns.iter().map(|column| match &column.values {
                Values::Numbers(all) | Values::Integers(all) if all[row].is_nan() => String::new(),
                Values::Numbers(all) | Values::Integers(all) => all[row].to_string(),
                Values::Texts(all) => all[row].clone(),
            });
            assert_eq!(values.collect::<Vec<_>>().join(","), line, "{table}");
        }
    }
}
