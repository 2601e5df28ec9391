//! The boxes of a plan while they are gathered, and what a network makes of them.

use bloatlab_aqm::QueueConfig;
use bloatlab_link::{LoadedRate, Probability, Variation, jitter};
use bloatlab_units::{Nanos, Rate};

use crate::{
    Flow, Impairments, LossSpacing, PlanBox, PlanBoxKind, PlanLink, ScenarioError, VaryDelay,
};

/// Box indices from the sender to the receiver, and back.
pub(super) type Paths = (Vec<usize>, Vec<usize>);

/// A network that gives each flow its paths, adding boxes as flows need them.
pub(super) trait Network {
    /// Boxes in the network's forward direction, and back.
    fn paths(&mut self, boxes: &mut Boxes, at: &str, flow: &Flow) -> Result<Paths, ScenarioError>;

    /// The private link in front of the flow's sender.
    fn access(&self, _name: &str) -> Option<PlanBox> {
        None
    }
}

/// The plan's boxes while they are gathered.
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

    pub(super) fn loss(
        &mut self,
        name: &str,
        probability: f64,
        spacing: LossSpacing,
        vary: Option<&Variation<Probability>>,
        may_change: bool,
    ) -> Option<usize> {
        let vary = vary.cloned();
        (probability > 0.0 || vary.is_some() || may_change).then(|| {
            self.add(PlanBox {
                name: name.to_owned(),
                kind: PlanBoxKind::Loss {
                    probability,
                    spacing,
                    vary,
                    gilbert_elliott: None,
                },
            })
        })
    }

    /// The boxes of a way's impairments but for its jitter; their names begin with this.
    pub(super) fn impair(&mut self, prefix: &str, impair: &Impairments) -> Vec<usize> {
        let burst = impair.gilbert_elliott.map(|params| PlanBoxKind::Loss {
            probability: 0.0,
            spacing: LossSpacing::default(),
            vary: None,
            gilbert_elliott: Some(params),
        });
        let corrupt = (impair.corrupt > 0.0).then_some(PlanBoxKind::Corrupt {
            probability: impair.corrupt,
            vary: None,
        });
        let duplicate = (impair.duplicate > 0.0).then_some(PlanBoxKind::Duplicate {
            probability: impair.duplicate,
            vary: None,
        });
        let kinds = [
            ("burst_loss", burst),
            ("corrupt", corrupt),
            ("duplicate", duplicate),
        ];
        let given = kinds.into_iter().filter_map(|(name, kind)| {
            let name = format!("{prefix}{name}");
            kind.map(|kind| PlanBox { name, kind })
        });
        given.map(|item| self.add(item)).collect()
    }
}

/// What a link adds to its rate and queue.
#[derive(Clone, Copy)]
pub(super) struct Device {
    /// Packets held behind the queue discipline besides the one being sent.
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
            device_packets: device.packets,
            overhead: device.overhead,
            header: device.header,
            radio: None,
            gate: None,
            transit: false,
        })),
    }
}

/// A link whose rate, propagation or both change.
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
