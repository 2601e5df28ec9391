//! What the sender transmits and when: retransmissions first, then new data, as window and pacing allow. Also handles the timers.

use bloatlab_cc::Signal;
use bloatlab_units::{NEVER, Nanos};

use crate::offload::LARGEST_BUFFER;
use crate::rack::DUP_THRESH;
use crate::scoreboard::{APP_LIMITED, ENDS_BUFFER, LOST, RETRANSMITTED, Record, SACKED, WITH_FIN};
use crate::segment::{ACK, CWR, FIN, MORE, PUSH, Segment, time_stamp};
use crate::sender::Sender;
use crate::state::State;

/// Pacing delays only what follows this segment, so the usual initial window leaves at once (Linux).
const FIRST_PACED: u64 = 10;

/// The kind of segment that [`Sender::poll`] wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Nothing,
    /// Data or FIN that is sent for the first time.
    New,
    /// A retransmission.
    Again,
}

/// New full segments that are sent back to back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Train {
    /// Number of segments.
    pub segments: u64,
    /// The congestion window does not allow another segment.
    pub fills_window: bool,
}

/// A train of segments in one offload buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffer {
    /// The segments.
    pub train: Train,
    /// The number of segments that carry [`MORE`], because another segment of the buffer follows.
    pub followed: u64,
    /// The last segment carries [`PUSH`].
    pub pushes: bool,
}

impl Sender {
    /// Fast path of [`poll`](Self::poll): sends all full segments that both windows allow and writes the first of them. What else may leave, such as
    /// a last short segment, is left to `poll`.
    #[inline(always)]
    pub(crate) fn poll_train(&mut self, now: Nanos, segment: &mut Segment) -> Train {
        if !self.may_send_train(now) {
            return Train::default();
        }
        let open = self.next + self.window.cwnd.saturating_sub(self.board.pipe);
        // A segment that carries PUSH is left to `poll`.
        let place = self.push.place(self.limit);
        let end = open.min(self.edge).min(place.saturating_sub(1));
        self.send_train(now, open, end, segment)
    }

    /// Like `poll_train` with offload: sends the full segments of one buffer.
    #[inline(never)]
    pub(crate) fn poll_buffer(&mut self, now: Nanos, segment: &mut Segment) -> Buffer {
        let (first, mss) = (self.next, self.window.mss);
        let open = first + self.window.cwnd.saturating_sub(self.board.pipe);
        let has_room = first + mss <= open.min(self.edge).min(self.limit);
        if self.offload.rest > 0 || !has_room || !self.may_send_train(now) {
            return Buffer::default();
        }
        let end = first + self.next_buffer(now, mss);
        let train = self.send_train(now, open, end, segment);
        let mut buffer = Buffer {
            train,
            ..Buffer::default()
        };
        if train.segments > 0 {
            self.offload.rest = end - self.next;
            self.offload.is_long = self.offload.segments && end - first > mss;
            let is_whole = self.offload.rest == 0;
            buffer.pushes = is_whole && self.pushes();
            if is_whole {
                self.note_buffer_sent();
            }
            if self.offload.sets_more {
                buffer.followed = train.segments - u64::from(is_whole);
            }
        }
        buffer
    }

    /// Whether a train may leave: only new data is due, no pacing applies, and the congestion control ignores single segments.
    #[inline(always)]
    fn may_send_train(&self, now: Nanos) -> bool {
        self.fast_path
            && self.sends_trains
            && self.window.pacing == 0
            && self.pacing.next_send <= now
            && !self.board.is_empty()
    }

    /// Sends full segments up to `end`. The congestion window allows data up to `open`.
    #[inline(always)]
    fn send_train(&mut self, now: Nanos, open: u64, end: u64, segment: &mut Segment) -> Train {
        let (first, mss) = (self.next, self.window.mss);
        let mut record = Record {
            seq: first,
            sent_at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            length: mss as u32,
            flags: if self.app_limited != 0 {
                APP_LIMITED
            } else {
                0
            },
        };
        let mut segments = 0;
        while record.seq + mss <= end {
            self.board.push(record);
            record.seq += mss;
            segments += 1;
        }
        if segments == 0 {
            return Train::default();
        }
        self.next = record.seq;
        let fills_window = self.next + mss > open && self.next + mss <= self.limit;
        if fills_window {
            self.limited_at = self.next;
        }
        self.stats.segments += segments;
        self.stats.bytes += self.next - first;
        self.last_sent = now;
        if self.timer == NEVER || self.timer_is_probe {
            self.arm_timer(now);
        }
        record.seq = first;
        write(segment, &record, now);
        Train {
            segments,
            fills_window,
        }
    }

    /// Writes the next segment to send now, if there is one. The endpoint fills in acknowledgment and window.
    #[inline(always)]
    pub(crate) fn poll(&mut self, now: Nanos, segment: &mut Segment) -> Sent {
        if self.offload.rest == 0 {
            if self.probe_wanted {
                self.probe_wanted = false;
                return self.transmit_probe(now, segment);
            }
            if now < self.pacing.next_send {
                self.note_window_limited();
                return Sent::Nothing;
            }
            if self.board.to_retransmit > 0 && !self.undo.sends_new {
                return self.poll_lost(now, segment);
            }
            if self.next >= self.limit && (!self.fin_wanted || self.fin_sent) {
                self.note_app_limited();
                return Sent::Nothing;
            }
            if self.board.is_empty() {
                self.on_idle_end(now);
            }
            let length = self.window.mss.min(self.limit - self.next);
            if self.in_window() + length > self.window.cwnd && self.board.pipe > 0 {
                self.limited_at = self.next;
                return Sent::Nothing;
            }
            // If the peer's window has less space than a segment, send what fits only if nothing is outstanding (RFC 9293 section 3.8.6.2.1).
            let room = self.edge.saturating_sub(self.next);
            if room < length && (room == 0 || !self.board.is_empty()) {
                return Sent::Nothing;
            }
            let first = length.min(room);
            if self.offload.is_on() && first > 0 {
                self.offload.rest = self.next_buffer(now, first);
                if self.offload.rest == 0 {
                    return Sent::Nothing;
                }
            } else {
                self.offload.rest = first;
            }
            self.offload.is_long = self.offload.segments && self.offload.rest > self.window.mss;
        }
        let length = self.window.mss.min(self.offload.rest);
        self.transmit(now, length, segment);
        self.offload.rest -= length;
        if self.offload.rest > 0 {
            self.go_on(now, segment);
        } else if length > 0 && self.pushes() {
            segment.flags |= PUSH;
        }
        if self.offload.rest == 0 {
            self.note_buffer_sent();
        }
        Sent::New
    }

    /// Whether the segment that was just sent carries PSH. In Linux, so does the end of a buffer of several segments.
    #[inline(always)]
    fn pushes(&mut self) -> bool {
        if self.next < self.push.place(self.limit) {
            return self.offload.is_long;
        }
        self.push.pass(self.next);
        true
    }

    /// Sends more of the buffer directly after, unless pacing has ended the burst.
    #[inline]
    pub(crate) fn go_on(&mut self, now: Nanos, segment: &mut Segment) {
        if now < self.pacing.next_send {
            self.offload.rest = 0;
        } else if self.offload.sets_more {
            segment.flags |= MORE;
        }
    }

    #[cold]
    fn poll_lost(&mut self, now: Nanos, segment: &mut Segment) -> Sent {
        let Some(index) = self.board.next_lost() else {
            return Sent::Nothing;
        };
        let Some(&lost) = self.board.get(index) else {
            return Sent::Nothing;
        };
        let length = u64::from(lost.length);
        if self.board.pipe + length > self.window.cwnd && self.board.pipe > 0 {
            self.limited_at = self.next;
            return Sent::Nothing;
        }
        self.transmit_again(now, index, segment);
        if self.offload.sets_more {
            self.offload.again += length;
            if self.goes_on_again(now, index + 1, &lost) {
                segment.flags |= MORE;
            } else {
                self.offload.again = 0;
            }
        }
        Sent::Again
    }

    /// Whether the record at `index` leaves in one buffer with the `lost` one before it, as Linux retransmits: they were in one buffer before.
    fn goes_on_again(&self, now: Nanos, index: usize, lost: &Record) -> bool {
        self.board.get(index).is_some_and(|record| {
            let length = u64::from(record.length);
            !lost.is(ENDS_BUFFER)
                && record.sent_at == lost.sent_at
                && record.is(LOST)
                && !record.is(SACKED | RETRANSMITTED)
                && self.offload.again + length <= LARGEST_BUFFER
                && self.board.pipe + length <= self.window.cwnd
                && now >= self.pacing.next_send
        })
    }

    /// When pacing releases the next segment, if nothing else delays it.
    #[inline]
    pub(crate) fn pacing_deadline(&self) -> Nanos {
        let mss = self.window.mss;
        let (length, waiting) = if self.next + mss <= self.limit {
            (mss, true)
        } else {
            self.next_short()
        };
        if waiting && self.in_window() + length <= self.window.cwnd {
            self.pacing.next_send
        } else {
            NEVER
        }
    }

    /// Length of the next segment if less than a full one is left, and whether there is anything to send.
    #[cold]
    fn next_short(&self) -> (u64, bool) {
        let left = self.limit.saturating_sub(self.next);
        let fin = self.fin_wanted && !self.fin_sent;
        (left.max(1), self.board.to_retransmit > 0 || left > 0 || fin)
    }

    /// Records that the window limits the sender. This also holds for a paced sender that fills its window between two bursts.
    #[inline]
    fn note_window_limited(&mut self) {
        if self.board.pipe + self.pacing.burst > self.window.cwnd {
            self.limited_at = self.next;
        }
    }

    fn note_app_limited(&mut self) {
        // Delivery-rate-estimation section 3.4: there is nothing to send while the window is open. Before its first write an application limits nothing.
        if self.board.pipe < self.window.cwnd && !self.has_never_written() {
            self.app_limited = (self.delivered + self.board.pipe).max(1);
        }
    }

    #[inline]
    fn on_idle_end(&mut self, now: Nanos) {
        self.first_sent = now;
        self.delivered_at = now;
        let idle = now - self.last_sent;
        if self.last_sent > 0 && idle > self.rtt.rto() {
            // RFC 5681 section 4.1: restart from the initial window.
            if !self.owns_recovery {
                self.window.cwnd = self.window.cwnd.min(self.window.initial);
            }
            self.cc.on_idle_restart(&mut self.window, now, idle);
        }
    }

    #[inline(always)]
    pub(crate) fn transmit(&mut self, now: Nanos, length: u64, segment: &mut Segment) {
        let fin = self.fin_wanted && self.next + length == self.limit;
        let mut record = Record {
            seq: self.next,
            sent_at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            length: (length + u64::from(fin)) as u32,
            flags: if fin { WITH_FIN } else { 0 },
        };
        if self.app_limited != 0 {
            record.flags |= APP_LIMITED;
        }
        self.fin_sent |= fin;
        self.next = record.end();
        self.board.push(record);
        write(segment, &record, now);
        if self.cwr_wanted {
            self.cwr_wanted = false;
            segment.flags |= CWR;
        }
        self.after_transmit(now, length);
        if self.timer == NEVER || self.timer_is_probe {
            self.arm_timer(now);
        }
    }

    pub(crate) fn transmit_again(&mut self, now: Nanos, index: usize, segment: &mut Segment) {
        self.fast_path = false;
        if self.board.pipe == 0 {
            self.first_sent = now;
            self.delivered_at = now;
        }
        let (delivered, delivered_at, first_sent) =
            (self.delivered, self.delivered_at, self.first_sent);
        let record = self.board.retransmit(index, |r| {
            r.sent_at = now;
            r.delivered = delivered;
            r.delivered_at = delivered_at;
            r.first_sent = first_sent;
        });
        if self.use_rack {
            self.rack.on_retransmit(now, record.seq, self.next);
        }
        self.stats.retransmissions += 1;
        self.undo.on_repeat(time_stamp(now));
        let payload = u64::from(record.length) - u64::from(record.is(WITH_FIN));
        self.after_transmit(now, payload);
        // The retransmission of the oldest outstanding segment gets a full timeout.
        if self.timer == NEVER || index == 0 {
            self.arm_timer(now);
        }
        write(segment, &record, now);
    }

    #[inline(always)]
    fn after_transmit(&mut self, now: Nanos, bytes: u64) {
        self.stats.segments += 1;
        self.stats.bytes += bytes;
        self.last_sent = now;
        if matches!(self.state, State::Recovery | State::Cwr) {
            self.prr.on_send(bytes, self.window.mss);
        }
        self.cc.on_send(
            &mut self.window,
            now,
            self.board.pipe,
            self.app_limited != 0,
        );
        let rate = self.pacing.rate(&self.window, self.rtt.srtt);
        let is_paced = rate > 0 && self.stats.segments >= FIRST_PACED;
        if is_paced && self.pacing.advance(now, bytes, rate, &self.window) {
            self.note_window_limited();
        }
    }

    /// Handles the retransmission, probe and reordering timers if they are due.
    #[cold]
    pub(crate) fn on_timer(&mut self, now: Nanos) {
        self.fast_path = false;
        if self.reorder_timer <= now {
            self.reorder_timer = NEVER;
            let lost = self.detect_losses(now);
            let mut ack = self.snapshot(now);
            ack.lost_now = lost;
            if lost > 0 && matches!(self.state, State::Open | State::Cwr) {
                self.enter_recovery(&ack);
                if !self.owns_recovery {
                    // As in Linux, the segment whose SACK started the timer counts as delivered, so the next ACK can send new data.
                    ack.delivered_now = self.window.mss;
                    self.window.cwnd = self.prr.on_ack(&ack, &self.window);
                }
            }
        }
        if self.timer <= now {
            self.timer = NEVER;
            if self.timer_is_probe {
                self.timer_is_probe = false;
                self.probe_wanted = true;
            } else if !self.board.is_empty() {
                self.on_timeout(now);
            }
        }
    }

    /// RFC 6298 section 5.4-5.7, RFC 5681 section 3.1.
    fn on_timeout(&mut self, now: Nanos) {
        self.stats.rtos += 1;
        if self.state == State::Open {
            self.begin_undo();
            if self.board.sacked >= DUP_THRESH {
                // As in Linux: what looked like reordering may have been loss.
                self.rack.degree = 0;
            }
        }
        let waited = self.rtt.rto();
        self.undo.on_timeout(self.state, now.saturating_sub(waited));
        if self.state != State::Loss || self.una >= self.recover {
            let ack = self.snapshot(now);
            self.cc
                .on_congestion(&mut self.window, Signal::Timeout, &ack);
        }
        self.lost += self.board.mark_all_lost();
        self.cwr_wanted = self.uses_cwr();
        self.state = State::Loss;
        self.recover = self.next;
        self.probe_end = 0;
        self.reorder_timer = NEVER;
        self.pacing.restart(now);
        self.window.cwnd = self.window.mss;
        self.cc.on_timeout(&mut self.window, now);
        self.rtt.back_off();
        self.timer_is_probe = false;
        self.timer = now + self.rtt.rto();
    }
}

fn write(segment: &mut Segment, record: &Record, now: Nanos) {
    let fin = record.is(WITH_FIN);
    *segment = Segment {
        seq: record.seq as u32,
        length: (record.length - u32::from(fin)) as u16,
        flags: if fin { ACK | FIN } else { ACK },
        tsval: time_stamp(now),
        ..Segment::default()
    };
}
