//! Makes a random value valid: removes what its reader refuses, key by key.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Maximum number of refusals before a value is given up.
const PATIENCE: u32 = 60;

/// Reads a value. If the reader refuses it at a path, removes what is there and reads again. Returns `None` if nothing more can be removed.
///
/// # Panics
/// If a refusal is not one line.
pub fn repaired<T>(
    value: &mut Value,
    read: impl Fn(&Value) -> Result<T, (String, String)>,
) -> Option<T> {
    repaired_with(value, read, |_, _| false)
}

/// As [`repaired`], but first lets `mend` repair the value at the path.
///
/// # Panics
/// If a refusal is not one line.
pub fn repaired_with<T>(
    value: &mut Value,
    read: impl Fn(&Value) -> Result<T, (String, String)>,
    mend: impl Fn(&mut Value, &str) -> bool,
) -> Option<T> {
    for _ in 0..PATIENCE {
        match read(value) {
            Ok(found) => return Some(found),
            Err((path, why)) => {
                assert!(
                    !why.is_empty() && !format!("{path}{why}").contains('\n'),
                    "a refusal is one line: {path}: {why}"
                );
                if !mend(value, &path) && !left_out(value, &path) {
                    return None;
                }
            }
        }
    }
    None
}

/// Reads an algorithm with its parameters, or with its defaults if refused parameters cannot be removed.
pub fn repaired_algorithm<T: DeserializeOwned>(
    value: &mut Value,
    validate: impl Fn(&T) -> Result<(), String>,
) -> Option<T> {
    let read = |value: &Value| {
        let read = T::deserialize(value).map_err(|error| error.to_string());
        let valid = read.and_then(|algorithm| validate(&algorithm).map(|()| algorithm));
        valid.map_err(|message| {
            let (path, why) = message.split_once(": ").unwrap_or(("", &message));
            (path.to_owned(), why.to_owned())
        })
    };
    repaired(value, read).or_else(|| {
        let kind = value.get("kind").unwrap_or(value).clone();
        T::deserialize(kind).ok()
    })
}

/// Removes the value at a path, or the table around it if a key is missing or not allowed there. Returns false for the whole document.
fn left_out(value: &mut Value, path: &str) -> bool {
    let steps: Vec<&str> = path
        .split(['.', '[', ']'])
        .filter(|s| !s.is_empty())
        .collect();
    (1..=steps.len()).rev().any(|length| {
        let (last, parents) = steps[..length].split_last().expect("at least one step");
        let parent = parents.iter().try_fold(&mut *value, |at, step| match at {
            Value::Array(list) => list.get_mut(step.parse::<usize>().ok()?),
            other => other.get_mut(step),
        });
        match parent {
            // A value without its kind would become a different value.
            Some(Value::Object(table)) if *last != "kind" => table.remove(*last).is_some(),
            Some(Value::Array(list)) => {
                let index = last
                    .parse()
                    .ok()
                    .filter(|&index: &usize| index < list.len());
                index.map(|index| list.remove(index)).is_some()
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn refused_values_are_removed() {
        let mut value = json!({ "a": { "b": [1, 2, { "kind": "x", "c": 3 }] }, "d": 4 });
        assert!(left_out(&mut value, "a.b[2].kind"));
        assert_eq!(value, json!({ "a": { "b": [1, 2] }, "d": 4 }));
        assert!(left_out(&mut value, "a.b[0]"));
        assert!(left_out(&mut value, "a.missing"));
        assert_eq!(value, json!({ "d": 4 }));
        assert!(!left_out(&mut value, "a"));
    }

    #[test]
    fn a_valid_value_is_read() {
        let mut value = json!({ "high": 9, "low": 1 });
        let read = |value: &Value| match value["high"].as_u64() {
            Some(high) => Err(("high".to_owned(), format!("{high} is too high"))),
            None => Ok(value.clone()),
        };
        assert_eq!(repaired(&mut value, read), Some(json!({ "low": 1 })));
    }
}
