//! What the flows do when something happens: start, stop, a message or a request is due, data was read, a handshake failed.

use bloatlab_units::Nanos;

use crate::application::Actions;
use crate::datagrams::UDP_HEADER;
use crate::engine::Engine;
use crate::flow::Flow;
use crate::outside::Order;
use crate::packet::Packet;
use crate::schedule::{application, event};
use bloatlab_outcome::Protocol;

impl Engine<'_> {
    /// An application starts, stops, or is to be called at the instant that it named.
    #[inline(never)]
    pub(crate) fn on_application(&mut self, index: usize, what: u32) {
        match what {
            application::START => self.on_start(index),
            application::STOP => self.on_stop(index),
            application::RESUME => (0..2).for_each(|end| self.pump(index, end)),
            _ => self.on_wake(index),
        }
    }

    pub(crate) fn application_event(&mut self, at: Nanos, index: usize, what: u32) {
        // No flow stops after the end of the run.
        let until = match what {
            application::STOP => self.end,
            _ => self.network.accounts[index].stop,
        };
        if at < until {
            let index = index as u32 * application::KINDS + what;
            self.schedule(at, event::APPLICATION, index);
        }
    }

    fn on_start(&mut self, index: usize) {
        let now = self.now();
        self.application_event(self.network.accounts[index].stop, index, application::STOP);
        match &mut self.flows[index] {
            Flow::Tcp(flow) => {
                if now >= self.warmup {
                    flow.reset(now);
                }
                let actions = flow.application.on_start(now);
                self.carry_out(index, &actions);
            }
            Flow::Outside(flow) => {
                if now >= self.warmup {
                    flow.reset(now);
                }
                let actions = flow.application.on_start(now);
                self.carry_out_outside(index, now, &actions);
            }
            Flow::Udp(flow) => {
                flow.since = now.max(self.warmup);
                let first = flow.source.times.first(now);
                self.application_event(first, index, application::WAKE);
            }
            Flow::Echo(_) => self.on_wake(index),
        }
    }

    fn on_stop(&mut self, index: usize) {
        if self.network.accounts[index].stop != self.now() {
            // The timeline has set another instant since.
            return;
        }
        let now = self.now();
        match &mut self.flows[index] {
            Flow::Tcp(flow) => flow.stop(&mut self.network, index),
            Flow::Outside(flow) => {
                let arrived = flow.totals().arrived;
                flow.stats.stop(now, flow.completed_at, arrived);
                if !flow.application.completes_after_stop() {
                    self.order(Order::Stop { flow: index });
                }
            }
            Flow::Udp(flow) => flow.bytes_by_stop = Some(flow.bytes),
            Flow::Echo(_) => {}
        }
    }

    fn on_wake(&mut self, index: usize) {
        let now = self.now();
        // The timeline may have moved the stop before an instant that was named earlier.
        if now >= self.network.accounts[index].stop {
            return;
        }
        match &mut self.flows[index] {
            Flow::Tcp(flow) => {
                let actions = flow.application.on_wake(now);
                self.carry_out(index, &actions);
            }
            Flow::Outside(flow) => {
                let actions = flow.application.on_wake(now);
                self.carry_out_outside(index, now, &actions);
            }
            Flow::Udp(flow) => {
                let (size, next) = (flow.source.size, flow.source.times.next(now));
                let seq = flow.next_seq;
                flow.next_seq = seq.wrapping_add(1);
                flow.departed += size;
                if now >= flow.since {
                    flow.sent += 1;
                    flow.sent_bytes += size;
                    flow.monitor.first_sent.get_or_insert(now);
                }
                self.application_event(next, index, application::WAKE);
                if self.outside.is_some() {
                    let size = size as u32;
                    return self.order(Order::Datagram {
                        flow: index,
                        size,
                        seq,
                    });
                }
                let mut packet = Packet::new(index as u32, 0, 0, Protocol::Udp);
                packet.set_length((size + UDP_HEADER) as u32);
                packet.segment.seq = seq;
                packet.segment.length = size as u16;
                packet.stamp(now);
                self.network.send(&mut packet);
            }
            Flow::Echo(flow) => {
                let (size, seq) = (flow.size, flow.next_seq);
                flow.next_seq = seq.wrapping_add(1);
                if now >= self.warmup {
                    flow.sent += 1;
                }
                let next = now + flow.intervals.next().max(1);
                self.application_event(next, index, application::WAKE);
                if self.outside.is_some() {
                    return self.order(Order::Echo {
                        flow: index,
                        size,
                        seq,
                    });
                }
                let mut packet = Packet::new(index as u32, 0, 0, Protocol::Echo);
                packet.set_length(size);
                packet.segment.seq = seq;
                packet.stamp(now);
                self.network.send(&mut packet);
            }
        }
    }

    /// An end of a TCP flow read this many bytes, and its application wants to know.
    pub(crate) fn on_read(&mut self, index: usize, end: usize, bytes: u64) {
        let now = self.now();
        if let Some(flow) = self.flows[index].tcp() {
            let actions = flow.application.on_read(now, end, bytes);
            self.carry_out(index, &actions);
        }
    }

    /// An end of a TCP flow gave up the handshake.
    pub(crate) fn on_handshake_failure(&mut self, index: usize, end: usize) {
        let now = self.now();
        if let Some(flow) = self.flows[index].tcp() {
            // Both ends of a connection may give it up.
            flow.handshakes_given_up += u64::from(!flow.ends[1 - end].failed());
            let actions = flow.application.on_handshake_failure(now);
            self.carry_out(index, &actions);
        }
    }

    /// Does what the application of a TCP flow wants done.
    fn carry_out(&mut self, index: usize, actions: &Actions) {
        let now = self.now();
        let is_over = self.flows[index].tcp().is_some_and(|flow| flow.is_over);
        if actions.open.is_some() && is_over {
            self.replace_connection(index);
        }
        let Some(flow) = self.flows[index].tcp() else {
            return;
        };
        flow.write(now, actions);
        flow.is_over |= actions.ends_connection;
        if let Some(asked) = actions.answered.filter(|&asked| asked >= self.warmup) {
            flow.stats
                .fetches
                .get_or_insert_default()
                .record(now - asked);
            self.push_probe(index, now, now - asked);
        }
        if actions.ends_connection {
            self.close(index);
        }
        if let Some(at) = actions.wake_at {
            self.application_event(at, index, application::WAKE);
        }
        if let Some(end) = actions.open {
            self.open(index, end);
        }
        if let Some(end) = actions.send {
            self.pump(index, end);
        }
    }

    /// End 1 closes the connection.
    fn close(&mut self, index: usize) {
        if let Some(flow) = self.flows[index].tcp()
            && flow.ends[1].established()
        {
            flow.ends[1].close();
            flow.pump(&mut self.network, index, 1);
        }
    }

    /// Opens the connection from this end.
    fn open(&mut self, index: usize, from: usize) {
        if let Some(flow) = self.flows[index].tcp() {
            flow.ends[from].connect();
            flow.ends[1 - from].listen();
            flow.pump(&mut self.network, index, from);
        }
    }

    /// Gives a flow a new connection. Segments of the old one that are still on their way are ignored.
    fn replace_connection(&mut self, index: usize) {
        let number = self.flows[index]
            .tcp()
            .map(|flow| flow.connection.wrapping_add(1));
        match self.make_ends(index, number.unwrap_or_default()) {
            Ok(ends) => {
                let keeps_threshold = self.plan.flows[index].tcp.cached_ssthresh;
                if let Some(flow) = self.flows[index].tcp() {
                    flow.replace_connection(index, ends, keeps_threshold);
                }
            }
            Err(message) => self.failure = Some(message),
        }
    }

    pub(crate) fn receive_datagram(&mut self, packet: &Packet) {
        if self.outside.is_some() {
            return self.deliver_outside(packet);
        }
        let now = self.now();
        if let Flow::Udp(flow) = &mut self.flows[packet.flow_index()] {
            let size = packet.segment.length.into();
            flow.receive(packet.stamped(), now, size);
        }
    }

    pub(crate) fn receive_echo(&mut self, packet: &Packet) {
        if self.outside.is_some() {
            return self.deliver_outside(packet);
        }
        if packet.direction() == 0 {
            let mut reply = Packet::new(packet.flow_index() as u32, 0, 1, Protocol::Echo);
            reply.set_length(packet.length());
            reply.segment = packet.segment;
            return self.network.send(&mut reply);
        }
        self.on_echo_reply(packet.flow_index(), packet.stamped(), self.now());
    }

    /// The reply to an echo request of this departure arrived.
    pub(crate) fn on_echo_reply(&mut self, index: usize, departure: Nanos, now: Nanos) {
        if let Flow::Echo(flow) = &mut self.flows[index]
            && departure >= self.warmup
        {
            flow.rtt.record(now - departure);
            self.push_probe(index, now, now - departure);
        }
    }

    pub(crate) fn push_probe(&mut self, index: usize, now: Nanos, rtt: Nanos) {
        if let Some(rank) = self.ranks[index].1 {
            self.probe_series
                .extend(now as f64 * 1e-9, &[(rank, [rtt as f64 * 1e-6])]);
        }
    }
}
