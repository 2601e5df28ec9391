//! A tail-drop FIFO inside a link. Waiting packets stand behind those in flight in the same ring, so each packet is copied only once.

use bloatlab_aqm::{Capacity, DropReason, Packet as _, Sink};
use bloatlab_units::Nanos;

use crate::boxes::Link;
use crate::packet::Packet;
use crate::schedule::Schedule;

impl Link {
    /// Enqueues a packet. Returns false if the queue is full.
    #[inline(always)]
    pub fn wait(&mut self, now: Nanos, capacity: Capacity, packet: &Packet) -> bool {
        self.count.arrivals += 1;
        let size = packet.length() + self.header;
        if !capacity.fits(self.packets, self.bytes, size) {
            self.refuse(packet);
            return false;
        }
        self.flight.wait(packet).set_enqueued_at(now);
        self.set_length(now, self.packets + 1, self.bytes + u64::from(size));
        true
    }

    #[cold]
    fn refuse(&mut self, packet: &Packet) {
        let mut packet = *packet;
        packet.lengthen(self.header);
        self.signals.dropped(&packet, DropReason::Overflow);
    }

    /// Sends the first waiting packet and returns its sojourn time and flow.
    #[inline(always)]
    pub fn set_out(&mut self, schedule: &mut Schedule, now: Nanos) -> Option<Waited> {
        let packet = self.flight.first_waiting()?;
        let length = packet.length() + self.header;
        let waited = Waited::of(packet, now);
        self.set_length(now, self.packets - 1, self.bytes - u64::from(length));
        let arrival = self.occupy(now, length + self.overhead);
        self.flight.set_out(schedule, arrival);
        Some(waited)
    }

    /// Moves the waiting packets into the queue discipline at the end of the run, so that its statistics include them.
    pub fn put_back(&mut self, now: Nanos) {
        for packet in self.flight.waiting() {
            let mut packet = *packet;
            packet.lengthen(self.header);
            self.queue.enqueue(now, packet, &mut self.signals);
        }
    }
}

/// The sojourn time of a packet, its flow and its direction.
#[derive(Clone, Copy)]
pub(crate) struct Waited {
    pub flow: usize,
    pub direction: usize,
    pub sojourn: Nanos,
}

impl Waited {
    #[inline]
    pub fn of(packet: &Packet, now: Nanos) -> Self {
        Self {
            flow: packet.flow_index(),
            direction: packet.direction(),
            sojourn: now - packet.enqueued_at(),
        }
    }
}
