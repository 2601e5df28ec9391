//! A 5G cell: wire, UPF and backhaul that all flows share, and two bearers for each UE.

use bloatlab_aqm::QueueConfig;
use bloatlab_units::{Bytes, Rate};

use super::{Boxes, Device, Network, Paths, link};
use crate::check::{fail, registered};
use crate::document::default_queue;
use crate::{
    CellNetwork, Flow, GateKind, PlanBox, PlanBoxKind, PlanCell, PlanGate, RadioPort, ScenarioError,
};

/// Downlink and uplink, as in a bearer's number.
const DIRECTIONS: [&str; 2] = ["", "_up"];

/// The cell itself, with what its files hold.
pub(super) fn plan(cell: &CellNetwork) -> Result<PlanCell, ScenarioError> {
    let mut params = cell.radio.clone();
    let channels = registered("cell.radio", params.load())?;
    Ok(PlanCell {
        params,
        channels,
        marking: cell.marking.clone(),
    })
}

pub(super) struct CellPaths {
    /// Down and up.
    wires: [usize; 2],
    backhauls: [usize; 2],
    /// What holds packets back for each UE in the UPF and in SDAP, if it does.
    upfs: Option<Vec<usize>>,
    sdaps: Option<Vec<usize>>,
    /// The bearers, by number.
    bearers: Vec<usize>,
}

impl CellPaths {
    pub(super) fn new(cell: &CellNetwork, boxes: &mut Boxes) -> Result<Self, ScenarioError> {
        let refused = |why: String| ScenarioError::new("cell.radio", why);
        let peaks = cell.radio.peak_rates().map_err(refused)?;
        let latencies = cell.radio.latencies().map_err(refused)?;
        let device = |overhead| Device {
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
            // What the UPF holds back waits in a queue of its own.
            Some(_) => ("backhaul", &plain),
        };
        let down = on_backhaul(name, queue);
        let backhaul_up = on_backhaul("backhaul_up", &default_queue());
        let sides: [(&QueueConfig, Bytes); 2] = [
            (&cell.queue, cell.buffer),
            (&cell.uplink_queue, cell.uplink_buffer),
        ];
        let bearers = (0..2 * cell.radio.ues.len()).map(|number| {
            let (ue, direction) = (number / 2, number % 2);
            let (queue, buffer) = sides[direction];
            let device = Device {
                packets: 0,
                overhead: 0,
                header: cell.radio.pdcp.header(),
            };
            let name = format!("ue_{}{}", ue + 1, DIRECTIONS[direction]);
            let rate = Rate(peaks[direction].max(1));
            let mut bearer = link(name, rate, latencies[direction], queue, device);
            attach(&mut bearer, number as u32, buffer);
            boxes.add(bearer)
        });
        let bearers = bearers.collect();
        let rate = Rate(peaks[0].max(1));
        let mut gates = |name: &str, queue: &QueueConfig, how: GateKind| -> Vec<usize> {
            let gate = |ue: usize| {
                let mut gate = link(format!("{name}_{}", ue + 1), rate, 0, queue, device(0));
                if let PlanBoxKind::Link(link) = &mut gate.kind {
                    link.gate = Some(PlanGate {
                        ue: ue as u32,
                        how: how.clone(),
                    });
                }
                boxes.add(gate)
            };
            (0..cell.radio.ues.len()).map(gate).collect()
        };
        let upf = |pacer| GateKind::Upf {
            pacer,
            delay: backhaul.delay.0,
        };
        let upfs = backhaul
            .pacer
            .as_ref()
            .map(|pacer| gates("upf", &backhaul.queue, upf(pacer.clone())));
        let sdaps = cell
            .sdap
            .as_ref()
            .map(|sdap| gates("sdap", &sdap.queue, GateKind::Sdap(sdap.sizing.clone())));
        Ok(Self {
            wires,
            backhauls: [down, backhaul_up],
            upfs,
            sdaps,
            bearers,
        })
    }
}

/// Where the wire and the backhaul have no queue discipline of the user's, packets do not wait but for the radio.
fn through(mut item: PlanBox) -> PlanBox {
    if let PlanBoxKind::Link(link) = &mut item.kind {
        link.transit = link.queue == default_queue();
    }
    item
}

/// Makes a link a bearer of the cell.
fn attach(bearer: &mut PlanBox, number: u32, buffer: Bytes) {
    if let PlanBoxKind::Link(link) = &mut bearer.kind {
        link.radio = Some(RadioPort {
            bearer: number,
            buffer: buffer.0,
        });
    }
}

impl Network for CellPaths {
    fn paths(&mut self, _boxes: &mut Boxes, at: &str, flow: &Flow) -> Result<Paths, ScenarioError> {
        let count = self.bearers.len() / 2;
        let ue = flow.ue.unwrap_or(1) as usize;
        if !(1..=count).contains(&ue) {
            let why = format!("must be between 1 and {count}, the number of UEs, not {ue}");
            return fail(format!("{at}.ue"), why);
        }
        let mut forward = vec![self.wires[0]];
        forward.extend(self.upfs.iter().map(|upfs| upfs[ue - 1]));
        forward.push(self.backhauls[0]);
        forward.extend(self.sdaps.iter().map(|sdaps| sdaps[ue - 1]));
        forward.push(self.bearers[2 * ue - 2]);
        let reverse = vec![self.bearers[2 * ue - 1], self.backhauls[1], self.wires[1]];
        Ok((forward, reverse))
    }
}
