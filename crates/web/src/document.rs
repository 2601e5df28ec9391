//! Which documents a browser may run.

use bloatlab_link::mahimahi;
use bloatlab_outcome::Outcome;
use bloatlab_record::metrics_of;
use bloatlab_scenario::{Checked, Limits, Scenario, ScenarioError};
use bloatlab_sim::{Control, NoPlugins};
use bloatlab_units::Bytes;
use serde_json::json;

use crate::memory::Memory;

/// Memory that a run may take. A browser gives WebAssembly at most 4 GB.
const MEMORY: Bytes = Bytes(2_000_000_000);

/// What the limits say to users of a machine of their own, and what they say here.
const ADVICE: [(&str, &str); 2] = [
    (
        "raise the limit with BLOATLAB_PACKETS",
        "run it on the command line with `bloatlab simulate`",
    ),
    (
        "raise the limit with BLOATLAB_MEMORY",
        "run it on the command line with `bloatlab simulate`",
    ),
];

pub(crate) fn limits(record_packets: bool) -> Limits {
    Limits {
        memory: MEMORY,
        record_packets,
        ..Limits::default()
    }
}

/// One line for a scenario that is refused.
pub(crate) fn refusal(error: &ScenarioError) -> String {
    let text = error.to_string();
    ADVICE
        .iter()
        .fold(text, |text, (there, here)| text.replace(there, here))
}

/// Reads a document and compiles it.
///
/// # Errors
/// What is wrong with the document, or why the run is too dear, as `path: message`.
pub(crate) fn load(document: &str, files: &Memory, limits: &Limits) -> Result<Checked, String> {
    Scenario::load(document, files, limits).map_err(|error| refusal(&error))
}

/// The canonical form of a document.
///
/// # Errors
/// What is wrong with the document, or why the run is too dear, as `path: message`.
pub fn normalise(document: &str) -> Result<String, String> {
    let checked = load(document, &Memory::default(), &limits(false))?;
    Ok(checked.scenario.to_canonical_json())
}

/// Runs a scenario at once. Returns `{digest, metrics}` as JSON.
///
/// # Errors
/// As [`normalise`].
pub fn run(document: &str, seed: u64, files: &Memory) -> Result<String, String> {
    let plan = load(document, files, &limits(false))?.plan;
    let outcome = bloatlab_sim::run(plan.into(), seed, false, &NoPlugins, &Control::default());
    let outcome = outcome.map_err(|error| error.to_string())?;
    Ok(result(&outcome, &outcome.digest()))
}

pub(crate) fn result(outcome: &Outcome, digest: &str) -> String {
    json!({ "digest": digest, "metrics": metrics_of(outcome) }).to_string()
}

/// The milliseconds of a rate trace in the format of mahimahi: the `deliveries` of a rate of this kind.
///
/// # Errors
/// The line that is wrong, and why.
pub fn deliveries(name: &str, text: &str) -> Result<Vec<u32>, String> {
    let files = Memory::new(vec![name.to_owned()], vec![text.to_owned()]);
    let mut trace = mahimahi::Params {
        file: Some(name.to_owned()),
        ..Default::default()
    };
    let read = trace.read(&files)?;
    Ok(read.milliseconds().map(|at| at as u32).collect())
}
