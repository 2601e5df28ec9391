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

/// One experiment: a network (exactly one of `dumbbell`, `parking_lot`, `cell`, `boxes`), the flows that cross it, and how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the scenario.
    #[serde(default = "scenario_name")]
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// Length of the run, at most 24 h.
    pub duration: Duration,
    /// Time between two samples of a series.
    #[serde(default = "sample_interval")]
    pub sample_interval: Duration,
    /// Metrics count from here on; below `duration`.
    #[serde(default)]
    pub warmup: Duration,
    /// One bottleneck that every flow crosses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dumbbell: Option<Dumbbell>,
    /// Bottlenecks in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parking_lot: Option<ParkingLot>,
    /// A 5G cell behind a wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellNetwork>,
    /// Any network: boxes by name, which the flows list as their paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boxes: Vec<BoxSpec>,
    /// The flows; at most 100,000 when every `count` is expanded.
    #[schemars(length(min = 1))]
    pub flows: Vec<Flow>,
    /// What changes while it runs, in the order of time. Where there is a timeline, even without entries, a dumbbell can lose packets both ways.
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
    /// Propagation both ways.
    pub rtt: Duration,
    /// Share of that propagation that is on the way there, from 0 to 1; the rest is on the way back.
    #[serde(default = "half", skip_serializing_if = "is_half")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub forward_share: f64,
    /// What of the rate, the RTT and the loss changes over time, and how.
    #[serde(default, skip_serializing_if = "DumbbellVary::is_empty")]
    pub vary: DumbbellVary,
    /// Queue discipline of the bottleneck.
    #[serde(default = "default_queue")]
    pub queue: QueueConfig,
    /// Probability that a packet is lost behind the bottleneck; below 1.
    #[serde(default)]
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub loss: f64,
    /// How these losses are spaced.
    #[serde(default, skip_serializing_if = "LossSpacing::is_default")]
    pub loss_spacing: LossSpacing,
    /// What the way there does to packets behind the bottleneck besides.
    #[serde(default, skip_serializing_if = "Impairments::is_empty")]
    pub impair: Impairments,
    /// Rate of the way back; absent: it is a pure delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_rate: Option<Rate>,
    /// Queue discipline of the way back, if it has a rate.
    #[serde(default = "default_queue")]
    pub reverse_queue: QueueConfig,
    /// Probability that a packet is lost on the way back; below 1.
    #[serde(default)]
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub reverse_loss: f64,
    /// What the way back does to packets besides.
    #[serde(default, skip_serializing_if = "Impairments::is_empty")]
    pub reverse_impair: Impairments,
    /// Rate of a private link between each flow's sender and the shared network; absent: hosts are infinitely fast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_rate: Option<Rate>,
    /// Packets that the bottleneck's device holds behind the queue discipline besides the one being sent.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub device_packets: u32,
    /// Bytes per packet that the link layer adds on the wire, on every link of the dumbbell.
    #[serde(default)]
    #[schemars(range(min = 0, max = 65_535))]
    pub overhead: u32,
    /// Bytes of link-layer header that the queue counts and the wire carries (Ethernet: 14); `overhead` comes on top.
    #[serde(default)]
    #[schemars(range(min = 0, max = 255))]
    pub header: u32,
}

/// What of a dumbbell changes over time. The constant value beside it is what queues are told, and what holds until the first change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DumbbellVary {
    /// The rate of the bottleneck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateVariation>,
    /// The rate of the way back, which must have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_rate: Option<RateVariation>,
    /// The propagation both ways; all flows must have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<DelayVariation>,
    /// The probability that a packet is lost behind the bottleneck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Variation<Probability>>,
}

impl DumbbellVary {
    /// Whether nothing changes.
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
    /// Propagation over one hop, one way.
    pub hop_delay: Duration,
    /// Queue discipline of each bottleneck.
    #[serde(default = "default_queue")]
    pub queue: QueueConfig,
    /// Rate of each hop on the way back (`reverse_1`, ...); absent: the way back is a pure delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse_rate: Option<Rate>,
    /// Packets that a hop's device holds behind the queue discipline besides the one being sent.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub device_packets: u32,
    /// Bytes per packet that the link layer adds on the wire, on every link.
    #[serde(default)]
    #[schemars(range(min = 0, max = 65_535))]
    pub overhead: u32,
    /// Bytes of link-layer header that the queue counts and the wire carries (Ethernet: 14); `overhead` comes on top.
    #[serde(default)]
    #[schemars(range(min = 0, max = 255))]
    pub header: u32,
}

impl Dumbbell {
    /// A dumbbell with this rate and two-way propagation, and defaults elsewhere.
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
            device_packets: 0,
            overhead: 0,
            header: 0,
        }
    }
}

impl Scenario {
    /// Every rate that changes over time, with its path in the document.
    pub(crate) fn rate_variations(&mut self) -> impl Iterator<Item = (String, &mut RateVariation)> {
        let dumbbell = self.dumbbell.iter_mut().flat_map(|d| {
            let there = ("dumbbell.vary.rate".to_owned(), &mut d.vary.rate);
            let back = (
                "dumbbell.vary.reverse_rate".to_owned(),
                &mut d.vary.reverse_rate,
            );
            [there, back]
        });
        let boxes = self.boxes.iter_mut().enumerate();
        let boxes = boxes.filter_map(|(place, spec)| match spec {
            BoxSpec::Link(link) => Some((format!("boxes[{place}].vary.rate"), &mut link.vary.rate)),
            _ => None,
        });
        let every = dumbbell.chain(boxes);
        every.filter_map(|(path, rate)| rate.as_mut().map(|rate| (path, rate)))
    }

    /// A scenario on a dumbbell, with defaults elsewhere.
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
