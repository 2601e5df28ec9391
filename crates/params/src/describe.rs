//! Extracts the description of an algorithm's parameters from the schema of its `Params`.

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

use crate::check::measure;

/// Name of the schema that describes any queue. Parameters that hold inner queues refer to it.
pub const QUEUE: &str = "Queue";

/// The name of an algorithm and its aliases.
pub type Names = (&'static str, &'static [&'static str]);

/// An algorithm as shown in the documentation and on the command line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    /// The name in a scenario.
    pub kind: &'static str,
    /// Other names accepted for it.
    pub aliases: &'static [&'static str],
    /// What it does, in one sentence.
    pub summary: String,
    /// How it works, when to use it and what to watch out for, in paragraphs of Markdown.
    pub details: String,
    /// Where it is defined.
    pub source: &'static str,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

/// A parameter of an algorithm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// The name in a scenario.
    pub name: String,
    /// `duration`, `limit`, `bytes`, `rate` (all written with their unit), `integer`, `number`, `boolean`, `string`, `queue`, `object`,
    /// `any`, and `list of` these.
    #[serde(rename = "type")]
    pub kind: String,
    /// The unit of a bare number, if it has one.
    pub unit: Option<String>,
    /// The default, as in the standard; null if the parameter is absent by default.
    pub default: Value,
    /// What it does.
    pub description: String,
    /// The allowed values, if they are restricted further than by the type.
    pub range: Option<String>,
    #[serde(skip)]
    minimum: Option<Value>,
    #[serde(skip)]
    maximum: Option<Value>,
}

impl Parameter {
    /// The smallest and the largest allowed value, if the schema states them. Durations are in nanoseconds, sizes in bytes and rates in bits per
    /// second.
    pub fn bounds(&self) -> [Option<f64>; 2] {
        let size =
            |bound: &Option<Value>| bound.as_ref().and_then(|bound| measure(bound, &self.kind));
        [size(&self.minimum), size(&self.maximum)]
    }
}

/// A value as text, without JSON's quotes round strings.
pub(crate) fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// The parameters that the schema describes.
fn parameters<T: JsonSchema>() -> Vec<Parameter> {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>();
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return Vec::new();
    };
    let definitions = schema.get("$defs").unwrap_or(&Value::Null);
    let all = properties.iter();
    all.map(|(name, property)| parameter(name, property, definitions))
        .collect()
}

fn parameter(name: &str, property: &Value, definitions: &Value) -> Parameter {
    let first = |plain: &str, extended: &str| {
        property
            .get(plain)
            .or_else(|| property.get(extended))
            .cloned()
    };
    let minimum = first("minimum", "x-minimum");
    let maximum = first("maximum", "x-maximum");
    let (kind, choices) = kind_of(property, definitions);
    let range = match (&minimum, &maximum) {
        _ if !choices.is_empty() => Some(choices.join(", ")),
        (Some(low), Some(high)) => Some(format!("{} to {}", plain(low), plain(high))),
        (Some(low), None) => Some(format!("at least {}", plain(low))),
        (None, Some(high)) => Some(format!("at most {}", plain(high))),
        (None, None) => None,
    };
    Parameter {
        name: name.to_owned(),
        kind,
        unit: property["unit"].as_str().map(str::to_owned),
        default: property.get("default").cloned().unwrap_or(Value::Null),
        description: text(property, "description"),
        range,
        minimum,
        maximum,
    }
}

/// The name of a type and, for an enumeration, its values. An optional type is described by the type of its value.
fn kind_of(schema: &Value, definitions: &Value) -> (String, Vec<String>) {
    if let Some(name) = schema["$ref"]
        .as_str()
        .and_then(|reference| reference.rsplit('/').next())
    {
        if name == QUEUE {
            return ("queue".to_owned(), Vec::new());
        }
        let (kind, choices) = kind_of(&definitions[name], definitions);
        let quantity = kind == "string" && choices.is_empty();
        return if quantity {
            (name.to_lowercase(), choices)
        } else {
            (kind, choices)
        };
    }
    let alternatives = schema["oneOf"]
        .as_array()
        .or_else(|| schema["anyOf"].as_array());
    if let Some(alternatives) = alternatives {
        let kinds = alternatives
            .iter()
            .map(|one| kind_of(one, definitions))
            .filter(|(kind, _)| kind != "null");
        let (kinds, choices): (Vec<String>, Vec<Vec<String>>) = kinds.unzip();
        return (
            kinds.into_iter().next().unwrap_or_default(),
            choices.concat(),
        );
    }
    if schema["type"] == "array" {
        let (item, choices) = kind_of(&schema["items"], definitions);
        return (format!("list of {item}"), choices);
    }
    let choices = match (&schema["enum"], schema.get("const")) {
        (Value::Array(values), _) => values.iter().map(plain).collect(),
        (_, Some(value)) => vec![plain(value)],
        _ => Vec::new(),
    };
    let kind = match &schema["type"] {
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => kinds
            .iter()
            .find(|kind| *kind != "null")
            .map(plain)
            .unwrap_or_default(),
        _ => "any".to_owned(),
    };
    (kind, choices)
}

fn text(schema: &Value, key: &str) -> String {
    schema[key].as_str().unwrap_or_default().replace('\n', " ")
}

/// Splits a doc comment into its first paragraph and the others.
fn paragraphs(schema: &Value) -> (String, String) {
    let text = schema["description"].as_str().unwrap_or_default();
    let (summary, details) = text.split_once("\n\n").unwrap_or((text, ""));
    let whole = |paragraph: &str| paragraph.replace('\n', " ");
    let details: Vec<String> = details.split("\n\n").map(whole).collect();
    (whole(summary), details.join("\n\n"))
}

/// An algorithm's entry in the documentation.
pub fn description<T: JsonSchema>((kind, aliases): Names, source: &'static str) -> Description {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>();
    let (summary, details) = paragraphs(schema.as_value());
    Description {
        kind,
        aliases,
        summary,
        details,
        source,
        parameters: parameters::<T>(),
    }
}
