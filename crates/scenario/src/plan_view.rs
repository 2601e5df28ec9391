//! What a plan says, as JSON: for Python and for engines that do not link this crate.

use bloatlab_aqm::QueueConfig;
use bloatlab_cc::CcConfig;
use bloatlab_units::{Bytes, Limit, Nanos};
use serde::Serialize;
use serde_json::Value;

use crate::{
    BoxSpec, CellNetwork, Effect, GateKind, ImpairmentConfig, Limits, Plan, PlanBox, PlanBoxKind,
    PlanFlow, PlanLink, Scenario, ScenarioError, text,
};

/// A compiled scenario. Times are in nanoseconds, rates in bits per second.
#[derive(Clone, Debug, Serialize)]
pub struct PlanView {
    /// Name of the scenario.
    pub name: String,
    /// When the run ends.
    pub duration_ns: Nanos,
    /// Metrics count from here on.
    pub warmup_ns: Nanos,
    /// Time between two samples of a series.
    pub sample_interval_ns: Nanos,
    /// Everything that packets pass through.
    pub boxes: Vec<BoxView>,
    /// Every flow from the start of the run, with `count` expanded.
    pub flows: Vec<FlowView>,
    /// The changes during the run, in the order of time.
    pub timeline: Vec<ChangeView>,
}

/// A box of the network.
#[derive(Clone, Debug, Serialize)]
pub struct BoxView {
    /// Unique among the boxes.
    pub name: String,
    /// What it does.
    #[serde(flatten)]
    pub kind: BoxKindView,
}

/// What a box does to packets. If a value `varies`, the constant value is the initial one.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BoxKindView {
    /// A queue, a transmitter and propagation.
    Link(Box<LinkView>),
    /// Holds packets for a time.
    Delay {
        /// The time.
        delay_ns: Nanos,
        /// Whether the time varies, or differs from packet to packet.
        varies: bool,
    },
    /// Drops, damages or duplicates packets at once.
    Impairment {
        /// The table of the box as in the document, with its kind.
        parameters: ImpairmentConfig,
    },
}

/// A queue, a transmitter and propagation.
#[derive(Clone, Debug, Serialize)]
pub struct LinkView {
    /// Path of the queue in the document, such as `boxes.3.queue`. None for a queue that the document cannot set.
    pub queue_path: Option<String>,
    /// The queue discipline with its parameters, as in the document.
    pub queue: QueueConfig,
    /// The queue's own limit. None if it has no limit, or derives it from the rate.
    pub limit: Option<LimitView>,
    /// The constant rate, or that of a shaper in its queue if it is lower.
    pub rate_bps: u64,
    /// The greatest rate that the link can have. None if only the contents of a file tell it.
    pub greatest_rate_bps: Option<u64>,
    /// Whether the rate varies.
    pub rate_varies: bool,
    /// Propagation, one way.
    pub delay_ns: Nanos,
    /// Whether the propagation varies.
    pub delay_varies: bool,
    /// Bytes of link-layer header that the queue counts.
    pub header: u32,
    /// Bytes per packet that the link layer adds on the wire.
    pub overhead: u32,
    /// Packets that the device holds behind the queue discipline.
    pub device_packets: u32,
    /// For a bearer of a cell: the direction whose symbols it shares with the other bearers, `downlink` or `uplink`.
    pub air: Option<&'static str>,
}

/// The limit of a queue in its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitView {
    /// Packets of any size.
    Packets(u64),
    /// Bytes on the wire.
    Bytes(u64),
    /// Buffers of several packets each.
    Buffers(u64),
}

/// A flow.
#[derive(Clone, Debug, Serialize)]
pub struct FlowView {
    /// Unique among the flows.
    pub name: String,
    /// When it starts, without its random jitter.
    pub start_ns: Nanos,
    /// When its application stops.
    pub stop_ns: Nanos,
    /// Propagation both ways, without variations.
    pub base_rtt_ns: Nanos,
    /// Names of the boxes from the sender of data to its receiver.
    pub forward: Vec<String>,
    /// Names of the boxes from the receiver back to the sender.
    pub reverse: Vec<String>,
    /// Differentiated services code point.
    pub dscp: u8,
    /// Kind of its traffic.
    pub traffic: &'static str,
    /// The congestion control with its parameters, as in the document.
    pub cca: CcConfig,
}

/// What changes at an instant.
#[derive(Clone, Debug, Serialize)]
pub struct ChangeView {
    /// When.
    pub at_ns: Nanos,
    /// What.
    pub effects: Vec<EffectView>,
}

/// One effect of a change. Boxes and flows are named.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EffectView {
    /// A link has another rate.
    Rate {
        /// The link.
        name: String,
        /// Its new rate.
        rate_bps: u64,
    },
    /// A link or delay has another propagation.
    Delay {
        /// The box.
        name: String,
        /// Its new delay, one way.
        delay_ns: Nanos,
    },
    /// A link has another queue discipline, or other parameters of it.
    Queue {
        /// The link.
        name: String,
        /// Its new queue.
        queue: QueueConfig,
        /// The limit of the new queue.
        limit: Option<LimitView>,
    },
    /// A box has another probability.
    Probability {
        /// The box.
        name: String,
        /// The new probability.
        probability: f64,
    },
    /// A flow is added.
    Start {
        /// The flow.
        flow: FlowView,
    },
    /// The application of a flow stops at another instant.
    Stop {
        /// The flow.
        name: String,
        /// The new instant.
        stop_ns: Nanos,
    },
}

/// The view of a plan is not run, so its cost has no limit.
const NO_LIMITS: Limits = Limits {
    memory: Bytes(u64::MAX),
    packets: f64::INFINITY,
    record_packets: false,
};

impl Scenario {
    /// Reads and checks a document written in JSON, and returns its plan. The files that it names are not read, so they need not exist.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn plan_view(text: &str) -> Result<PlanView, ScenarioError> {
        let mut scenario = Self::read(&text::parse(text)?)?;
        let plan = scenario.plan(None, &NO_LIMITS)?;
        Ok(view(&scenario, &plan))
    }
}

fn view(scenario: &Scenario, plan: &Plan) -> PlanView {
    let boxes = plan.boxes.iter().enumerate();
    PlanView {
        name: plan.name.clone(),
        duration_ns: plan.duration,
        warmup_ns: plan.warmup,
        sample_interval_ns: plan.sample_interval,
        boxes: boxes
            .map(|(index, item)| BoxView {
                name: item.name.clone(),
                kind: kind(scenario, index, item),
            })
            .collect(),
        flows: plan.flows.iter().map(|flow| of_flow(plan, flow)).collect(),
        timeline: timeline(plan),
    }
}

fn kind(scenario: &Scenario, index: usize, item: &PlanBox) -> BoxKindView {
    match &item.kind {
        PlanBoxKind::Link(link) => {
            BoxKindView::Link(Box::new(of_link(scenario, index, &item.name, link)))
        }
        PlanBoxKind::Delay {
            delay,
            vary,
            jitter,
        } => BoxKindView::Delay {
            delay_ns: *delay,
            varies: vary.is_some() || jitter.is_some(),
        },
        PlanBoxKind::Impairment(parameters) => BoxKindView::Impairment {
            parameters: parameters.clone(),
        },
    }
}

fn of_link(scenario: &Scenario, index: usize, name: &str, link: &PlanLink) -> LinkView {
    let greatest = link.greatest_rate().0;
    LinkView {
        queue_path: scenario.queue_path(index, name, link),
        queue: link.queue.clone(),
        limit: limit(&link.queue),
        rate_bps: link.capacity().0,
        greatest_rate_bps: (!is_rate_in_file(scenario, index, name)).then_some(greatest),
        rate_varies: link.vary_rate.is_some() || link.radio.is_some(),
        delay_ns: link.delay,
        delay_varies: link.vary_delay.is_some(),
        header: link.header,
        overhead: link.overhead,
        device_packets: link.device_packets,
        air: link.radio.as_ref().map(|port| match port.bearer % 2 {
            0 => "downlink",
            _ => "uplink",
        }),
    }
}

impl Scenario {
    /// Where the document has the queue of a link, such as `boxes.3.queue`. Only links that the document describes have such a path.
    ///
    /// `index` and `name` are those of the link among the plan's boxes.
    pub fn queue_path(&self, index: usize, name: &str, link: &PlanLink) -> Option<String> {
        let path = match (&self.dumbbell, &self.parking_lot, &self.cell) {
            (Some(_), ..) if name == "bottleneck" => "dumbbell.queue".to_owned(),
            (Some(_), ..) if name == "reverse" => "dumbbell.reverse_queue".to_owned(),
            (_, Some(_), _) if name.starts_with("hop_") => "parking_lot.queue".to_owned(),
            (.., Some(cell)) => return queue_path_in_cell(cell, name, link),
            (None, None, None) => format!("boxes.{index}.queue"),
            _ => return None,
        };
        Some(path)
    }
}

/// Where the document has the queue of a link in a cell. A bearer may inherit the queue of the cell.
fn queue_path_in_cell(cell: &CellNetwork, name: &str, link: &PlanLink) -> Option<String> {
    if let Some(radio) = &link.radio {
        let bearers = cell.bearers.len().max(1) as u32;
        let place = (radio.bearer / 2 % bearers) as usize;
        let bearer = cell.bearers.get(place);
        let (key, own) = match radio.bearer % 2 {
            0 => ("queue", bearer.and_then(|bearer| bearer.queue.as_ref())),
            _ => (
                "uplink_queue",
                bearer.and_then(|bearer| bearer.uplink_queue.as_ref()),
            ),
        };
        return Some(match own {
            Some(_) => format!("cell.bearers.{place}.{key}"),
            None => format!("cell.{key}"),
        });
    }
    let path = match link.gate.as_ref().map(|gate| (&gate.how, gate.bearer)) {
        Some((GateKind::Sdap(_), bearer)) => {
            let own = cell.bearers.get(bearer as usize);
            match own.and_then(|bearer| bearer.sdap.as_ref()) {
                Some(_) => format!("cell.bearers.{bearer}.sdap.queue"),
                None => "cell.sdap.queue".to_owned(),
            }
        }
        Some((GateKind::Upf { .. }, _)) => "cell.backhaul.queue".to_owned(),
        None if name == "upf" => "cell.backhaul.queue".to_owned(),
        None => return None,
    };
    Some(path)
}

/// Whether a link follows the rates of a file.
fn is_rate_in_file(scenario: &Scenario, index: usize, name: &str) -> bool {
    let vary = match (&scenario.dumbbell, scenario.boxes.get(index)) {
        (Some(dumbbell), _) if name == "bottleneck" => dumbbell.vary.rate.as_ref(),
        (Some(dumbbell), _) if name == "reverse" => dumbbell.vary.reverse_rate.as_ref(),
        (None, Some(BoxSpec::Link(link))) => link.vary.rate.as_ref(),
        _ => None,
    };
    vary.is_some_and(|rate| rate.file().is_some())
}

/// The limit that the parameters of a queue state: `limit`, or `memlimit` of `cake`.
fn limit(queue: &QueueConfig) -> Option<LimitView> {
    let parameters = serde_json::to_value(queue).ok()?;
    let stated = ["limit", "memlimit"].map(|key| parameters.get(key).and_then(Value::as_str));
    match stated.into_iter().flatten().next()?.parse().ok()? {
        Limit::Packets(count) => Some(LimitView::Packets(count)),
        Limit::Bytes(count) => Some(LimitView::Bytes(count)),
        Limit::Buffers(count) => Some(LimitView::Buffers(count)),
    }
}

fn of_flow(plan: &Plan, flow: &PlanFlow) -> FlowView {
    let names = |path: &[usize]| path.iter().map(|&i| plan.boxes[i].name.clone()).collect();
    FlowView {
        name: flow.name.clone(),
        start_ns: flow.start,
        stop_ns: flow.stop,
        base_rtt_ns: flow.base_rtt,
        forward: names(&flow.forward),
        reverse: names(&flow.reverse),
        dscp: flow.dscp,
        traffic: flow.traffic.kind(),
        cca: flow.cca.clone(),
    }
}

fn timeline(plan: &Plan) -> Vec<ChangeView> {
    let mut flows: Vec<&str> = plan.flows.iter().map(|flow| flow.name.as_str()).collect();
    let mut changes = Vec::with_capacity(plan.timeline.len());
    for change in &plan.timeline {
        let mut effects = Vec::with_capacity(change.effects.len());
        for effect in &change.effects {
            if let Effect::Start(flow) = effect {
                flows.push(&flow.name);
            }
            effects.push(of_effect(plan, &flows, effect));
        }
        let at_ns = change.at;
        changes.push(ChangeView { at_ns, effects });
    }
    changes
}

fn of_effect(plan: &Plan, flows: &[&str], effect: &Effect) -> EffectView {
    let name = |number: usize| plan.boxes[number].name.clone();
    match effect {
        Effect::Rate { number, rate } => EffectView::Rate {
            name: name(*number),
            rate_bps: rate.0,
        },
        Effect::Delay { number, delay } => EffectView::Delay {
            name: name(*number),
            delay_ns: *delay,
        },
        Effect::Queue { number, queue } => EffectView::Queue {
            name: name(*number),
            queue: queue.clone(),
            limit: limit(queue),
        },
        Effect::Probability {
            number,
            probability,
        } => EffectView::Probability {
            name: name(*number),
            probability: *probability,
        },
        Effect::Start(flow) => EffectView::Start {
            flow: of_flow(plan, flow),
        },
        Effect::Stop { flow, stop } => EffectView::Stop {
            name: flows[*flow].to_owned(),
            stop_ns: *stop,
        },
    }
}
