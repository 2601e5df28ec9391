//! What an engine runs: boxes, and flows whose paths are lists of box indices.

use bloatlab_aqm::QueueConfig;
use bloatlab_cc::CcConfig;
use bloatlab_link::{LoadedRate, Probability, VaryDelay, Variation, gilbert_elliott, jitter};
use bloatlab_radio::cell::BearerParams;
use bloatlab_radio::cell::params::CellParams;
use bloatlab_radio::channel::Loaded;
use bloatlab_radio::sizing::{Sizing, l4span, upf_pacer};
use bloatlab_tcp::TcpConfig;
use bloatlab_units::{Nanos, Rate};

use crate::{LossSpacing, Traffic};

/// A scenario made concrete. Everything in it is within the ranges that [`Scenario::compile`](crate::Scenario::compile) checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The scenario's name.
    pub name: String,
    /// When the run ends.
    pub duration: Nanos,
    /// Time between two samples of a series.
    pub sample_interval: Nanos,
    /// Metrics count from here on.
    pub warmup: Nanos,
    /// Everything packets pass through; names are unique.
    pub boxes: Vec<PlanBox>,
    /// The radio cell, if some links are its bearers.
    pub cell: Option<PlanCell>,
    /// Every flow, with `count` expanded; names are unique.
    pub flows: Vec<PlanFlow>,
    /// The run may change: the scenario has a timeline, which may be empty.
    pub may_change: bool,
    /// What changes during the run, in the order of time.
    pub timeline: Vec<PlanChange>,
}

/// What changes at an instant, before everything else of that instant.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanChange {
    /// When.
    pub at: Nanos,
    /// What.
    pub effects: Vec<Effect>,
}

/// A change of the plan during the run. Boxes and flows are named by their index.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// A link has another rate.
    Rate {
        /// The box.
        number: usize,
        /// Its new rate.
        rate: Rate,
    },
    /// A link or delay has another propagation delay.
    Delay {
        /// The box.
        number: usize,
        /// Its new delay, one way.
        delay: Nanos,
    },
    /// A link has another queue discipline.
    Queue {
        /// The box.
        number: usize,
        /// Its new queue.
        queue: QueueConfig,
    },
    /// Packets are lost, damaged or duplicated with another probability.
    Probability {
        /// The box.
        number: usize,
        /// Its new probability.
        probability: f64,
    },
    /// A flow is added after the others.
    Start(Box<PlanFlow>),
    /// The application of a flow stops at another instant.
    Stop {
        /// The flow.
        flow: usize,
        /// The instant.
        stop: Nanos,
    },
}

/// One box of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanBox {
    /// Unique among the plan's boxes.
    pub name: String,
    /// What it does to packets.
    pub kind: PlanBoxKind,
}

/// What a box does to packets.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanBoxKind {
    /// A queue, the transmitter behind it and the propagation after that.
    Link(Box<PlanLink>),
    /// Holds every packet for the same time; keeps their order.
    Delay {
        /// The time.
        delay: Nanos,
        /// How it changes.
        vary: Option<VaryDelay>,
        /// How it differs from packet to packet.
        jitter: Option<jitter::Params>,
    },
    /// Discards packets, whatever they are.
    Loss {
        /// Below 1.
        probability: f64,
        /// How the losses are spaced.
        spacing: LossSpacing,
        /// How it changes.
        vary: Option<Variation<Probability>>,
        /// In bursts, in place of the probability.
        gilbert_elliott: Option<gilbert_elliott::Params>,
    },
    /// Damages packets, which their receiver then discards.
    Corrupt {
        /// Below 1.
        probability: f64,
        /// How it changes.
        vary: Option<Variation<Probability>>,
    },
    /// Lets packets through twice.
    Duplicate {
        /// At most 1.
        probability: f64,
        /// How it changes.
        vary: Option<Variation<Probability>>,
    },
}

/// A queue, the transmitter behind it and the propagation after that.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanLink {
    /// Rate of the transmitter.
    pub rate: Rate,
    /// Propagation, one way.
    pub delay: Nanos,
    /// How the rate changes.
    pub vary_rate: Option<LoadedRate>,
    /// How the propagation changes.
    pub vary_delay: Option<VaryDelay>,
    /// The queue discipline.
    pub queue: QueueConfig,
    /// Packets that the device holds behind the queue discipline besides the one being sent.
    pub device_packets: u32,
    /// Bytes per packet that the link layer adds on the wire.
    pub overhead: u32,
    /// Bytes of link-layer header that the queue counts too.
    pub header: u32,
    /// A bearer of the plan's cell, which then is the transmitter: `rate` is the most that it can have, `delay` what an empty cell takes.
    pub radio: Option<RadioPort>,
    /// What lets packets go on, instead of a transmitter: they take no time then.
    pub gate: Option<PlanGate>,
    /// So fast that nothing waits: the time of a flow's packets in its queue is none of the flow's sojourn.
    pub transit: bool,
}

/// What lets packets of a UE go on towards the cell.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanGate {
    /// The UE, counted from 0.
    pub ue: u32,
    /// Of a gate in SDAP: its place among the UE's bearers, from 0. One in the UPF is for all of them.
    pub bearer: u32,
    /// How.
    pub how: GateKind,
}

/// How packets are let on.
#[derive(Clone, Debug, PartialEq)]
pub enum GateKind {
    /// From SDAP into the RLC.
    Sdap(Sizing),
    /// From the UPF to SDAP.
    Upf {
        /// By this.
        pacer: upf_pacer::Params,
        /// Propagation between them, one way.
        delay: Nanos,
    },
}

/// A radio cell.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanCell {
    /// What the document says of it.
    pub params: CellParams,
    /// The bearers of each UE, the default one first.
    pub bearers: Vec<PlanBearer>,
    /// The channels of its UEs, with their files read.
    pub channels: Vec<Loaded>,
}

/// A bearer that every UE has.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanBearer {
    /// On the radio.
    pub params: BearerParams,
    /// Marking of what enters its RLC.
    pub marking: Option<l4span::Params>,
}

/// Where a link meets the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioPort {
    /// The UE, counted from 0.
    pub ue: u32,
    /// Number of the bearer: twice its place among the bearers of all UEs, UE by UE, and one more on the uplink.
    pub bearer: u32,
    /// Bytes that it holds, what is sent in part among them.
    pub buffer: u64,
}

impl PlanLink {
    /// The greatest rate that it can have.
    pub fn greatest_rate(&self) -> Rate {
        let varying = self.vary_rate.as_ref();
        varying.map_or(self.rate, |rate| rate.greatest(self.rate))
    }
}

/// One flow.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanFlow {
    /// Unique among the plan's flows.
    pub name: String,
    /// When it starts.
    pub start: Nanos,
    /// When its application stops; after `start + start_jitter`, at most the run's duration.
    pub stop: Nanos,
    /// The start is put off by a uniformly drawn time below this.
    pub start_jitter: Nanos,
    /// Box indices from the sender of data to its receiver.
    pub forward: Vec<usize>,
    /// Box indices back from the receiver to the sender.
    pub reverse: Vec<usize>,
    /// Numbers of the hosts that send and receive its data.
    pub hosts: [u32; 2],
    /// Differentiated services code point of its packets.
    pub dscp: u8,
    /// Propagation both ways.
    pub base_rtt: Nanos,
    /// Congestion control of the sender; of no effect over UDP and on a ping.
    pub cca: CcConfig,
    /// What the application does.
    pub traffic: Traffic,
    /// The TCP connection; of no effect over UDP and on a ping.
    pub tcp: TcpConfig,
}
