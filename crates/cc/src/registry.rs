//! What the registry needs of a law, and the reading, checking and describing of parameters that every law shares.
//!
//! The list of laws is the one `registry!` call in `lib.rs`: one line a law.

use bloatlab_units::{Rng, suggestion};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::CongestionControl;

/// The parameters of a law, which are also its factory. The `Default` holds the values of the source.
pub trait Law: Default + Serialize + DeserializeOwned + JsonSchema {
    /// Other names it is read by (ns-3's type names).
    const ALIASES: &'static [&'static str] = &[];
    /// The primary source.
    const SOURCE: &'static str;

    /// The law, ready for one connection.
    fn build(&self, rng: Rng) -> Box<dyn CongestionControl>;

    /// Conditions between parameters; ranges are checked from the schema.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A congestion control that the user wrote in Python; the engine resolves it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PythonParams {
    /// Where the class is: `module:Class`.
    pub class: String,
    /// Fingerprint of the class's source, so that the run's identity changes with it.
    #[serde(default)]
    pub source: String,
    /// Keyword arguments of the class.
    #[serde(default)]
    pub params: Value,
}

/// A law as a user meets it: for help, documentation and completion.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    /// The name in a scenario.
    pub kind: &'static str,
    /// Other names it is read by.
    pub aliases: Vec<&'static str>,
    /// What it is, in a sentence.
    pub summary: String,
    /// How it works, when to use it and what it is bad at; paragraphs of Markdown.
    pub details: String,
    /// The primary source.
    pub source: &'static str,
    /// What can be set.
    pub parameters: Vec<Parameter>,
}

/// One parameter of a law.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// The key.
    pub name: String,
    /// `number`, `integer`, `boolean`, `string` (a quantity with its unit) or `choice`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Unit of a bare number, if it has one.
    pub unit: Option<String>,
    /// The value when it is not set.
    pub default: Value,
    /// What it does.
    pub description: String,
    /// Smallest and largest value of a number.
    pub range: Option<(f64, f64)>,
    /// The values of a choice.
    pub allowed: Vec<String>,
}

impl Parameter {
    /// `a number from 0.1 to 0.99`, for messages.
    fn expectation(&self) -> String {
        let article = if self.kind == "integer" { "an" } else { "a" };
        match (&self.range, self.allowed.is_empty()) {
            (_, false) => format!("one of {}", self.allowed.join(", ")),
            (Some((low, high)), _) => format!("{article} {} from {low} to {high}", self.kind),
            (None, _) if self.kind == "boolean" => "true or false".to_owned(),
            (None, _) => format!("{article} {}", self.kind),
        }
    }
}

/// What the schema of `P` and its default say, as data.
pub(crate) fn describe<P: Law>(kind: &'static str) -> Description {
    let defaults = serde_json::to_value(P::default()).unwrap_or_default();
    let schema = schema::<P>();
    let text =
        |value: &Value, key: &str| value[key].as_str().unwrap_or_default().replace('\n', " ");
    let parameters = names(&defaults)
        .into_iter()
        .map(|name| {
            let property = &schema.as_value()["properties"][name];
            let choices = property["enum"].as_array().cloned().unwrap_or_default();
            let documented = property["oneOf"].as_array().into_iter().flatten();
            let allowed: Vec<String> = choices
                .iter()
                .chain(documented.map(|variant| &variant["const"]))
                .filter_map(|choice| choice.as_str().map(str::to_owned))
                .collect();
            let bound = |key: &str| property[key].as_f64();
            Parameter {
                name: name.clone(),
                kind: if allowed.is_empty() {
                    text(property, "type")
                } else {
                    "choice".to_owned()
                },
                unit: property["unit"].as_str().map(str::to_owned),
                default: defaults[name].clone(),
                description: text(property, "description"),
                range: bound("minimum").zip(bound("maximum")),
                allowed,
            }
        })
        .collect();
    let (summary, details) = paragraphs(schema.as_value());
    Description {
        kind,
        aliases: P::ALIASES.to_vec(),
        summary,
        details,
        source: P::SOURCE,
        parameters,
    }
}

/// What a doc comment says at first, and then.
fn paragraphs(schema: &Value) -> (String, String) {
    let text = schema["description"].as_str().unwrap_or_default();
    let (summary, details) = text.split_once("\n\n").unwrap_or((text, ""));
    let whole = |paragraph: &str| paragraph.replace('\n', " ");
    let details: Vec<String> = details.split("\n\n").map(whole).collect();
    (whole(summary), details.join("\n\n"))
}

/// Reads the parameters of a law from a table without its `kind`.
pub(crate) fn read<P: Law>(kind: &'static str, table: Map<String, Value>) -> Result<P, String> {
    let parameters = describe::<P>(kind).parameters;
    for (key, value) in &table {
        let Some(parameter) = parameters.iter().find(|parameter| parameter.name == *key) else {
            let names: Vec<&str> = parameters.iter().map(|p| p.name.as_str()).collect();
            return Err(unknown(&format!("parameter of `{kind}`"), key, &names));
        };
        // One key at a time, because serde's message does not say which key it is about.
        let alone = Value::Object(Map::from_iter([(key.clone(), value.clone())]));
        if let Err(error) = serde_json::from_value::<P>(alone) {
            // A quantity's own message already says what is allowed.
            let allowed = match parameter.kind.as_str() {
                "string" => String::new(),
                _ => format!(" (allowed: {})", parameter.expectation()),
            };
            return Err(format!("parameter `{key}` of `{kind}`: {error}{allowed}"));
        }
    }
    let params = serde_json::from_value(Value::Object(table))
        .map_err(|error| format!("`{kind}`: {error}"))?;
    validate::<P>(kind, &params)?;
    Ok(params)
}

/// Holds the values against the ranges of the schema, then against the law's own conditions.
pub(crate) fn validate<P: Law>(kind: &'static str, params: &P) -> Result<(), String> {
    let values = serde_json::to_value(params).map_err(|error| format!("`{kind}`: {error}"))?;
    for parameter in describe::<P>(kind).parameters {
        let Some((low, high)) = parameter.range else {
            continue;
        };
        let value = &values[&parameter.name];
        // A float that is not a number is written as null.
        if !value
            .as_f64()
            .is_some_and(|number| (low..=high).contains(&number))
        {
            let (name, allowed) = (&parameter.name, parameter.expectation());
            return Err(format!(
                "parameter `{name}` of `{kind}`: {value} is out of range (allowed: {allowed})"
            ));
        }
    }
    params.check().map_err(|why| format!("`{kind}`: {why}"))
}

/// Splits what the user wrote into a name and a table: a bare string is a name with no parameters.
pub(crate) fn split(value: Value) -> Result<(String, Map<String, Value>), String> {
    match value {
        Value::String(kind) => Ok((kind, Map::new())),
        Value::Object(mut table) => match table.remove("kind") {
            Some(Value::String(kind)) => Ok((kind, table)),
            Some(other) => Err(format!(
                "`kind` must be the name of a congestion control, not {other}"
            )),
            None => {
                Err("a congestion control needs its `kind`, such as {kind = \"cubic\"}".to_owned())
            }
        },
        other => Err(format!(
            "a congestion control is a name or a table with `kind`, not {other}"
        )),
    }
}

/// `unknown WHAT `name`; did you mean `near`? (allowed: ...)`.
pub(crate) fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let hint = suggestion(name, known.iter().copied());
    let allowed = if known.is_empty() {
        "none".to_owned()
    } else {
        known.join(", ")
    };
    format!("unknown {what}: `{name}`{hint} (allowed: {allowed})")
}

/// Makes the schema of the tagged union accept what the reader accepts: aliases, and a bare name.
pub(crate) fn accept_names(schema: &mut Schema, aliases: &[(&str, &[&str])]) {
    let mut names = Vec::new();
    if let Some(Value::Array(variants)) = schema.get_mut("oneOf") {
        for variant in variants.iter_mut() {
            let tag = &mut variant["properties"]["kind"];
            let kind = tag["const"].as_str().unwrap_or_default().to_owned();
            let Some((_, others)) = aliases.iter().find(|(name, _)| *name == kind) else {
                continue;
            };
            let all: Vec<&str> = std::iter::once(kind.as_str())
                .chain(others.iter().copied())
                .collect();
            *tag = serde_json::json!({"type": "string", "enum": all});
            names.extend(all.into_iter().map(str::to_owned));
        }
        variants.push(serde_json::json!({"type": "string", "enum": names}));
    }
}

fn schema<P: JsonSchema>() -> Schema {
    let settings = SchemaSettings::default().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<P>()
}

/// The parameters' names, sorted: a map's own order depends on how serde_json was built.
fn names(defaults: &Value) -> Vec<&String> {
    let mut names: Vec<&String> = defaults
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
        .collect();
    names.sort_unstable();
    names
}

/// Makes the modules, [`CcConfig`](crate::CcConfig) and everything that lists the laws.
macro_rules! registry {
    ($($variant:ident($module:ident) = $kind:literal),+ $(,)?) => {
        $(pub mod $module;)+

        /// A congestion control with its parameters. Read from `"cubic"` or `{kind = "cubic", beta = 0.7}`.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
        #[serde(tag = "kind")]
        #[schemars(transform = accept_names)]
        pub enum CcConfig {
            $(
                #[doc = concat!("`", $kind, "`: see [`", stringify!($module), "`].")]
                #[serde(rename = $kind)]
                $variant($module::Params),
            )+
            /// `python`: a class of the user's.
            #[serde(rename = "python")]
            Python(PythonParams),
        }

        const ALIASES: &[(&str, &[&str])] = &[$(($kind, <$module::Params as Law>::ALIASES)),+];

        fn accept_names(schema: &mut schemars::Schema) {
            registry::accept_names(schema, ALIASES);
        }

        impl CcConfig {
            /// The law, ready for one connection; `None` for `python`, which the engine resolves.
            pub fn build(&self, rng: bloatlab_units::Rng) -> Option<Box<dyn CongestionControl>> {
                match self {
                    $(Self::$variant(params) => Some(params.build(rng)),)+
                    Self::Python(_) => None,
                }
            }

            /// The name in a scenario.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $kind,)+
                    Self::Python(_) => "python",
                }
            }

            /// Whether every parameter is in its range; the message names the one that is not.
            pub fn validate(&self) -> Result<(), String> {
                match self {
                    $(Self::$variant(params) => registry::validate($kind, params),)+
                    Self::Python(params) if !params.class.contains(':') => Err(format!(
                        "parameter `class` of `python`: `{}` must be written `module:Class`", params.class,
                    )),
                    Self::Python(_) => Ok(()),
                }
            }

            /// Every law with its defaults; `python` is none.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$variant($module::Params::default())),+]
            }

            fn read(value: serde_json::Value) -> Result<Self, String> {
                let (name, table) = registry::split(value)?;
                let alias = ALIASES.iter().find(|(_, others)| others.contains(&name.as_str()));
                let config = match alias.map_or(name.as_str(), |(kind, _)| kind) {
                    $($kind => Self::$variant(registry::read($kind, table)?),)+
                    "python" => serde_json::from_value(serde_json::Value::Object(table))
                        .map(Self::Python)
                        .map_err(|error| format!("`python`: {error}"))?,
                    _ => return Err(registry::unknown("congestion control", &name, &[$($kind,)+ "python"])),
                };
                config.validate().map(|()| config)
            }
        }

        impl<'de> serde::Deserialize<'de> for CcConfig {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = serde_json::Value::deserialize(deserializer)?;
                Self::read(value).map_err(serde::de::Error::custom)
            }
        }

        /// Every law and its parameters, in the registry's order.
        pub fn describe() -> Vec<Description> {
            vec![$(registry::describe::<$module::Params>($kind)),+]
        }
    };
}
