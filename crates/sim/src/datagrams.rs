//! Flows without a connection: streams of datagrams, and pings, with their counters.

use bloatlab_outcome::Histogram;
use bloatlab_units::{NEVER, Nanos};

use crate::intervals::Intervals;
use crate::samples::Samples;
use crate::source::Source;

/// Bytes of IPv4 and UDP headers.
pub(crate) const UDP_HEADER: u64 = 28;

/// The counters of ns-3's FlowMonitor: times and bytes of IP packets.
#[derive(Clone, Copy, Default)]
pub(crate) struct Monitor {
    pub first_sent: Option<Nanos>,
    pub last_received: Nanos,
    pub bytes: u64,
    /// Sum of the differences between the delays of packets that arrived one after the other, ns.
    pub jitter: u64,
}

impl Monitor {
    /// Mbit/s from the first packet's departure to the last one's arrival.
    pub fn throughput(&self) -> Option<f64> {
        let span = self.last_received.checked_sub(self.first_sent?)?;
        (span > 0).then(|| self.bytes as f64 * 8e3 / span as f64)
    }
}

/// A stream of UDP datagrams.
pub(crate) struct UdpFlow {
    pub source: Source,
    pub next_seq: u32,
    /// Payload of all datagrams that left and that arrived.
    pub departed: u64,
    pub arrived: u64,
    /// Datagrams that left after the warm-up, their payload, and what arrived of it.
    pub sent: u64,
    pub sent_bytes: u64,
    pub bytes: u64,
    /// `bytes` when the flow stopped, if it stopped before the end.
    pub bytes_by_stop: Option<u64>,
    pub delay: Histogram,
    /// RFC 3550 section 6.4.1, ns.
    pub jitter: f64,
    pub last_transit: Option<Nanos>,
    pub monitor: Monitor,
    pub since: Nanos,
    pub sampled_arrived: u64,
    pub sampled_departed: u64,
    pub samples: Samples,
}

impl UdpFlow {
    pub fn new(source: Source) -> Self {
        Self {
            source,
            next_seq: 0,
            departed: 0,
            arrived: 0,
            sent: 0,
            sent_bytes: 0,
            bytes: 0,
            bytes_by_stop: None,
            delay: Histogram::default(),
            jitter: 0.0,
            last_transit: None,
            monitor: Monitor::default(),
            since: NEVER,
            sampled_arrived: 0,
            sampled_departed: 0,
            samples: Samples::default(),
        }
    }

    /// A datagram with `size` bytes of payload arrived.
    pub fn receive(&mut self, departure: Nanos, now: Nanos, size: u32) {
        self.arrived += u64::from(size);
        if departure < self.since {
            return;
        }
        let transit = now - departure;
        self.bytes += u64::from(size);
        self.delay.record(transit);
        if let Some(last) = self.last_transit.replace(transit) {
            // RFC 3550 section 6.4.1.
            self.jitter += (transit.abs_diff(last) as f64 - self.jitter) / 16.0;
            self.monitor.jitter += transit.abs_diff(last);
        }
        self.monitor.last_received = now;
        self.monitor.bytes += u64::from(size) + UDP_HEADER;
    }
}

/// A ping: requests out, replies back.
pub(crate) struct EchoFlow {
    pub intervals: Intervals,
    pub size: u32,
    pub next_seq: u32,
    pub sent: u64,
    pub rtt: Histogram,
}
