//! A 5G cell as the document's network: hosts behind a wire and a UPF, a base station, UEs.

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
    /// Data radio bearers of every UE, at most 29; the first is the default one, for QoS flows that no bearer names. Absent: one bearer, unnamed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 29))]
    pub bearers: Vec<Bearer>,
}

/// A data radio bearer that every UE has, in both directions. What is not set is the cell's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bearer {
    /// Name: its boxes are `ue_1_NAME`, `ue_1_NAME_up`, ... and `sdap_1_NAME`.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// Identifiers of the QoS flows that it carries, 0 to 63 each; the first bearer carries all that no other names too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub qfi: Vec<u32>,
    /// Priority of its logical channel: 1 is served first, 16 last.
    #[serde(default = "lowest")]
    #[schemars(range(min = 1, max = 16))]
    pub priority: u8,
    /// What it gets of a UE's blocks before lower priorities get anything: up to 524.288 Mbit/s, or `infinite`.
    #[serde(default = "no_rate")]
    pub prioritised_bit_rate: OrInfinite<Rate>,
    /// How long that may be saved up, 5 ms to 1 s.
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
    /// Bytes instead of the cell's `buffer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
    /// Queue discipline instead of the cell's `uplink_queue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink_queue: Option<QueueConfig>,
    /// Bytes instead of the cell's `uplink_buffer`.
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
    /// How it stands among the UE's bearers.
    pub(crate) fn channel(&self) -> LogicalChannel {
        LogicalChannel {
            priority: self.priority,
            prioritised_bit_rate: self.prioritised_bit_rate,
            bucket_size_duration: self.bucket_size_duration,
        }
    }
}

/// A bearer with nothing left open.
pub(crate) struct SettledBearer<'a> {
    /// What its boxes' names have after the UE's number.
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

    /// The place among a UE's bearers of the one that a QoS flow is mapped to: the default one, if none names it (TS 37.324 section 5.2.1).
    pub(crate) fn bearer_of(&self, qfi: Option<u32>) -> usize {
        let names = |bearer: &Bearer| qfi.is_some_and(|qfi| bearer.qfi.contains(&qfi));
        self.bearers.iter().position(names).unwrap_or(0)
    }
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
