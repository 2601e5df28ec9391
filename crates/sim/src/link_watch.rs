//! Watches the links of a run: the latest events there.

use std::collections::VecDeque;

use bloatlab_aqm::{Ecn, Packet as _};
use bloatlab_outcome::Step;
use bloatlab_units::Nanos;

use crate::packet::Packet;

/// What happened to a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LinkStep {
    /// It arrived at the queue, which may drop it at once.
    Enqueue = 0,
    /// It left the queue for the transmitter.
    Dequeue = 1,
    /// The queue dropped it.
    Drop = 2,
    /// The queue marked it.
    Mark = 3,
    /// It reached the receiver of the flow's data.
    Delivery = 4,
    /// It was lost outside of a queue: at an impairment, on the radio, or at its host because of its checksum.
    Loss = 5,
}

impl LinkStep {
    /// The step of a packet of this direction, if it is of interest here.
    pub(crate) fn of(step: Step, direction: usize) -> Option<Self> {
        Some(match step {
            Step::Enqueue => Self::Enqueue,
            Step::Dequeue => Self::Dequeue,
            Step::Drop => Self::Drop,
            Step::Mark => Self::Mark,
            Step::Receive if direction == 0 => Self::Delivery,
            Step::Discard => Self::Loss,
            _ => return None,
        })
    }
}

/// One event at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEvent {
    /// When it happened.
    pub at: Nanos,
    /// What happened.
    pub step: LinkStep,
    /// Index of the box among those of the plan. Above all of them for a host.
    pub place: u32,
    /// Index of the flow, in the order in which the flows were added.
    pub flow: u32,
    /// Bytes of the packet.
    pub bytes: u32,
    /// Whether the packet carries CE.
    pub has_ce: bool,
}

/// The latest events at links.
pub(crate) struct LinkWatch {
    /// Oldest first, at most `most`.
    events: VecDeque<LinkEvent>,
    most: usize,
    /// Events that were forgotten since the last call of `take`.
    forgotten: u64,
}

impl LinkWatch {
    /// Watches, and keeps the latest `most` events.
    pub fn new(most: usize) -> Self {
        Self {
            events: VecDeque::new(),
            most,
            forgotten: 0,
        }
    }

    /// Notes an event.
    pub fn note(&mut self, at: Nanos, step: LinkStep, place: u32, packet: &Packet) {
        if self.events.len() >= self.most {
            self.forgotten += 1;
            self.events.pop_front();
        }
        if self.most > 0 {
            self.events.push_back(LinkEvent {
                at,
                step,
                place,
                flow: packet.flow_index() as u32,
                bytes: packet.length(),
                has_ce: packet.ecn() == Ecn::Ce,
            });
        }
    }

    /// Takes the latest events, at most `most`, oldest first. Also returns how many since the last call are left out.
    pub fn take(&mut self, most: usize) -> (Vec<LinkEvent>, u64) {
        let older = self.events.len().saturating_sub(most);
        let left_out = self.forgotten + older as u64;
        self.forgotten = 0;
        let taken = self.events.drain(..).skip(older).collect();
        (taken, left_out)
    }
}
