//! Parameters of queues and congestion controls. Each registry checks its own; this module limits the memory that they take.

use bloatlab_aqm::QueueConfig;
use bloatlab_cc::CcConfig;
use bloatlab_units::{Bytes, Limit};
use serde_json::Value;

use super::rules::{Check, fail, registered};
use crate::ScenarioError;

/// Most packets or buffers of one queue.
const MAX_LIMIT: u64 = 100_000_000;
/// Most bytes of one queue.
pub(super) const MAX_LIMIT_BYTES: u64 = 1_000_000_000_000;
/// Most bytes of parameters of the congestion controls of one entry of `flows`.
const MAX_PARAMETERS: Bytes = Bytes(256_000_000);
/// Most bytes of parameters of one queue. A cell may have thousands of queues.
const MAX_QUEUE_PARAMETERS: usize = 1_000_000;

/// Checks a queue discipline.
pub(super) fn queue(path: &str, value: &QueueConfig) -> Check {
    let written =
        serde_json::to_value(value).map_err(|error| ScenarioError::new(path, error.to_string()))?;
    limits(path, &written)?;
    let length = written.to_string().len();
    if length > MAX_QUEUE_PARAMETERS {
        let why =
            format!("has parameters of {length}B; at most {MAX_QUEUE_PARAMETERS}B are allowed");
        return fail(path, why);
    }
    registered(path, value.validate())
}

/// Checks `limit` of a queue and of the queues inside it. All kinds use the same keys.
fn limits(path: &str, queue: &Value) -> Check {
    let limit = queue["limit"]
        .as_str()
        .and_then(|text| text.parse::<Limit>().ok());
    match limit {
        Some(Limit::Packets(n) | Limit::Buffers(n)) if n > MAX_LIMIT => {
            let why = format!("must be at most {MAX_LIMIT} packets, not {n}");
            return fail(format!("{path}.limit"), why);
        }
        Some(Limit::Bytes(n)) if n > MAX_LIMIT_BYTES => {
            let why = format!(
                "must be at most {}, not {}",
                Bytes(MAX_LIMIT_BYTES),
                Bytes(n)
            );
            return fail(format!("{path}.limit"), why);
        }
        _ => {}
    }
    if queue["queue"].is_object() {
        limits(&format!("{path}.queue"), &queue["queue"])?;
    }
    let listed = queue["queues"].as_array();
    let mut listed = listed.into_iter().flatten().enumerate();
    listed.try_for_each(|(place, inner)| limits(&format!("{path}.queues[{place}]"), inner))
}

/// Checks a congestion control.
pub(super) fn cca(path: &str, value: &CcConfig) -> Check {
    registered(path, value.validate())
}

/// Limits the memory of parameters. Those of a user's class may be as long as the document, and each flow holds a copy.
pub(super) fn copies(path: &str, value: &CcConfig, count: u32) -> Check {
    let length = serde_json::to_string(value).map_or(0, |text| text.len() as u64);
    let total = Bytes(length * u64::from(count));
    if total <= MAX_PARAMETERS {
        return Ok(());
    }
    let why = format!(
        "has parameters of {}, which makes {total} in {count} flows; at most {MAX_PARAMETERS} are allowed",
        Bytes(length)
    );
    fail(path, why)
}
