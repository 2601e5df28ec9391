//! The JSON Schema accepts canonical documents and refuses invalid ones. Checked with the few keywords that the schema uses.

mod common;

use bloatlab_scenario::Scenario;
use serde_json::{Value, json};

/// Why `value` does not match. A keyword that this reader does not know fails the test.
fn mismatch(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Value::Object(keywords) = schema else {
        return if schema == &Value::Bool(false) {
            Err(format!("{at}: refused"))
        } else {
            Ok(())
        };
    };
    let fail = |why: &str| Err(format!("{at}: {value} {why}"));
    for (keyword, wanted) in keywords {
        let number = || value.as_f64().zip(wanted.as_f64());
        let length = || match value {
            Value::String(text) => Some(text.chars().count() as u64),
            Value::Array(list) => Some(list.len() as u64),
            _ => None,
        };
        let among = || wanted.as_array().into_iter().flatten();
        match keyword.as_str() {
            "$ref" => {
                let pointer = wanted
                    .as_str()
                    .and_then(|r| r.strip_prefix('#'))
                    .expect("a local reference");
                mismatch(
                    root,
                    root.pointer(pointer).expect("a definition"),
                    value,
                    at,
                )?;
            }
            "type" => {
                let is = |kind: &Value| match kind.as_str().expect("a type") {
                    "null" => value.is_null(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_u64() || value.is_i64(),
                    "number" => value.is_number(),
                    "string" => value.is_string(),
                    "array" => value.is_array(),
                    "object" => value.is_object(),
                    other => panic!("type {other}"),
                };
                if !wanted
                    .as_array()
                    .map_or_else(|| is(wanted), |kinds| kinds.iter().any(is))
                {
                    return fail(&format!("is no {wanted}"));
                }
            }
            "properties" => {
                for (key, inner) in wanted.as_object().expect("properties") {
                    if let Some(inner_value) = value.get(key) {
                        mismatch(root, inner, inner_value, &format!("{at}/{key}"))?;
                    }
                }
            }
            "additionalProperties" if wanted == &json!(false) => {
                let known = |key: &String| schema["properties"].get(key).is_some();
                if let Some(key) = value
                    .as_object()
                    .and_then(|table| table.keys().find(|key| !known(key)))
                {
                    return fail(&format!("has the unknown key {key}"));
                }
            }
            "required" => {
                if let Some(key) = among().find(|key| {
                    value.is_object() && value.get(key.as_str().expect("a key")).is_none()
                }) {
                    return fail(&format!("lacks {key}"));
                }
            }
            "items" => {
                for (index, element) in value.as_array().into_iter().flatten().enumerate() {
                    mismatch(root, wanted, element, &format!("{at}/{index}"))?;
                }
            }
            "oneOf" | "anyOf" => {
                let results: Vec<_> = among()
                    .map(|inner| mismatch(root, inner, value, at))
                    .collect();
                let matching = results.iter().filter(|result| result.is_ok()).count();
                if matching == 0 || keyword == "oneOf" && matching > 1 {
                    return fail(&format!("matches {matching} of {keyword}: {results:?}"));
                }
            }
            "const" if value != wanted => return fail(&format!("is not {wanted}")),
            "enum" if !among().any(|choice| choice == value) => {
                return fail(&format!("is not among {wanted}"));
            }
            "minimum" if number().is_some_and(|(v, low)| v < low) => return fail("is too small"),
            "maximum" if number().is_some_and(|(v, high)| v > high) => return fail("is too large"),
            "exclusiveMaximum" if number().is_some_and(|(v, high)| v >= high) => {
                return fail("is too large");
            }
            "exclusiveMinimum" if number().is_some_and(|(v, low)| v <= low) => {
                return fail("is too small");
            }
            "minItems" | "minLength" if length() < wanted.as_u64() && length().is_some() => {
                return fail("is too short");
            }
            "maxItems" | "maxLength" if length() > wanted.as_u64() => return fail("is too long"),
            "additionalProperties"
            | "const"
            | "enum"
            | "minimum"
            | "maximum"
            | "exclusiveMaximum"
            | "exclusiveMinimum" => {}
            "minItems" | "minLength" | "maxItems" | "maxLength" => {}
            // The patterns of units are tested where they are read.
            "pattern" | "format" => {}
            "$schema" | "$defs" | "title" | "description" | "default" | "examples" | "unit" => {}
            other if other.starts_with("x-") => {}
            other => panic!("{at}: keyword {other}"),
        }
    }
    Ok(())
}

fn accepts(document: &Value) -> Result<(), String> {
    let schema = Scenario::json_schema();
    mismatch(&schema, &schema, document, "")
}

#[test]
fn accepts_what_users_and_the_canonical_form_write() {
    for document in common::documents() {
        accepts(&document).expect("a document with shorthands");
        let canonical = Scenario::from_value(document)
            .expect("valid")
            .to_canonical_json();
        accepts(&serde_json::from_str(&canonical).expect("JSON")).expect("a canonical document");
    }
}

#[test]
fn refuses_what_is_plainly_wrong() {
    let document = || common::documents().remove(0);
    let changes: [(&str, Value); 8] = [
        ("/duration", json!(15)),
        ("/dumbbell/rate", json!(null)),
        ("/dumbbell/loss", json!(1.0)),
        ("/dumbbell/device_packets", json!(-1)),
        ("/flows", json!([])),
        ("/flows/0/tcp/mss", json!(10)),
        ("/flows/0/traffic", json!({ "kind": "finite" })),
        ("/flows/0/direction", json!("up")),
    ];
    for (place, value) in changes {
        let mut document = document();
        let (parent, key) = place.rsplit_once('/').expect("a pointer");
        document.pointer_mut(parent).expect("a parent")[key] = value;
        accepts(&document).expect_err(place);
        Scenario::from_value(document).expect_err(place);
    }
}

#[test]
fn every_key_is_documented() {
    fn undocumented(schema: &Value, at: String, found: &mut Vec<String>) {
        let Value::Object(table) = schema else { return };
        for (key, property) in table
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            // A tag. Its values are described with the variants that they choose.
            let is_tag = key == "kind" || property.get("const").is_some();
            if !is_tag && property.get("description").is_none() {
                found.push(format!("{at}.{key}"));
            }
        }
        for variant in ["oneOf", "anyOf"]
            .iter()
            .filter_map(|k| table.get(*k)?.as_array())
            .flatten()
        {
            undocumented(variant, at.clone(), found);
        }
        for (name, definition) in table
            .get("$defs")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            undocumented(definition, name.clone(), found);
        }
    }
    let mut found = Vec::new();
    undocumented(&Scenario::json_schema(), "Scenario".to_owned(), &mut found);
    assert!(found.is_empty(), "{found:?}");
}
