//! Tests of the whole engine: conservation, order, bounds, repeatability, queueing theory, and a table of standard results.

mod behaviour;
mod buffers;
mod cell;
mod connections;
mod fast_paths;
mod generator;
mod handshakes;
mod idle_links;
mod impaired;
mod independence;
mod invariants;
mod largest;
mod own_links;
mod queueing_theory;
mod scalable;
mod sessions;
mod shapers;
mod shares;
mod stopping;
mod varying;
mod wire;

use bloatlab_outcome::{Outcome, Value};
use bloatlab_scenario::{Plan, Scenario};
use bloatlab_sim::{Control, NoPlugins, run};
use proptest::test_runner::{Config, RngSeed};

/// Runs without a packet log.
fn measured(plan: &Plan, seed: u64) -> Outcome {
    run(
        plan.clone().into(),
        seed,
        false,
        &NoPlugins,
        &Control::default(),
    )
    .expect("a plan that compiled runs")
}

/// Runs a document without a packet log.
fn outcome(document: serde_json::Value) -> Outcome {
    let scenario = Scenario::from_value(document).expect("a valid document");
    measured(&compiled(&scenario), 7)
}

/// Runs with a packet log.
fn logged(plan: &Plan, seed: u64) -> Outcome {
    run(
        plan.clone().into(),
        seed,
        true,
        &NoPlugins,
        &Control::default(),
    )
    .expect("a plan that compiled runs")
}

fn compiled(scenario: &Scenario) -> Plan {
    let json = || serde_json::to_string(scenario).unwrap_or_default();
    scenario
        .compile()
        .unwrap_or_else(|error| panic!("{error} in {}", json()))
}

/// The value of a metric, if there is one.
fn value(values: &[Value], entity: usize, name: &str) -> Option<f64> {
    let found = values
        .iter()
        .find(|v| v.entity as usize == entity && v.metric.name == name);
    found.map(|v| v.value)
}

/// The same scenarios in every run. `PROPTEST_CASES` and `PROPTEST_RNG_SEED` select more and others.
fn config(cases: u32) -> Config {
    let given = Config::default();
    let chosen = std::env::var_os("PROPTEST_CASES").is_some();
    Config {
        cases: if chosen { given.cases } else { cases },
        rng_seed: match given.rng_seed {
            RngSeed::Random => RngSeed::Fixed(2026),
            fixed => fixed,
        },
        failure_persistence: None,
        max_shrink_iters: 400,
        ..given
    }
}
