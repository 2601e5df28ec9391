//! The fuzz targets: one function per target. Any bytes are a case, and a broken promise panics.
//!
//! Three drivers make bytes: a coverage-guided fuzzer (`fuzz/`), a soak that starts from a seed (`examples/soak.rs`), and the tests, which
//! replay the corpus and former findings (`tests/corpus.rs`).

pub mod choices;
pub mod congestion_control;
pub mod corpus;
pub mod document;
pub mod mutate;
pub mod outcome;
pub mod queue;
mod repair;
pub mod scenario;
pub mod schema;
pub mod tc;
#[cfg(test)]
mod tests;
pub mod trace;

use std::sync::OnceLock;

use bloatlab_scenario::Scenario;
use serde_json::Value;

/// A fuzz target.
pub struct Target {
    /// Name of the target, its file in `fuzz/fuzz_targets` and its corpus.
    pub name: &'static str,
    /// Runs the case that the bytes choose. Panics at a finding.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: [Target; 6] = [
    target("scenario", scenario::scenario),
    target("document", document::document),
    target("congestion_control", congestion_control::congestion_control),
    target("queue", queue::queue),
    target("trace", trace::trace),
    target("tc", tc::tc),
];

const fn target(name: &'static str, run: fn(&[u8])) -> Target {
    Target { name, run }
}

/// The schema of the scenario document, made once.
pub(crate) fn shared_schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(Scenario::json_schema)
}
