//! The algorithms that a scenario can name, and its queues read from JSON.

use bloatlab_aqm::QueueConfig;
use serde_json::{Value, json};

/// `{"queues": [...], "congestion_controls": [...]}`: kind, aliases, summary, source, parameters. A congestion control has its names in other systems
/// too: `elsewhere`.
pub fn algorithms() -> Value {
    let names = bloatlab_cc::elsewhere();
    let congestion_controls = bloatlab_cc::describe().iter().map(|description| {
        let mut entry = json!(description);
        let found = names.iter().find(|(kind, _)| *kind == description.kind);
        entry["elsewhere"] = json!(found.map(|(_, elsewhere)| elsewhere));
        entry
    });
    json!({
        "queues": bloatlab_aqm::describe(),
        "congestion_controls": congestion_controls.collect::<Vec<Value>>(),
    })
}

/// Reads and checks a queue: a name, a text of tc or a table, in JSON.
///
/// # Errors
/// What is wrong, in one line.
pub fn read_queue(json: &str) -> Result<QueueConfig, String> {
    // The text is read in two steps, because errors of the second step then have no line and column.
    let value: Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let queue: QueueConfig = serde_json::from_value(value).map_err(|error| error.to_string())?;
    queue.validate()?;
    Ok(queue)
}
