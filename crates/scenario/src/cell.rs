//! A 5G cell as the document's network: hosts behind a wire and a UPF, a base station, UEs.

use bloatlab_aqm::QueueConfig;
use bloatlab_radio::cell::params::CellParams;
use bloatlab_radio::sizing::{Sizing, l4span, upf_pacer};
use bloatlab_units::{Bytes, Duration, MILLISECOND, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{default_queue, infinite};

/// Servers behind a wire, the user plane function (UPF), the backhaul, and a 5G cell with its UEs. Flows name their UE; their data goes down to it, or up
/// with `direction = "reverse"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CellNetwork {
    /// Between the servers and the UPF.
    pub wire: Wire,
    /// Between the UPF and the base station; its queue is the UPF's.
    pub backhaul: Backhaul,
    /// The cell itself.
    pub radio: CellParams,
    /// Queue discipline of every UE's bearer at the base station, in front of the RLC's transmitter.
    pub queue: QueueConfig,
    /// Bytes that a bearer's RLC holds at the base station, headers of PDCP among them and what is sent in part; what arrives beyond it is dropped.
    pub buffer: Bytes,
    /// Queue discipline of the UEs.
    pub uplink_queue: QueueConfig,
    /// The same as `buffer`, of the UEs.
    pub uplink_buffer: Bytes,
    /// Between the backhaul and the RLC: a queue of each UE in SDAP, and what decides when packets leave it; absent: they go to the RLC at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sdap: Option<Sdap>,
    /// Marking of packets as they enter the RLC, by its queue and egress rate (L4Span); absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marking: Option<l4span::Params>,
}

/// A queue in SDAP, where packets wait while the RLC is kept short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sdap {
    /// Its queue discipline.
    #[serde(default = "infinite")]
    pub queue: QueueConfig,
    /// When a packet goes on into the RLC.
    pub sizing: Sizing,
}

/// The wire between the servers and the UPF.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wire {
    /// Rate, each way.
    pub rate: Rate,
    /// Propagation, one way.
    pub delay: Duration,
    /// Bytes per packet that the link layer adds on the wire.
    #[schemars(range(min = 0, max = 65_535))]
    pub overhead: u32,
}

/// What lies between the UPF and the base station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Backhaul {
    /// Rate, each way; an AQM at the UPF works only if this is below what the cell carries.
    pub rate: Rate,
    /// Propagation, one way.
    pub delay: Duration,
    /// Bytes per packet that the tunnel and the link layer add.
    #[schemars(range(min = 0, max = 65_535))]
    pub overhead: u32,
    /// Queue discipline of the UPF, on the way down.
    pub queue: QueueConfig,
    /// Holds packets back in the UPF, in a queue of each UE, while its SDAP is full (needs `sdap`); absent: they leave at the backhaul's rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacer: Option<upf_pacer::Params>,
}

impl Default for CellNetwork {
    fn default() -> Self {
        Self {
            wire: Wire::default(),
            backhaul: Backhaul::default(),
            radio: CellParams::default(),
            queue: infinite(),
            // OpenAirInterface.
            buffer: Bytes(10_000_000),
            uplink_queue: infinite(),
            uplink_buffer: Bytes(10_000_000),
            sdap: None,
            marking: None,
        }
    }
}

impl Default for Wire {
    fn default() -> Self {
        Self {
            rate: Rate(10_000_000_000),
            delay: Duration(5 * MILLISECOND),
            overhead: 0,
        }
    }
}

impl Default for Backhaul {
    fn default() -> Self {
        Self {
            rate: Rate(100_000_000_000),
            delay: Duration(2 * MILLISECOND),
            overhead: 0,
            queue: default_queue(),
            pacer: None,
        }
    }
}
