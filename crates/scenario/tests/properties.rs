//! Any document is compiled to a valid plan or refused with a path. Nothing panics.

mod common;

use std::collections::HashSet;

use bloatlab_scenario::{Plan, PlanBoxKind, Scenario};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

/// Every place of a document, as JSON pointers.
fn places(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(table) => {
            for (key, inner) in table {
                places(inner, format!("{at}/{key}"), found);
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                places(inner, format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
    found.push(at);
}

/// Values that are invalid in most places, and some that are valid in many.
fn junk() -> Vec<Value> {
    let numbers = [
        0_i64,
        1,
        -1,
        2,
        63,
        100_000,
        i64::from(u32::MAX),
        i64::MAX,
        i64::MIN,
    ];
    let texts = [
        "",
        " ",
        "x",
        "0s",
        "1ns",
        "1us",
        "10ms",
        "24h",
        "9999999h",
        // The largest value of each quantity.
        "2499999h",
        "8999999999Gbit/s",
        "8999999999GB",
        "8999999999999999999p",
        "8999999999999999999buffers",
        // Just below the largest value that fits into 64 bits of nanosecond fractions.
        "1h",
        "3599999999999ns",
        "0bit/s",
        "1kbit/s",
        "10Tbit/s",
        "1GB/s",
        "0B",
        "1B",
        "20B",
        "65507B",
        "1000GB",
        "1p",
        "80p",
        "100000000p",
        "99999999999p",
        "5buffers",
        "greedy",
        "ping",
        "fetch",
        "fifo",
        "codel",
        "python",
        "cubic",
        "bbr",
        "reverse",
        "tcp",
        "up",
        "sea",
        "bottleneck",
        "on",
        "é",
    ];
    let mut all: Vec<Value> = numbers.iter().map(|&n| json!(n)).collect();
    all.extend(texts.iter().map(|&t| json!(t)));
    all.extend([
        json!(null),
        json!(true),
        json!(0.5),
        json!(1e300),
        json!(-0.0),
        json!(u64::MAX),
        json!(f64::MIN_POSITIVE),
        json!([]),
        json!({}),
        json!([1, 2]),
        json!([[]]),
    ]);
    all.extend([
        json!({ "kind": "fifo" }),
        json!({ "kind": 3 }),
        json!({ "kind": "loss", "name": "x", "probability": 0 }),
    ]);
    all
}

#[derive(Clone, Debug)]
enum Change {
    /// Replaces a value.
    Replace(Index, Index),
    /// Copies the value of another place.
    Copy(Index, Index),
    Remove(Index),
    /// Renames a key.
    Rename(Index, String),
    /// Repeats an element of a list.
    Repeat(Index),
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<Index>;
    prop_oneof![
        4 => (index(), index()).prop_map(|(at, what)| Change::Replace(at, what)),
        2 => (index(), index()).prop_map(|(at, from)| Change::Copy(at, from)),
        2 => index().prop_map(Change::Remove),
        1 => (index(), "[a-z_ .:`]{0,8}").prop_map(|(at, name)| Change::Rename(at, name)),
        1 => index().prop_map(Change::Repeat),
    ]
}

fn apply(document: &mut Value, change: &Change) {
    let mut all = Vec::new();
    places(document, String::new(), &mut all);
    let (Change::Replace(at, _)
    | Change::Copy(at, _)
    | Change::Remove(at)
    | Change::Rename(at, _)
    | Change::Repeat(at)) = change;
    let place = at.get(&all).clone();
    let parent = place.rsplit_once('/');
    match change {
        Change::Replace(_, what) => {
            *document.pointer_mut(&place).expect("a place") = what.get(&junk()).clone()
        }
        Change::Copy(_, from) => {
            let value = document
                .pointer(from.get::<String>(&all))
                .expect("a place")
                .clone();
            *document.pointer_mut(&place).expect("a place") = value;
        }
        Change::Remove(_) | Change::Rename(..) | Change::Repeat(_) => {
            let Some((parent, key)) = parent else { return };
            match (document.pointer_mut(parent).expect("a parent"), change) {
                (Value::Object(table), Change::Remove(_)) => {
                    table.remove(key);
                }
                (Value::Object(table), Change::Rename(_, name)) => {
                    if let Some(value) = table.remove(key) {
                        table.insert(name.clone(), value);
                    }
                }
                (Value::Array(list), Change::Remove(_)) => {
                    list.remove(key.parse::<usize>().expect("an index"));
                }
                (Value::Array(list), Change::Repeat(_)) => {
                    let again = list[key.parse::<usize>().expect("an index")].clone();
                    list.push(again);
                }
                _ => {}
            }
        }
    }
}

/// Checks what an engine relies on.
fn assert_sound(plan: &Plan) {
    assert!(plan.duration > 0 && plan.sample_interval > 0 && plan.warmup < plan.duration);
    let mut names = HashSet::new();
    for item in &plan.boxes {
        assert!(names.insert(&item.name), "two boxes named {}", item.name);
        match &item.kind {
            PlanBoxKind::Link(link) => {
                assert!(link.rate.0 >= 1000 && link.queue.validate().is_ok())
            }
            PlanBoxKind::Delay { .. } => {}
            PlanBoxKind::Impairment(impairment) => {
                assert_eq!(impairment.params().validate(), Ok(()));
            }
        }
    }
    let mut names = HashSet::new();
    assert!(!plan.flows.is_empty());
    for flow in &plan.flows {
        assert!(names.insert(&flow.name), "two flows named {}", flow.name);
        assert!(flow.start + flow.start_jitter < flow.stop && flow.stop <= plan.duration);
        assert!(!flow.forward.is_empty());
        assert!(
            flow.forward
                .iter()
                .chain(&flow.reverse)
                .all(|&i| i < plan.boxes.len())
        );
        assert!(flow.tcp.send_buffer.0 >= 2 * u64::from(flow.tcp.mss));
    }
}

fn check(document: &Value) {
    match Scenario::from_value(document.clone()) {
        Ok(scenario) => {
            assert_sound(&scenario.compile().expect("what was validated compiles"));
            let canonical = scenario.to_canonical_json();
            let again = Scenario::from_json(&canonical).expect("a canonical document is valid");
            assert_eq!(again, scenario);
            assert_eq!(again.to_canonical_json(), canonical);
        }
        Err(error) => {
            assert!(
                !error.path.is_empty() && !error.message.is_empty(),
                "{document}"
            );
            assert!(!error.to_string().contains('\n'), "one line: {error}");
        }
    }
}

#[test]
fn documents_are_valid() {
    for document in common::documents() {
        Scenario::from_value(document.clone()).expect("valid");
        check(&document);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_documents_are_compiled_or_refused(which in any::<Index>(), changes in prop::collection::vec(change(), 1..4)) {
        let mut document = which.get(&common::documents()).clone();
        for change in &changes {
            apply(&mut document, change);
        }
        check(&document);
        // Text and values must be read alike.
        let text = Scenario::from_json(&document.to_string());
        prop_assert_eq!(text, Scenario::from_value(document));
    }

    #[test]
    fn cut_text_is_refused(which in any::<Index>(), length in any::<Index>()) {
        let text = which.get(&common::documents()).to_string();
        let cut: String = text.chars().take(length.index(text.len())).collect();
        let error = Scenario::from_json(&cut).expect_err("half a document");
        prop_assert_eq!(error.path, "document");
    }

    #[test]
    fn probabilities_survive_to_the_last_bit(loss in 0.0_f64..1.0) {
        let mut document = common::documents().remove(0);
        document["dumbbell"]["loss"] = json!(loss);
        check(&document);
    }
}
