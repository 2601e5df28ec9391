//! Packets under way between two places.

use bloatlab_units::{Nanos, Ring};

use crate::calendar::Key;
use crate::network::Place;
use crate::packet::Packet;
use crate::schedule::{Schedule, Slot};

/// A packet on its way, and the event at which it arrives.
#[derive(Clone, Copy)]
pub(crate) struct InFlight {
    pub key: Key,
    pub packet: Packet,
}

/// By their events, no two of which are alike.
impl Ord for InFlight {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl PartialOrd for InFlight {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for InFlight {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for InFlight {}

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

    #[inline]
    pub fn push(&mut self, schedule: &mut Schedule, arrival: Nanos, packet: &Packet) {
        let key = Schedule::key_of_box(arrival, self.kind, self.index);
        if self.packets.is_empty() {
            schedule.set(self.slot, key);
        }
        self.packets.push_back(InFlight {
            key,
            packet: *packet,
        });
    }

    /// Takes the packet that arrives now.
    #[inline]
    pub fn pop(&mut self, schedule: &mut Schedule) -> Option<Packet> {
        let arrived = self.packets.pop_front()?;
        if let Some(next) = self.packets.front() {
            schedule.set(self.slot, next.key);
        }
        Some(arrived.packet)
    }
}
