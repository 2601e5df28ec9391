//! Reads parameters and checks them against the ranges in their schema. Every error message starts with the parameter's name.

use bloatlab_units::{Bytes, Duration, Limit, Rate, suggestion};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::describe::{Description, plain};

/// Checks values against the ranges in the schema.
pub fn check_ranges<T: Serialize>(params: &T, description: &Description) -> Result<(), String> {
    let values = serde_json::to_value(params).map_err(|error| error.to_string())?;
    for parameter in &description.parameters {
        let value = &values[&parameter.name];
        let (Some(range), Some(size)) = (&parameter.range, measure(value, &parameter.kind)) else {
            // JSON cannot represent a float that is not finite, so it appears as null. Null is valid only for an optional parameter, whose default is
            // also null.
            let absent = parameter.default.is_null();
            if value.is_null() && !absent && parameter.kind == "number" {
                return Err(format!("{}: must be a finite number", parameter.name));
            }
            continue;
        };
        let [minimum, maximum] = parameter.bounds();
        let low = minimum.is_some_and(|minimum| size < minimum);
        let high = maximum.is_some_and(|maximum| size > maximum);
        if low || high {
            let value = plain(value);
            return Err(format!(
                "{}: {value} is out of range (allowed: {range})",
                parameter.name
            ));
        }
    }
    Ok(())
}

/// A value in its base unit. Of a queue limit, only the number is compared, not the unit.
pub(crate) fn measure(value: &Value, kind: &str) -> Option<f64> {
    let Value::String(text) = value else {
        return value.as_f64();
    };
    let size = match kind {
        "duration" => text.parse::<Duration>().ok()?.0,
        "bytes" => text.parse::<Bytes>().ok()?.0,
        "rate" => text.parse::<Rate>().ok()?.0,
        "limit" => match text.parse::<Limit>().ok()? {
            Limit::Packets(n) | Limit::Bytes(n) | Limit::Buffers(n) => n,
        },
        _ => return None,
    };
    Some(size as f64)
}

/// Reads an algorithm's parameters. Every error message names the parameter.
pub fn read<T: DeserializeOwned>(
    description: &Description,
    table: Map<String, Value>,
) -> Result<T, String> {
    let kind = description.kind;
    let known = || description.parameters.iter().map(|p| p.name.as_str());
    for (name, value) in &table {
        if !known().any(|k| k == name) {
            let near = suggestion(name, known());
            let allowed: Vec<&str> = known().collect();
            let allowed = allowed.join(", ");
            return Err(format!(
                "{name}: unknown parameter of `{kind}`{near} (allowed: {allowed})"
            ));
        }
        let alone = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
        serde_json::from_value::<T>(alone).map_err(|error| {
            let message = error.to_string();
            let holds_queues = description
                .parameters
                .iter()
                .any(|p| p.name == *name && p.kind.ends_with("queue"));
            if holds_queues {
                within(name, &message)
            } else {
                format!("{name}: {message}")
            }
        })?;
    }
    serde_json::from_value(Value::Object(table)).map_err(|error| error.to_string())
}

/// Prefixes an error message of an inner queue, `target: ...`, with the parameter of the outer queue that holds it: `queue.target: ...`.
pub fn within(parameter: &str, message: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.[]".contains(c);
    match message.split_once(": ") {
        Some((name, rest)) if !name.is_empty() && name.chars().all(plain) => {
            let dot = if name.starts_with('[') { "" } else { "." };
            format!("{parameter}{dot}{name}: {rest}")
        }
        _ => format!("{parameter}: {message}"),
    }
}
