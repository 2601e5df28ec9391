//! Quantities that may also be infinite in a configuration.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use bloatlab_units::{Duration, ParseError, Rate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A quantity that may be infinite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrInfinite<Q> {
    /// Infinite.
    Infinite,
    /// This finite quantity.
    Finite(Q),
}

/// A quantity that may be infinite, with its description in the schema.
pub trait Quantity: Copy + fmt::Display + FromStr<Err = ParseError> {
    /// Name of the type.
    const NAME: &'static str;
    /// Description of the type.
    const DESCRIPTION: &'static str;
    /// Pattern of the values.
    const PATTERN: &'static str;
}

impl Quantity for Duration {
    const NAME: &'static str = "Timer";
    const DESCRIPTION: &'static str = "a duration with its unit, such as 100ms, or infinite";
    const PATTERN: &'static str = r"^\s*(infinite|[0-9.]+\s*(ns|us|µs|ms|s|min|h))\s*$";
}

impl Quantity for Rate {
    const NAME: &'static str = "PrioritisedBitRate";
    const DESCRIPTION: &'static str = "a rate with its unit, such as 64kbit/s, or infinite";
    const PATTERN: &'static str = r"^\s*(infinite|[0-9.]+\s*[kKMGT]?(bit/s|bps|bit|Bps|B/s))\s*$";
}

impl<Q: Quantity> fmt::Display for OrInfinite<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Infinite => f.write_str("infinite"),
            Self::Finite(quantity) => quantity.fmt(f),
        }
    }
}

impl<Q: Quantity> Serialize for OrInfinite<Q> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<Q: Quantity> FromStr for OrInfinite<Q> {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "infinite" {
            return Ok(Self::Infinite);
        }
        let quantity = text.parse().map(Self::Finite);
        quantity.map_err(|error: ParseError| format!("{error} (or `infinite`)"))
    }
}

impl<'de, Q: Quantity> Deserialize<'de> for OrInfinite<Q> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl<Q: Quantity> JsonSchema for OrInfinite<Q> {
    fn schema_name() -> Cow<'static, str> {
        Q::NAME.into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": Q::DESCRIPTION,
            "pattern": Q::PATTERN,
        })
    }
}
