//! Target for scenarios: makes a random document of any network, queues, algorithms, traffic and impairments, repairs it and runs it.

use bloatlab_scenario::{Limits, Plan, PlanBoxKind, Scenario, Traffic};
use bloatlab_sim::{Control, NoPlugins, RunError, Stopped, run};
use bloatlab_units::{Bytes, Duration, SECOND};
use serde_json::{Map, Value, json};

use crate::choices::Choices;
use crate::outcome;
use crate::repair::repaired_with;
use crate::schema::Schema;
use crate::shared_schema;

/// Bytes of an ACK: headers with timestamps.
const ACK_BYTES: u64 = 52;

/// Limits on the cost of a run, so that it takes a fraction of a second.
const LIMITS: Limits = Limits {
    memory: Bytes(500_000_000),
    packets: 60_000.0,
    record_packets: true,
};

/// Runs the scenario that these bytes choose.
///
/// # Panics
/// If the run breaks a promise of every run.
pub fn scenario(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let seed = choices.bits(2);
    let Some((document, plan)) = valid(document(&mut choices)) else {
        return;
    };
    let made = || format!("seed {seed} of {document}");
    let one = |log: bool| match run(
        plan.clone().into(),
        seed,
        log,
        &NoPlugins,
        &Control::default(),
    ) {
        Ok(outcome) => Some(outcome),
        Err(RunError::Stopped(Stopped::Stalled(_))) if can_stall(&plan) => None,
        Err(why) => panic!("{why}: {}", made()),
    };
    let Some(logged) = one(true) else {
        return;
    };
    if let Err(why) = outcome::sound(&logged) {
        panic!("{why}: {}", made());
    }
    assert_eq!(
        logged.digest(),
        one(false).map_or_else(String::new, |run| run.digest()),
        "a log changes the run: {}",
        made()
    );
}

/// Whether a link sends an ACK in less than a nanosecond, so that data and ACKs can go round without an end at one instant.
fn can_stall(plan: &Plan) -> bool {
    plan.boxes.iter().any(|one| match &one.kind {
        PlanBoxKind::Link(link) => link.rate.0 > 8 * ACK_BYTES * SECOND,
        _ => false,
    })
}

/// A document that the bytes choose. Most are refused before they are repaired.
pub fn document(choices: &mut Choices) -> Value {
    let schema = Schema::new(shared_schema());
    let mut document = Map::new();
    let duration = choices.whole(1_000, 30_000_000_000);
    document.insert("duration".to_owned(), json!(format!("{duration}ns")));
    if choices.once_in(4) {
        let interval = choices.whole(duration / 1_000, duration);
        document.insert("sample_interval".to_owned(), json!(format!("{interval}ns")));
    }
    if choices.once_in(4) {
        let warmup = choices.whole(0, duration - 1);
        document.insert("warmup".to_owned(), json!(format!("{warmup}ns")));
    }
    let network = *choices.one_of(&["dumbbell", "cell", "boxes", "parking_lot", "dumbbell"]);
    let mut names = Vec::new();
    let value = match network {
        "dumbbell" => schema.value("Dumbbell", choices),
        "parking_lot" => schema.value("ParkingLot", choices),
        "cell" => schema.value("CellNetwork", choices),
        _ => {
            let count = 1 + choices.below(6);
            let boxes = (0..count).map(|number| {
                let name = format!("box{number}");
                let mut one = schema.value("BoxSpec", choices);
                // Every path crosses the first box, because time must pass on a path.
                if number == 0 && one["kind"] != "link" {
                    one = json!({ "kind": "link", "rate": "10Mbit/s" });
                }
                one["name"] = json!(name);
                names.push(name);
                one
            });
            Value::Array(boxes.collect())
        }
    };
    let ues = value["radio"]["ues"].as_array().map_or(1, Vec::len);
    document.insert(network.to_owned(), value);
    let count = 1 + choices.below(5);
    let flows = (0..count).map(|number| {
        let mut flow = schema.value("Flow", choices);
        place(&mut flow, number, network, &names, ues, choices);
        flow
    });
    document.insert("flows".to_owned(), flows.collect());
    Value::Object(document)
}

/// Connects a flow to the network.
fn place(
    flow: &mut Value,
    number: usize,
    network: &str,
    boxes: &[String],
    ues: usize,
    choices: &mut Choices,
) {
    let Value::Object(flow) = flow else { return };
    for key in ["rtt", "hops", "ue", "qfi", "path", "return_path", "count"] {
        let belongs = matches!((network, key), ("dumbbell", "rtt") | ("cell", "qfi"));
        if !belongs {
            flow.remove(key);
        }
    }
    if flow.contains_key("name") {
        flow.insert("name".to_owned(), json!(format!("flow{number}")));
    }
    if choices.once_in(4) {
        flow.insert("count".to_owned(), json!(2 + choices.below(6)));
    }
    match network {
        "parking_lot" if choices.once_in(2) => {
            let first = 1 + choices.below(3);
            flow.insert("hops".to_owned(), json!([first, first + choices.below(3)]));
        }
        "cell" => {
            flow.insert("ue".to_owned(), json!(1 + choices.below(ues)));
        }
        "boxes" => {
            let mut way = |mut way: Vec<String>| {
                for _ in 0..choices.below(boxes.len()) {
                    let next = choices.one_of(boxes);
                    if !way.contains(next) {
                        way.insert(choices.below(way.len() + 1), next.clone());
                    }
                }
                json!(way)
            };
            flow.insert("path".to_owned(), way(boxes[..1].to_vec()));
            flow.insert("return_path".to_owned(), way(Vec::new()));
        }
        _ => {}
    }
}

/// The document without refused parts, without programs and with a limited duration, and its plan.
pub fn valid(mut document: Value) -> Option<(Value, Plan)> {
    let read = |value: &Value| {
        let read = Scenario::from_value(value.clone());
        let compiled = read.and_then(|scenario| scenario.compile().map(|_| scenario));
        compiled.map_err(|error| (error.path, error.message))
    };
    without_programs(&mut document);
    loop {
        let scenario = repaired_with(&mut document, read, mended)?;
        if let Ok(plan) = scenario.compile_within(&LIMITS) {
            return Some((document, plan));
        }
        if !shortened(&mut document) {
            return None;
        }
    }
}

/// Replaces traffic that is a program by the default, because the simulator has no programs.
fn without_programs(value: &mut Value) {
    let is_program = |traffic: &Value| {
        let kind = traffic.get("kind").unwrap_or(traffic).as_str();
        kind.is_some_and(|kind| Traffic::program_kinds().contains(&kind))
    };
    match value {
        Value::Object(table) => {
            if table.get("traffic").is_some_and(is_program) {
                table.remove("traffic");
            }
            table.values_mut().for_each(without_programs);
        }
        Value::Array(items) => items.iter_mut().for_each(without_programs),
        _ => {}
    }
}

/// Repairs a document: shortens a run that is refused as too long, and adds a flow.
fn mended(document: &mut Value, path: &str) -> bool {
    match path {
        "duration" => shortened(document),
        "flows" => {
            let boxes = document.get("boxes").is_some();
            let flow = if boxes {
                json!({ "path": ["box0"] })
            } else {
                json!({})
            };
            document["flows"] = json!([flow]);
            true
        }
        _ => false,
    }
}

/// Shortens a run. Returns false if it cannot be shorter.
fn shortened(document: &mut Value) -> bool {
    let duration = document["duration"]
        .as_str()
        .and_then(|text| text.parse().ok());
    let Some(Duration(nanos @ 2..)) = duration else {
        return false;
    };
    document["duration"] = json!(Duration(nanos.div_ceil(8)).to_string());
    true
}
