//! A bearer of the radio cell: its queue in the RLC, and what sends and marks before it.

use bloatlab_aqm::Ecn;
use bloatlab_radio::sizing::L4Span;
use bloatlab_units::Nanos;

use crate::packet::Packet;
use crate::station::RadioQueue;

/// One direction of a bearer.
pub(crate) struct Bearer {
    pub queue: RadioQueue,
    /// Size of the buffer in bytes. What is sent in part counts too.
    pub buffer: u64,
    /// The packet that left the queue last, and the one of which the transmitter holds a part. Known only if packets are logged.
    pub last: Option<Packet>,
    pub part: Option<Packet>,
}

impl Bearer {
    /// Enqueues a packet, unless the buffer is full. `held` is what the transmitter has left of a packet that was sent in part.
    #[inline]
    pub fn enter(&mut self, now: Nanos, packet: &Packet, held: u32) {
        let backlog = &mut self.queue.backlog;
        let size = u64::from(packet.length() + backlog.header);
        if backlog.bytes + u64::from(held) + size <= self.buffer {
            backlog.enqueue(now, *packet);
        } else {
            backlog.refuse(now, packet);
        }
    }
}

/// The state of a bearer's downlink: its gate, what left the RLC since the last TTI ended, and what marks before the RLC.
#[derive(Default)]
pub(crate) struct BearerState {
    /// Index of its gate.
    pub sdap: Option<usize>,
    pub packets_out: u64,
    pub bytes_out: u64,
    /// Bytes that the last TTI could have sent.
    pub offered: u64,
    pub marker: Option<L4Span>,
    /// Propagation delay, one way, that the marker assumes.
    pub base: Nanos,
}

impl BearerState {
    /// Returns the probability that a packet is marked while the RLC holds `queued` bytes.
    pub fn marking(&self, ecn: Ecn, queued: u64, users: u64, length: u32) -> f64 {
        let Some(marker) = &self.marker else {
            return 0.0;
        };
        match ecn {
            Ecn::NotEct | Ecn::Ce => 0.0,
            Ecn::Ect1 => marker.l4s(queued),
            Ecn::Ect0 => marker.classic(queued, users, length, self.base),
        }
    }
}
