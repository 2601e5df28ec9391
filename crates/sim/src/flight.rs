//! Packets under way between two places.

use bloatlab_units::{Nanos, Ring};

use crate::network::Place;
use crate::packet::Packet;
use crate::schedule::{Schedule, Slot};

/// A packet on its way.
#[derive(Clone, Copy)]
struct InFlight {
    arrival: Nanos,
    packet: Packet,
}

/// Packets on their way that arrive in the order in which they left: one event, of the first, is pending.
pub(crate) struct Flight {
    packets: Ring<InFlight>,
    slot: Slot,
    /// Where every packet goes from here; None: its path says where.
    pub next: Option<Place>,
    kind: u32,
    pub index: u32,
}

impl Flight {
    /// Nothing under way; arrivals are events of this kind and index.
    pub fn new(kind: u32, index: u32) -> Self {
        Self {
            packets: Ring::default(),
            slot: Slot::CALENDAR,
            next: None,
            kind,
            index,
        }
    }

    /// Keeps the next arrival in a register, if there is one left.
    pub fn reserve(&mut self, schedule: &mut Schedule) {
        self.slot = schedule.reserve();
    }

    pub fn len(&self) -> usize {
        self.packets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    #[inline]
    pub fn push(&mut self, schedule: &mut Schedule, arrival: Nanos, packet: &Packet) {
        if self.packets.is_empty() {
            self.announce(schedule, arrival);
        }
        self.packets.push_back(InFlight {
            arrival,
            packet: *packet,
        });
    }

    /// Takes the packet that arrives now.
    #[inline]
    pub fn pop(&mut self, schedule: &mut Schedule) -> Option<Packet> {
        let arrived = self.packets.pop_front()?;
        if let Some(next) = self.packets.front() {
            self.announce(schedule, next.arrival);
        }
        Some(arrived.packet)
    }

    /// Makes an event of the first packet's arrival.
    #[inline]
    fn announce(&self, schedule: &mut Schedule, arrival: Nanos) {
        schedule.set(self.slot, arrival, self.kind, self.index);
    }
}
