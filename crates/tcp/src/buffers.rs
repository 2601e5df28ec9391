//! Segmentation offload: which segments a sender hands over as one buffer, and when it waits for a larger one, as with Linux's TSO.

use bloatlab_units::{MILLISECOND, Nanos};

use crate::pacing::PacingClock;
use crate::scoreboard::Record;
use crate::sender::Sender;
use crate::state::State;

/// A buffer of at least this fraction of the window never waits (Linux's `tcp_tso_win_divisor`).
const PARTS: u64 = 3;

impl Sender {
    /// Number of bytes that leave together now, at least `first`; 0 if the sender waits until the window has more space.
    #[inline(never)]
    pub(crate) fn next_buffer(&mut self, now: Nanos, first: u64) -> u64 {
        let left = self.limit - self.next;
        let open = self.window.cwnd.saturating_sub(self.in_window());
        let room = open.min(self.edge.saturating_sub(self.next));
        let mut bytes = room.min(left);
        if self.offload.segments {
            let most = self.largest_buffer();
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
            bytes = bytes.min(self.push.place(self.limit).saturating_sub(self.next));
        }
        if bytes < left {
            bytes -= bytes % self.window.mss;
        }
        bytes.max(first)
    }

    /// Largest size of the next buffer in bytes, whole segments: a burst of pacing, and more if the hosts are close to each other and the congestion control sets no
    /// rate.
    pub(crate) fn largest_buffer(&self) -> u64 {
        let burst = PacingClock::burst_of(&self.window, self.rtt.srtt);
        let near = match self.window.pacing {
            0 => self.offload.near(self.rtt.min),
            _ => 0,
        };
        let mss = self.window.mss;
        let segments = ((burst + near) / mss).max(2);
        (segments * mss).min(self.offload.most)
    }

    /// Bytes up to the end of the waiting buffer that is sent next.
    pub(crate) fn rest_of_buffer(&self) -> u64 {
        let whole = self.waiting_buffer();
        whole - self.next.saturating_sub(1) % whole
    }

    /// Size of the buffers in which the application's data waits, in bytes.
    pub(crate) fn waiting_buffer(&self) -> u64 {
        let window = self.edge.saturating_sub(self.una);
        self.offload.waiting_buffer(self.window.mss, window)
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
