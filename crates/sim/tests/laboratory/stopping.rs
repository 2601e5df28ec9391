//! A run can be stopped before it starts, while it is built, in the middle, while it is summarised, and if simulated time does not advance.

use bloatlab_outcome::Outcome;
use bloatlab_scenario::{Plan, PlanBoxKind, Scenario};
use bloatlab_sim::{Control, NoPlugins, RunError, Stopped, run};
use serde_json::{Value, json};

use crate::compiled;

fn plan(document: Value) -> Plan {
    compiled(&serde_json::from_value::<Scenario>(document).expect("a scenario"))
}

fn run_with(plan: &Plan, control: &Control) -> Result<Outcome, RunError> {
    run(plan.clone().into(), 1, false, &NoPlugins, control)
}

fn is_cancelled(result: &Result<Outcome, RunError>) -> bool {
    matches!(result, Err(RunError::Stopped(Stopped::Cancelled)))
}

/// Downloads on one link.
fn downloads(count: u32, duration: &str) -> Plan {
    plan(json!({
        "duration": duration,
        "dumbbell": { "rate": "100Mbit/s", "rtt": "10ms", "queue": { "kind": "fifo", "limit": "100p" } },
        "flows": [{ "cca": "reno", "count": count }],
    }))
}

#[test]
fn a_run_cancelled_before_its_start_builds_nothing() {
    let control = Control::default();
    control.cancel();
    assert!(is_cancelled(&run_with(&downloads(100_000, "1s"), &control)));
    assert_eq!(control.progress(), 0.0);
}

#[test]
fn a_run_stops_at_the_check_at_which_it_is_cancelled() {
    let plan = downloads(3, "500ms");
    let whole = run_with(&plan, &Control::default()).expect("a run");
    let mut looks = 0;
    let last = loop {
        let result = run_with(&plan, &Control::cancelled_at(looks + 1));
        if !is_cancelled(&result) {
            break result;
        }
        looks += 1;
    };
    assert_eq!(last.expect("a run").digest(), whole.digest());
    // At least one check for each box and flow that is built, each sample, and each flow that is summarised.
    assert!(looks > 15, "{looks}");
}

#[test]
fn each_flow_is_checked_when_built_and_when_summarised() {
    let count = 20_000;
    let plan = downloads(count, "1ms");
    let count = u64::from(count);
    for look in [count / 2, count + 100, 2 * count, 5 * count / 2] {
        let control = Control::cancelled_at(look);
        assert!(is_cancelled(&run_with(&plan, &control)), "look {look}");
        assert_eq!(control.progress() > 0.0, look > count, "look {look}");
    }
}

#[test]
fn a_cell_checks_in_each_slot() {
    let document = json!({
        "duration": "200ms",
        "cell": {},
        "flows": [{ "cca": "reno" }],
    });
    let plan = plan(document);
    // Slots of 0.5 ms: many more checks than flows, boxes and events alone would make.
    let control = Control::cancelled_at(300);
    assert!(is_cancelled(&run_with(&plan, &control)));
    assert!((0.0..0.9).contains(&control.progress()));
}

#[test]
fn a_run_ends_if_time_does_not_advance() {
    let mut plan = downloads(2, "1s");
    // Such a document is refused, so the plan is made by hand.
    for planned in &mut plan.boxes {
        planned.kind = PlanBoxKind::Delay {
            delay: 0,
            vary: None,
            jitter: None,
        };
    }
    let Err(error) = run_with(&plan, &Control::default()) else {
        panic!("it ran");
    };
    let RunError::Stopped(Stopped::Stalled(stall)) = &error else {
        panic!("{error}");
    };
    assert_eq!((stall.at, stall.events), (0, (256 + 2 + 1) << 14));
    let text = error.to_string();
    assert!(
        text.starts_with("flow `") && text.contains("from 0 s"),
        "{text}"
    );
}
