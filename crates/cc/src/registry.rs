//! What the registry needs from a congestion control, and the code that reads, checks and describes the parameters of all of them.
//!
//! The list of congestion controls is the `registry!` call in `lib.rs`, with one line per algorithm.

use bloatlab_units::{Rng, suggestion};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{CongestionControl, Elsewhere};

/// The parameters of a congestion control. They also build it. `Default` gives the values of the primary source.
pub trait Factory: Default + Serialize + DeserializeOwned + JsonSchema {
    /// Other names that are accepted (ns-3's type names).
    const ALIASES: &'static [&'static str] = &[];
    /// The primary source.
    const SOURCE: &'static str;
    /// Its names in other systems.
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: None,
        ns3: None,
        ns2: None,
    };

    /// Builds the congestion control of one connection.
    fn build(&self, rng: Rng) -> Box<dyn CongestionControl>;

    /// Checks rules that involve more than the range of one parameter. The message starts with the parameter's name.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A congestion control that the user wrote in Python. The engine loads it.
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

/// Splits what the user wrote into a name and a table of parameters. A bare string is a name without parameters.
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

/// Returns "unknown WHAT: `name`; did you mean `near`? (allowed: ...)".
pub(crate) fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let hint = suggestion(name, known.iter().copied());
    let allowed = if known.is_empty() {
        "none".to_owned()
    } else {
        known.join(", ")
    };
    format!("unknown {what}: `{name}`{hint} (allowed: {allowed})")
}

/// Makes the schema of the tagged union accept what the reader accepts: aliases and bare names.
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

/// Declares the modules, [`CcConfig`](crate::CcConfig) and everything that lists the congestion controls.
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
            /// `python`: a class that the user wrote.
            #[serde(rename = "python")]
            Python(PythonParams),
        }

        const ALIASES: &[(&str, &[&str])] = &[$(($kind, <$module::Params as Factory>::ALIASES)),+];

        fn accept_names(schema: &mut schemars::Schema) {
            registry::accept_names(schema, ALIASES);
        }

        impl CcConfig {
            /// Builds the congestion control of one connection. Returns `None` for `python`, which the engine loads.
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

            /// Checks that every parameter is in its range. The message names the first one that is not.
            pub fn validate(&self) -> Result<(), String> {
                match self {
                    $(Self::$variant(params) => {
                        bloatlab_params::check_ranges(params, describe_kind($kind))?;
                        Factory::check(params)
                    })+
                    Self::Python(params) if !params.class.contains(':') => Err(format!(
                        "class: `{}` must be written `module:Class`", params.class,
                    )),
                    Self::Python(_) => Ok(()),
                }
            }

            /// The commands that select it with its parameters on a Linux host.
            ///
            /// # Errors
            /// `parameter: reason` if Linux has no counterpart.
            pub fn linux_commands(&self) -> Result<Vec<String>, String> {
                self.linux().map(|algorithm| algorithm.commands())
            }

            /// What it is in Linux, with its parameters.
            ///
            /// # Errors
            /// `parameter: reason` if Linux has no counterpart.
            pub fn linux(&self) -> Result<elsewhere::LinuxAlgorithm, String> {
                match self {
                    $(Self::$variant(params) => {
                        let values = serde_json::to_value(params).map_err(|error| error.to_string())?;
                        let values = values.as_object().cloned().unwrap_or_default();
                        elsewhere::linux(
                            &<$module::Params as Factory>::ELSEWHERE, describe_kind($kind), &values,
                        )
                    })+
                    Self::Python(_) => Err("kind: Linux cannot run a congestion control in Python".to_owned()),
                }
            }

            /// Every built-in congestion control with its default parameters. `python` is not included.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$variant($module::Params::default())),+]
            }

            fn read(value: serde_json::Value) -> Result<Self, String> {
                let (name, table) = registry::split(value)?;
                let alias = ALIASES.iter().find(|(_, others)| others.contains(&name.as_str()));
                let config = match alias.map_or(name.as_str(), |(kind, _)| kind) {
                    $($kind => Self::$variant(bloatlab_params::read(describe_kind($kind), table)?),)+
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
                // The message may quote the user's text, which may contain anything.
                let shown = |why: String| bloatlab_units::shown(&why, bloatlab_params::LONGEST_MESSAGE);
                Self::read(value).map_err(|why| serde::de::Error::custom(shown(why)))
            }
        }

        /// Every congestion control and its parameters, in the order of the registry.
        pub fn describe() -> &'static [Description] {
            // Built once from the schemas, because every value that is read or checked needs it.
            static ALL: std::sync::OnceLock<Vec<Description>> = std::sync::OnceLock::new();
            ALL.get_or_init(|| vec![$(bloatlab_params::description::<$module::Params>(
                ($kind, <$module::Params as Factory>::ALIASES),
                <$module::Params as Factory>::SOURCE,
            )),+])
        }

        /// The names of every congestion control in other systems, in the order of the registry.
        pub fn elsewhere() -> Vec<(&'static str, Elsewhere)> {
            vec![$(($kind, <$module::Params as Factory>::ELSEWHERE)),+]
        }

        fn describe_kind(kind: &str) -> &'static Description {
            let known = describe();
            known.iter().find(|description| description.kind == kind).unwrap_or(&known[0])
        }
    };
}
