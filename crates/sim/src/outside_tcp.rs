//! A TCP connection of hosts outside: its application, and what is known of it.

use bloatlab_scenario::PlanFlow;
use bloatlab_tcp::SenderStats;
use bloatlab_units::{NEVER, Nanos, Ring};

use crate::application::{Application, Writes};
use crate::outside::Observation;
use crate::packet::Packet;
use crate::tcp_stats::{SenderState, TcpStats, Totals, Waits};
use crate::write_log::WriteLog;

/// Linux's slow-start threshold before the first congestion.
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// A TCP flow between hosts outside: end 0 sends data to end 1.
pub(crate) struct OutsideTcp {
    pub application: Box<dyn Application>,
    pub application_writes: Writes,
    /// Number of the current connection.
    pub connection: u64,
    pub log: WriteLog,
    /// When the last byte of a finite flow was read.
    pub completed_at: Nanos,
    /// When the first byte was read.
    pub first_read_at: Nanos,
    pub connections_failed: u64,
    /// Earlier connections whose SYN was sent again.
    opened_late: u64,
    pub stats: TcpStats,
    mss: f64,
    /// The latest state of the current connection.
    state: Observation,
    /// Counters of the earlier connections, and the smallest RTT.
    past: Observation,
    timing: Timing,
    arrivals: Arrivals,
    /// Programs open the connections, so that all that is known of them is their packets.
    is_program: bool,
}

impl OutsideTcp {
    /// A flow of programs that have not started.
    pub fn of_program(application: Box<dyn Application>, planned: &PlanFlow) -> Self {
        Self {
            is_program: true,
            ..Self::new(application, planned)
        }
    }

    /// A client reports that it has fetched a page.
    pub fn on_fetched(&mut self, took: Nanos) {
        self.stats.fetches.get_or_insert_default().record(took);
    }

    /// A flow that has not started.
    pub fn new(application: Box<dyn Application>, planned: &PlanFlow) -> Self {
        Self {
            application_writes: application.writes(),
            application,
            connection: 0,
            log: WriteLog::default(),
            completed_at: NEVER,
            first_read_at: NEVER,
            connections_failed: 0,
            opened_late: 0,
            stats: TcpStats {
                since: NEVER,
                last_departure: NEVER,
                ..TcpStats::default()
            },
            mss: f64::from(planned.tcp.mss),
            state: Observation::default(),
            past: Observation::default(),
            timing: Timing::default(),
            arrivals: Arrivals::default(),
            is_program: false,
        }
    }

    /// What its metrics are computed from.
    pub fn totals(&self) -> Totals {
        let (past, state) = (&self.past, &self.state);
        let min_rtts = [past.min_rtt, state.min_rtt];
        let min_rtts = min_rtts.into_iter().filter(|&rtt| rtt > 0);
        Totals {
            sent: SenderStats {
                segments: past.segments + state.segments,
                bytes: past.bytes_sent + state.bytes_sent,
                retransmissions: past.retransmissions + state.retransmissions,
                rtos: past.rtos + state.rtos,
                ..SenderStats::default()
            },
            knows_sender: !self.is_program,
            knows_recovery: false,
            arrived: past.arrived + self.arrivals.bytes,
            written: self.log.written(),
            min_rtt: min_rtts.min().unwrap_or(NEVER),
            mss: self.mss,
            completed_at: self.completed_at,
            first_read_at: self.first_read_at,
            handshakes_given_up: self.connections_failed,
            waits: Waits {
                syns: past.syn_repeats + state.syn_repeats,
                connections: self.opened_late + u64::from(state.syn_repeats > 0),
                rtos: past.rtos + state.rtos,
            },
        }
    }

    /// The state of the sender.
    pub fn sender_state(&self) -> SenderState {
        let state = &self.state;
        let has_threshold = state.ssthresh < NO_THRESHOLD;
        SenderState {
            cwnd: if self.is_program {
                f64::NAN
            } else {
                f64::from(state.cwnd)
            },
            ssthresh: if has_threshold {
                f64::from(state.ssthresh)
            } else {
                f64::NAN
            },
            in_flight: if self.is_program {
                f64::NAN
            } else {
                f64::from(state.in_flight)
            },
            srtt: if state.srtt > 0 {
                state.srtt as f64 * 1e-6
            } else {
                f64::NAN
            },
        }
    }

    /// The host reports the state of the current connection.
    pub fn observe(&mut self, at: Nanos, state: Observation) {
        self.state = state;
        if self.stats.since > at {
            return;
        }
        let averaged = self.averaged_state();
        let stats = &mut self.stats;
        stats.averages.set(at, averaged);
        if state.delivery_rate > 0 {
            // Bytes per ns, as the engine's own senders count.
            stats.rate_sum += state.delivery_rate as f64 * 1e-9;
            stats.rates += 1;
        }
    }

    /// Bytes in flight, congestion window in bytes, and smoothed RTT in ns.
    fn averaged_state(&self) -> [u64; 3] {
        let bytes = |segments: u32| u64::from(segments) * self.mss as u64;
        let state = &self.state;
        [bytes(state.in_flight), bytes(state.cwnd), state.srtt]
    }

    /// Resets the counters: the flow begins, or the warm-up is over.
    pub fn reset(&mut self, now: Nanos) {
        self.stats = self
            .stats
            .restart(now, &self.totals(), self.averaged_state());
    }

    /// Goes on with a new connection.
    pub fn replace_connection(&mut self) {
        let totals = self.totals();
        self.opened_late = totals.waits.connections;
        self.past = Observation {
            segments: totals.sent.segments,
            bytes_sent: totals.sent.bytes,
            retransmissions: totals.sent.retransmissions,
            rtos: totals.sent.rtos,
            syn_repeats: totals.waits.syns,
            arrived: totals.arrived,
            min_rtt: if totals.min_rtt == NEVER {
                0
            } else {
                totals.min_rtt
            },
            ..Observation::default()
        };
        self.state = Observation::default();
        self.timing = Timing::default();
        self.arrivals = Arrivals::default();
        self.connection += 1;
        self.stats.last_departure = NEVER;
    }

    /// A packet enters the network.
    pub fn on_departure(&mut self, now: Nanos, packet: &Packet) {
        if packet.direction() == 0 && packet.segment.length > 0 {
            self.stats.on_departure(now);
            if self.is_program {
                self.state.segments += 1;
                self.state.bytes_sent += u64::from(packet.segment.length);
            } else {
                self.timing.on_departure(now, packet);
                self.arrivals.edge.get_or_insert(packet.segment.seq);
            }
        }
    }

    /// A packet reached the host at the end of its path. Returns the number of bytes that can be read now and could not before.
    pub fn on_arrival(&mut self, now: Nanos, packet: &Packet) -> u64 {
        let segment = &packet.segment;
        if packet.direction() == 0 {
            if self.is_program {
                // Several connections may have the same sequence numbers.
                self.arrivals.bytes += u64::from(segment.length);
            } else {
                return self.arrivals.add(segment.seq, segment.length.into());
            }
        } else if !self.is_program
            && let Some(rtt) = self.timing.on_ack(now, segment.ack)
            && self.stats.since <= now
        {
            self.stats.rtt.record(rtt);
        }
        0
    }
}

/// Counts the payload that arrives, in order or not, each byte once.
#[derive(Default)]
struct Arrivals {
    bytes: u64,
    /// The sequence number up to which everything has arrived; `None` before the first segment departs.
    edge: Option<u32>,
    /// What has arrived beyond it: ranges, as distances from the edge, in order and apart from each other.
    beyond: Vec<(u32, u32)>,
}

impl Arrivals {
    /// Returns the number of bytes that are in order now and were not before.
    fn add(&mut self, seq: u32, length: u32) -> u64 {
        if length == 0 {
            return 0;
        }
        let edge = *self.edge.get_or_insert(seq);
        let after = seq.wrapping_add(length);
        if !precedes(edge, after) {
            return 0;
        }
        let from = if precedes(seq, edge) {
            0
        } else {
            seq.wrapping_sub(edge)
        };
        let mut range = (from, after.wrapping_sub(edge));
        let first = self.beyond.partition_point(|&(_, end)| end < range.0);
        let last = self.beyond.partition_point(|&(start, _)| start <= range.1);
        let mut known = 0;
        for &(start, end) in &self.beyond[first..last] {
            known += end - start;
            range = (range.0.min(start), range.1.max(end));
        }
        self.bytes += u64::from(range.1 - range.0 - known);
        if range.0 > 0 {
            self.beyond.splice(first..last, [range]);
            return 0;
        }
        self.beyond.drain(..last);
        for (start, end) in &mut self.beyond {
            (*start, *end) = (*start - range.1, *end - range.1);
        }
        self.edge = Some(edge.wrapping_add(range.1));
        u64::from(range.1)
    }
}

/// Measures an RTT per ACK from the segments that pass. Segments that are sent again are not measured (Karn's algorithm).
#[derive(Default)]
struct Timing {
    /// The sequence number after each segment, and when it departed.
    segments: Ring<(u32, Nanos)>,
    /// The sequence number after the last segment.
    next: Option<u32>,
}

impl Timing {
    fn on_departure(&mut self, now: Nanos, packet: &Packet) {
        let segment = &packet.segment;
        let after = segment.seq.wrapping_add(segment.length.into());
        if self.next.is_some_and(|next| precedes(segment.seq, next)) {
            // The next cumulative ACK waits for this segment, so no outstanding segment gives a sample.
            self.segments = Ring::default();
            return;
        }
        self.next = Some(after);
        self.segments.push_back((after, now));
    }

    /// The RTT of the newest segment that an ACK covers.
    fn on_ack(&mut self, now: Nanos, ack: u32) -> Option<Nanos> {
        let mut departed = None;
        while let Some(&(after, at)) = self.segments.front()
            && !precedes(ack, after)
        {
            departed = Some(at);
            self.segments.pop_front();
        }
        departed.map(|at| now - at)
    }
}

/// Whether a sequence number is before another, modulo 2^32.
fn precedes(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_outcome::Protocol;
    use proptest::prelude::*;

    fn data(seq: u32) -> Packet {
        let mut packet = Packet::new(0, 0, 0, Protocol::Tcp);
        packet.segment.seq = seq;
        packet.segment.length = 1000;
        packet
    }

    #[test]
    fn the_newest_acknowledged_segment_gives_the_rtt() {
        let mut timing = Timing::default();
        let first = u32::MAX - 499;
        timing.on_departure(10, &data(first));
        timing.on_departure(20, &data(first.wrapping_add(1000)));
        assert_eq!(timing.on_ack(30, first), None);
        assert_eq!(timing.on_ack(40, first.wrapping_add(2000)), Some(20));
        assert_eq!(timing.on_ack(50, first.wrapping_add(2000)), None);
    }

    proptest! {
        #[test]
        fn every_byte_counts_once(segments in proptest::collection::vec((0_u32..40, 1_u32..6), 1..60), start: u32) {
            let mut arrivals = Arrivals::default();
            let mut in_order = arrivals.add(start, 1);
            let mut seen = std::collections::BTreeSet::from([0]);
            for (from, length) in segments {
                in_order += arrivals.add(start.wrapping_add(from), length);
                seen.extend(from..from + length);
                prop_assert_eq!(arrivals.bytes, seen.len() as u64);
                let gap = (0..).find(|byte| !seen.contains(byte));
                prop_assert_eq!(Some(in_order), gap.map(u64::from));
            }
        }
    }

    #[test]
    fn a_retransmission_ends_the_measurement_of_all_outstanding_segments() {
        let mut timing = Timing::default();
        timing.on_departure(0, &data(0));
        timing.on_departure(10, &data(1000));
        timing.on_departure(20, &data(0));
        assert_eq!(timing.on_ack(30, 2000), None);
        timing.on_departure(40, &data(2000));
        assert_eq!(timing.on_ack(55, 3000), Some(15));
    }
}
