//! One end of a connection: handshake, sending half, receiving half, and close. It does no I/O.

use bloatlab_aqm::Ecn;
use bloatlab_cc::{CongestionControl, EcnFeedback};
use bloatlab_units::{NEVER, Nanos};

use crate::TcpConfig;
use crate::handshake::{Handshake, Step};
use crate::marks::{self, EcnPlan};
use crate::receiver::Receiver;
use crate::segment::{ACK, FIN, SYN, Segment, time_stamp, unwrap};
use crate::sender::Sender;
use crate::transmit::{Buffer, Sent, Train};

/// One end of a TCP connection.
pub struct Endpoint {
    /// The sending half.
    pub sender: Sender,
    /// The receiving half.
    pub receiver: Receiver,
    handshake: Handshake,
    /// This end has never had data to send and reports no marks: it only acknowledges.
    only_acknowledges: bool,
    ecn: EcnPlan,
    /// The negotiated feedback, and the code points of new data and of all other segments.
    feedback: EcnFeedback,
    codes: (Ecn, Ecn),
    /// The code point of the other end's SYN or SYN-ACK. An end that opened the connection reports it once.
    syn_came: Ecn,
}

impl Endpoint {
    /// A closed endpoint.
    pub fn new(config: &TcpConfig, cc: Box<dyn CongestionControl>) -> Self {
        let ecn = EcnPlan::of(config, cc.as_ref());
        Self::with_ecn(config, cc, ecn)
    }

    /// A closed endpoint that follows the ECN plan of the other end's congestion control.
    pub fn with_ecn(config: &TcpConfig, cc: Box<dyn CongestionControl>, ecn: EcnPlan) -> Self {
        Self {
            sender: Sender::new(config, cc),
            receiver: Receiver::new(config),
            handshake: Handshake::new(config.ack_tick.0),
            only_acknowledges: false,
            ecn,
            feedback: EcnFeedback::Off,
            codes: (Ecn::NotEct, Ecn::NotEct),
            syn_came: Ecn::NotEct,
        }
    }

    /// Takes every slow path. The results are the same. Tests use this to check that.
    pub fn avoid_fast_paths(&mut self) {
        self.sender.fast_paths = false;
        self.receiver.fast_paths = false;
    }

    /// Starts the handshake.
    pub fn connect(&mut self) {
        self.handshake.connect();
    }

    /// Waits for the other end's SYN.
    pub fn listen(&mut self) {
        self.handshake.listen();
    }

    /// The application writes this many bytes.
    #[inline]
    pub fn write(&mut self, bytes: u64) {
        debug_assert!(!self.sender.fin_wanted);
        self.only_acknowledges = false;
        self.sender.write(bytes);
    }

    /// Withdraws what was written but not sent yet.
    pub fn discard_unsent(&mut self) {
        self.sender.limit = self.sender.limit.min(self.sender.next.max(1));
    }

    /// The application will not write any more.
    pub fn close(&mut self) {
        self.only_acknowledges = false;
        self.sender.fast_path = false;
        self.sender.fin_wanted = true;
    }

    /// Whether the handshake is complete.
    #[inline]
    pub fn established(&self) -> bool {
        self.handshake.is_complete()
    }

    /// Whether the handshake was given up.
    pub fn failed(&self) -> bool {
        self.handshake.has_failed()
    }

    /// When the handshake ended; `NEVER` before.
    pub fn established_at(&self) -> Nanos {
        self.handshake.established_at()
    }

    /// Number of bytes that the application can write now: what the send buffer takes, or with `write_size` all writes that it can make.
    #[inline(always)]
    pub fn writable(&mut self, now: Nanos) -> u64 {
        self.sender.writable(now)
    }

    /// Whether everything written, including FIN, was acknowledged.
    pub fn sent_all(&self) -> bool {
        self.sender.fin_sent && self.sender.una == self.sender.next
    }

    /// Processes a segment from the network that arrived with code point `ecn`. Returns the number of payload bytes that became readable in order.
    #[inline(always)]
    pub fn on_segment(&mut self, now: Nanos, segment: &Segment, ecn: Ecn) -> u64 {
        if self.only_acknowledges && segment.flags & (SYN | FIN) == 0 && segment.length > 0 {
            // The segment acknowledges nothing, because nothing was sent, and no data waits for its window.
            let rtt = &self.sender.rtt;
            return self.receiver.on_data(now, segment, false, ecn, rtt);
        }
        self.on_any_segment(now, segment, ecn)
    }

    /// Slow path of [`on_segment`](Self::on_segment).
    #[inline(always)]
    fn on_any_segment(&mut self, now: Nanos, segment: &Segment, ecn: Ecn) -> u64 {
        if !self.established() && !self.on_handshake(now, segment, ecn) {
            return 0;
        }
        if segment.has(SYN) {
            // The last ACK of the handshake was lost, so send it again.
            self.receiver.ack_now = true;
            return 0;
        }
        if self.feedback == EcnFeedback::Accurate {
            self.receiver.echo.count(segment, ecn);
        }
        let fin = segment.has(FIN);
        let delivered = if segment.length > 0 || fin {
            let rtt = &self.sender.rtt;
            self.receiver.on_data(now, segment, fin, ecn, rtt)
        } else {
            self.receiver.on_pure_ack(segment);
            0
        };
        self.sender.on_ack(now, segment);
        delivered
    }

    /// Processes a segment before the connection is established. Returns whether the segment must be processed further.
    #[cold]
    fn on_handshake(&mut self, now: Nanos, segment: &Segment, ecn: Ecn) -> bool {
        let step = self.handshake.on_segment(now, segment);
        match step {
            Step::Nothing => return false,
            Step::SynCame => {
                self.on_syn(segment, ecn, marks::offered_by_syn(segment));
                self.sender.edge = u64::from(segment.window) + 1;
            }
            Step::SynAckCame => {
                self.on_syn(segment, ecn, marks::offered_by_syn_ack(segment));
                self.establish(now, segment);
            }
            Step::AckCame => {
                self.establish(now, segment);
                self.end_handshake();
            }
        }
        step == Step::AckCame
    }

    /// Processes what the other end's SYN or SYN-ACK says, and the feedback that it offers.
    fn on_syn(&mut self, segment: &Segment, ecn: Ecn, offered: EcnFeedback) {
        self.receiver.next = 1;
        self.receiver.ts_recent = segment.tsval;
        self.syn_came = ecn;
        self.agree(self.ecn.agree(offered));
    }

    fn agree(&mut self, feedback: EcnFeedback) {
        self.feedback = feedback;
        self.codes = (self.ecn.of_data(feedback), self.ecn.of_control(feedback));
        self.receiver.echo.feedback = feedback;
        self.sender.agree(feedback);
    }

    fn end_handshake(&mut self) {
        self.only_acknowledges = self.sender.fast_paths
            && self.feedback == EcnFeedback::Off
            && self.sender.has_never_written();
    }

    fn establish(&mut self, now: Nanos, segment: &Segment) {
        let sender = &mut self.sender;
        sender.una = 1;
        sender.next = 1;
        sender.edge = unwrap(1, segment.ack) + u64::from(segment.window);
        sender.place_pushes(1);
        sender.first_sent = now;
        sender.delivered_at = now;
        sender.window.pacing = 0;
        sender.counter_reader.begin(segment.tsval);
        if self.handshake.lost_several(segment.tsecr) {
            sender.window.cwnd = sender.window.mss;
        }
        sender.cc.on_start(&mut sender.window, now);
        if let Some(rtt) = self.handshake.rtt() {
            sender.rtt.sample(rtt, sender.una, sender.next);
            sender.cc.on_handshake(&mut sender.window, rtt);
        } else {
            sender.sample_by_timestamp(now, segment.tsecr);
        }
    }

    /// Whether [`poll`](Self::poll) certainly returns nothing. This is quick to check for an end that never had data and has no ACK to send.
    #[inline]
    pub fn is_silent(&self) -> bool {
        let has_acks = self.receiver.ack_now || self.receiver.has_prior();
        self.handshake.is_over() && self.sender.has_never_written() && !has_acks
    }

    /// Writes the next segment to send now and returns its code point. Must be called until it returns `None`.
    ///
    /// The segment is written in place, because it is part of a packet. Copying what was just written would stall the processor.
    #[inline(always)]
    pub fn poll(&mut self, now: Nanos, segment: &mut Segment) -> Option<Ecn> {
        if !self.handshake.is_over() {
            return self.poll_handshake(now, segment);
        }
        if self.receiver.has_prior() {
            self.write_ack(now, segment);
            self.receiver.stamp_prior(segment);
            return Some(self.codes.1);
        }
        let code = match self.sender.poll(now, segment) {
            Sent::Nothing if !self.receiver.ack_now => return None,
            Sent::Nothing => {
                self.write_ack(now, segment);
                self.codes.1
            }
            Sent::New if segment.length > 0 => self.codes.0,
            // RFC 3168 section 6.1.5: a retransmission is Not-ECT.
            _ => self.codes.1,
        };
        self.receiver.stamp(segment);
        if self.feedback == EcnFeedback::Off {
            return Some(Ecn::NotEct);
        }
        self.receiver.echo.tell(segment);
        Some(code)
    }

    /// Like [`poll`](Self::poll) while data must wait: writes a segment of the handshake or an ACK that is due.
    pub fn poll_control(&mut self, now: Nanos, segment: &mut Segment) -> Option<Ecn> {
        if !self.handshake.is_over() {
            return self.poll_handshake(now, segment);
        }
        if !self.receiver.has_prior() && !self.receiver.ack_now {
            return None;
        }
        self.write_ack(now, segment);
        if self.receiver.has_prior() {
            self.receiver.stamp_prior(segment);
        } else {
            self.receiver.stamp(segment);
            if self.feedback != EcnFeedback::Off {
                self.receiver.echo.tell(segment);
            }
        }
        Some(self.codes.1)
    }

    /// Fast path of [`poll`](Self::poll): sends all full segments of new data that may leave, and writes the first one. The others differ from it
    /// only in their sequence numbers. All are Not-ECT. Other segments are left to `poll`.
    #[inline(always)]
    pub fn poll_train(&mut self, now: Nanos, segment: &mut Segment) -> Train {
        if self.receiver.has_report() {
            return Train::default();
        }
        let train = self.sender.poll_train(now, segment);
        if train.segments > 0 {
            self.receiver.stamp(segment);
        }
        train
    }

    /// Whether segments leave in offload buffers. In that case, use [`poll_buffer`](Self::poll_buffer) instead of `poll_train`.
    #[inline]
    pub fn sends_buffers(&self) -> bool {
        self.sender.offload.is_on()
    }

    /// Whether the segment that leaves next begins a buffer of segmentation offload.
    #[inline]
    pub fn begins_buffer(&self) -> bool {
        self.sender.offload.segments && !self.is_within_buffer()
    }

    /// Like [`poll_train`](Self::poll_train), for the segments of one offload buffer.
    #[inline]
    pub fn poll_buffer(&mut self, now: Nanos, segment: &mut Segment) -> Buffer {
        if self.receiver.has_report() {
            return Buffer::default();
        }
        let buffer = self.sender.poll_buffer(now, segment);
        if buffer.train.segments > 0 {
            self.receiver.stamp(segment);
        }
        buffer
    }

    /// Whether this end only acknowledges. In that case, [`poll_ack`](Self::poll_ack) may replace `poll`, and [`ack_deadline`](Self::ack_deadline)
    /// may replace `deadline` and `release`.
    #[inline]
    pub fn only_acknowledges(&self) -> bool {
        self.only_acknowledges
    }

    /// Writes an ACK that is due, if any. It is Not-ECT. Must be called until it returns false.
    #[inline(always)]
    pub fn poll_ack(&mut self, now: Nanos, segment: &mut Segment) -> bool {
        if self.receiver.has_prior() {
            self.write_ack(now, segment);
            self.receiver.stamp_prior(segment);
            return true;
        }
        if !self.receiver.ack_now {
            return false;
        }
        self.write_ack(now, segment);
        self.receiver.stamp(segment);
        true
    }

    /// When a delayed ACK must be sent; [`NEVER`] if there is none.
    #[inline]
    pub fn ack_deadline(&self) -> Nanos {
        self.receiver.ack_deadline
    }

    #[inline]
    fn write_ack(&self, now: Nanos, segment: &mut Segment) {
        *segment = Segment {
            seq: self.sender.next as u32,
            flags: ACK,
            tsval: time_stamp(now),
            ..Segment::default()
        };
    }

    #[cold]
    fn poll_handshake(&mut self, now: Nanos, segment: &mut Segment) -> Option<Ecn> {
        if self.handshake.poll_ack() {
            self.end_handshake();
            return Some(self.confirm(now, segment));
        }
        if !self.handshake.poll(now, self.sender.rtt.rto()) {
            return None;
        }
        *segment = Segment {
            flags: SYN,
            tsval: time_stamp(now),
            ..Segment::default()
        };
        self.receiver.stamp(segment);
        if self.handshake.is_answer() {
            segment.flags |= ACK;
            match self.feedback {
                EcnFeedback::Off => {}
                EcnFeedback::Classic | EcnFeedback::Dctcp => segment.set_ace(0b001),
                // RFC 9768 section 3.1.2: it also reports the code point of the SYN.
                EcnFeedback::Accurate => segment.set_ace(marks::handshake_ace(self.syn_came)),
            }
            return Some(self.codes.1);
        }
        segment.ack = 0;
        let offer = self.ecn.offer(self.handshake.tries());
        match offer {
            EcnFeedback::Off => {}
            // RFC 3168 section 6.1.1: an ECN-setup SYN.
            EcnFeedback::Classic | EcnFeedback::Dctcp => segment.set_ace(0b011),
            // RFC 9768 section 3.1.1.
            EcnFeedback::Accurate => segment.set_ace(0b111),
        }
        Some(self.ecn.of_control(offer))
    }

    /// Writes the ACK of the SYN-ACK. As in Linux, it leaves before any data.
    fn confirm(&mut self, now: Nanos, segment: &mut Segment) -> Ecn {
        self.write_ack(now, segment);
        self.receiver.stamp(segment);
        if self.feedback != EcnFeedback::Off {
            self.receiver.echo.tell(segment);
        }
        if self.feedback == EcnFeedback::Accurate {
            // RFC 9768 section 3.2.2.1: it reports the code point of the SYN-ACK.
            segment.set_ace(marks::handshake_ace(self.syn_came));
        }
        self.codes.1
    }

    /// Number of retransmissions of this end's SYN or SYN-ACK.
    pub fn syn_repeats(&self) -> u64 {
        self.handshake.tries().saturating_sub(1).into()
    }

    /// The earliest time at which [`on_timer`](Self::on_timer) has something to do.
    #[inline]
    pub fn deadline(&self) -> Nanos {
        if !self.established() {
            return self.handshake.deadline();
        }
        let sender = &self.sender;
        let timers = sender.timer.min(sender.reorder_timer);
        timers.min(self.receiver.ack_deadline)
    }

    /// Whether [`poll`](Self::poll), which just returned a segment, may return another one. It may not while pacing delays the next segment.
    #[inline]
    pub fn may_go_on(&self, now: Nanos) -> bool {
        self.sender.pacing.next_send <= now || self.receiver.ack_now || self.receiver.has_prior()
    }

    /// When [`poll`](Self::poll) must be called again because only pacing delays a segment. Returns [`NEVER`] if there is no such segment, or if that
    /// is not before `before`, when it will be called anyway.
    #[inline]
    pub fn release(&self, now: Nanos, before: Nanos) -> Nanos {
        let next = self.sender.pacing.next_send;
        if next > now && next < before {
            self.sender.pacing_deadline()
        } else {
            NEVER
        }
    }

    /// Checks the timers. Must be followed by [`poll`](Self::poll).
    pub fn on_timer(&mut self, now: Nanos) {
        if !self.established() {
            return self.handshake.on_timer(now);
        }
        if self.receiver.ack_deadline <= now {
            self.receiver.ack_deadline = NEVER;
            self.receiver.ack_now = true;
        }
        self.sender.on_timer(now);
    }
}
