//! Tail loss probes (RFC 8985 section 7), and the timer that they share with retransmissions.

use bloatlab_cc::{Ack, Signal};
use bloatlab_units::{MILLISECOND, Nanos};

use crate::segment::Segment;
use crate::sender::Sender;
use crate::state::State;
use crate::transmit::Sent;

/// What Linux adds to the time of a short timer.
const LINUX_MARGIN: Nanos = 2 * MILLISECOND;

impl Sender {
    /// RFC 6298 section 5.3 and RFC 8985 section 7.2: restarts the timer, as a probe timer if a probe is allowed.
    #[inline(always)]
    pub(crate) fn arm_timer(&mut self, now: Nanos) {
        let rto = self.rtt.rto();
        self.timer_is_probe = self.use_probe
            && self.state == State::Open
            && self.board.sacked == 0
            && self.probe_end == 0
            && self.rtt.srtt > 0;
        self.timer = if self.timer_is_probe {
            self.probe_at(now).min(now + rto)
        } else {
            now + rto
        };
    }

    /// When a probe is due.
    #[inline]
    fn probe_at(&self, now: Nanos) -> Nanos {
        let wait = 2 * self.rtt.srtt;
        if self.board.len() > 1 {
            self.soon(now, wait)
        } else {
            self.tick_after(now, wait + self.max_ack_delay)
        }
    }

    /// When a timer of this short time fires. Linux adds a little, and its timers fire at ticks.
    #[inline]
    pub(crate) fn soon(&self, now: Nanos, wait: Nanos) -> Nanos {
        let margin = if self.tick == 0 { 0 } else { LINUX_MARGIN };
        self.tick_after(now, wait + margin)
    }

    /// The tick at which a timer of this time fires, or the exact time without ticks.
    #[inline]
    fn tick_after(&self, now: Nanos, wait: Nanos) -> Nanos {
        match self.tick {
            0 => now + wait,
            tick => (now / tick + wait.div_ceil(tick)) * tick,
        }
    }

    /// RFC 8985 section 7.3: sends one segment of new data, otherwise retransmits the last segment. As in Linux, the new data is a whole offload buffer
    /// if the window has room for it.
    #[cold]
    pub(crate) fn transmit_probe(&mut self, now: Nanos, segment: &mut Segment) -> Sent {
        if self.board.is_empty() {
            return Sent::Nothing;
        }
        self.stats.probes += 1;
        self.fast_path = false;
        let length = self.window.mss.min(self.limit.saturating_sub(self.next));
        let fresh =
            (length > 0 || (self.fin_wanted && !self.fin_sent)) && self.next + length <= self.edge;
        self.probe_repeated = !fresh;
        if fresh {
            self.transmit(now, length, segment);
            if self.offload.segments {
                self.offload.rest = self.rest_of_probe();
                self.offload.is_long = self.offload.rest > 0;
            }
            if self.offload.rest > 0 {
                self.go_on(now, segment);
            } else {
                self.note_buffer_sent();
            }
        } else {
            self.transmit_again(now, self.board.len() - 1, segment);
        }
        self.probe_end = self.next + self.offload.rest;
        self.timer_is_probe = false;
        self.timer = now + self.rtt.rto();
        if fresh { Sent::New } else { Sent::Again }
    }

    /// Bytes that leave in one buffer with the new segment of a probe, in whole segments.
    fn rest_of_probe(&self) -> u64 {
        let mss = self.window.mss;
        let open = self.window.cwnd.saturating_sub(self.in_window());
        let room = open.min(self.edge.saturating_sub(self.next));
        let rest = room.min(self.limit.saturating_sub(self.next));
        let rest = rest.min(self.largest_buffer().saturating_sub(mss));
        rest - rest % mss
    }

    /// RFC 8985 section 7.4.2: if a probe that retransmitted data was necessary, there was a loss that recovery did not see.
    #[cold]
    pub(crate) fn end_probe(&mut self, ack: &Ack, duplicate: bool) {
        if self.probe_repeated && !duplicate && self.state == State::Open {
            self.enter_cwr(Signal::Loss, ack);
        }
        self.probe_end = 0;
    }
}
