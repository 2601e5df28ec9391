//! Same seed, same bytes: this build's digests are those in `tests/golden`, to which the Python tests hold the release build.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use bloatlab_scenario::Scenario;
use bloatlab_sim::{Control, NoPlugins, run};
use serde_json::Value;

fn golden<T: serde::de::DeserializeOwned>(name: &str) -> BTreeMap<String, T> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/golden")
        .join(name);
    let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn digests_are_the_golden_ones() {
    let expected: BTreeMap<String, String> = golden("digests.json");
    let ours: BTreeMap<String, String> = golden::<Value>("scenarios.json")
        .into_iter()
        .map(|(name, document)| {
            let plan = Scenario::from_value(document)
                .and_then(|s| s.compile())
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            let outcome = run(&plan, 1, false, &NoPlugins, &Control::default())
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            (name, outcome.digest())
        })
        .collect();
    assert_eq!(ours, expected, "run `make golden` if the change is meant");
}
