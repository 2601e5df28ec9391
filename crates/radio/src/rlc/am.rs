//! Acknowledged mode, sending side (TS 38.322 sections 5.2.3.1, 5.3.2 and 5.3.3).

use bloatlab_units::Nanos;

use super::framing::segment_offset;
use super::params::Am;
use super::polls::Polls;
use super::retransmissions::{Retransmissions, Span};
use super::source::SduSource;
use super::um::{add_headers, piece, set_era};
use super::window::{Piece, Window};
use super::{AmParams, Framing, Opportunity, Pdu, Sdu, Sent, Status, Upper};

/// Header of a PDU in the lena framing, new or retransmitted.
const LENA_HEADER: u32 = 4;
/// ns-3 does not start a PDU with new data in fewer bytes, not counting the MAC subheader.
const LENA_LEAST: u32 = 7;

/// Sends SDUs until their reception is confirmed.
#[derive(Debug)]
pub struct AmTransmitter<T> {
    params: Am,
    source: SduSource<T>,
    window: Window<T>,
    again: Retransmissions,
    polls: Polls,
    failed: bool,
    era: u32,
    /// SDUs that a re-establishment sends again; empty between calls.
    lost: Vec<Sdu<T>>,
    counts: Sent,
}

impl<T: Copy> AmTransmitter<T> {
    /// Creates a transmitter that has sent nothing yet.
    pub fn new(params: &AmParams) -> Self {
        let settled = params.settled();
        Self {
            params: settled,
            source: SduSource::default(),
            window: Window::default(),
            again: Retransmissions::default(),
            polls: Polls::new(&settled),
            failed: false,
            era: 0,
            lost: Vec::new(),
            counts: Sent::default(),
        }
    }

    /// Bytes of a header without a segment offset.
    fn header(&self) -> u32 {
        match self.params.framing {
            Framing::Nr if self.params.sn_bits <= 12 => 2,
            Framing::Nr => 3,
            Framing::Lena => LENA_HEADER,
        }
    }

    /// Fills up to `offer` bytes of a transport block, with lost data first. Returns how many bytes it used.
    pub fn transmit(
        &mut self,
        now: Nanos,
        offer: impl Into<Opportunity>,
        upper: &mut dyn Upper<T>,
        out: &mut Vec<Pdu<T>>,
    ) -> u32 {
        if self.failed {
            return 0;
        }
        let (first, offer) = (out.len(), offer.into());
        let used = match self.params.framing {
            Framing::Nr => {
                let mut left = offer;
                self.repeat_segments(now, &mut left, out);
                self.new_segments(now, &mut left, upper, out);
                offer.room - left.room
            }
            // ns-3: one PDU per opportunity.
            Framing::Lena if self.again.is_empty() => self.new_pdu(now, offer, upper, out),
            Framing::Lena => self.repeat_pdu(offer.room, out),
        };
        // TS 38.322 section 5.3.3.2: the last PDU polls if nothing is left to send, or nothing new may be sent.
        let idle = self.source.is_dry(upper) || self.stalled();
        let ends = self.polls.is_due() || (self.again.is_empty() && idle);
        if let Some(last) = out[first..].last_mut().filter(|last| !last.poll && ends) {
            last.poll = true;
            self.polled(now);
        }
        self.guard(now);
        set_era(&mut out[first..], self.era);
        used
    }

    /// Makes sure that a poll will be sent for unacknowledged data.
    fn guard(&mut self, now: Nanos) {
        if self.window.next() > self.window.base() && !self.failed {
            self.polls.guard(now);
        }
    }

    /// Whether no new number may be used, because the window is full.
    fn stalled(&self) -> bool {
        let between = self.params.framing == Framing::Lena || self.source.head().is_none();
        between && self.window.next() >= self.window.base() + self.params.window
    }

    /// Retransmits SDUs or segments, one at a time.
    fn repeat_segments(&mut self, now: Nanos, left: &mut Opportunity, out: &mut Vec<Pdu<T>>) {
        while let Some(span) = self.again.first().filter(|_| left.enough > 0) {
            let header = self.header() + segment_offset(span.start);
            let largest = Framing::Nr.largest(left.room);
            let Some(whole) = self.window.pieces(span.sn).next().copied() else {
                break;
            };
            if largest <= header {
                break;
            }
            let length = (span.end - span.start).min(largest - header);
            let bytes = left.take(header + length);
            let poll = self.polls.is_due();
            let last = span.start + length == whole.length;
            let mut pdu = whole.again(span.sn, span.start, length, bytes);
            (pdu.last, pdu.poll) = (last, poll);
            out.push(pdu);
            if poll {
                self.polled(now);
            }
            self.repeated(length);
        }
    }

    fn repeated(&mut self, length: u32) {
        self.again.take(length);
        self.counts.repeated_bytes += u64::from(length);
    }

    /// Sends new SDUs or segments, one at a time.
    fn new_segments(
        &mut self,
        now: Nanos,
        left: &mut Opportunity,
        upper: &mut dyn Upper<T>,
        out: &mut Vec<Pdu<T>>,
    ) {
        // Do not take an SDU of which no byte can be sent.
        while left.enough > 0
            && Framing::Nr.largest(left.room) > self.header()
            && !self.stalled()
            && self.source.fill(now, upper)
        {
            let Some((sdu, sent)) = self.source.head() else {
                break;
            };
            let header = self.header() + segment_offset(sent);
            let largest = Framing::Nr.largest(left.room);
            if largest <= header {
                break;
            }
            if sent == 0 {
                self.window.open();
                self.window.add(Piece::whole(sdu), 0);
            }
            let Some(cut) = self.source.cut(largest - header) else {
                break;
            };
            self.window.sent(cut.length);
            let bytes = left.take(header + cut.length);
            let sn = self.window.next() - 1;
            let mut pdu = piece(&cut, sn, cut.offset, bytes, cut.ends());
            pdu.poll = self.count(now, cut.length);
            out.push(pdu);
        }
    }

    /// Retransmits one PDU of the lena framing, or the part of it that fits.
    fn repeat_pdu(&mut self, room: u32, out: &mut Vec<Pdu<T>>) -> u32 {
        let largest = Framing::Lena.largest(room);
        let Some(span) = self.again.first().filter(|_| largest > LENA_HEADER) else {
            return 0;
        };
        let total = self.window.entry(span.sn).map_or(0, |entry| entry.length);
        let first = out.len();
        let (mut left, mut at) = (largest - LENA_HEADER, span.start);
        for whole in self.window.pieces(span.sn) {
            let end = whole.offset + whole.length;
            if end <= at || at >= span.end {
                continue;
            }
            let indicator = Framing::Lena.indicator((out.len() - first) as u32);
            if left <= indicator {
                break;
            }
            let length = (end.min(span.end) - at).min(left - indicator);
            left -= length + indicator;
            let mut pdu = whole.again(span.sn, at, length, length + indicator);
            pdu.last = at + length == total;
            out.push(pdu);
            at += length;
        }
        self.repeated(at - span.start);
        add_headers(&mut out[first..], LENA_HEADER, largest - left)
    }

    /// Sends a new PDU of the lena framing.
    fn new_pdu(
        &mut self,
        now: Nanos,
        offer: Opportunity,
        upper: &mut dyn Upper<T>,
        out: &mut Vec<Pdu<T>>,
    ) -> u32 {
        let largest = Framing::Lena.largest(offer.room);
        if largest < LENA_LEAST || self.stalled() || !self.source.fill(now, upper) {
            return 0;
        }
        let (first, sn) = (out.len(), self.window.next());
        let (mut data, mut size) = (0, LENA_HEADER);
        let within = offer.inside(largest, LENA_HEADER);
        self.window.open();
        let window = &mut self.window;
        self.source
            .concatenate(now, within, upper, |cut, indicator| {
                window.add(Piece::part(&cut, data), cut.length);
                out.push(piece(&cut, sn, data, cut.length + indicator, false));
                data += cut.length;
                size += cut.length + indicator;
            });
        let poll = self.count(now, data);
        if let Some(last) = out[first..].last_mut() {
            (last.last, last.poll) = (true, poll);
        }
        add_headers(&mut out[first..], LENA_HEADER, size)
    }

    /// Counts a PDU with new data. Returns whether it polls.
    fn count(&mut self, now: Nanos, bytes: u32) -> bool {
        self.counts.new_bytes += u64::from(bytes);
        let poll = self.polls.count(bytes);
        if poll {
            self.polled(now);
        }
        poll
    }

    /// Records that a PDU with a poll is sent.
    fn polled(&mut self, now: Nanos) {
        self.polls.left(now, self.window.next());
        self.counts.polls += 1;
    }

    /// Processes a status report.
    pub fn on_status(&mut self, now: Nanos, status: &Status) {
        if self.failed || status.era != self.era || status.ack_sn > self.window.next() {
            return;
        }
        let mut acked = self.window.base();
        let mut considered = None;
        for nack in &status.nacks {
            for sn in acked..nack.sn {
                self.window.acknowledge(sn);
            }
            for sn in nack.sn..nack.sn + u64::from(nack.count) {
                // However many parts of a number a report names, it is one retransmission.
                if self.negative(sn, nack.part) && considered != Some(sn) {
                    self.consider(sn);
                    considered = Some(sn);
                }
            }
            acked = acked.max(nack.sn + u64::from(nack.count));
        }
        for sn in acked..status.ack_sn {
            self.window.acknowledge(sn);
        }
        self.again.merge();
        let window = &self.window;
        self.again
            .keep(|sn| window.entry(sn).is_some_and(|entry| !entry.acked));
        self.window.advance();
        self.polls.answered(status.ack_sn);
        if self.window.next() == self.window.base() {
            self.polls.rest();
        }
        self.guard(now);
    }

    /// Records what is missing. Returns whether any of it was not recorded already.
    fn negative(&mut self, sn: u64, part: Option<(u32, u32)>) -> bool {
        let Some(entry) = self.window.entry(sn).filter(|entry| !entry.acked) else {
            return false;
        };
        let (start, end) = part.unwrap_or((0, entry.sent));
        let span = Span {
            sn,
            start,
            end: end.min(entry.sent),
        };
        span.start < span.end && self.again.note(span)
    }

    /// Counts a retransmission (TS 38.322 section 5.3.2), where the first one counts 0.
    fn consider(&mut self, sn: u64) {
        let Some(entry) = self.window.entry_mut(sn) else {
            return;
        };
        entry.considered += 1;
        if entry.considered > self.params.max_retx && !self.failed {
            self.failed = true;
            self.polls.rest();
            self.counts.failures += 1;
        }
    }

    /// When [`on_timer`](Self::on_timer) is due.
    pub fn next_timer(&self) -> Option<Nanos> {
        self.polls.timer()
    }

    /// Handles the end of t-PollRetransmit (TS 38.322 section 5.3.3.4).
    pub fn on_timer(&mut self, now: Nanos, upper: &dyn Upper<T>) {
        if !self.polls.expire(now) {
            return;
        }
        let quiet = self.again.is_empty() && (self.source.is_dry(upper) || self.stalled());
        if let Some(sn) = self.window.latest_unacked().filter(|_| quiet) {
            self.negative(sn, None);
            self.again.merge();
            self.consider(sn);
        }
        self.guard(now);
    }

    /// Number of bytes for a buffer status report.
    pub fn report(&self, upper: &dyn Upper<T>) -> u32 {
        if self.failed {
            return 0;
        }
        let (sdus, bytes) = self.source.waiting(upper);
        let (spans, repeated) = self.again.waiting();
        let sum = match self.params.framing {
            // Bytes needed to send everything that waits.
            Framing::Nr => {
                let part = self.held().map_or(0, |_| 2);
                let header = u64::from(self.header()) + 3;
                bytes + sdus * header + part + repeated + spans * (header + 2)
            }
            // ns-3: without headers, but including what is sent and not acknowledged.
            Framing::Lena => bytes + self.window.outstanding(),
        };
        u32::try_from(sum).unwrap_or(u32::MAX)
    }

    /// The rest of an SDU that was sent in part: its bytes, and when the SDU entered the buffer.
    pub fn held(&self) -> Option<(u32, Nanos)> {
        self.source.held()
    }

    /// Whether something was lost `max_retx_threshold` times. Then nothing is sent until [`reestablish`](Self::reestablish).
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// Re-establishes the entity (TS 38.322 section 5.1.2). SDUs whose reception is not confirmed are sent first, in order, as in TS 38.323 section
    /// 5.5.
    pub fn reestablish(&mut self) {
        self.window.clear(&mut self.lost);
        // In the framing of 5G, the window contains the current SDU as a whole.
        let head = self.source.drop_head();
        if self.params.framing == Framing::Lena {
            self.lost.extend(head);
        }
        self.source.put_back(&mut self.lost);
        self.again.clear();
        self.polls.clear();
        self.failed = false;
        self.era += 1;
    }

    /// Its counters.
    pub fn counts(&self) -> Sent {
        self.counts
    }

    /// The oldest unacknowledged number and the next number (TX_Next_Ack, TX_Next).
    pub fn window(&self) -> (u64, u64) {
        (self.window.base(), self.window.next())
    }
}
