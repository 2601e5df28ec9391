//! A tail-drop FIFO inside a link. Waiting packets follow those in flight in the same ring, so each packet is copied only once.

use bloatlab_aqm::{Capacity, DropReason, Packet as _, Sink as _};
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
        if self.refused.of(packet).is_some() || !capacity.fits(backlog.packets, backlog.bytes, size)
        {
            self.refuse(now, packet);
            return false;
        }
        self.refused.forget();
        backlog.count.arrivals += 1;
        self.flight.wait(packet).set_enqueued_at(now);
        backlog.set_length(now, backlog.packets + 1, backlog.bytes + u64::from(size));
        true
    }

    /// Drops a packet by overflow, and those of its offload buffer that wait, as `fifo` does.
    #[cold]
    fn refuse(&mut self, now: Nanos, packet: &Packet) {
        let backlog = &mut self.port.backlog;
        backlog.refuse(now, packet);
        self.refused.note(packet, ());
        let mut next = *packet;
        while let Some(mut earlier) = self
            .flight
            .take_back(|newest| next.follows() && newest.has_more() && newest.flow() == next.flow())
        {
            next = earlier;
            earlier.lengthen(backlog.header);
            let bytes = backlog.bytes - u64::from(earlier.length());
            backlog.set_length(now, backlog.packets - 1, bytes);
            backlog.signals.dropped(&earlier, DropReason::Overflow);
        }
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
