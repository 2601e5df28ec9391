//! A delay that lets packets overtake each other.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::boxes::Count;
use crate::flight::InFlight;
use crate::packet::Packet;
use crate::schedule::{Schedule, clock, event};
use crate::varying::VaryingDelay;

/// Holds every packet for a time of its own. Each has an event: they fire in the order in which packets leave.
pub(crate) struct Scatter {
    delay: VaryingDelay,
    packets: BinaryHeap<Reverse<InFlight>>,
    index: u32,
    pub count: Count,
}

impl Scatter {
    pub fn new(delay: VaryingDelay, index: u32) -> Self {
        Self {
            delay,
            packets: BinaryHeap::new(),
            index,
            count: Count::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.packets.len()
    }

    pub fn enter(&mut self, schedule: &mut Schedule, packet: &Packet) {
        self.count.arrivals += 1;
        let arrival = self.delay.due(schedule.now);
        let key = schedule.push(arrival, event::CLOCK, clock::SCATTER | self.index);
        self.packets.push(Reverse(InFlight {
            key,
            packet: *packet,
        }));
    }

    /// Takes the packet that leaves now.
    pub fn pop(&mut self) -> Option<Packet> {
        self.count.departures += 1;
        self.packets.pop().map(|Reverse(first)| first.packet)
    }
}
