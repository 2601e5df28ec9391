//! What an engine runs: boxes, and flows whose paths are lists of box indices.

use bloatlab_aqm::QueueConfig;
use bloatlab_cc::CcConfig;
use bloatlab_link::{ImpairmentConfig, LoadedRate, VaryDelay, jitter};
use bloatlab_radio::cell::BearerParams;
use bloatlab_radio::cell::params::CellParams;
use bloatlab_radio::channel::Loaded;
use bloatlab_radio::sizing::{Sizing, l4span, upf_pacer};
use bloatlab_tcp::TcpConfig;
use bloatlab_units::{Nanos, Rate};

use crate::{HostLink, Traffic};

/// A scenario made concrete. Everything in it is within the ranges that [`Scenario::compile`](crate::Scenario::compile) checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The scenario's name.
    pub name: String,
    /// When the run ends.
    pub duration: Nanos,
    /// Time between two samples of a series.
    pub sample_interval: Nanos,
    /// End of the warm-up; metrics count from here on.
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

impl Plan {
    /// The flows that exist from the start, then those that the timeline adds.
    pub fn all_flows(&self) -> impl Iterator<Item = &PlanFlow> {
        let effects = self.timeline.iter().flat_map(|change| &change.effects);
        let added = effects.filter_map(|effect| match effect {
            Effect::Start(flow) => Some(&**flow),
            _ => None,
        });
        self.flows.iter().chain(added)
    }
}

/// What changes at an instant, before everything else of that instant.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanChange {
    /// When it happens.
    pub at: Nanos,
    /// What it does.
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
    /// Holds every packet for the same time, unless the time varies. Keeps the order of packets.
    Delay {
        /// The time.
        delay: Nanos,
        /// How the time varies.
        vary: Option<VaryDelay>,
        /// How the time differs from packet to packet.
        jitter: Option<jitter::Params>,
    },
    /// Acts on packets at once: drops, damages or duplicates them.
    Impairment(ImpairmentConfig),
}

impl PlanBoxKind {
    /// Whether it damages packets, so that receivers must verify checksums.
    pub fn corrupts(&self) -> bool {
        matches!(self, Self::Impairment(impairment) if impairment.params().corrupts())
    }
}

impl From<ImpairmentConfig> for PlanBox {
    fn from(impairment: ImpairmentConfig) -> Self {
        Self {
            name: impairment.params().name().to_owned(),
            kind: PlanBoxKind::Impairment(impairment),
        }
    }
}

/// A queue, the transmitter behind it and the propagation after that.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanLink {
    /// Rate of the transmitter, if it does not vary.
    pub rate: Rate,
    /// Propagation, one way.
    pub delay: Nanos,
    /// How the rate varies.
    pub vary_rate: Option<LoadedRate>,
    /// How the propagation varies.
    pub vary_delay: Option<VaryDelay>,
    /// The queue discipline.
    pub queue: QueueConfig,
    /// Whether it is a shaper: packets leave at the start of their time, and an offload buffer leaves whole.
    pub shaper: bool,
    /// Packets that the device holds behind the queue discipline besides the one being sent.
    pub device_packets: u32,
    /// Bytes per packet that the link layer adds on the wire.
    pub overhead: u32,
    /// Bytes of link-layer header that the queue counts too.
    pub header: u32,
    /// The bearer of the cell that transmits the packets of this link, if one does. Then `rate` is the greatest rate of the bearer, and `delay` is the
    /// latency of an empty cell.
    pub radio: Option<RadioPort>,
    /// The gate that releases packets in place of a transmitter, if there is one. A released packet takes no time.
    pub gate: Option<PlanGate>,
    /// Whether it is a network device of the hosts whose paths begin with it.
    pub host: HostLink,
    /// Packets do not wait in this link, so it does not count in the sojourn time of flows.
    pub transit: bool,
}

/// Decides when packets of a UE are released towards the cell.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanGate {
    /// The UE, counted from 0.
    pub ue: u32,
    /// Index of the bearer among those of the UE, for a gate in SDAP. A gate in the UPF serves all bearers.
    pub bearer: u32,
    /// Where it is, and its algorithm.
    pub how: GateKind,
}

/// Where a gate is.
#[derive(Clone, Debug, PartialEq)]
pub enum GateKind {
    /// From SDAP into the RLC.
    Sdap(Sizing),
    /// From the UPF to SDAP.
    Upf {
        /// Its algorithm.
        pacer: upf_pacer::Params,
        /// Propagation from the UPF to SDAP, one way.
        delay: Nanos,
    },
}

/// A radio cell.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanCell {
    /// Its parameters, as in the document.
    pub params: CellParams,
    /// The bearers of each UE, the default one first.
    pub bearers: Vec<PlanBearer>,
    /// The channels of its UEs, with their files read.
    pub channels: Vec<Loaded>,
}

/// A bearer that every UE has.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanBearer {
    /// Its parameters on the radio.
    pub params: BearerParams,
    /// Marking of packets that enter its RLC.
    pub marking: Option<l4span::Params>,
}

/// The bearer that transmits the packets of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioPort {
    /// The UE, counted from 0.
    pub ue: u32,
    /// Number of the bearer: twice its index among the bearers of all UEs, plus 1 on the uplink.
    pub bearer: u32,
    /// Size of its buffer in bytes. Packets that are sent in part count.
    pub buffer: u64,
}

impl PlanLink {
    /// The greatest rate that the link can have.
    pub fn greatest_rate(&self) -> Rate {
        let varying = self.vary_rate.as_ref();
        self.shaped(varying.map_or(self.rate, |rate| rate.greatest(self.rate)))
    }

    /// The rate of the link, or that of a shaper in its queue if it is lower.
    pub fn capacity(&self) -> Rate {
        self.shaped(self.rate)
    }

    fn shaped(&self, rate: Rate) -> Rate {
        self.queue.greatest_rate().map_or(rate, |own| own.min(rate))
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
    /// The start is delayed by a random time below this, drawn uniformly.
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
    /// Congestion control of the sender; ignored for UDP and ping.
    pub cca: CcConfig,
    /// What the application does.
    pub traffic: Traffic,
    /// Settings of the TCP connection; ignored for UDP and ping.
    pub tcp: TcpConfig,
}
