//! Segmentation offload: which segments a sender hands over as one buffer, and when it waits for a larger one, as with Linux's TSO. The size of a
//! buffer is computed in `pacing`, because it depends on the rate.

use bloatlab_units::{MILLISECOND, Nanos};

use crate::TcpConfig;
use crate::scoreboard::Record;
use crate::sender::{Sender, State};

/// Largest size of a buffer in bytes (Linux's `gso_max_size`).
pub(crate) const LARGEST_BUFFER: u64 = 64 * 1024;
/// A buffer of at least this fraction of the window never waits (Linux's `tcp_tso_win_divisor`).
const PARTS: u64 = 3;

/// The offload state of a sender.
pub(crate) struct Offload {
    /// The sender itself combines segments into buffers.
    segments: bool,
    /// The sender marks segments that leave together, because the other end uses this.
    pub sets_more: bool,
    /// Bytes of the current buffer that have not left yet.
    pub rest: u64,
}

impl Offload {
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            segments: config.segmentation_offload,
            sets_more: config.receive_offload,
            rest: 0,
        }
    }

    /// Whether buffers may hold more than one segment.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.segments | self.sets_more
    }
}

impl Sender {
    /// Number of bytes that leave together now, at least `first`; 0 if the sender waits until the window has more space.
    #[inline(never)]
    pub(crate) fn next_buffer(&mut self, now: Nanos, first: u64) -> u64 {
        let left = self.limit - self.next;
        let open = self.window.cwnd.saturating_sub(self.board.pipe);
        let room = open.min(self.edge.saturating_sub(self.next));
        let mut bytes = room.min(left);
        if self.offload.segments {
            let most = self.pacing.buffer(&self.window, &self.rtt);
            if room < most && room < left && self.waits_for_room(now, room) {
                if room == open {
                    self.limited_at = self.next;
                }
                return 0;
            }
            bytes = bytes.min(most);
        }
        if bytes < left {
            bytes -= bytes % self.window.mss;
        }
        bytes.max(first)
    }

    /// Whether to wait until there is more space than `room`. Not in recovery, not if nothing has left for a millisecond, and not if the next ACK is
    /// more than half a round trip away.
    fn waits_for_room(&self, now: Nanos, room: u64) -> bool {
        let window = self.window.cwnd.min(self.edge - self.una);
        let is_due = |oldest: &Record| now - oldest.sent_at >= self.rtt.srtt / 2;
        room < window / PARTS
            && matches!(self.state, State::Open | State::Cwr)
            && now - self.last_sent <= MILLISECOND
            && self.board.get(0).is_some_and(is_due)
    }
}
