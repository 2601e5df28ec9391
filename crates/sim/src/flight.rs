//! Packets under way between two places.

use bloatlab_units::{NEVER, Nanos, Ring};

use crate::packet::Packet;
use crate::place::Place;
use crate::schedule::{Schedule, Slot};

/// A packet on its way.
#[derive(Clone, Copy)]
struct InFlight {
    arrival: Nanos,
    packet: Packet,
}

/// Packets in flight, which arrive in the order in which they left. Only the first has an event.
///
/// Packets that wait to be sent may follow them in the same ring.
pub(crate) struct Flight {
    packets: Ring<InFlight>,
    waiting: usize,
    slot: Slot,
    /// The next place of every packet; None: look it up in the packet's path.
    pub next: Option<Place>,
    kind: u32,
    pub index: u32,
}

impl Flight {
    /// No packets in flight. Arrivals are events of this kind and index.
    pub fn new(kind: u32, index: u32) -> Self {
        Self {
            packets: Ring::default(),
            waiting: 0,
            slot: Slot::CALENDAR,
            next: None,
            kind,
            index,
        }
    }

    /// Keeps the next arrival in a register, if one is free.
    pub fn reserve(&mut self, schedule: &mut Schedule) {
        self.slot = schedule.reserve();
    }

    /// Number of packets in flight.
    #[inline]
    pub fn len(&self) -> usize {
        self.packets.len() - self.waiting
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a packet that is sent now. No packet may be waiting.
    #[inline]
    pub fn push(&mut self, schedule: &mut Schedule, arrival: Nanos, packet: &Packet) {
        debug_assert_eq!(self.waiting, 0);
        if self.packets.is_empty() {
            self.announce(schedule, arrival);
        }
        self.packets.push_back(InFlight {
            arrival,
            packet: *packet,
        });
    }

    /// Appends a packet that waits, and returns it in place.
    #[inline]
    pub fn wait(&mut self, packet: &Packet) -> &mut Packet {
        self.waiting += 1;
        let entry = InFlight {
            arrival: NEVER,
            packet: *packet,
        };
        &mut self.packets.push_back(entry).packet
    }

    /// The first waiting packet.
    #[inline]
    pub fn first_waiting(&self) -> Option<&Packet> {
        self.packets.get(self.len()).map(|entry| &entry.packet)
    }

    /// The first waiting packet is sent now.
    #[inline]
    pub fn set_out(&mut self, schedule: &mut Schedule, arrival: Nanos) {
        let ahead = self.len();
        if let Some(entry) = self.packets.get_mut(ahead) {
            entry.arrival = arrival;
            self.waiting -= 1;
        }
        if ahead == 0 {
            self.announce(schedule, arrival);
        }
    }

    /// Takes back the newest waiting packet if `joins` accepts it.
    pub fn take_back(&mut self, joins: impl FnOnce(&Packet) -> bool) -> Option<Packet> {
        let newest = self
            .packets
            .len()
            .checked_sub(1)
            .filter(|_| self.waiting > 0)?;
        let packet = self.packets.get(newest)?.packet;
        joins(&packet).then(|| {
            self.packets.drop_back(1);
            self.waiting -= 1;
            packet
        })
    }

    /// When the last packet in flight arrives; 0 if none is in flight.
    pub fn last_arrival(&self) -> Nanos {
        let last = self.len().checked_sub(1);
        let last = last.and_then(|last| self.packets.get(last));
        last.map_or(0, |entry| entry.arrival)
    }

    /// Takes all waiting packets out.
    pub fn take_waiting(&mut self) -> Vec<Packet> {
        let waiting = self.waiting().copied().collect();
        self.packets.drop_back(self.waiting);
        self.waiting = 0;
        waiting
    }

    /// All waiting packets.
    pub fn waiting(&self) -> impl Iterator<Item = &Packet> {
        self.packets
            .iter()
            .skip(self.len())
            .map(|entry| &entry.packet)
    }

    /// Takes the packet that arrives now.
    #[inline]
    pub fn pop(&mut self, schedule: &mut Schedule) -> Option<Packet> {
        let arrived = self.packets.pop_front()?;
        if !self.is_empty()
            && let Some(next) = self.packets.front()
        {
            self.announce(schedule, next.arrival);
        }
        Some(arrived.packet)
    }

    /// Schedules the arrival of the first packet.
    #[inline]
    fn announce(&self, schedule: &mut Schedule, arrival: Nanos) {
        schedule.set(self.slot, arrival, self.kind, self.index);
    }
}
