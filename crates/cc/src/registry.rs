//! What the registry needs of a law, and the reading, checking and describing of parameters that every law shares.
//!
//! The list of laws is the one `registry!` call in `lib.rs`: one line a law.

use bloatlab_units::{Rng, suggestion};
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

    /// Rules that no single range expresses; the message starts with the parameter's name.
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
                    $(Self::$variant(params) => {
                        bloatlab_params::check_ranges(params, describe_kind($kind))?;
                        Law::check(params)
                    })+
                    Self::Python(params) if !params.class.contains(':') => Err(format!(
                        "class: `{}` must be written `module:Class`", params.class,
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
                // The complaint may quote what the user wrote, whatever is in it.
                let shown = |why: String| bloatlab_units::shown(&why, bloatlab_params::LONGEST_MESSAGE);
                Self::read(value).map_err(|why| serde::de::Error::custom(shown(why)))
            }
        }

        /// Every law and its parameters, in the registry's order.
        pub fn describe() -> &'static [Description] {
            // Read from the schemas once: every law that is read or checked asks.
            static ALL: std::sync::OnceLock<Vec<Description>> = std::sync::OnceLock::new();
            ALL.get_or_init(|| vec![$(bloatlab_params::description::<$module::Params>(
                ($kind, <$module::Params as Law>::ALIASES),
                <$module::Params as Law>::SOURCE,
            )),+])
        }

        fn describe_kind(kind: &str) -> &'static Description {
            let known = describe();
            known.iter().find(|description| description.kind == kind).unwrap_or(&known[0])
        }
    };
}
