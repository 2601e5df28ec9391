//! Boxes that drop, damage or duplicate packets at once.

use bloatlab_link::{Action, Impairment};
use bloatlab_outcome::Count;

use crate::flight::Flight;
use crate::packet::Packet;
use crate::schedule::{Schedule, clock, event};

/// An impairment as a box of the network.
pub(crate) struct ImpairmentBox {
    /// Its index among the plan's boxes.
    pub number: u32,
    impairment: Box<dyn Impairment>,
    /// Copies of packets, which follow at the same instant as an event.
    copies: Flight,
    count: Count,
}

impl ImpairmentBox {
    /// A box with this index among the plan's boxes and among the impairments.
    pub fn new(number: u32, index: u32, impairment: Box<dyn Impairment>) -> Self {
        Self {
            number,
            impairment,
            copies: Flight::new(event::CLOCK, clock::COPY | index),
            count: Count::default(),
        }
    }

    /// Sets the probability from now on.
    pub fn set_probability(&mut self, probability: f64) {
        self.impairment.set_probability(probability);
    }

    /// Acts on a packet, counts it and returns what happened.
    pub fn pass(&mut self, schedule: &mut Schedule, packet: &mut Packet) -> Action {
        let action = self.impairment.pass(schedule.now);
        self.count.arrivals += 1;
        self.count.departures += 1;
        match action {
            Action::Forward => {}
            Action::Drop => {
                self.count.departures -= 1;
                self.count.drops += 1;
            }
            Action::Corrupt => packet.damage(),
            Action::Duplicate => {
                self.count.duplicates += 1;
                self.copies.push(schedule, schedule.now, packet);
            }
        }
        action
    }

    /// Takes the copy that leaves now.
    pub fn pop(&mut self, schedule: &mut Schedule) -> Option<Packet> {
        self.count.departures += 1;
        self.copies.pop(schedule)
    }

    /// What was counted, and the copies that have not left yet.
    pub fn count(&self) -> Count {
        Count {
            held: self.copies.len() as u64,
            ..self.count
        }
    }
}
