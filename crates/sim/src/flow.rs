//! The flows, and TCP connections with their application.

use bloatlab_aqm::Packet as _;
use bloatlab_outcome::Protocol;
use bloatlab_tcp::{Endpoint, SenderStats};
use bloatlab_units::{NEVER, Nanos, float};

use crate::application::{Actions, Application, Writes};
use crate::datagrams::{EchoFlow, UdpFlow};
use crate::network::Network;
use crate::outside_tcp::OutsideTcp;
use crate::own_queue::OwnLink;
use crate::packet::Packet;
use crate::schedule::Slot;
use crate::tcp_stats::{SenderState, TcpStats, Totals, Waits};
use crate::write_log::WriteLog;

/// A flow of any kind.
pub(crate) enum Flow {
    Tcp(Box<TcpFlow>),
    /// A TCP connection of hosts outside.
    Outside(Box<OutsideTcp>),
    Udp(Box<UdpFlow>),
    Echo(Box<EchoFlow>),
}

impl Flow {
    /// The flow, if it is a TCP connection.
    #[inline(always)]
    pub fn tcp(&mut self) -> Option<&mut TcpFlow> {
        match self {
            Self::Tcp(flow) => Some(flow),
            Self::Outside(_) | Self::Udp(_) | Self::Echo(_) => None,
        }
    }
}

impl Flow {
    /// The statistics of a TCP connection.
    pub fn tcp_stats(&mut self) -> Option<&mut TcpStats> {
        match self {
            Self::Tcp(flow) => Some(&mut flow.stats),
            Self::Outside(flow) => Some(&mut flow.stats),
            Self::Udp(_) | Self::Echo(_) => None,
        }
    }
}

/// A TCP flow: end 0 sends data to end 1.
pub(crate) struct TcpFlow {
    pub ends: [Endpoint; 2],
    pub application: Box<dyn Application>,
    /// What the application says of itself, asked once because every segment needs it.
    pub application_writes: Writes,
    pub application_reads: bool,
    /// Which connection of the flow this is.
    pub connection: u8,
    /// The application needs this connection no more, and opens another one next time.
    pub is_over: bool,
    /// By end, the packet that left last. The next one is written over it, because most fields are equal in all packets of a connection.
    pub packets: [Packet; 2],
    /// By end, the instant of the pending timer event.
    pub scheduled: [Nanos; 2],
    /// By end, the event for which a paced segment waits. It is separate from the timers, which move with every segment.
    pub releases: [Release; 2],
    /// By end, the host's own link, if its packets enter one first.
    pub own_links: [Option<OwnLink>; 2],
    pub mss: f64,
    /// Bytes that the application wants to write, but that do not fit into the send buffer.
    pub pending: u64,
    pub log: WriteLog,
    /// When the last byte of a finite flow was read.
    pub completed_at: Nanos,
    /// When the first byte was read.
    pub first_read_at: Nanos,
    /// Counters of the earlier connections of this flow; `None` during the first connection.
    pub past: Option<Box<Past>>,
    /// Connections of this flow whose handshake was given up.
    pub handshakes_given_up: u64,
    pub stats: TcpStats,
}

/// Counters of the closed connections of a flow.
pub(crate) struct Past {
    pub sender: SenderStats,
    /// Payload bytes that reached end 1.
    pub arrived: u64,
    pub waits: Waits,
    /// The slow-start threshold that they left; `None` if it is not kept.
    pub threshold: Option<u64>,
}

/// When a paced segment may leave.
pub(crate) struct Release {
    /// Instant of the pending event; [`NEVER`] if there is none.
    pub at: Nanos,
    /// Where the event is. Chosen for the first event, so that only paced connections use a register.
    pub slot: Option<Slot>,
}

impl Default for Release {
    fn default() -> Self {
        Self {
            at: NEVER,
            slot: None,
        }
    }
}

impl TcpFlow {
    /// The fields that all packets of a flow's connection share, by end.
    pub fn blank_packets(index: usize, connection: u8) -> [Packet; 2] {
        [0, 1].map(|end| Packet::new(index as u32, connection, end, Protocol::Tcp))
    }

    /// Payload bytes that reached end 1, in order or not, each counted once, over all connections.
    #[inline]
    pub fn arrived(&self) -> u64 {
        self.past.as_ref().map_or(0, |past| past.arrived) + self.ends[1].receiver.received()
    }

    /// What its metrics are computed from.
    pub fn totals(&self) -> Totals {
        Totals {
            sent: self.sender_stats(),
            knows_sender: true,
            knows_recovery: true,
            arrived: self.arrived(),
            written: self.log.written(),
            min_rtt: self.ends[0].sender.rtt.min,
            mss: self.mss,
            completed_at: self.completed_at,
            first_read_at: self.first_read_at,
            handshakes_given_up: self.handshakes_given_up,
            waits: self.waits(),
        }
    }

    /// Everything the sender counted, over all connections.
    pub fn sender_stats(&self) -> SenderStats {
        let stats = &self.ends[0].sender.stats;
        let past = self.past.as_ref();
        past.map_or(*stats, |past| add(&past.sender, stats))
    }

    /// How often end 1, as a client, waited for a timer over all connections.
    pub fn waits(&self) -> Waits {
        let rtos: u64 = self.ends.iter().map(|end| end.sender.stats.rtos).sum();
        let past = self
            .past
            .as_ref()
            .map_or(Waits::default(), |past| past.waits);
        let repeats = self.ends[1].syn_repeats();
        Waits {
            syns: past.syns + repeats,
            connections: past.connections + u64::from(repeats > 0),
            rtos: past.rtos + rtos,
        }
    }

    /// Takes over what the application writes, and counts what it completed.
    pub fn write(&mut self, now: Nanos, actions: &Actions) {
        if actions.write > 0 {
            self.pending += actions.write;
            // What an endless writer writes is noted when there is room for it.
            if self.application_writes != Writes::Endlessly {
                self.log.write(now, actions.write);
            }
            self.feed(now);
        }
        if actions.request > 0 {
            self.ends[1].write(actions.request);
        }
        if actions.is_complete {
            self.completed_at = self.completed_at.min(now);
        }
        self.stats.failed_fetches += u64::from(actions.has_failed);
    }

    /// The application stops.
    pub fn stop(&mut self, network: &mut Network, index: usize) {
        let arrived = self.arrived();
        self.stats
            .stop(network.schedule.now, self.completed_at, arrived);
        if !self.application.completes_after_stop() {
            self.pending = 0;
            self.ends[0].discard_unsent();
            self.ends[0].close();
            self.pump(network, index, 0);
        }
    }

    /// Goes on with a new connection between these ends, which starts with the slow-start threshold of the old ones if `keeps_threshold`.
    pub fn replace_connection(
        &mut self,
        index: usize,
        mut ends: [Endpoint; 2],
        keeps_threshold: bool,
    ) {
        let earlier = self.past.as_ref().and_then(|past| past.threshold);
        let threshold = self.ends[0].sender.threshold_for_next(earlier);
        let threshold = threshold.filter(|_| keeps_threshold);
        if let Some(threshold) = threshold {
            ends[0].sender.start_with_threshold(threshold);
        }
        self.past = Some(Box::new(Past {
            threshold,
            sender: self.sender_stats(),
            arrived: self.arrived(),
            waits: self.waits(),
        }));
        self.connection = self.connection.wrapping_add(1);
        self.packets = Self::blank_packets(index, self.connection);
        self.is_over = false;
        self.pending = 0;
        self.stats.last_departure = NEVER;
        self.ends = ends;
    }

    /// Writes as much of the application's data as the send buffer takes.
    #[inline(always)]
    pub fn feed(&mut self, now: Nanos) {
        if self.pending == 0 {
            return;
        }
        let bytes = self.ends[0].writable(now).min(self.pending);
        if bytes == 0 {
            return;
        }
        self.ends[0].write(bytes);
        if self.application_writes == Writes::Endlessly {
            self.log.write(now, bytes);
        } else {
            self.pending -= bytes;
            if self.pending == 0 && self.application_writes == Writes::Once {
                self.ends[0].close();
            }
        }
    }

    /// Processes a segment that reached an end. Returns the payload bytes that are now readable there.
    #[inline(always)]
    pub fn on_segment(&mut self, now: Nanos, end: usize, packet: &Packet) -> u64 {
        let bytes = self.ends[end].on_segment(now, &packet.segment, packet.ecn());
        if end == 0 {
            self.on_acknowledged();
            self.feed(now);
        } else if bytes > 0 {
            self.on_read(now, bytes);
        }
        bytes
    }

    /// Updates the averages over time.
    #[inline(always)]
    pub fn observe(&mut self, now: Nanos) {
        let state = self.averaged_state();
        self.stats.averages.set(now, state);
    }

    /// Bytes in flight, congestion window in bytes, and smoothed RTT in ns.
    #[inline(always)]
    fn averaged_state(&self) -> [u64; 3] {
        let sender = &self.ends[0].sender;
        [sender.in_flight(), sender.window.cwnd, sender.rtt.srtt]
    }

    /// Updates the inter-departure times for `segments` data segments that leave this end together.
    #[inline(always)]
    pub fn on_departures(&mut self, now: Nanos, end: usize, segments: u64) {
        if end != 0 {
            return;
        }
        for _ in 0..segments {
            self.stats.on_departure(now);
        }
    }

    /// End 0 has processed an ACK.
    #[inline(always)]
    fn on_acknowledged(&mut self) {
        let sender = &self.ends[0].sender;
        if sender.ack_rtt > 0 {
            self.stats.rtt.record(sender.ack_rtt);
        }
        if sender.rate.interval > 0 {
            self.stats.rate_sum += float(sender.rate.delivered) / float(sender.rate.interval);
            self.stats.rates += 1;
        }
    }

    /// End 1's application reads bytes in order.
    #[inline(always)]
    fn on_read(&mut self, now: Nanos, bytes: u64) {
        self.first_read_at = self.first_read_at.min(now);
        self.stats.delivered += bytes;
        self.stats.delay_sum += self.log.read(now, bytes);
    }

    /// Resets the counters: the flow begins, or the warm-up is over.
    pub fn reset(&mut self, now: Nanos) {
        self.stats = self
            .stats
            .restart(now, &self.totals(), self.averaged_state());
    }

    /// The state of the sender.
    pub fn sender_state(&self) -> SenderState {
        let sender = &self.ends[0].sender;
        // Before the first congestion there is no threshold.
        let threshold = Some(sender.window.ssthresh as f64).filter(|&threshold| threshold < 1e15);
        let srtt = (sender.rtt.srtt > 0).then_some(sender.rtt.srtt as f64 * 1e-6);
        SenderState {
            cwnd: sender.window.cwnd as f64 / self.mss,
            ssthresh: threshold.map_or(f64::NAN, |threshold| threshold / self.mss),
            in_flight: sender.in_flight() as f64 / self.mss,
            srtt: srtt.unwrap_or(f64::NAN),
        }
    }
}

fn add(a: &SenderStats, b: &SenderStats) -> SenderStats {
    combine(a, b, |x, y| x + y)
}

/// The difference between the counters and `base`.
pub(crate) fn since(now: &SenderStats, base: &SenderStats) -> SenderStats {
    combine(now, base, |x, y| x - y)
}

fn combine(a: &SenderStats, b: &SenderStats, f: impl Fn(u64, u64) -> u64) -> SenderStats {
    SenderStats {
        segments: f(a.segments, b.segments),
        bytes: f(a.bytes, b.bytes),
        retransmissions: f(a.retransmissions, b.retransmissions),
        rtos: f(a.rtos, b.rtos),
        probes: f(a.probes, b.probes),
        recoveries: f(a.recoveries, b.recoveries),
        recovered: f(a.recovered, b.recovered),
        recovery_time: f(a.recovery_time, b.recovery_time),
        ecn_reductions: f(a.ecn_reductions, b.ecn_reductions),
        undone: f(a.undone, b.undone),
    }
}
