//! A session that is stepped and changed equals the batch run of its document with the timeline.

use bloatlab_outcome::Outcome;
use bloatlab_scenario::{BoxSpec, Disk, Limits, Scenario};
use bloatlab_sim::{Control, NoPlugins, RunError, Session, run};
use bloatlab_units::{Duration, SECOND};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::generator::{queue, scenario};
use crate::{config, measured, value};

/// A random change: its time, its key, and numbers for its value.
#[derive(Clone, Debug)]
struct Draft {
    at: f64,
    key: Index,
    number: u64,
    queue: Value,
}

fn draft() -> impl Strategy<Value = Draft> {
    let queue = queue().prop_map(|config| serde_json::to_value(config).unwrap());
    (0.001..0.999, any::<Index>(), 0_u64..1_000_000, queue).prop_map(|(at, key, number, queue)| {
        Draft {
            at,
            key,
            number,
            queue,
        }
    })
}

/// Keys of a scenario that may change, each with a value.
fn candidates(scenario: &Scenario, draft: &Draft, at: Duration) -> Vec<(String, Value)> {
    let rate = json!(format!("{}bit/s", 1_000_000 + 40 * draft.number));
    let delay = json!(format!("{}us", draft.number % 80_000));
    let probability = json!(draft.number as f64 * 1e-7);
    let mut keys = Vec::new();
    let mut add = |key: String, value: &Value| keys.push((key, value.clone()));
    for network in ["dumbbell", "parking_lot"] {
        add(format!("{network}.rate"), &rate);
        add(format!("{network}.queue"), &draft.queue);
    }
    add("dumbbell.rtt".into(), &delay);
    add("dumbbell.loss".into(), &probability);
    add("dumbbell.reverse_loss".into(), &probability);
    add("parking_lot.hop_delay".into(), &delay);
    for (place, item) in scenario.boxes.iter().enumerate() {
        match item {
            BoxSpec::Link { .. } => {
                add(format!("boxes[{place}].rate"), &rate);
                add(format!("boxes[{place}].delay"), &delay);
                add(format!("boxes[{place}].queue"), &draft.queue);
            }
            BoxSpec::Delay { .. } => add(format!("boxes[{place}].delay"), &delay),
            _ => add(format!("boxes[{place}].probability"), &probability),
        }
    }
    let flow = draft.number as usize % scenario.flows.len();
    let stop = Duration(at.0 + draft.number * 200);
    add(format!("flows[{flow}].stop"), &json!(stop));
    let mut another = serde_json::to_value(&scenario.flows[flow]).unwrap();
    let table = another.as_object_mut().unwrap();
    table.retain(|key, _| !["start", "stop", "name", "count"].contains(&key.as_str()));
    add(format!("flows[{}]", scenario.flows.len()), &another);
    keys.retain(|(key, _)| match key.split_once('.') {
        Some(("dumbbell", _)) => scenario.dumbbell.is_some(),
        Some(("parking_lot", _)) => scenario.parking_lot.is_some(),
        _ => true,
    });
    keys
}

/// Number of changes made, and the outcome. None if the simulator refuses a change, as the batch run then must do too.
fn stepped(
    scenario: &mut Scenario,
    drafts: &mut [Draft],
    steps: &[f64],
    seed: u64,
) -> Option<Outcome> {
    drafts.sort_by(|a, b| a.at.total_cmp(&b.at));
    scenario.timeline = Some(Vec::new());
    let control = Control::default();
    let plan = scenario.compile().expect("a generated scenario is valid");
    let mut session = Session::new(plan, seed, false, &NoPlugins, &control).unwrap();
    let duration = scenario.duration;
    let instant = |share: f64| Duration((duration.0 as f64 * share) as u64);
    for draft in drafts {
        let at = instant(draft.at);
        for share in steps.iter().filter(|share| instant(**share).0 < at.0) {
            // Advancing to an earlier time does nothing.
            session.advance(instant(*share).0).unwrap();
        }
        session.advance(at.0).unwrap();
        let keys = candidates(scenario, draft, at);
        let (key, value) = draft.key.get(&keys).clone();
        let change = json!({ "key": key, "value": value }).to_string();
        let Ok(changed) = scenario.with_change(&change, at.0, &Disk, &Limits::default()) else {
            continue;
        };
        *scenario = changed.scenario;
        match session.change(changed.plan.timeline) {
            Ok(()) => {}
            Err(RunError::Plan(_)) => return None,
            Err(error) => panic!("{error}"),
        }
    }
    Some(session.finish().unwrap())
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn a_session_equals_the_batch_run_of_its_document(
        mut scenario in scenario(),
        mut drafts in proptest::collection::vec(draft(), 1..6),
        steps in proptest::collection::vec(0.0..1.0, 0..8),
        seed in any::<u64>(),
    ) {
        let live = stepped(&mut scenario, &mut drafts, &steps, seed);
        let document = scenario.to_canonical_json();
        let plan = Scenario::load(&document, &Disk, &Limits::default()).unwrap().plan;
        let batch = run(plan.clone().into(), seed, false, &NoPlugins, &Control::default());
        match live {
            None => prop_assert!(matches!(batch, Err(RunError::Plan(_)))),
            Some(live) => {
                let batch = batch.unwrap();
                prop_assert_eq!(live.digest(), batch.digest(), "{}", document);
                let slow = run(plan.into(), seed, false, &NoPlugins, &Control::without_fast_paths());
                prop_assert_eq!(slow.unwrap().digest(), batch.digest(), "{}", document);
            }
        }
    }
}

/// A long flow and a ping over 20 Mbit/s and 40 ms, with this timeline.
fn with(timeline: Value) -> Outcome {
    let document = json!({
        "duration": "20s",
        "dumbbell": { "rate": "20Mbit/s", "rtt": "40ms", "queue": { "kind": "fifo", "limit": "500p" } },
        "flows": [{ "name": "bulk" }, { "name": "ping", "traffic": { "kind": "ping", "interval": "100ms" } }],
        "timeline": timeline
    });
    let scenario = Scenario::from_value(document).unwrap_or_else(|error| panic!("{error}"));
    measured(&scenario.compile().unwrap(), 1)
}

/// Means of the series of a link over the seconds from `from` to `to`.
fn mean(outcome: &Outcome, column: &str, from: f64, to: f64) -> f64 {
    let series = &outcome.link_series;
    let values = &series.columns.iter().find(|c| c.0 == column).unwrap().1;
    let rows = series.times().zip(values);
    let within: Vec<f64> = rows
        .filter(|(time, _)| *time > from && *time <= to)
        .map(|(_, value)| *value)
        .collect();
    within.iter().sum::<f64>() / within.len() as f64
}

#[test]
fn a_rate_changes() {
    let outcome = with(json!([{ "at": "10s", "key": "dumbbell.rate", "value": "5Mbit/s" }]));
    assert!((mean(&outcome, "throughput_mbps", 2.0, 10.0) - 20.0).abs() < 0.1);
    assert!((mean(&outcome, "throughput_mbps", 11.0, 20.0) - 5.0).abs() < 0.1);
    assert!((mean(&outcome, "rate_mbps", 0.0, 10.0) - 20.0).abs() < 1e-9);
    assert!((mean(&outcome, "rate_mbps", 11.0, 20.0) - 5.0).abs() < 1e-9);
    let share = value(&outcome.network_metrics, 0, "capacity_share").unwrap();
    assert!(
        (0.9..1.0).contains(&share),
        "of the mean of 12.5 Mbit/s: {share}"
    );
}

#[test]
fn a_new_queue_takes_over_the_waiting_packets_and_drains() {
    let outcome = with(json!([{ "at": "10s", "key": "dumbbell.queue", "value": "fq_codel" }]));
    assert!(mean(&outcome, "sojourn_ms", 5.0, 10.0) > 100.0);
    assert!(mean(&outcome, "sojourn_ms", 12.0, 20.0) < 10.0);
    let stall = mean(&outcome, "throughput_mbps", 10.0, 12.0);
    assert!(stall > 18.0, "the link hardly idles, but carries {stall}");
}

#[test]
fn a_parameter_of_a_queue_changes() {
    let outcome = with(json!([{ "at": "10s", "key": "dumbbell.queue.limit", "value": "50p" }]));
    assert!(mean(&outcome, "queue_packets", 12.0, 20.0) <= 50.0);
    assert!(mean(&outcome, "queue_packets", 5.0, 10.0) > 200.0);
}

#[test]
fn an_rtt_changes() {
    let timeline = json!([
        { "at": "10s", "key": "dumbbell.rtt", "value": "240ms" },
        { "at": "10s", "key": "flows[0].stop", "value": "10s" }
    ]);
    let outcome = with(timeline);
    let series = &outcome.probe_series;
    let times = series.times().zip(&series.columns[0].1);
    let late: Vec<f64> = times.filter(|row| row.0 > 15.0).map(|row| *row.1).collect();
    assert!(
        late.iter().all(|rtt| (240.0..241.0).contains(rtt)),
        "{late:?}"
    );
}

#[test]
fn losses_begin() {
    let outcome = with(json!([{ "at": "10s", "key": "dumbbell.loss", "value": 0.02 }]));
    let (before, after) = (
        mean(&outcome, "throughput_mbps", 5.0, 10.0),
        mean(&outcome, "throughput_mbps", 12.0, 20.0),
    );
    assert!(before > 19.9 && after < 15.0, "{before} {after}");
}

#[test]
fn flows_are_added_and_stopped() {
    let outcome = with(json!([
        { "at": "5s", "key": "flows[2]", "value": { "name": "upload", "cca": "reno" } },
        { "at": "15s", "key": "flows[2].stop", "value": "15s" }
    ]));
    let added = outcome
        .flows
        .iter()
        .position(|flow| flow.name == "upload")
        .unwrap();
    let (start, stop) = (outcome.flows[added].start, outcome.flows[added].stop);
    assert!((start - 5.0).abs() + (stop - 15.0).abs() < 1e-9);
    let series = &outcome.flow_series;
    let rows = series
        .times()
        .zip(series.entities())
        .filter(|row| row.1 as usize == added);
    let times: Vec<f64> = rows.map(|row| row.0).collect();
    assert!(
        times[0] > 5.0 && *times.last().unwrap() <= 15.0 + 1e-9,
        "{times:?}"
    );
}

#[test]
fn a_session_returns_the_new_rows() {
    let document = json!({
        "duration": "2s",
        "dumbbell": { "rate": "10Mbit/s", "rtt": "20ms" },
        "flows": [{}, { "traffic": { "kind": "ping", "interval": "100ms" } }]
    });
    let plan = Scenario::from_value(document).unwrap().compile().unwrap();
    let control = Control::default();
    let mut session = Session::new(plan, 1, false, &NoPlugins, &control).unwrap();
    let first = session.advance(SECOND).unwrap();
    assert_eq!(session.now(), SECOND);
    // The sample at 1 s is not yet taken.
    assert_eq!((first.flows, first.links), (0..9, 0..9));
    let second = session.advance(10 * SECOND).unwrap();
    assert_eq!(second.links.start, 9);
    assert_eq!(session.advance(10 * SECOND).unwrap().links.len(), 0);
    let rows = session.link_series().len();
    let outcome = session.finish().unwrap();
    assert_eq!(outcome.link_series.len(), rows + 1);
}

#[test]
fn a_change_of_a_fixed_key_is_refused_with_its_entry() {
    let refused = |timeline: Value| {
        let document = json!({
            "duration": "20s",
            "dumbbell": { "rate": "20Mbit/s", "rtt": "40ms" },
            "flows": [{ "name": "bulk" }],
            "timeline": timeline
        });
        Scenario::from_value(document).unwrap_err().to_string()
    };
    let at = |at: &str, key: &str, value: Value| json!([{ "at": at, "key": key, "value": value }]);
    insta::assert_snapshot!(
        [
            refused(at("0s", "dumbbell.rate", json!("5Mbit/s"))),
            refused(at("20s", "dumbbell.rate", json!("5Mbit/s"))),
            refused(at("1s", "dumbbell.rate", json!("5 parsecs"))),
            refused(at("1s", "dumbbell.speed", json!("5Mbit/s"))),
            refused(at("1s", "parking_lot.rate", json!("5Mbit/s"))),
            refused(at("1s", "duration", json!("30s"))),
            refused(at("1s", "flows[0].cca", json!("reno"))),
            refused(at("1s", "flows[2]", json!({}))),
            refused(at("5s", "flows[1]", json!({ "start": "1s" }))),
            refused(at("5s", "flows[1]", json!({ "rtt": "100ms" }))),
            refused(at("5s", "flows[0].stop", json!("1s"))),
            refused(json!([
                { "at": "5s", "key": "dumbbell.loss", "value": 0.1 },
                { "at": "4s", "key": "dumbbell.loss", "value": 0.0 }
            ])),
        ]
        .join("\n")
    );
}

#[test]
fn a_shaper_is_not_replaced() {
    let document = json!({
        "duration": "2s",
        "dumbbell": { "rate": "20Mbit/s", "rtt": "40ms", "queue": { "kind": "tbf", "rate": "5Mbit/s" } },
        "flows": [{}],
        "timeline": [{ "at": "1s", "key": "dumbbell.queue", "value": "codel" }]
    });
    let plan = Scenario::from_value(document).unwrap().compile().unwrap();
    let refused = run(plan.into(), 1, false, &NoPlugins, &Control::default()).unwrap_err();
    assert!(refused.to_string().contains("is a shaper"), "{refused}");
}

#[test]
fn packets_that_are_dropped_while_a_queue_is_emptied_are_counted_once() {
    let change =
        |at: &str, queue: Value| json!({ "at": at, "key": "dumbbell.queue", "value": queue });
    let document = json!({
        "duration": "2s",
        "dumbbell": { "rate": "1Mbit/s", "rtt": "0s" },
        "flows": [{ "count": 2, "traffic": {
            "kind": "cbr", "rate": "1565790bit/s", "packet": "100B", "transport": "udp"
        } }],
        "timeline": [
            change("110ms", json!({ "kind": "cobalt", "limit": "30000B" })),
            change("1230ms", json!("infinite")),
        ]
    });
    let plan = Scenario::from_value(document).unwrap().compile().unwrap();
    let outcome = run(plan.into(), 1, false, &NoPlugins, &Control::default()).unwrap();
    let (_, count) = &outcome.counts[0];
    assert!(count.drops > 0);
    assert_eq!(count.arrivals, count.departures + count.drops + count.held);
}
