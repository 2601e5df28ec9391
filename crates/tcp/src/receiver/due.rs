//! When an ACK is due: at once, with the next segment, or after a delay (RFC 5681 section 4.2, and Linux's quick ACKs).

use bloatlab_aqm::Ecn;
use bloatlab_cc::EcnFeedback;
use bloatlab_units::{NEVER, Nanos};

use super::space::Reading;
use super::{JOINING, Receiver};
use crate::RttEstimator;
use crate::offload::LARGEST_BUFFER;
use crate::segment::{CWR, Segment};

impl Receiver {
    /// Whether data arrived recently, so that no quick ACKs are needed. After a long silence `on_any_data` starts them.
    #[inline(always)]
    pub(super) fn is_data_recent(&mut self, now: Nanos, rtt: &RttEstimator) -> bool {
        if self.quick_acks == 0 {
            return true;
        }
        let is_recent = now.saturating_sub(self.last_data) <= rtt.rto();
        if is_recent {
            self.last_data = now;
        }
        is_recent
    }

    /// As in Linux: does not delay ACKs for which a sender with a small window may be waiting, after a timeout without data in sequence.
    #[inline]
    pub(super) fn end_silence(&mut self, now: Nanos, rto: Nanos) {
        if now.saturating_sub(self.last_data) > rto {
            self.quick = self.quick.max(self.quick_acks);
        }
        self.last_data = now;
    }

    /// As in Linux: does not delay the ACKs of a mark and of a reduction.
    #[inline]
    pub(super) fn hasten_after_mark(&mut self, segment: &Segment, ecn: Ecn) {
        // CWR ends the echo before the mark of the same segment is seen.
        let is_first = !self.echo.on || segment.has(CWR);
        if self.echo.feedback == EcnFeedback::Classic && ecn == Ecn::Ce && is_first {
            self.quick = self.quick.max(self.quick_acks.min(2));
        }
        // With AccECN this bit is part of the counter and has no separate meaning.
        self.ack_now |= segment.has(CWR) && self.echo.feedback != EcnFeedback::Accurate;
    }

    #[inline]
    pub(super) fn count_towards_ack(
        &mut self,
        now: Nanos,
        reading: Reading,
        at_once: bool,
        more: bool,
        pushed: bool,
    ) {
        self.unacked += 1;
        let hastens = at_once || self.quick > 0;
        if self.unacked >= self.ack_every || hastens {
            if more && !at_once && self.next - self.last_ack < LARGEST_BUFFER {
                self.ack_deadline = now + JOINING;
                return;
            }
            self.quick = self.quick.saturating_sub(1);
            match reading {
                Reading::Later(at) if !hastens => self.ack_deadline = at,
                _ => self.ack_now = true,
            }
            return;
        }
        match reading {
            Reading::All if pushed => self.ack_now = true,
            Reading::Later(at) if pushed => self.ack_deadline = at,
            _ if self.ack_deadline == NEVER => self.delay_ack(now),
            _ => {}
        }
    }

    /// Starts the timer of a delayed ACK. Its tick is after the delay, never at it: a timer that was set within a tick must not fire early.
    #[inline]
    pub(super) fn delay_ack(&mut self, now: Nanos) {
        let due = now + self.delayed_ack;
        self.ack_deadline = match self.ack_tick {
            0 => due,
            tick => (due / tick + 1) * tick,
        };
    }

    /// Sends an ACK at once after data beyond a hole, a duplicate or a filled hole (RFC 5681 section 4.2), or lets it wait for more of them.
    pub(super) fn report_soon(&mut self, now: Nanos, rtt: &RttEstimator) {
        // As in Linux: the ACK of a duplicate beyond the hole may wait.
        let reports_old = self.duplicate.is_some_and(|(start, _)| start < self.next);
        let may_wait = !self.held.is_empty() && !reports_old && self.quick == 0;
        let delay = may_wait
            .then(|| self.compression.delay(self.next, rtt))
            .flatten();
        if let Some(delay) = delay {
            self.ack_deadline = self.ack_deadline.min(now + delay);
        } else {
            self.quick = self.quick.saturating_sub(1);
            self.ack_now = true;
        }
    }
}
