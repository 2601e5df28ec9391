//! Reads a kind of traffic by its name and writes its part of the schema. The list of kinds is the `registry!` call in `traffic.rs`.

use std::fmt;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error, MapAccess, Visitor};
use serde_json::{Value, json};

/// Reads a bare name as the table with this `kind`, and a table as it is.
pub(super) struct NameOrTable<Tagged>(pub std::marker::PhantomData<Tagged>);

impl<'de, Tagged: DeserializeOwned> Visitor<'de> for NameOrTable<Tagged> {
    type Value = Tagged;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a kind of traffic, or a table with its `kind`")
    }

    fn visit_str<E: Error>(self, kind: &str) -> Result<Tagged, E> {
        Tagged::deserialize(json!({ "kind": kind })).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Tagged, A::Error> {
        Tagged::deserialize(MapAccessDeserializer::new(map))
    }
}

/// The schema of all kinds. A kind whose parameters all have defaults may be written as its bare name.
pub(super) fn schema<Tagged: DeserializeOwned + schemars::JsonSchema>(
    generator: &mut SchemaGenerator,
    kinds: &[&str],
) -> Schema {
    let is_enough = |kind: &&str| serde_json::from_value::<Tagged>(json!({ "kind": kind })).is_ok();
    let bare: Vec<Value> = kinds
        .iter()
        .copied()
        .filter(is_enough)
        .map(Value::from)
        .collect();
    json_schema!({
        "description": "What the application sends.",
        "anyOf": [
            { "type": "string", "enum": bare },
            generator.subschema_for::<Tagged>(),
        ],
    })
}

/// Declares the modules, [`Traffic`](super::Traffic) and everything that lists the kinds.
macro_rules! registry {
    ($($variant:ident($module:ident) = $kind:literal $(| $alias:literal)*),+ $(,)?) => {
        $(pub mod $module;)+

        /// What an application sends. In a document a kind whose parameters all have defaults may be written as its bare name.
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[serde(tag = "kind")]
        pub enum Traffic {
            $(
                #[doc = concat!("`", $kind, "`: see [`", stringify!($module), "`].")]
                #[serde(rename = $kind)]
                $variant($module::Params),
            )+
        }

        /// The table of a kind, as serde reads it.
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = "kind")]
        #[schemars(rename = "TaggedTraffic")]
        enum Tagged {
            $(
                #[serde(rename = $kind $(, alias = $alias)*)]
                $variant($module::Params),
            )+
        }

        impl<'de> serde::Deserialize<'de> for Traffic {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let reader = registry::NameOrTable(std::marker::PhantomData::<Tagged>);
                deserializer.deserialize_any(reader).map(|tagged| match tagged {
                    $(Tagged::$variant(params) => Self::$variant(params),)+
                })
            }
        }

        impl schemars::JsonSchema for Traffic {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                "Traffic".into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                registry::schema::<Tagged>(generator, &[$($kind),+])
            }
        }

        impl Traffic {
            /// The name of the kind.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $kind,)+
                }
            }

            /// The kinds that start programs, which only engines in real time can run.
            pub fn program_kinds() -> Vec<&'static str> {
                let kinds = [$(($kind, <$module::Params as Kind>::is_program())),+];
                kinds.into_iter().filter(|(_, is_program)| *is_program).map(|(kind, _)| kind).collect()
            }

            fn params(&self) -> &dyn Kind {
                match self {
                    $(Self::$variant(params) => params,)+
                }
            }
        }
    };
}
