//! What a queue holds at an instant, for those who draw it.

use std::collections::BTreeMap;

use bloatlab_aqm::{Ecn, Packet as _, Slot};

use crate::packet::Packet;
use crate::station::Station;

/// Packets of one flow in one queue that are all marked or all not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRun {
    /// Index of the band among those of [`Session::bands`](crate::Session::bands).
    pub band: u32,
    /// Number of the queue inside the band.
    pub queue: u32,
    /// Index of the flow.
    pub flow: u32,
    /// Whether the packets carry CE.
    pub has_ce: bool,
    /// Number of packets.
    pub packets: u32,
}

/// What a queue holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Sorted by band and queue.
    pub runs: Vec<PacketRun>,
    /// Whether the runs of a queue are in the order in which they leave. If not, each run has all such packets of its queue.
    pub in_order: bool,
}

impl PacketRun {
    fn of(slot: Slot, packet: &Packet) -> Self {
        Self {
            band: slot.band,
            queue: slot.queue,
            flow: packet.flow_index() as u32,
            has_ce: packet.ecn() == Ecn::Ce,
            packets: 1,
        }
    }

    /// What its packets have in common.
    fn key(&self) -> (u32, u32, u32, bool) {
        (self.band, self.queue, self.flow, self.has_ce)
    }
}

impl Contents {
    /// The contents of a queue, in order if they have at most `most` runs.
    pub(crate) fn of(queue: &dyn Station, most: usize) -> Self {
        let (mut runs, mut in_order) = (Vec::<PacketRun>::new(), true);
        queue.contents(&mut |slot, packet| {
            let next = PacketRun::of(slot, packet);
            let last = runs.last_mut().filter(|last| last.key() == next.key());
            if let Some(last) = last {
                last.packets += 1;
            } else if runs.len() < most {
                runs.push(next);
            } else {
                in_order = false;
            }
        });
        if in_order {
            return Self { runs, in_order };
        }
        let mut totals = BTreeMap::new();
        queue.contents(&mut |slot, packet| {
            let next = PacketRun::of(slot, packet);
            let total = totals.entry(next.key());
            total
                .and_modify(|total: &mut PacketRun| total.packets += 1)
                .or_insert(next);
        });
        Self {
            runs: totals.into_values().collect(),
            in_order,
        }
    }
}
