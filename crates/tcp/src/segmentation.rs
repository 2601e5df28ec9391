//! The setting of segmentation offload.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Who cuts the buffers of a sender into segments, written `false`, `true` or `"software"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SegmentationOffload {
    /// Nobody: the sender decides on each segment.
    #[default]
    Off,
    /// The device: a buffer is one packet to queues and links (Linux's TSO).
    On,
    /// The host, before its device: the sender decides on buffers, and segments leave (Linux's GSO for a device without TSO).
    Software,
}

impl Serialize for SegmentationOffload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::On => serializer.serialize_bool(true),
            Self::Software => serializer.serialize_str("software"),
        }
    }
}

impl<'de> Deserialize<'de> for SegmentationOffload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match (value.as_bool(), value.as_str()) {
            (Some(false), _) => Ok(Self::Off),
            (Some(true), _) => Ok(Self::On),
            (_, Some("software")) => Ok(Self::Software),
            _ => Err(serde::de::Error::custom(format!(
                "{value} is not a kind of offload (allowed: false, true, \"software\")"
            ))),
        }
    }
}

impl JsonSchema for SegmentationOffload {
    fn schema_name() -> Cow<'static, str> {
        "SegmentationOffload".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "boolean" }, { "type": "string", "enum": ["software"] }],
        })
    }
}
