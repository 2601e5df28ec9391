//! A constant rate that is turned on and off.

use bloatlab_units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::load::{Bounds, seconds};
use super::messages::{Common, Messages, Transport, default_packet};
use crate::check::rules::{Check, HOUR, delay, duration};

/// How the lengths of on and off periods are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Exponential with the given means.
    #[default]
    Exponential,
    /// Always the given lengths.
    Constant,
}

/// A constant rate while on, silence while off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Rate of the payload while on.
    #[serde(alias = "DataRate")]
    pub rate: Rate,
    /// (Mean) length of an on period.
    #[serde(alias = "OnTime")]
    pub on: Duration,
    /// (Mean) length of an off period.
    #[serde(alias = "OffTime")]
    pub off: Duration,
    /// How the lengths are drawn.
    #[serde(default)]
    pub distribution: Distribution,
    /// Payload of a packet, or of a write over TCP.
    #[serde(default = "default_packet", alias = "PacketSize")]
    pub packet: Bytes,
    /// What carries it.
    #[serde(default)]
    pub transport: Transport,
}

impl Messages for Params {
    fn common(&self) -> Common {
        Common {
            rate: self.rate,
            packet: self.packet,
            transport: self.transport,
        }
    }

    fn check_own(&self, path: &str) -> Check {
        duration(format!("{path}.on"), self.on, 1_000, HOUR)?;
        delay(format!("{path}.off"), self.off)
    }

    fn more(&self, bounds: &Bounds) -> f64 {
        2.0 * bounds.active / (seconds(self.on.0) + seconds(self.off.0))
    }
}
