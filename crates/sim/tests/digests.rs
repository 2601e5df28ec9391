//! Same seed, same bytes: the digests of this build equal those in `tests/golden`. The Python tests check the release build.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use bloatlab_aqm::QueueConfig;
use bloatlab_cc::CcConfig;
use bloatlab_scenario::{Plan, Scenario};
use bloatlab_sim::{Control, NoPlugins, run};
use proptest::prelude::*;
use serde_json::Value;

fn golden<T: serde::de::DeserializeOwned>(name: &str) -> BTreeMap<String, T> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/golden")
        .join(name);
    let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn plan(name: &str, document: Value) -> Plan {
    Scenario::from_value(document)
        .and_then(|s| s.compile())
        .unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn digest(plan: &Plan, seed: u64) -> String {
    let outcome = run(
        plan.clone().into(),
        seed,
        false,
        &NoPlugins,
        &Control::default(),
    );
    outcome.unwrap_or_else(|e| panic!("{e}")).digest()
}

#[test]
fn digests_equal_the_golden_ones() {
    let expected: BTreeMap<String, String> = golden("digests.json");
    let ours: BTreeMap<String, String> = golden::<Value>("scenarios.json")
        .into_iter()
        .map(|(name, document)| {
            let plan = plan(&name, document);
            let found = digest(&plan, 1);
            (name, found)
        })
        .collect();
    assert_eq!(ours, expected, "run `make golden` if the change is meant");
}

/// The kinds of an enum in the schema of a scenario, by the name of its definition.
fn kinds(schema: &Value, definition: &str) -> BTreeSet<String> {
    let choices = schema["$defs"][definition]["oneOf"].as_array();
    let tag = |choice: &Value| {
        let tag = choice["properties"]["kind"]["const"].as_str();
        tag.map(str::to_owned)
    };
    choices.into_iter().flatten().filter_map(tag).collect()
}

/// The keys of a table in the schema of a scenario.
fn keys(schema: &Value, definition: &str) -> BTreeSet<String> {
    let table = schema["$defs"][definition]["properties"].as_object();
    table.into_iter().flat_map(|t| t.keys().cloned()).collect()
}

#[test]
fn everything_that_is_registered_has_a_golden_scenario() {
    let scenarios = golden::<Value>("scenarios.json");
    let schema = Scenario::json_schema();
    let mut rates = kinds(&schema, "RateVariation");
    // It needs a file. `rate_files.rs` of the crate `link` tests it.
    assert!(rates.remove("file"));
    let mut blockages = kinds(&schema, "Blockage");
    assert!(blockages.remove("none"));
    let mut channels = kinds(&schema, "ChannelParams");
    // All other cells have a fixed channel, and each scenario of TR 38.901 has a cell.
    assert!(channels.remove("fixed") && channels.remove("scenario"));
    let queues = QueueConfig::all();
    let controls = CcConfig::all();
    for (prefix, kinds) in [
        (
            "queue: ",
            queues.iter().map(|q| q.kind().to_owned()).collect(),
        ),
        (
            "congestion control: ",
            controls.iter().map(|c| c.kind().to_owned()).collect(),
        ),
        ("rate: ", rates),
        ("delay: ", kinds(&schema, "DurationVariation")),
        ("loss: ", kinds(&schema, "ProbabilityVariation")),
        ("impairment: ", keys(&schema, "Impairments")),
        ("cell: channel ", channels),
        ("cell: mobility ", kinds(&schema, "Mobility")),
        ("cell: blockage ", blockages),
        ("cell: sizing ", kinds(&schema, "Sizing")),
    ] {
        assert!(!kinds.is_empty(), "{prefix}: the schema names none");
        for kind in kinds {
            let wanted = format!("{prefix}{kind}");
            let of_kind = |(name, document): (&String, &Value)| {
                // The name is not enough: the document must use it.
                name.starts_with(&wanted) && document.to_string().contains(&format!("\"{kind}\""))
            };
            assert!(
                scenarios.iter().any(of_kind),
                "no golden scenario `{wanted}`"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_digest_is_that_of_its_seed_and_of_no_other(first in any::<u64>(), bit in 0_u32..64) {
        let document = golden::<Value>("scenarios.json")["impairment: jitter normal"].clone();
        let plan = plan("jitter", document);
        prop_assert_eq!(digest(&plan, first), digest(&plan, first));
        prop_assert_ne!(digest(&plan, first), digest(&plan, first ^ (1 << bit)));
    }
}
