//! The document: the network and the run. Flows are in `flow.rs`.

use bloatlab_aqm::QueueConfig;
use bloatlab_link::impairment::loss::LossSpacing;
use bloatlab_link::{DelayVariation, Probability, RateVariation, Variation};
use bloatlab_units::{Duration, MILLISECOND, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::change::Change;
use crate::default_queue::default_queue;
use crate::{BoxSpec, CellNetwork, Flow, Impairments};

/// One experiment: a network (exactly one of `dumbbell`, `parking_lot`, `cell`, `boxes`), its flows, and the duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the scenario.
    #[serde(default = "scenario_name")]
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// Simulated time of the run, at most 24 h.
    pub duration: Duration,
    /// Time between two samples of a series.
    #[serde(default = "sample_interval")]
    pub sample_interval: Duration,
    /// Metrics are measured from this time on; below `duration`.
    #[serde(default)]
    pub warmup: Duration,
    /// One bottleneck that every flow crosses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dumbbell: Option<Dumbbell>,
    /// Bottlenecks in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parking_lot: Option<ParkingLot>,
    /// A 5G cell, connected to servers by a wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellNetwork>,
    /// Any network: boxes with names. Flows list the names of the boxes on their paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boxes: Vec<BoxSpec>,
    /// The flows; at most 100,000 when every `count` is expanded.
    #[schemars(length(min = 1))]
    pub flows: Vec<Flow>,
    /// Changes during the run, in the order of time. With a timeline, even an empty one, a dumbbell has loss boxes in both directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1000))]
    pub timeline: Option<Vec<Change>>,
}

/// One bottleneck that every flow crosses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dumbbell {
    /// Rate of the bottleneck.
    #[serde(alias = "bandwidth", alias = "DataRate")]
    pub rate: Rate,
    /// Propagation delay of both directions together.
    pub rtt: Duration,
    /// Share of that delay in the forward direction, from 0 to 1. The rest is in the reverse direction.
    #[serde(default = "half", skip_serializing_if = "is_half")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub forward_share: f64,
    /// How the rate, the RTT and the loss vary over time.
    #[serde(default, skip_serializing_if = "DumbbellVary::is_empty")]
    pub vary: DumbbellVary,
    /// Queue discipline of the bottleneck.
    #[serde(default = "default_queue")]
    pub queue: QueueConfig,
    /// Probability that a packet is lost after the bottleneck; below 1.
    #[serde(default)]
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub loss: f64,
    /// How these losses are spaced.
    #[serde(default, skip_serializing_if = "LossSpacing::is_default")]
    pub loss_spacing: LossSpacing,
    /// Further impairments in the forward direction, after the bottleneck.
    #[serde(default, skip_serializing_if = "Impairments::is_empty")]
    pub impair: Impairments,
    /// Rate of a link in the reverse direction; absent: that direction only delays packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_rate: Option<Rate>,
    /// Queue discipline of the reverse direction, if it has a rate.
    #[serde(default = "default_queue")]
    pub reverse_queue: QueueConfig,
    /// Probability that a packet is lost in the reverse direction; below 1.
    #[serde(default)]
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub reverse_loss: f64,
    /// Further impairments in the reverse direction.
    #[serde(default, skip_serializing_if = "Impairments::is_empty")]
    pub reverse_impair: Impairments,
    /// Rate of a private link between the sender of each flow and the bottleneck; absent: hosts send infinitely fast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_rate: Option<Rate>,
    /// Whether the bottleneck's rate is that of a shaper on a faster line, as HTB is in Linux: a packet arrives at the other end without its time on the wire, and an
    /// offload buffer leaves whole. A shaper has no device, so `device_packets` must be 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shaper: bool,
    /// Packets that the bottleneck's device holds behind the queue discipline, in addition to the one being sent.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub device_packets: u32,
    /// Bytes per packet that the link layer adds on the wire, on every link of the dumbbell.
    #[serde(default)]
    #[schemars(range(min = 0, max = 65_535))]
    pub overhead: u32,
    /// Bytes of link-layer header that the queue counts and the wire carries (Ethernet: 14). `overhead` is added to this.
    #[serde(default)]
    #[schemars(range(min = 0, max = 255))]
    pub header: u32,
}

/// How values of a dumbbell vary over time. The constant value of the dumbbell holds until the first change, and queues are configured with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DumbbellVary {
    /// The rate of the bottleneck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateVariation>,
    /// The rate of the reverse direction, which needs `reverse_rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_rate: Option<RateVariation>,
    /// The RTT, which must be the same for all flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<DelayVariation>,
    /// The probability that a packet is lost after the bottleneck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Variation<Probability>>,
}

impl DumbbellVary {
    /// Whether nothing varies.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Bottlenecks in a row: `hop_1`, `hop_2`, and so on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParkingLot {
    /// Number of bottlenecks.
    #[schemars(range(min = 2, max = 64))]
    pub hops: u32,
    /// Rate of each bottleneck.
    #[serde(alias = "bandwidth", alias = "DataRate")]
    pub rate: Rate,
    /// Propagation delay of one hop, one way.
    pub hop_delay: Duration,
    /// Queue discipline of each bottleneck.
    #[serde(default = "default_queue")]
    pub queue: QueueConfig,
    /// Rate of each link in the reverse direction (`reverse_1`, ...); absent: that direction only delays packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_rate: Option<Rate>,
    /// Whether a hop's rate is that of a shaper on a faster line, as HTB is in Linux: a packet arrives at the other end without its time on the wire, and an
    /// offload buffer leaves whole. A shaper has no device, so `device_packets` must be 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shaper: bool,
    /// Packets that a hop's device holds behind the queue discipline, in addition to the one being sent.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub device_packets: u32,
    /// Bytes per packet that the link layer adds on the wire, on every link.
    #[serde(default)]
    #[schemars(range(min = 0, max = 65_535))]
    pub overhead: u32,
    /// Bytes of link-layer header that the queue counts and the wire carries (Ethernet: 14). `overhead` is added to this.
    #[serde(default)]
    #[schemars(range(min = 0, max = 255))]
    pub header: u32,
}

impl Dumbbell {
    /// A dumbbell with this rate and RTT, and defaults for everything else.
    pub fn new(rate: Rate, rtt: Duration) -> Self {
        Self {
            rate,
            rtt,
            forward_share: half(),
            vary: DumbbellVary::default(),
            queue: default_queue(),
            loss: 0.0,
            loss_spacing: LossSpacing::default(),
            impair: Impairments::default(),
            reverse_rate: None,
            reverse_queue: default_queue(),
            reverse_loss: 0.0,
            reverse_impair: Impairments::default(),
            access_rate: None,
            shaper: false,
            device_packets: 0,
            overhead: 0,
            header: 0,
        }
    }
}

impl Scenario {
    /// Every rate that varies over time, with its path in the document.
    pub(crate) fn rate_variations(&mut self) -> impl Iterator<Item = (String, &mut RateVariation)> {
        let dumbbell = self.dumbbell.iter_mut().flat_map(|d| {
            let forward = ("dumbbell.vary.rate".to_owned(), &mut d.vary.rate);
            let reverse = (
                "dumbbell.vary.reverse_rate".to_owned(),
                &mut d.vary.reverse_rate,
            );
            [forward, reverse]
        });
        let boxes = self.boxes.iter_mut().enumerate();
        let boxes = boxes.filter_map(|(place, spec)| match spec {
            BoxSpec::Link(link) => Some((format!("boxes[{place}].vary.rate"), &mut link.vary.rate)),
            _ => None,
        });
        let every = dumbbell.chain(boxes);
        every.filter_map(|(path, rate)| rate.as_mut().map(|rate| (path, rate)))
    }

    /// A scenario on a dumbbell, with defaults for everything else.
    pub fn on_dumbbell(dumbbell: Dumbbell, duration: Duration, flows: Vec<Flow>) -> Self {
        Self {
            name: scenario_name(),
            duration,
            sample_interval: sample_interval(),
            warmup: Duration(0),
            dumbbell: Some(dumbbell),
            parking_lot: None,
            cell: None,
            boxes: Vec::new(),
            flows,
            timeline: None,
        }
    }
}

fn half() -> f64 {
    0.5
}

fn is_half(share: &f64) -> bool {
    *share == half()
}

fn scenario_name() -> String {
    "scenario".to_owned()
}

fn sample_interval() -> Duration {
    Duration(100 * MILLISECOND)
}
