//! Packets at a constant rate.

use bloatlab_units::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::messages::{Common, Messages, Transport, default_packet};

/// Packets of one size at equal intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Rate of the payload.
    #[serde(alias = "DataRate")]
    pub rate: Rate,
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
}
