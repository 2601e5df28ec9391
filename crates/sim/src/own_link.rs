//! How a connection sends into the queue of its host's own link, which it knows.

use bloatlab_aqm::Ecn;
use bloatlab_port::Framed;

use crate::flow::TcpFlow;
use crate::link::Link;
use crate::network::Network;
use crate::own_queue::OwnLink;
use crate::packet::Packet;
use crate::sending::Last;

impl Link {
    /// Whether the own queue has no room for this packet.
    fn refuses(&self, packet: &Packet) -> bool {
        let backlog = &self.port.backlog;
        let mut packet = *packet;
        packet.lengthen(backlog.header);
        !(self.port.has_room() && backlog.packets == 0) && backlog.queue.refuses(&packet)
    }
}

impl TcpFlow {
    /// Sends what an endpoint may send now into the host's own queue, a buffer at a time.
    #[inline(never)]
    pub fn send_on_own_link(&mut self, network: &mut Network, end: usize, own: OwnLink) {
        let now = network.schedule.now;
        let mut last = Last::default();
        let mut filled = 0;
        loop {
            let is_within = if self.ends[end].sends_buffers() {
                self.ends[end].is_within_buffer()
            } else {
                (1..own.segments).contains(&filled)
            };
            if !is_within && self.must_wait(network, end, own) {
                return self.send_control(network, end);
            }
            let Some(ecn) = self.ends[end].poll(now, &mut self.packets[end].segment) else {
                return;
            };
            let packet = &mut self.packets[end];
            let length = packet.segment.length;
            let follows = last.precedes(&packet.segment);
            last = Last::of(&packet.segment, &self.ends[end]);
            packet.set_out(packet.segment.wire_size(), ecn, follows);
            if length > 0 {
                let before = if is_within && follows { filled } else { 0 };
                filled = before + 1;
                if let Some(queue) = &mut network.links[own.link].own {
                    queue.add(own.id, before, length.into());
                }
                self.on_departures(now, end, 1);
            }
            network.send(&mut self.packets[end]);
            if !self.ends[end].may_go_on(now) {
                return;
            }
        }
    }

    /// Whether the next buffer must wait: too much of this connection waits in the own queue, or the queue is full.
    fn must_wait(&mut self, network: &mut Network, end: usize, own: OwnLink) -> bool {
        let now = network.schedule.now;
        let endpoint = &mut self.ends[end];
        if !endpoint.has_data_to_send(now) {
            return false;
        }
        let link = &mut network.links[own.link];
        if let (Some(rules), Some(queue)) = (own.rules, &mut link.own) {
            let waiting = queue.end(own.id);
            if endpoint.must_wait(rules, own.segments.into(), waiting.memory) {
                waiting.is_awaited = true;
                return true;
            }
        }
        let mut full = self.packets[end];
        full.segment.length = self.mss as u16;
        full.set_out(full.segment.wire_size(), Ecn::NotEct, false);
        let is_full = endpoint.awaits_ack() && link.refuses(&full);
        if is_full {
            endpoint.on_own_queue_full(now);
        }
        is_full
    }

    /// Sends the ACK that is due, if any, while data waits.
    pub fn send_control(&mut self, network: &mut Network, end: usize) {
        let now = network.schedule.now;
        let packet = &mut self.packets[end];
        while let Some(ecn) = self.ends[end].poll_control(now, &mut packet.segment) {
            packet.set_out(packet.segment.wire_size(), ecn, false);
            network.send(packet);
        }
    }
}
