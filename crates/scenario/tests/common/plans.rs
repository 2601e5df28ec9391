//! Compiled plans, and access to their parts.

#![allow(dead_code, reason = "each test file compiles this module by itself")]

use bloatlab_scenario::{Plan, PlanBoxKind, PlanLink, Scenario};
use serde_json::Value;

pub fn plan(document: Value) -> Plan {
    let scenario = Scenario::from_value(document).expect("valid");
    scenario.compile().expect("valid")
}

pub fn names(plan: &Plan, path: &[usize]) -> Vec<String> {
    path.iter().map(|&i| plan.boxes[i].name.clone()).collect()
}

pub fn link<'a>(plan: &'a Plan, name: &str) -> &'a PlanLink {
    match &plan
        .boxes
        .iter()
        .find(|b| b.name == name)
        .expect("a box")
        .kind
    {
        PlanBoxKind::Link(link) => link,
        other => panic!("{name} is {other:?}"),
    }
}

pub fn delay(plan: &Plan, name: &str) -> u64 {
    match plan
        .boxes
        .iter()
        .find(|b| b.name == name)
        .expect("a box")
        .kind
    {
        PlanBoxKind::Delay { delay, .. } => delay,
        ref other => panic!("{name} is {other:?}"),
    }
}
