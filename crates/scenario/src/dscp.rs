//! Differentiated services code points (RFC 2474) by name or number.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A differentiated services code point, 0 to 63.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dscp(pub u8);

/// RFC 2474 (CS), RFC 2597 (AF), RFC 3246 (EF), RFC 5865 (VA), RFC 8622 (LE).
const NAMES: [(&str, u8); 23] = [
    ("CS0", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, number)| *number == self.0) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl Serialize for Dscp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Dscp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let named = value.as_str().and_then(|text| {
            let known = NAMES
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(text));
            known
                .map(|(_, number)| *number)
                .or_else(|| text.parse().ok())
        });
        let number = value.as_u64().and_then(|number| u8::try_from(number).ok());
        match named.or(number) {
            Some(code) if code < 64 => Ok(Self(code)),
            _ => {
                let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
                Err(serde::de::Error::custom(format!(
                    "{value} is not a code point (allowed: {} or 0 to 63)",
                    names.join(", ")
                )))
            }
        }
    }
}

impl JsonSchema for Dscp {
    fn schema_name() -> Cow<'static, str> {
        "Dscp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"],
            "description": "a differentiated services code point: a name such as EF, or 0 to 63",
            "minimum": 0,
            "maximum": 63,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_read_and_names_written() {
        for (text, code) in [
            ("\"EF\"", 46),
            ("\"ef\"", 46),
            ("\"46\"", 46),
            ("46", 46),
            ("\"63\"", 63),
        ] {
            assert_eq!(serde_json::from_str::<Dscp>(text).unwrap(), Dscp(code));
        }
        assert_eq!(
            (Dscp(46).to_string(), Dscp(5).to_string()),
            ("EF".to_owned(), "5".to_owned())
        );
        for text in ["64", "-1", "\"EE\"", "1.5", "null"] {
            let error = serde_json::from_str::<Dscp>(text).unwrap_err().to_string();
            assert!(
                error.contains("is not a code point (allowed: CS0,"),
                "{error}"
            );
        }
    }
}
