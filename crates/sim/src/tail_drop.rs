//! A tail-drop FIFO inside a link. Waiting packets follow those in flight in the same ring, so each packet is copied only once.

use bloatlab_aqm::{Capacity, Packet as _};
use bloatlab_port::Framed;
use bloatlab_units::Nanos;

use crate::accounting::{Context, Waited};
use crate::link::Link;
use crate::packet::Packet;

impl Link {
    /// Enqueues a packet. Returns false if the queue is full.
    #[inline(always)]
    pub fn wait(&mut self, now: Nanos, capacity: Capacity, packet: &Packet) -> bool {
        let backlog = &mut self.port.backlog;
        let size = packet.length() + backlog.header;
        if !capacity.fits(backlog.packets, backlog.bytes, size) {
            backlog.refuse(now, packet);
            return false;
        }
        backlog.count.arrivals += 1;
        self.flight.wait(packet).set_enqueued_at(now);
        backlog.set_length(now, backlog.packets + 1, backlog.bytes + u64::from(size));
        true
    }

    /// Sends the first waiting packet.
    #[inline(always)]
    pub fn send_first(&mut self, context: &mut Context, now: Nanos) {
        let Some(packet) = self.flight.first_waiting() else {
            return;
        };
        let backlog = &mut self.port.backlog;
        let length = packet.length();
        let waited = Waited::of(packet, now);
        let bytes = backlog.bytes - u64::from(length + backlog.header);
        backlog.shrink(now, backlog.packets - 1, bytes);
        let arrival = self.port.start(now, length);
        self.flight.set_out(context.schedule, arrival);
        context.count_wait(&mut self.port.backlog, waited);
    }

    /// Takes all waiting packets out.
    pub fn take_stored(&mut self, now: Nanos) -> Vec<Packet> {
        self.port.backlog.set_length(now, 0, 0);
        self.flight.take_waiting()
    }

    /// Moves the waiting packets into the queue discipline at the end of the run, so that its statistics include them.
    pub fn put_back(&mut self, now: Nanos) {
        let backlog = &mut self.port.backlog;
        for packet in self.flight.waiting() {
            let mut packet = *packet;
            packet.lengthen(backlog.header);
            backlog.queue.enqueue(now, packet, &mut backlog.signals);
        }
    }
}
