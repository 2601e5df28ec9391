//! Builds the boxes of a plan.

use bloatlab_aqm::QueueConfig;
use bloatlab_link::impairment::loss;
use bloatlab_link::{ImpairmentConfig, LoadedRate, jitter};
use bloatlab_units::{Nanos, Rate};

use crate::{
    Flow, HostLink, Impairments, PlanBox, PlanBoxKind, PlanLink, ScenarioError, VaryDelay,
};

/// Box indices from the sender to the receiver, and back.
pub(super) type Paths = (Vec<usize>, Vec<usize>);

/// A network that gives each flow its paths, adding boxes as flows need them.
pub(super) trait Network {
    /// The paths of a flow in the forward and in the reverse direction of the network.
    fn paths(&mut self, boxes: &mut Boxes, at: &str, flow: &Flow) -> Result<Paths, ScenarioError>;

    /// The access link of the flow's sender, if it has one.
    fn access(&self, _name: &str) -> Option<PlanBox> {
        None
    }
}

/// The boxes of a plan so far.
#[derive(Default)]
pub(super) struct Boxes {
    pub(super) list: Vec<PlanBox>,
}

impl Boxes {
    pub(super) fn add(&mut self, item: PlanBox) -> usize {
        self.list.push(item);
        self.list.len() - 1
    }

    pub(super) fn delay(
        &mut self,
        name: String,
        delay: Nanos,
        vary: Option<VaryDelay>,
        jitter: Option<jitter::Params>,
    ) -> usize {
        self.add(PlanBox {
            name,
            kind: PlanBoxKind::Delay {
                delay,
                vary,
                jitter,
            },
        })
    }

    /// Adds a loss, if packets may be lost: now, or after a change of the timeline.
    pub(super) fn loss(&mut self, loss: loss::Params, may_change: bool) -> Option<usize> {
        let is_needed = loss.probability > 0.0 || loss.vary.is_some() || may_change;
        is_needed.then(|| self.add(ImpairmentConfig::Loss(loss).into()))
    }

    /// Adds the impairments of one direction, except its jitter. The names of the boxes begin with `prefix`.
    pub(super) fn impair(&mut self, prefix: &str, impair: &Impairments) -> Vec<usize> {
        let impairments = impair.boxes(prefix).into_iter();
        impairments.map(|item| self.add(item.into())).collect()
    }
}

/// Settings of a link besides its rate, delay and queue.
#[derive(Clone, Copy)]
pub(super) struct Device {
    /// Whether it is a shaper on a faster line.
    pub(super) shaper: bool,
    /// Packets held behind the queue discipline, in addition to the one being sent.
    pub(super) packets: u32,
    pub(super) overhead: u32,
    pub(super) header: u32,
}

pub(super) fn link(
    name: String,
    rate: Rate,
    delay: Nanos,
    queue: &QueueConfig,
    device: Device,
) -> PlanBox {
    PlanBox {
        name,
        kind: PlanBoxKind::Link(Box::new(PlanLink {
            rate,
            delay,
            vary_rate: None,
            vary_delay: None,
            queue: queue.clone(),
            shaper: device.shaper,
            device_packets: device.packets,
            overhead: device.overhead,
            header: device.header,
            radio: None,
            gate: None,
            host: HostLink::None,
            transit: false,
        })),
    }
}

/// A link that may be a network device of the hosts whose paths begin with it.
pub(super) fn of_host(mut item: PlanBox, host: HostLink) -> PlanBox {
    if let PlanBoxKind::Link(link) = &mut item.kind {
        link.host = host;
    }
    item
}

/// A link whose rate or delay varies.
pub(super) fn varying(
    mut item: PlanBox,
    rate: Option<LoadedRate>,
    delay: Option<VaryDelay>,
) -> PlanBox {
    if let PlanBoxKind::Link(link) = &mut item.kind {
        (link.vary_rate, link.vary_delay) = (rate, delay);
    }
    item
}
