//! What one flow can put on the network at most.

use bloatlab_units::{Bytes, Nanos, Rate};

/// IP and TCP header without options: the least that a segment adds to its payload.
pub(crate) const HEADERS: u32 = 40;
/// Packets of a connection besides its data: handshake and close.
pub(super) const CONNECTION_PACKETS: f64 = 7.0;

/// What one flow can put on the network at most.
#[derive(Default)]
pub(crate) struct Load {
    /// Packets that come whatever links let through, and their size.
    pub open: f64,
    pub open_size: f64,
    /// Packets that come as fast as links let them through, with their bytes.
    pub elastic: [(u32, f64); 2],
    /// Open packets that are in flight at the same time.
    pub open_in_flight: f64,
    /// Elastic packets that are in flight at the same time.
    pub window: f64,
    /// Replies of a ping, or pages: rows of the series of probes.
    pub replies: f64,
    /// Writes of an application that wait in the send buffer.
    pub writes: f64,
}

/// What bounds the load of a flow: its connection and its path.
pub(crate) struct Bounds {
    /// Time from start to stop, s.
    pub active: f64,
    /// Maximum segment size of the connection.
    pub mss: u32,
    pub send_buffer: Bytes,
    pub receive_buffer: Bytes,
    /// Rate of the slowest link; `None` without a link.
    pub slowest: Option<Rate>,
    /// Greatest propagation delay from sender to receiver, s.
    pub one_way: f64,
    /// Least propagation delay both ways, s.
    pub rtt: f64,
}

impl Bounds {
    /// Segments that this many bytes fill.
    pub fn segments(&self, bytes: Bytes) -> f64 {
        (bytes.0 as f64 / f64::from(self.mss)).ceil()
    }

    /// Segments that the smaller buffer holds.
    pub fn window(&self) -> f64 {
        self.segments(self.send_buffer.min(self.receive_buffer))
    }

    /// Segments of a sender that always has data: at most a window per round trip. Without propagation only links hold packets back.
    pub fn greedy_segments(&self) -> f64 {
        let rounds = if self.rtt == 0.0 {
            f64::INFINITY
        } else {
            self.active / self.rtt + 1.0
        };
        self.window() * rounds
    }

    /// The load of one transfer of this many segments.
    pub fn transfer(&self, segments: f64) -> Load {
        Load {
            elastic: [(self.mss + HEADERS, segments), (0, 0.0)],
            window: self.window().min(segments),
            ..Load::default()
        }
    }
}

pub(crate) fn seconds(nanos: Nanos) -> f64 {
    nanos as f64 * 1e-9
}

/// Packets of this size that a rate carries in a second.
pub(crate) fn per_second(rate: Rate, bytes: f64) -> f64 {
    rate.0 as f64 / (8.0 * bytes)
}
