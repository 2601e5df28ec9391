//! What makes an algorithm known: its name, its parameters, how a user's text becomes a queue, and its documentation.

use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Context, Packet, Qdisc, Tc, tc};
use bloatlab_params::Names;
use bloatlab_units::suggestion;

/// What an algorithm's file provides on its `Params`, besides the queue itself.
///
/// Ranges that the schema states (`#[schemars(range(..))]` on numbers, `#[schemars(extend("x-minimum" = "1us"))]` on
/// quantities) are checked before [`check`](Algorithm::check) is asked.
pub trait Algorithm:
    Clone + Default + PartialEq + Serialize + DeserializeOwned + JsonSchema
{
    /// Other names a user may write: ns-3's and tc's.
    const ALIASES: &'static [&'static str] = &[];
    /// Where the algorithm is defined.
    const SOURCE: &'static str;
    /// How tc writes it, if Linux has it; the first is the preferred one.
    const TC: &'static [Tc] = &[];
    /// The qdisc nearest to it, if Linux lacks it.
    const NEAREST_IN_LINUX: Option<&'static str> = None;

    /// Rules that no single range expresses; the message starts with the parameter's name.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// A queue with these parameters at this place.
    fn build<P: Packet>(&self, context: Context) -> Box<dyn Qdisc<P>>;
}

/// A queue that the user wrote in Python; the engine finds the class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PythonParams {
    /// Where the class is, a subclass of `bloatlab.Queue`: `module:Class`.
    pub class: String,
    /// Fingerprint of the class's source, so that the run's identity changes with it.
    pub source: String,
    /// Keyword arguments of the class.
    pub params: Value,
}

impl PythonParams {
    pub(crate) const SOURCE: &'static str = "the user's own";

    pub(crate) fn check(&self) -> Result<(), String> {
        if self.class.is_empty() {
            return Err(
                "class: is needed: the name of a Python class, such as `module:Class`".to_owned(),
            );
        }
        if !self.params.is_object() && !self.params.is_null() {
            return Err(format!(
                "params: must be a table of keyword arguments, not {}",
                self.params
            ));
        }
        Ok(())
    }
}

/// A queue's configuration as it is written: its kind beside its parameters.
#[derive(Serialize)]
pub(crate) struct Tagged<'a, T> {
    pub kind: &'static str,
    #[serde(flatten)]
    pub params: &'a T,
}

/// Splits what the user wrote, a name, tc's words or a table with a `kind`, into the kind and its parameters.
pub(crate) fn split(
    value: Value,
    names: &[Names],
    kinds: &[tc::Kind],
) -> Result<(&'static str, Map<String, Value>), String> {
    let (name, mut params) = match value {
        Value::String(text) if tc::is_text(&text) => named(tc::read(&text, kinds)?, names)?,
        Value::String(name) => (name.trim().to_owned(), Map::new()),
        Value::Object(table) => named(table, names)?,
        other => {
            return Err(format!(
                "must be the name of a queue or a table with a `kind`, not {other} ({})",
                allowed(names)
            ));
        }
    };
    // `fq-codel` is `fq_codel`.
    let plain = name.replace('-', "_");
    if let Some((kind, _)) = names.iter().find(|(kind, _)| *kind == plain) {
        return Ok((kind, params));
    }
    // A name that only tc has, such as `bfifo`, brings what tc means by it.
    if let Some(kind) = tc::complete(&name, &mut params, kinds) {
        return Ok((kind, params));
    }
    let found = names
        .iter()
        .find(|(_, aliases)| aliases.contains(&name.as_str()));
    match found {
        Some((kind, _)) => Ok((kind, params)),
        None => {
            let known = names
                .iter()
                .flat_map(|(kind, aliases)| std::iter::once(kind).chain(*aliases).copied());
            let near = suggestion(&name, known);
            Err(format!(
                "kind: unknown queue `{name}`{near} ({})",
                allowed(names)
            ))
        }
    }
}

/// Takes the kind out of a table.
fn named(
    mut table: Map<String, Value>,
    names: &[Names],
) -> Result<(String, Map<String, Value>), String> {
    match table.remove("kind") {
        Some(Value::String(name)) => Ok((name, table)),
        Some(other) => Err(format!(
            "kind: must be the name of a queue, not {other} ({})",
            allowed(names)
        )),
        None => Err(format!("kind: is needed ({})", allowed(names))),
    }
}

fn allowed(names: &[Names]) -> String {
    let kinds: Vec<&str> = names.iter().map(|(kind, _)| *kind).collect();
    format!("allowed: {}", kinds.join(", "))
}

/// How many queues may stand inside each other, so that no document or text reaches the end of the stack.
pub(crate) const DEEPEST: usize = 8;

/// What is said of a queue in which more than [`DEEPEST`] stand inside each other.
pub(crate) fn too_deep() -> String {
    format!("at most {DEEPEST} queues may stand inside each other")
}

/// Refuses a queue in which more than [`DEEPEST`] stand inside each other.
pub(crate) fn check_depth(value: &Value) -> Result<(), String> {
    fn is_within(value: &Value, levels: usize) -> bool {
        let Value::Object(table) = value else {
            return true;
        };
        let listed = table.get("queues").and_then(Value::as_array);
        let mut inner = table
            .get("queue")
            .into_iter()
            .chain(listed.into_iter().flatten());
        levels > 0 && inner.all(|inner| is_within(inner, levels - 1))
    }
    if is_within(value, DEEPEST) {
        return Ok(());
    }
    Err(too_deep())
}

/// The schema of one algorithm's table: its parameters and its kind.
pub(crate) fn table_schema<T: JsonSchema>(
    generator: &mut SchemaGenerator,
    (kind, aliases): Names,
) -> Value {
    let mut schema = T::json_schema(generator);
    let table = schema.ensure_object();
    let names: Vec<&str> = std::iter::once(kind)
        .chain(aliases.iter().copied())
        .collect();
    let properties = table
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    properties["kind"] = serde_json::json!({ "type": "string", "enum": names, "default": kind });
    table.insert("required".to_owned(), serde_json::json!(["kind"]));
    table.insert("title".to_owned(), Value::String(kind.to_owned()));
    schema.to_value()
}

/// Declares the algorithms' modules and the configuration that chooses among them. The module's name is the kind.
macro_rules! registry {
    ($($variant:ident => $module:ident),+ $(,)?) => {
        $(pub mod $module;)+

        /// A queue discipline and its parameters, as a scenario states them: `"codel"`, `{"kind": "codel", "target": "5ms"}` or in tc's
        /// words, `"codel target 5ms"`.
        #[derive(Clone, Debug, PartialEq)]
        pub enum QueueConfig {
            $(
                #[doc = concat!("Kind `", stringify!($module), "`.")]
                $variant($module::Params),
            )+
            /// Kind `python`: a class of the user's own.
            Python(registry::PythonParams),
        }

        impl QueueConfig {
            /// Every kind with its other names.
            fn names() -> Vec<bloatlab_params::Names> {
                vec![
                    $((stringify!($module), <$module::Params as registry::Algorithm>::ALIASES),)+
                    ("python", &[]),
                ]
            }

            /// The name in a scenario.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => stringify!($module),)+
                    Self::Python(_) => "python",
                }
            }

            /// Says whether the parameters make sense; the message starts with the parameter's name.
            pub fn validate(&self) -> Result<(), String> {
                match self {
                    $(Self::$variant(params) => {
                        bloatlab_params::check_ranges(params, self.description())?;
                        registry::Algorithm::check(params)
                    })+
                    Self::Python(params) => params.check(),
                }
            }

            /// The queue, empty. None for `python`, which only the engine can build. Expects [valid](Self::validate) parameters.
            pub fn build<P: Packet>(&self, context: Context) -> Option<Box<dyn Qdisc<P>>> {
                match self {
                    $(Self::$variant(params) => Some(registry::Algorithm::build(params, context)),)+
                    Self::Python(_) => None,
                }
            }

            /// What documentation says of its kind.
            pub fn description(&self) -> &'static bloatlab_params::Description {
                describe_kind(self.kind())
            }

            /// How tc writes it, if Linux has it.
            pub fn tc(&self) -> &'static [Tc] {
                match self {
                    $(Self::$variant(_) => <$module::Params as registry::Algorithm>::TC,)+
                    Self::Python(_) => &[],
                }
            }

            /// Every kind as tc sees it.
            fn tc_kinds() -> &'static [tc::Kind] {
                static ALL: std::sync::OnceLock<Vec<tc::Kind>> = std::sync::OnceLock::new();
                ALL.get_or_init(|| vec![$(tc::Kind {
                    kind: stringify!($module),
                    tc: <$module::Params as registry::Algorithm>::TC,
                    nearest: <$module::Params as registry::Algorithm>::NEAREST_IN_LINUX,
                    defaults: serde_json::json!($module::Params::default()),
                }),+])
            }

            /// The tc commands that set it up on a network device, one for each qdisc and class; with `all`, tc's defaults are written
            /// too. The complaint names what Linux lacks.
            pub fn to_tc(&self, device: &str, all: bool) -> Result<Vec<String>, String> {
                match serde_json::json!(self) {
                    serde_json::Value::Object(table) => tc::print(&table, Self::tc_kinds(), device, all),
                    _ => Err("is no table".to_owned()),
                }
            }

            /// Every algorithm of the registry with its defaults; not `python`, which has none.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$variant($module::Params::default())),+]
            }
        }

        /// Every kind of queue and its parameters, from the schema and the doc comments of the `Params`.
        pub fn describe() -> &'static [bloatlab_params::Description] {
            // Read from the schemas once: every queue that is read or checked asks.
            static ALL: std::sync::OnceLock<Vec<bloatlab_params::Description>> = std::sync::OnceLock::new();
            ALL.get_or_init(|| vec![
                $(bloatlab_params::description::<$module::Params>(
                    (stringify!($module), <$module::Params as registry::Algorithm>::ALIASES),
                    <$module::Params as registry::Algorithm>::SOURCE,
                ),)+
                bloatlab_params::description::<registry::PythonParams>(("python", &[]), registry::PythonParams::SOURCE),
            ])
        }

        /// The description of a kind of the registry.
        fn describe_kind(kind: &str) -> &'static bloatlab_params::Description {
            let known = describe();
            known.iter().find(|description| description.kind == kind).unwrap_or(&known[0])
        }

        impl serde::Serialize for QueueConfig {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let kind = self.kind();
                match self {
                    $(Self::$variant(params) => registry::Tagged { kind, params }.serialize(serializer),)+
                    Self::Python(params) => registry::Tagged { kind, params }.serialize(serializer),
                }
            }
        }

        impl QueueConfig {
            fn read(value: serde_json::Value) -> Result<Self, String> {
                registry::check_depth(&value)?;
                let queue = Self::read_one(value)?;
                // With its defaults filled in it may hold one more than was written, and must be read again.
                registry::check_depth(&serde_json::json!(queue)).map(|()| queue)
            }

            fn read_one(value: serde_json::Value) -> Result<Self, String> {
                let (kind, params) = registry::split(value, &Self::names(), Self::tc_kinds())?;
                let description = describe_kind(kind);
                $(if kind == stringify!($module) {
                    return bloatlab_params::read(description, params).map(Self::$variant);
                })+
                bloatlab_params::read(description, params).map(Self::Python)
            }
        }

        impl<'de> serde::Deserialize<'de> for QueueConfig {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = serde_json::Value::deserialize(deserializer)?;
                // The complaint may quote what the user wrote, whatever is in it.
                let shown = |why: String| bloatlab_units::shown(&why, bloatlab_params::LONGEST_MESSAGE);
                Self::read(value).map_err(|why| serde::de::Error::custom(shown(why)))
            }
        }

        impl schemars::JsonSchema for QueueConfig {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                bloatlab_params::QUEUE.into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let names = Self::names();
                let known: Vec<&str> =
                    names.iter().flat_map(|(kind, aliases)| std::iter::once(kind).chain(*aliases).copied()).collect();
                let mut names = names.into_iter();
                let mut name = || names.next().unwrap_or(("", &[]));
                schemars::json_schema!({
                    "description": "a queue discipline: its name, tc's words for it, or a table of its kind and parameters",
                    "anyOf": [
                        { "type": "string", "enum": known },
                        {
                            "type": "string",
                            "description": "as the tc command writes it, such as fq_codel limit 5000 target 10ms",
                            "pattern": r"^\s*\S+[\s;]+\S",
                        },
                        $(registry::table_schema::<$module::Params>(generator, name()),)+
                        registry::table_schema::<registry::PythonParams>(generator, name()),
                    ],
                })
            }
        }
    };
}
