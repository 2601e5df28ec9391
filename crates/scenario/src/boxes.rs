//! The boxes of a network that a document gives box by box.

use bloatlab_aqm::QueueConfig;
use bloatlab_link::{DelayVariation, ImpairmentConfig, RateVariation, jitter};
use bloatlab_units::{Duration, Rate};
use schemars::{JsonSchema, Schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::default_queue::default_queue;

/// How values of a link vary over time. The constant value of the link holds until the first change, and queues are configured with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkVary {
    /// The rate of the transmitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateVariation>,
    /// The propagation delay, one way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<DelayVariation>,
}

impl LinkVary {
    /// Whether nothing varies.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether a link is a network device of the hosts whose paths begin with it, and what their TCP then knows of its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostLink {
    /// It is a router's.
    #[default]
    None,
    /// A device. TCP keeps little in its queue (`tcp.small_queues`). It learns of a full queue at once, as in Linux: the segment stays unsent, and the
    /// sender reduces its window without a retransmission.
    Device,
    /// A device whose queue also delays packets (Linux's netem). TCP learns of a full queue, but what waits there does not count, so
    /// `tcp.small_queues` has no effect.
    Netem,
}

impl HostLink {
    /// Whether the link is a router's.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// A queue, the transmitter behind it and the propagation after that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkBox {
    /// Unique name.
    pub name: String,
    /// Rate of the transmitter.
    #[serde(alias = "bandwidth", alias = "DataRate")]
    pub rate: Rate,
    /// Propagation delay, one way.
    #[serde(default)]
    pub delay: Duration,
    /// How the rate and the delay vary over time.
    #[serde(default, skip_serializing_if = "LinkVary::is_empty")]
    pub vary: Box<LinkVary>,
    /// The queue discipline.
    #[serde(default = "default_queue")]
    pub queue: QueueConfig,
    /// Whether the rate is that of a shaper on a faster line, as HTB is in Linux: a packet arrives at the other end without its time on the wire, and an
    /// offload buffer leaves whole. A shaper has no device, so `device_packets` must be 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shaper: bool,
    /// Packets that the device holds behind the queue discipline, in addition to the one being sent.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub device_packets: u32,
    /// Bytes per packet that the link layer adds on the wire.
    #[serde(default)]
    #[schemars(range(min = 0, max = 65_535))]
    pub overhead: u32,
    /// Bytes of link-layer header that the queue counts and the wire carries (Ethernet: 14). `overhead` is added to this.
    #[serde(default)]
    #[schemars(range(min = 0, max = 255))]
    pub header: u32,
    /// Whether the link is a network device of the hosts whose paths begin with it. If so, it must be the first box of every path that contains it.
    #[serde(default, skip_serializing_if = "HostLink::is_none")]
    pub host: HostLink,
}

/// Delays every packet by the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayBox {
    /// Unique name.
    pub name: String,
    /// The delay.
    pub delay: Duration,
    /// How the delay varies over time. Packets keep their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vary: Option<DelayVariation>,
    /// How the delay differs from packet to packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<jitter::Params>,
}

/// One box of a network given box by box.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schemars(transform = list_kinds)]
pub enum BoxSpec {
    /// A queue, the transmitter behind it and the propagation after that.
    Link(LinkBox),
    /// Delays every packet by the same time.
    Delay(DelayBox),
    /// Drops, damages or duplicates packets.
    #[serde(untagged)]
    Impairment(ImpairmentConfig),
}

/// The boxes that hold packets, for reading.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Holding {
    Link(LinkBox),
    Delay(DelayBox),
}

impl BoxSpec {
    /// The box's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Link(link) => &link.name,
            Self::Delay(delay) => &delay.name,
            Self::Impairment(impairment) => impairment.params().name(),
        }
    }

    fn read(table: Value) -> serde_json::Result<Self> {
        const HOLDING: [&str; 2] = ["link", "delay"];
        let kinds = ImpairmentConfig::KINDS;
        match table.get("kind").and_then(Value::as_str) {
            Some(kind) if kinds.contains(&kind) => {
                ImpairmentConfig::deserialize(table).map(Self::Impairment)
            }
            Some(kind) if !HOLDING.contains(&kind) => {
                let known: Vec<String> = HOLDING
                    .iter()
                    .chain(kinds)
                    .map(|known| format!("`{known}`"))
                    .collect();
                let known = known.join(", ");
                Err(Error::custom(format!(
                    "unknown variant `{kind}`, expected one of {known}"
                )))
            }
            _ => Holding::deserialize(table).map(|holding| match holding {
                Holding::Link(link) => Self::Link(link),
                Holding::Delay(delay) => Self::Delay(delay),
            }),
        }
    }
}

impl<'de> Deserialize<'de> for BoxSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(Value::deserialize(deserializer)?).map_err(Error::custom)
    }
}

/// Puts the impairments into the list of the other kinds, because a table has exactly one kind.
fn list_kinds(schema: &mut Schema) {
    let Some(Value::Array(boxes)) = schema.remove("anyOf") else {
        return;
    };
    let kinds = boxes
        .into_iter()
        .flat_map(|mut one| match one.get_mut("oneOf").map(Value::take) {
            Some(Value::Array(impairments)) => impairments,
            _ => vec![one],
        });
    schema.insert("oneOf".to_owned(), kinds.collect());
}
