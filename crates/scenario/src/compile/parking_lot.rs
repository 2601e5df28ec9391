//! Bottlenecks in a row.

use std::collections::BTreeMap;

use bloatlab_aqm::QueueConfig;
use bloatlab_units::Rate;

use super::boxes::{Boxes, Device, Network, Paths, link};
use crate::default_queue::default_queue;
use crate::{Flow, ParkingLot, ScenarioError};

pub(super) struct ParkingLotPaths<'a> {
    lot: &'a ParkingLot,
    /// The links in the forward direction and, if that has a rate, in the reverse direction.
    links: Option<Paths>,
    /// The delay boxes of the reverse direction, by the number of hops.
    delays: BTreeMap<u32, usize>,
}

impl<'a> ParkingLotPaths<'a> {
    pub(super) fn new(lot: &'a ParkingLot) -> Self {
        Self {
            lot,
            links: None,
            delays: BTreeMap::new(),
        }
    }

    fn links(&mut self, boxes: &mut Boxes) -> &Paths {
        let lot = self.lot;
        self.links.get_or_insert_with(|| {
            let mut row =
                |name: &str, rate: Rate, queue: &QueueConfig, (shaper, packets)| -> Vec<usize> {
                    let device = Device {
                        shaper,
                        packets,
                        overhead: lot.overhead,
                        header: lot.header,
                    };
                    (1..=lot.hops)
                        .map(|hop| format!("{name}_{hop}"))
                        .map(|name| boxes.add(link(name, rate, lot.hop_delay.0, queue, device)))
                        .collect()
                };
            let there = row(
                "hop",
                lot.rate,
                &lot.queue,
                (lot.shaper, lot.device_packets),
            );
            let back = lot
                .reverse_rate
                .map(|rate| row("reverse", rate, &default_queue(), (false, 0)));
            (there, back.unwrap_or_default())
        })
    }
}

impl Network for ParkingLotPaths<'_> {
    fn paths(&mut self, boxes: &mut Boxes, _at: &str, flow: &Flow) -> Result<Paths, ScenarioError> {
        let [first, last] = flow.hops.unwrap_or([1, self.lot.hops]);
        let range = first as usize - 1..last as usize;
        let (there, back) = self.links(boxes);
        let forward = there[range.clone()].to_vec();
        let reverse = match back[..] {
            [] => {
                let crossed = last - first + 1;
                let delay = self.lot.hop_delay.0 * u64::from(crossed);
                let add = || boxes.delay(format!("delay_{crossed}_hops"), delay, None, None);
                vec![*self.delays.entry(crossed).or_insert_with(add)]
            }
            _ => back[range].iter().rev().copied().collect(),
        };
        Ok((forward, reverse))
    }
}
