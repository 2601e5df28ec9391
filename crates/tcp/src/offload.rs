//! Segmentation offload: what a sender hands over as one buffer, and when it waits to hand over a larger one, as Linux's TSO. How large they are is in
//! `pacing`, since it is a matter of the rate.

use bloatlab_units::{MILLISECOND, Nanos};

use crate::TcpConfig;
use crate::scoreboard::Record;
use crate::sender::{Sender, State};

/// Most bytes of one buffer (Linux's `gso_max_size`).
pub(crate) const LARGEST_BUFFER: u64 = 64 * 1024;
/// A buffer that takes this part of the window or more never waits (Linux's `tcp_tso_win_divisor`).
const PARTS: u64 = 3;

/// What leaves together.
pub(crate) struct Offload {
    /// The sender hands over several segments at once, of its own accord...
    segments: bool,
    /// ... or says of those that happen to leave together that they do, since the other end wants to know.
    pub tells_more: bool,
    /// Bytes of the buffer under way that have not left yet.
    pub rest: u64,
}

impl Offload {
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            segments: config.segmentation_offload,
            tells_more: config.receive_offload,
            rest: 0,
        }
    }

    /// Whether buffers may hold more than a segment.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.segments | self.tells_more
    }
}

impl Sender {
    /// Bytes that leave together now, `first` or more; 0: the sender waits for the window to have room for more.
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

    /// Whether room for so little is left to grow: not in recovery, nor where nothing has left for a millisecond, nor where the next ACK is more than half
    /// a round trip away.
    fn waits_for_room(&self, now: Nanos, room: u64) -> bool {
        let window = self.window.cwnd.min(self.edge - self.una);
        let is_due = |oldest: &Record| now - oldest.sent_at >= self.rtt.srtt / 2;
        room < window / PARTS
            && matches!(self.state, State::Open | State::Cwr)
            && now - self.last_sent <= MILLISECOND
            && self.board.get(0).is_some_and(is_due)
    }
}
