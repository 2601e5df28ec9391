//! The registry of algorithms: names, parameters, reading of a user's text, and documentation.

use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Context, Packet, Qdisc, Tc, tc};
use bloatlab_params::Names;
use bloatlab_units::{Nanos, Rate, suggestion};

/// Builds a queue from the parameters of an algorithm. Every `Params` implements it.
///
/// The ranges of the schema are checked before [`check`](Factory::check) is called. They are `#[schemars(range(..))]` for numbers and
/// `#[schemars(extend("x-minimum" = "1us"))]` for quantities.
pub trait Factory: Clone + Default + PartialEq + Serialize + DeserializeOwned + JsonSchema {
    /// Other names that a user may write: those of ns-3 and tc.
    const ALIASES: &'static [&'static str] = &[];
    /// The specification of the algorithm.
    const SOURCE: &'static str;
    /// How tc writes it, if Linux has it. The first form is preferred.
    const TC: &'static [Tc] = &[];
    /// The most similar qdisc, if Linux does not have it.
    const NEAREST_IN_LINUX: Option<&'static str> = None;

    /// Checks rules that involve more than the range of one parameter. The message starts with the parameter's name.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Number of packets that one buffer of the limit holds: 1 unless the limit is in buffers.
    fn segments_in_buffer(&self) -> u32 {
        1
    }

    /// The greatest rate at which a shaper lets packets leave; `None` for a queue that is no shaper.
    fn greatest_rate(&self) -> Option<Rate> {
        None
    }

    /// The least time that every packet spends in it, as if it were propagation.
    fn delay(&self) -> Nanos {
        0
    }

    /// Builds a queue with these parameters.
    fn build<P: Packet>(&self, context: Context) -> Box<dyn Qdisc<P>>;
}

/// A queue that the user wrote in Python. The engine loads the class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PythonParams {
    /// Where the class is: `module:Class`. It must be a subclass of `bloatlab.Queue`.
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

/// A queue's configuration in the form in which it is written: the kind and the parameters in one table.
#[derive(Serialize)]
pub(crate) struct Tagged<'a, T> {
    pub kind: &'static str,
    #[serde(flatten)]
    pub params: &'a T,
}

/// Splits what the user wrote (a name, a tc command or a table with a `kind`) into the kind and its parameters.
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
    // `fq-codel` means `fq_codel`.
    let plain = name.replace('-', "_");
    if let Some((kind, _)) = names.iter().find(|(kind, _)| *kind == plain) {
        return Ok((kind, params));
    }
    // For a name that only tc has, such as `bfifo`, tc's parameters are filled in.
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

/// Removes the kind from a table and returns it.
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

/// How deeply queues may be nested, so that no input overflows the stack.
pub(crate) const DEEPEST: usize = 8;

/// The message for queues nested more deeply than [`DEEPEST`].
pub(crate) fn too_deep() -> String {
    format!("queues may be nested at most {DEEPEST} deep")
}

/// Refuses queues nested more deeply than [`DEEPEST`].
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

/// The schema of the table of one algorithm: its kind and its parameters.
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

/// Declares the modules of the algorithms and the configuration type. The name of a module is the kind.
macro_rules! registry {
    ($($variant:ident => $module:ident),+ $(,)?) => {
        $(pub mod $module;)+

        /// A queue discipline and its parameters, as written in a scenario: `"codel"`, `{"kind": "codel", "target": "5ms"}` or as a tc command,
        /// `"codel target 5ms"`.
        #[derive(Clone, Debug, PartialEq)]
        pub enum QueueConfig {
            $(
                #[doc = concat!("Kind `", stringify!($module), "`.")]
                $variant($module::Params),
            )+
            /// Kind `python`: a class that the user wrote.
            Python(registry::PythonParams),
        }

        impl QueueConfig {
            /// Every kind with its aliases.
            fn names() -> Vec<bloatlab_params::Names> {
                vec![
                    $((stringify!($module), <$module::Params as registry::Factory>::ALIASES),)+
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

            /// Checks the parameters. The message starts with the name of the first invalid one.
            pub fn validate(&self) -> Result<(), String> {
                match self {
                    $(Self::$variant(params) => {
                        bloatlab_params::check_ranges(params, self.description())?;
                        registry::Factory::check(params)
                    })+
                    Self::Python(params) => params.check(),
                }
            }

            /// Builds the queue, empty. Returns `None` for `python`, which only the engine can build. The parameters must be [valid](Self::validate).
            pub fn build<P: Packet>(&self, context: Context) -> Option<Box<dyn Qdisc<P>>> {
                match self {
                    $(Self::$variant(params) => Some(registry::Factory::build(params, context)),)+
                    Self::Python(_) => None,
                }
            }

            /// Number of packets that one buffer of the limit holds: 1 unless the limit is in buffers.
            pub fn segments_in_buffer(&self) -> u32 {
                match self {
                    $(Self::$variant(params) => registry::Factory::segments_in_buffer(params),)+
                    Self::Python(_) => 1,
                }
            }

            /// The greatest rate at which a shaper lets packets leave; `None` for a queue that is no shaper.
            pub fn greatest_rate(&self) -> Option<bloatlab_units::Rate> {
                match self {
                    $(Self::$variant(params) => registry::Factory::greatest_rate(params),)+
                    Self::Python(_) => None,
                }
            }

            /// The least time that every packet spends in it, as if it were propagation.
            pub fn delay(&self) -> bloatlab_units::Nanos {
                match self {
                    $(Self::$variant(params) => registry::Factory::delay(params),)+
                    Self::Python(_) => 0,
                }
            }

            /// The documentation of its kind.
            pub fn description(&self) -> &'static bloatlab_params::Description {
                describe_kind(self.kind())
            }

            /// How tc writes it, if Linux has it.
            pub fn tc(&self) -> &'static [Tc] {
                match self {
                    $(Self::$variant(_) => <$module::Params as registry::Factory>::TC,)+
                    Self::Python(_) => &[],
                }
            }

            /// Every kind, as needed to read and write tc commands.
            fn tc_kinds() -> &'static [tc::Kind] {
                static ALL: std::sync::OnceLock<Vec<tc::Kind>> = std::sync::OnceLock::new();
                ALL.get_or_init(|| vec![$(tc::Kind {
                    kind: stringify!($module),
                    tc: <$module::Params as registry::Factory>::TC,
                    nearest: <$module::Params as registry::Factory>::NEAREST_IN_LINUX,
                    defaults: serde_json::json!($module::Params::default()),
                }),+])
            }

            /// The tc commands that set it up on a network device, one per qdisc and class. With `all`, tc's defaults are written, too. The error
            /// names what Linux lacks.
            pub fn to_tc(&self, device: &str, all: bool) -> Result<Vec<String>, String> {
                match serde_json::json!(self) {
                    serde_json::Value::Object(table) => tc::print(&table, Self::tc_kinds(), device, all),
                    _ => Err("is no table".to_owned()),
                }
            }

            /// Every algorithm of the registry with its defaults. `python` is not included.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$variant($module::Params::default())),+]
            }
        }

        /// Every kind of queue and its parameters, from the schemas and doc comments of the `Params`.
        pub fn describe() -> &'static [bloatlab_params::Description] {
            // Built once from the schemas, because every queue that is read or checked needs it.
            static ALL: std::sync::OnceLock<Vec<bloatlab_params::Description>> = std::sync::OnceLock::new();
            ALL.get_or_init(|| vec![
                $(bloatlab_params::description::<$module::Params>(
                    (stringify!($module), <$module::Params as registry::Factory>::ALIASES),
                    <$module::Params as registry::Factory>::SOURCE,
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
                // The defaults may add a level of nesting, and the result must be readable again.
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
                // The message may quote the user's text, which may contain anything.
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
