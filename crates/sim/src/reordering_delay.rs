//! A delay that lets packets overtake each other.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bloatlab_link::VaryingDelay;
use bloatlab_outcome::Count;

use crate::calendar::Key;
use crate::packet::Packet;
use crate::schedule::{Schedule, clock, event};

/// A packet and the key of the event at which it leaves.
struct Held {
    key: Key,
    packet: Packet,
}

/// Ordered by their keys, which are unique.
impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Held {}

/// Holds every packet for a different time. Each packet has an event. The events fire in the order in which packets leave.
pub(crate) struct ReorderingDelay {
    delay: VaryingDelay,
    packets: BinaryHeap<Reverse<Held>>,
    index: u32,
    pub count: Count,
}

impl ReorderingDelay {
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
        let key = schedule.push(arrival, event::CLOCK, clock::REORDERING | self.index);
        self.packets.push(Reverse(Held {
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
