//! ECN feedback: what a user asks for, what a congestion control needs, and what the two ends agree on.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// ECN feedback of a connection, written `false`, `true`, `"dctcp"` or `"accecn"`. Each of these carries more information than the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum EcnFeedback {
    /// No ECN.
    #[default]
    Off,
    /// RFC 3168: the receiver echoes from the first mark until the sender has reduced its window.
    Classic,
    /// RFC 8257 section 3.2: the receiver echoes the marks exactly.
    Dctcp,
    /// AccECN (RFC 9768): counters of marked packets and bytes.
    Accurate,
}

impl EcnFeedback {
    /// Returns what is negotiated when the user asked for `self` and the congestion control needs `needed`. As in Linux, a feedback that the user
    /// names is kept; `false` and `true` yield to what the congestion control needs.
    pub fn or_needed(self, needed: Self) -> Self {
        match self {
            Self::Off | Self::Classic => self.max(needed),
            Self::Dctcp | Self::Accurate => self,
        }
    }
}

impl Serialize for EcnFeedback {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::Classic => serializer.serialize_bool(true),
            Self::Dctcp => serializer.serialize_str("dctcp"),
            Self::Accurate => serializer.serialize_str("accecn"),
        }
    }
}

impl<'de> Deserialize<'de> for EcnFeedback {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match (value.as_bool(), value.as_str()) {
            (Some(false), _) => Ok(Self::Off),
            (Some(true), _) => Ok(Self::Classic),
            (_, Some("dctcp")) => Ok(Self::Dctcp),
            (_, Some("accecn")) => Ok(Self::Accurate),
            _ => Err(serde::de::Error::custom(format!(
                "{value} is not an ECN feedback (allowed: false, true, \"dctcp\", \"accecn\")"
            ))),
        }
    }
}

impl JsonSchema for EcnFeedback {
    fn schema_name() -> Cow<'static, str> {
        "EcnFeedback".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "boolean" }, { "type": "string", "enum": ["dctcp", "accecn"] }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_and_words_are_read_and_written() {
        for (text, feedback) in [
            ("false", EcnFeedback::Off),
            ("true", EcnFeedback::Classic),
            ("\"dctcp\"", EcnFeedback::Dctcp),
            ("\"accecn\"", EcnFeedback::Accurate),
        ] {
            assert_eq!(serde_json::from_str::<EcnFeedback>(text).unwrap(), feedback);
            assert_eq!(serde_json::to_string(&feedback).unwrap(), text);
        }
        for text in ["\"yes\"", "1", "null", "\"true\""] {
            let error = serde_json::from_str::<EcnFeedback>(text).unwrap_err();
            assert!(
                error.to_string().contains("is not an ECN feedback"),
                "{error}"
            );
        }
    }

    #[test]
    fn an_algorithm_gets_what_it_needs_unless_the_user_named_another() {
        use EcnFeedback::{Accurate, Classic, Dctcp, Off};
        assert_eq!(Off.or_needed(Off), Off);
        assert_eq!(Off.or_needed(Dctcp), Dctcp);
        assert_eq!(Classic.or_needed(Off), Classic);
        assert_eq!(Classic.or_needed(Accurate), Accurate);
        assert_eq!(Accurate.or_needed(Dctcp), Accurate);
        assert_eq!(Dctcp.or_needed(Accurate), Dctcp);
    }
}
