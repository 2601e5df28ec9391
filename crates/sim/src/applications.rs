//! What applications do when something happens: start, stop, message due, request read, page complete.

use bloatlab_units::{NEVER, Nanos};

use crate::application::Application;
use crate::engine::Engine;
use crate::flow::{Flow, Past, TcpFlow};
use crate::packet::Packet;
use crate::schedule::{application, event};
use bloatlab_outcome::Protocol;

/// Bytes of IPv4 and UDP headers.
const UDP_HEADER: u64 = 28;
/// A client waits this long after a connection that could not be opened.
const RETRY: Nanos = 1_000_000_000;

impl Engine<'_> {
    /// An application starts, stops, or has its next message or request due.
    #[inline(never)]
    pub(crate) fn on_application(&mut self, index: usize, what: u32) {
        match what {
            application::START => self.on_start(index),
            application::STOP => self.on_stop(index),
            _ => self.on_next(index),
        }
    }

    fn application_event(&mut self, at: Nanos, index: usize, what: u32) {
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
                match &mut flow.application {
                    Application::Greedy => flow.pending = u64::MAX,
                    Application::Finite { bytes } => {
                        flow.pending = *bytes;
                        flow.log.write(now, *bytes);
                    }
                    Application::Messages(source) => {
                        let first = source.first(now);
                        self.application_event(first, index, application::NEXT);
                        return self.open(index, 0);
                    }
                    Application::Fetch(_) => return self.begin_fetch(index),
                }
                flow.feed(now);
                self.open(index, 0);
            }
            Flow::Udp(flow) => {
                flow.since = now.max(self.warmup);
                let first = flow.source.first(now);
                self.application_event(first, index, application::NEXT);
            }
            Flow::Echo(_) => self.on_next(index),
        }
    }

    /// Opens the connection from this end.
    fn open(&mut self, index: usize, from: usize) {
        let Flow::Tcp(flow) = &mut self.flows[index] else {
            return;
        };
        flow.ends[from].connect();
        flow.ends[1 - from].listen();
        self.pump(index, from);
    }

    fn on_stop(&mut self, index: usize) {
        if self.network.accounts[index].stop != self.now() {
            // The timeline has set another instant since.
            return;
        }
        // What arrives later is no throughput of the flow's lifetime.
        let flow = match &mut self.flows[index] {
            Flow::Tcp(flow) => flow,
            Flow::Udp(flow) => return flow.bytes_by_stop = Some(flow.bytes),
            Flow::Echo(_) => return,
        };
        flow.stats.by_stop = Some((flow.arrived(), flow.stats.delivered));
        if !matches!(flow.application, Application::Fetch(_)) {
            flow.pending = 0;
            flow.ends[0].discard_unsent();
            flow.ends[0].close();
            self.pump(index, 0);
        }
    }

    fn on_next(&mut self, index: usize) {
        let now = self.now();
        match &mut self.flows[index] {
            Flow::Tcp(flow) => match &mut flow.application {
                Application::Messages(source) => {
                    let (size, next) = (source.size, source.next(now));
                    flow.pending += size;
                    flow.log.write(now, size);
                    flow.feed(now);
                    self.application_event(next, index, application::NEXT);
                    self.pump(index, 0);
                }
                Application::Fetch(_) => self.begin_fetch(index),
                Application::Greedy | Application::Finite { .. } => {}
            },
            Flow::Udp(flow) => {
                let (size, next) = (flow.source.size, flow.source.next(now));
                let mut packet = Packet::new(index as u32, 0, 0, Protocol::Udp);
                packet.set_length((size + UDP_HEADER) as u32);
                packet.segment.seq = flow.next_seq;
                packet.segment.length = size as u16;
                packet.stamp(now);
                flow.next_seq = flow.next_seq.wrapping_add(1);
                if now >= flow.since {
                    flow.sent += 1;
                    flow.sent_bytes += size;
                    flow.monitor.first_sent.get_or_insert(now);
                }
                self.application_event(next, index, application::NEXT);
                self.network.send(&mut packet);
            }
            Flow::Echo(flow) => {
                let mut packet = Packet::new(index as u32, 0, 0, Protocol::Echo);
                packet.set_length(flow.size);
                packet.segment.seq = flow.next_seq;
                packet.stamp(now);
                flow.next_seq = flow.next_seq.wrapping_add(1);
                if now >= self.warmup {
                    flow.sent += 1;
                }
                let next = now + flow.interval;
                self.application_event(next, index, application::NEXT);
                self.network.send(&mut packet);
            }
        }
    }

    pub(crate) fn receive_datagram(&mut self, packet: &Packet) {
        let now = self.now();
        let Flow::Udp(flow) = &mut self.flows[packet.flow_index()] else {
            return;
        };
        let departure = packet.stamped();
        if departure < flow.since {
            return;
        }
        let transit = now - departure;
        flow.bytes += u64::from(packet.segment.length);
        flow.delay.record(transit);
        if let Some(last) = flow.last_transit.replace(transit) {
            // RFC 3550 section 6.4.1.
            flow.jitter += (transit.abs_diff(last) as f64 - flow.jitter) / 16.0;
            flow.monitor.jitter += transit.abs_diff(last);
        }
        flow.monitor.last_received = now;
        flow.monitor.bytes += u64::from(packet.length());
    }

    pub(crate) fn receive_echo(&mut self, packet: &Packet) {
        let now = self.now();
        if packet.direction() == 0 {
            let mut reply = Packet::new(packet.flow_index() as u32, 0, 1, Protocol::Echo);
            reply.set_length(packet.length());
            reply.segment = packet.segment;
            return self.network.send(&mut reply);
        }
        let index = packet.flow_index();
        let departure = packet.stamped();
        if let Flow::Echo(flow) = &mut self.flows[index]
            && departure >= self.warmup
        {
            flow.rtt.record(now - departure);
            self.push_probe(index, now, now - departure);
        }
    }

    fn push_probe(&mut self, index: usize, now: Nanos, rtt: Nanos) {
        if let Some(rank) = self.ranks[index].1 {
            self.probe_series
                .extend(now as f64 * 1e-9, &[(rank, [rtt as f64 * 1e-6])]);
        }
    }

    /// The client asks for a page.
    fn begin_fetch(&mut self, index: usize) {
        let now = self.now();
        let Flow::Tcp(flow) = &mut self.flows[index] else {
            return;
        };
        let Application::Fetch(fetch) = &mut flow.application else {
            return;
        };
        fetch.began = now;
        fetch.asked = 0;
        fetch.answered = 0;
        fetch.active = true;
        flow.ends[1].write(fetch.request);
        if flow.ends[1].established() {
            self.pump(index, 1);
        } else {
            self.open(index, 1);
        }
    }

    /// An endpoint took a segment: applications that answer do so.
    pub(crate) fn after_segment(&mut self, index: usize, end: usize, bytes: u64) {
        let now = self.now();
        let Flow::Tcp(flow) = &mut self.flows[index] else {
            return;
        };
        match &flow.application {
            Application::Greedy | Application::Messages(_) => {}
            Application::Finite { bytes: all } => {
                if end == 1 && flow.log.read_so_far() >= *all && flow.completed_at == NEVER {
                    flow.completed_at = now;
                }
            }
            Application::Fetch(_) => self.on_fetch_progress(index, end, bytes),
        }
    }

    fn on_fetch_progress(&mut self, index: usize, end: usize, bytes: u64) {
        let now = self.now();
        let Flow::Tcp(flow) = &mut self.flows[index] else {
            return;
        };
        let Application::Fetch(fetch) = &mut flow.application else {
            return;
        };
        if !fetch.active || bytes == 0 {
            return;
        }
        if end == 0 {
            fetch.asked += bytes;
            if fetch.asked >= fetch.request {
                flow.pending += fetch.response;
                flow.log.write(now, fetch.response);
                flow.feed(now);
            }
            return;
        }
        fetch.answered += bytes;
        if fetch.answered < fetch.response {
            return;
        }
        fetch.active = false;
        let (began, interval, persistent) = (fetch.began, fetch.interval, fetch.persistent);
        if began >= self.warmup {
            let fetches = flow.stats.fetches.get_or_insert_default();
            fetches.record(now - began);
            self.push_probe(index, now, now - began);
        }
        if !persistent {
            self.replace_connection(index);
        }
        self.application_event(now + interval.max(1), index, application::NEXT);
    }

    /// The page is complete: the next one gets a connection of its own; what is still under way belongs to none.
    fn replace_connection(&mut self, index: usize) {
        let Flow::Tcp(flow) = &mut self.flows[index] else {
            return;
        };
        flow.past = Some(Box::new(Past {
            sender: flow.sender_stats(),
            arrived: flow.arrived(),
            waits: flow.waits(),
        }));
        flow.connection = flow.connection.wrapping_add(1);
        flow.packets = TcpFlow::blank_packets(index, flow.connection);
        flow.pending = 0;
        flow.stats.last_departure = NEVER;
        let connection = flow.connection;
        match self.make_ends(index, connection) {
            Ok(ends) => {
                if let Flow::Tcp(flow) = &mut self.flows[index] {
                    flow.ends = ends;
                }
            }
            Err(message) => self.failure = Some(message),
        }
    }

    /// A timer of an endpoint was handled.
    pub(crate) fn after_timer(&mut self, index: usize, end: usize) {
        let Flow::Tcp(flow) = &mut self.flows[index] else {
            return;
        };
        if !flow.ends[end].failed() {
            return;
        }
        // Both ends of a connection may give it up.
        flow.handshakes_given_up += u64::from(!flow.ends[1 - end].failed());
        if let Application::Fetch(fetch) = &mut flow.application {
            fetch.active = false;
            flow.stats.failed_fetches += 1;
            let at = self.now() + RETRY;
            self.replace_connection(index);
            self.application_event(at, index, application::NEXT);
        }
    }
}
