//! Segmentation offload: which segments a sender hands over as one buffer, and when it waits for a larger one, as with Linux's TSO. The size of a
//! buffer is computed in `pacing`, because it depends on the rate.

use bloatlab_units::{MILLISECOND, Nanos};

use crate::scoreboard::Record;
use crate::sender::Sender;
use crate::state::State;

/// A buffer of at least this fraction of the window never waits (Linux's `tcp_tso_win_divisor`).
const PARTS: u64 = 3;
/// Segments of a write that can have segments with PSH before its end.
const LONG_WRITE: u64 = 16;

impl Sender {
    /// Number of bytes that leave together now, at least `first`; 0 if the sender waits until the window has more space.
    #[inline(never)]
    pub(crate) fn next_buffer(&mut self, now: Nanos, first: u64) -> u64 {
        let left = self.limit - self.next;
        let open = self.window.cwnd.saturating_sub(self.in_window());
        let room = open.min(self.edge.saturating_sub(self.next));
        let mut bytes = room.min(left);
        if self.offload.segments {
            let most = self.pacing.buffer(&self.window, &self.rtt);
            let fits = room >= most.min(left) || room >= self.rest_of_buffer();
            if !fits && self.waits_for_room(now, room) {
                if room == open {
                    self.limited_at = self.next;
                }
                return 0;
            }
            // As in Linux: a buffer takes at most half of the window, so that another one can leave before its ACK.
            bytes = bytes.min(most).min(self.window.cwnd / 2);
        } else {
            bytes = bytes.min(self.push.place(self.limit) - self.next);
        }
        if bytes < left {
            bytes -= bytes % self.window.mss;
        }
        bytes.max(first)
    }

    /// Bytes of the next buffer in which the application's data waits.
    fn rest_of_buffer(&self) -> u64 {
        let whole = self.waiting_buffer();
        whole - self.next.saturating_sub(1) % whole
    }

    fn waiting_buffer(&self) -> u64 {
        let window = self.edge.saturating_sub(self.una);
        self.pacing.waiting_buffer(self.window.mss, window)
    }

    /// The application writes this many bytes.
    #[inline]
    pub(crate) fn write(&mut self, bytes: u64) {
        let from = self.limit;
        self.limit += bytes;
        self.place_pushes(from);
    }

    /// Finds the places of PSH in what was written from `from` on. Before the handshake, the other end's window is not known; it is done then.
    #[inline]
    pub(crate) fn place_pushes(&mut self, from: u64) {
        if self.limit - from < LONG_WRITE * self.window.mss {
            return self.push.write_little();
        }
        if self.edge > 0 {
            let window = self.edge.saturating_sub(self.una);
            let buffer = self.waiting_buffer();
            self.push.write_much(from, buffer, window);
        }
    }

    /// Whether to wait until there is more space than `room`. Not in recovery, not if nothing has left for a millisecond, and not if the next ACK is
    /// more than a millisecond or half a round trip away (Linux 6.18; before, half a round trip).
    fn waits_for_room(&self, now: Nanos, room: u64) -> bool {
        let window = self.window.cwnd.min(self.edge - self.una);
        let soon = now + MILLISECOND.min(self.rtt.srtt / 2);
        let is_due = |oldest: &Record| oldest.sent_at + self.rtt.srtt <= soon;
        room < window / PARTS
            && matches!(self.state, State::Open | State::Cwr)
            && now - self.last_sent <= MILLISECOND
            && self.board.get(0).is_some_and(is_due)
    }
}
