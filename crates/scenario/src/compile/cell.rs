//! A 5G cell: the wire, the UPF and the backhaul, which all flows share, and two boxes per bearer of each UE.

use bloatlab_aqm::QueueConfig;
use bloatlab_radio::channel::Loaded;
use bloatlab_units::Rate;

use super::boxes::{Boxes, Device, Network, Paths, link};
use crate::cell::SettledBearer;
use crate::check::fail;
use crate::default_queue::default_queue;
use crate::{
    CellNetwork, Flow, GateKind, PlanBearer, PlanBox, PlanBoxKind, PlanCell, PlanGate, PlanLink,
    RadioPort, ScenarioError,
};

/// Downlink and uplink.
const DIRECTIONS: [&str; 2] = ["", "_up"];

/// The cell itself, with the channels that were read from files.
pub(super) fn plan(cell: &CellNetwork, channels: Vec<Loaded>) -> PlanCell {
    let bearers = cell.settled_bearers().into_iter().map(|bearer| PlanBearer {
        params: bearer.radio,
        marking: bearer.marking.cloned(),
    });
    PlanCell {
        params: cell.radio.clone(),
        bearers: bearers.collect(),
        channels,
    }
}

pub(super) struct CellPaths<'a> {
    cell: &'a CellNetwork,
    /// Down and up.
    wires: [usize; 2],
    backhauls: [usize; 2],
    /// By UE.
    ues: Vec<UeBoxes>,
}

/// The boxes of one UE.
struct UeBoxes {
    /// The queue in the UPF, if there is a pacer.
    upf: Option<usize>,
    bearers: Vec<BearerBoxes>,
}

/// The boxes of one bearer.
struct BearerBoxes {
    /// Down and up.
    radio: [usize; 2],
    /// The queue in SDAP, if there is one.
    sdap: Option<usize>,
}

impl<'a> CellPaths<'a> {
    pub(super) fn new(cell: &'a CellNetwork, boxes: &mut Boxes) -> Result<Self, ScenarioError> {
        let refused = |why: String| ScenarioError::new("cell.radio", why);
        let peaks = cell.radio.peak_rates().map_err(refused)?;
        let latencies = cell.radio.latencies().map_err(refused)?;
        let device = |overhead| Device {
            shaper: false,
            packets: 0,
            overhead,
            header: 0,
        };
        let (wire, backhaul) = (&cell.wire, &cell.backhaul);
        let mut on_wire = |name: &str| {
            boxes.add(through(link(
                name.to_owned(),
                wire.rate,
                wire.delay.0,
                &default_queue(),
                device(wire.overhead),
            )))
        };
        let wires = [on_wire("wire"), on_wire("wire_up")];
        let mut on_backhaul = |name: &str, queue: &QueueConfig| {
            boxes.add(through(link(
                name.to_owned(),
                backhaul.rate,
                backhaul.delay.0,
                queue,
                device(backhaul.overhead),
            )))
        };
        let plain = default_queue();
        let (name, queue) = match backhaul.pacer {
            None => ("upf", &backhaul.queue),
            // With a pacer, packets wait in the queues of the UEs instead.
            Some(_) => ("backhaul", &plain),
        };
        let down = on_backhaul(name, queue);
        let backhaul_up = on_backhaul("backhaul_up", &default_queue());
        let settled = cell.settled_bearers();
        let count = cell.radio.ues.len();
        let rates = peaks.map(|peak| Rate(peak.max(1)));
        let radio: Vec<[usize; 2]> = (0..count * settled.len())
            .map(|place| {
                let (ue, bearer) = (place / settled.len(), &settled[place % settled.len()]);
                let device = Device {
                    shaper: false,
                    packets: 0,
                    overhead: 0,
                    header: bearer.radio.pdcp.header(),
                };
                [0, 1].map(|direction| {
                    let way = DIRECTIONS[direction];
                    let name = format!("ue_{}{}{way}", ue + 1, bearer.suffix);
                    let (queue, buffer) = bearer.queues[direction];
                    let mut item =
                        link(name, rates[direction], latencies[direction], queue, device);
                    attach(&mut item, |link| {
                        link.radio = Some(RadioPort {
                            ue: ue as u32,
                            bearer: (2 * place + direction) as u32,
                            buffer: buffer.0,
                        });
                    });
                    boxes.add(item)
                })
            })
            .collect();
        let mut gate = |name: String, queue: &QueueConfig, gate: PlanGate| {
            let mut item = link(name, rates[0], 0, queue, device(0));
            attach(&mut item, |link| link.gate = Some(gate));
            boxes.add(item)
        };
        let mut upf = |ue: usize| {
            let pacer = backhaul.pacer.clone()?;
            let name = format!("upf_{}", ue + 1);
            let how = GateKind::Upf {
                pacer,
                delay: backhaul.delay.0,
            };
            let (ue, bearer) = (ue as u32, 0);
            Some(gate(name, &backhaul.queue, PlanGate { ue, bearer, how }))
        };
        let upfs: Vec<Option<usize>> = (0..count).map(&mut upf).collect();
        let mut sdap = |ue: usize, bearer: usize| {
            let SettledBearer { sdap, suffix, .. } = &settled[bearer];
            let sdap = (*sdap)?;
            let name = format!("sdap_{}{suffix}", ue + 1);
            let how = GateKind::Sdap(sdap.sizing.clone());
            let (ue, bearer) = (ue as u32, bearer as u32);
            Some(gate(name, &sdap.queue, PlanGate { ue, bearer, how }))
        };
        let ues = upfs.into_iter().enumerate().map(|(ue, upf)| UeBoxes {
            upf,
            bearers: (0..settled.len())
                .map(|bearer| BearerBoxes {
                    radio: radio[ue * settled.len() + bearer],
                    sdap: sdap(ue, bearer),
                })
                .collect(),
        });
        let ues = ues.collect();
        Ok(Self {
            cell,
            wires,
            backhauls: [down, backhaul_up],
            ues,
        })
    }
}

/// Marks a link with the default queue as transit: it is so fast that packets wait only for the radio.
fn through(mut item: PlanBox) -> PlanBox {
    if let PlanBoxKind::Link(link) = &mut item.kind {
        link.transit = link.queue == default_queue();
    }
    item
}

/// Changes the settings of a link.
fn attach(item: &mut PlanBox, change: impl FnOnce(&mut PlanLink)) {
    if let PlanBoxKind::Link(link) = &mut item.kind {
        change(link);
    }
}

impl Network for CellPaths<'_> {
    fn paths(&mut self, _boxes: &mut Boxes, at: &str, flow: &Flow) -> Result<Paths, ScenarioError> {
        let (ue, count) = (flow.ue.unwrap_or(1) as usize, self.ues.len());
        if !(1..=count).contains(&ue) {
            let why = format!("must be between 1 and {count}, the number of UEs, not {ue}");
            return fail(format!("{at}.ue"), why);
        }
        let ue = &self.ues[ue - 1];
        // Answers come back with their flow's QFI (reflective mapping, TS 37.324 section 5.3.2).
        let bearer = &ue.bearers[self.cell.bearer_of(flow.qfi)];
        let mut forward = vec![self.wires[0]];
        forward.extend(ue.upf);
        forward.push(self.backhauls[0]);
        forward.extend(bearer.sdap);
        forward.push(bearer.radio[0]);
        let reverse = vec![bearer.radio[1], self.backhauls[1], self.wires[1]];
        Ok((forward, reverse))
    }
}
