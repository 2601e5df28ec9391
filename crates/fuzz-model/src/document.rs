//! Target for scenario documents: any text or value is either refused with a message of one line, or compiled and written back unchanged.

use bloatlab_scenario::{Scenario, ScenarioError};
use serde_json::{Value, json};

use crate::choices::Choices;
use crate::scenario;

/// Maximum number of changes to a document.
const CHANGES: usize = 4;

/// Reads the text or the changed document that these bytes choose.
///
/// # Panics
/// If a reader panics, a message has several lines, or a document is not written back unchanged.
pub fn document(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    if choices.byte().is_multiple_of(2) {
        let text = String::from_utf8_lossy(choices.rest());
        return judged(Scenario::from_json(&text));
    }
    let mut value = scenario::document(&mut choices);
    if choices.once_in(2)
        && let Some((valid, _)) = scenario::valid(value.clone())
    {
        value = valid;
    }
    for _ in 0..choices.below(CHANGES + 1) {
        change(&mut value, &mut choices);
    }
    // Text and values must be read alike.
    let read = Scenario::from_value(value.clone());
    assert_eq!(Scenario::from_json(&value.to_string()), read, "{value}");
    judged(read);
}

/// Checks what a reader returns.
fn judged(read: Result<Scenario, ScenarioError>) {
    let refusal = match read {
        Ok(scenario) => {
            let canonical = scenario.to_canonical_json();
            let again = Scenario::from_json(&canonical).expect("a canonical document is valid");
            assert_eq!(again, scenario);
            assert_eq!(again.to_canonical_json(), canonical);
            scenario.compile().err()
        }
        Err(refusal) => Some(refusal),
    };
    if let Some(ScenarioError { path, message }) = refusal {
        assert!(!path.is_empty() && !message.is_empty(), "{path}: {message}");
        let line = format!("{path}: {message}");
        assert!(!line.contains(['\n', '\r']), "one line: {line:?}");
    }
}

/// Replaces, removes, copies or renames a part of the document.
fn change(document: &mut Value, choices: &mut Choices) {
    let mut all = Vec::new();
    places(document, String::new(), &mut all);
    let place = choices.one_of(&all).clone();
    let from = choices.one_of(&all).clone();
    let what = choices.byte() % 5;
    let new = match what {
        0 => junk(choices),
        1 => document.pointer(&from).cloned().unwrap_or_default(),
        2 => scaled(document.pointer(&place), choices),
        _ => Value::Null,
    };
    if what < 3 {
        if let Some(value) = document.pointer_mut(&place) {
            *value = new;
        }
        return;
    }
    let Some((parent, key)) = place.rsplit_once('/') else {
        return;
    };
    match document.pointer_mut(parent) {
        Some(Value::Object(table)) => {
            let value = table.remove(key).unwrap_or_default();
            if what == 4 {
                table.insert(format!("{key}x"), value);
            }
        }
        Some(Value::Array(list)) => {
            let value = list.remove(key.parse().expect("an index"));
            if what == 4 {
                list.extend([value.clone(), value]);
            }
        }
        _ => {}
    }
}

/// Every place of a document, as JSON pointers.
fn places(value: &Value, at: String, found: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(table) => table.iter().map(|(k, v)| (k.clone(), v)).collect(),
        Value::Array(list) => {
            let numbered = list.iter().enumerate();
            numbered.map(|(i, v)| (i.to_string(), v)).collect()
        }
        _ => Vec::new(),
    };
    for (key, value) in inner {
        places(value, format!("{at}/{key}"), found);
    }
    found.push(at);
}

/// A value that is invalid in nearly every place.
fn junk(choices: &mut Choices) -> Value {
    match choices.byte() % 8 {
        0 => Value::Null,
        1 => json!(choices.once_in(2)),
        2 => json!(choices.bits(8) as i64),
        3 => json!(f64::from_bits(choices.bits(8))),
        4 => json!([]),
        5 => json!({}),
        6 => {
            let length = choices.below(12);
            let text: Vec<u8> = (0..length).map(|_| choices.byte()).collect();
            json!(String::from_utf8_lossy(&text))
        }
        _ => json!("9".repeat(1 + choices.below(400))),
    }
}

/// The value with another number.
fn scaled(value: Option<&Value>, choices: &mut Choices) -> Value {
    let factor = *choices.one_of(&[0.0, -1.0, 1e-9, 0.5, 2.0, 1e3, 1e9, 1e18, 1e300]);
    match value {
        Some(Value::Number(number)) => json!(number.as_f64().unwrap_or(0.0) * factor),
        Some(Value::String(text)) => {
            let split = text
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(text.len());
            let (number, unit) = text.split_at(split);
            let number: f64 = number.parse().unwrap_or(1.0);
            json!(format!("{}{unit}", number * factor))
        }
        other => other.cloned().unwrap_or_default(),
    }
}
