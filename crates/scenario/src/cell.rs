//! A 5G cell as the network of a document: servers, a wire, a UPF, a base station and UEs.

use bloatlab_aqm::QueueConfig;
use bloatlab_radio::OrInfinite;
use bloatlab_radio::cell::BearerParams;
use bloatlab_radio::cell::params::CellParams;
use bloatlab_radio::cell::prioritisation::{LOWEST, LogicalChannel};
use bloatlab_radio::pdcp::PdcpParams;
use bloatlab_radio::rlc::RlcParams;
use bloatlab_radio::sizing::{Sizing, l4span, upf_pacer};
use bloatlab_units::{Bytes, Duration, MILLISECOND, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::default_queue::{default_queue, infinite};

/// Servers, a wire, the user plane function (UPF), the backhaul, and a 5G cell with its UEs. A flow names its UE. Its data goes down to the UE, or up
/// with `direction = "reverse"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CellNetwork {
    /// The wire between the servers and the UPF.
    pub wire: Wire,
    /// The link between the UPF and the base station. Its queue is in the UPF.
    pub backhaul: Backhaul,
    /// The cell itself.
    pub radio: CellParams,
    /// Queue discipline of each bearer at the base station, in the RLC.
    pub queue: QueueConfig,
    /// Size of a bearer's RLC buffer at the base station. It includes PDCP headers and partly sent packets. Packets that do not fit are dropped.
    pub buffer: Bytes,
    /// Queue discipline of each bearer at the UEs.
    pub uplink_queue: QueueConfig,
    /// Size of a bearer's RLC buffer at the UEs.
    pub uplink_buffer: Bytes,
    /// A queue per bearer in SDAP, between the backhaul and the RLC; absent: packets enter the RLC at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sdap: Option<Sdap>,
    /// Marking of packets that enter the RLC, by its backlog and egress rate (L4Span); absent: no marking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marking: Option<l4span::Params>,
    /// Data radio bearers of every UE, at most 29. The first is the default bearer, for QoS flows that no bearer names. Absent: one unnamed bearer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 29))]
    pub bearers: Vec<Bearer>,
}

/// A data radio bearer that every UE has, in both directions. Absent keys have the values of the cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bearer {
    /// Name. Its boxes are called `ue_1_NAME`, `ue_1_NAME_up`, ... and `sdap_1_NAME`.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// Identifiers of its QoS flows, 0 to 63 each. The first bearer also carries all QoS flows that no bearer names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub qfi: Vec<u32>,
    /// Priority of its logical channel: 1 is served first, 16 last.
    #[serde(default = "lowest")]
    #[schemars(range(min = 1, max = 16))]
    pub priority: u8,
    /// Rate that it gets before lower priorities get any: up to 524.288 Mbit/s, or `infinite`.
    #[serde(default = "no_rate")]
    pub prioritised_bit_rate: OrInfinite<Rate>,
    /// Time over which unused rate accumulates, 5 ms to 1 s.
    #[serde(default = "bucket")]
    #[schemars(extend("x-minimum" = "5ms", "x-maximum" = "1s"))]
    pub bucket_size_duration: Duration,
    /// Radio link control instead of `radio.rlc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rlc: Option<RlcParams>,
    /// Packet data convergence instead of `radio.pdcp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pdcp: Option<PdcpParams>,
    /// Queue discipline instead of the cell's `queue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueConfig>,
    /// Buffer size instead of the cell's `buffer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
    /// Queue discipline instead of the cell's `uplink_queue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink_queue: Option<QueueConfig>,
    /// Buffer size instead of the cell's `uplink_buffer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink_buffer: Option<Bytes>,
    /// A queue in SDAP with its sizing instead of the cell's `sdap`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sdap: Option<Sdap>,
    /// Marking instead of the cell's `marking`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marking: Option<l4span::Params>,
}

fn lowest() -> u8 {
    LOWEST
}

fn no_rate() -> OrInfinite<Rate> {
    LogicalChannel::default().prioritised_bit_rate
}

fn bucket() -> Duration {
    LogicalChannel::default().bucket_size_duration
}

impl Bearer {
    /// Its logical channel.
    pub(crate) fn channel(&self) -> LogicalChannel {
        LogicalChannel {
            priority: self.priority,
            prioritised_bit_rate: self.prioritised_bit_rate,
            bucket_size_duration: self.bucket_size_duration,
        }
    }
}

/// A bearer with the values that it inherits from the cell.
pub(crate) struct SettledBearer<'a> {
    /// The part of the names of its boxes that follows the number of the UE.
    pub suffix: String,
    pub radio: BearerParams,
    /// Downlink and uplink.
    pub queues: [(&'a QueueConfig, Bytes); 2],
    pub sdap: Option<&'a Sdap>,
    pub marking: Option<&'a l4span::Params>,
}

impl CellNetwork {
    /// The bearers of a UE, with what they inherit.
    pub(crate) fn settled_bearers(&self) -> Vec<SettledBearer<'_>> {
        let queues = [
            (&self.queue, self.buffer),
            (&self.uplink_queue, self.uplink_buffer),
        ];
        let cell = || SettledBearer {
            suffix: String::new(),
            radio: self.radio.bearer(),
            queues,
            sdap: self.sdap.as_ref(),
            marking: self.marking.as_ref(),
        };
        if self.bearers.is_empty() {
            return vec![cell()];
        }
        let own = |bearer: &'_ Bearer| {
            let inherited = cell().radio;
            BearerParams {
                channel: bearer.channel(),
                rlc: bearer.rlc.clone().unwrap_or(inherited.rlc),
                pdcp: bearer.pdcp.clone().unwrap_or(inherited.pdcp),
            }
        };
        let [down, up] = queues;
        let settled = self.bearers.iter().map(|bearer| SettledBearer {
            suffix: format!("_{}", bearer.name),
            radio: own(bearer),
            queues: [
                (
                    bearer.queue.as_ref().unwrap_or(down.0),
                    bearer.buffer.unwrap_or(down.1),
                ),
                (
                    bearer.uplink_queue.as_ref().unwrap_or(up.0),
                    bearer.uplink_buffer.unwrap_or(up.1),
                ),
            ],
            sdap: bearer.sdap.as_ref().or(self.sdap.as_ref()),
            marking: bearer.marking.as_ref().or(self.marking.as_ref()),
        });
        settled.collect()
    }

    /// The index of the bearer of a QoS flow: the default one if no bearer names the flow (TS 37.324 section 5.2.1).
    pub(crate) fn bearer_of(&self, qfi: Option<u32>) -> usize {
        let names = |bearer: &Bearer| qfi.is_some_and(|qfi| bearer.qfi.contains(&qfi));
        self.bearers.iter().position(names).unwrap_or(0)
    }
}

/// A queue in SDAP. Packets wait there, so that the queue of the RLC stays short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sdap {
    /// Its queue discipline.
    #[serde(default = "infinite")]
    pub queue: QueueConfig,
    /// The algorithm that decides when a packet enters the RLC.
    pub sizing: Sizing,
}

/// The wire between the servers and the UPF.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wire {
    /// Rate in each direction.
    pub rate: Rate,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// Bytes per packet that the link layer adds on the wire.
    #[schemars(range(min = 0, max = 65_535))]
    pub overhead: u32,
}

/// The link between the UPF and the base station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Backhaul {
    /// Rate in each direction. An AQM at the UPF has an effect only if this is below the rate of the cell.
    pub rate: Rate,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// Bytes per packet that the tunnel and the link layer add on the wire.
    #[schemars(range(min = 0, max = 65_535))]
    pub overhead: u32,
    /// Queue discipline of the UPF, for the downlink.
    pub queue: QueueConfig,
    /// Holds packets in the UPF, in a queue per UE, while the queue in SDAP is full (needs `sdap`); absent: packets leave at the backhaul's rate.
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
            bearers: Vec::new(),
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
