//! The receiving half of a connection: reassembly, delayed ACKs, SACK and D-SACK reports, the advertised window, and the ECN echo.

mod compression;
mod due;
mod memory;
mod reassembly;
mod space;
mod tuning;

use std::collections::VecDeque;
use std::hint::select_unpredictable;

use bloatlab_aqm::Ecn;
use bloatlab_cc::EcnFeedback;
use bloatlab_units::{MILLISECOND, NEVER, Nanos};

use self::compression::Compression;
pub(crate) use self::space::FIRST_RECEIVE_BUFFER;
use self::space::{Reading, Space};
use self::tuning::Tuning;
use crate::marks::Echo;
use crate::offload::LARGEST_BUFFER;
use crate::segment::{ACK, CWR, MORE, PUSH, Segment, unwrap};
use crate::{ReceiveWindow, RttEstimator, TcpConfig};

/// A half-open range of sequence numbers.
type Range = (u64, u64);

/// A tick of the clock from which hosts take timestamps, microseconds (Linux).
const TICK: u32 = 1000;

/// Segments of a buffer that are further apart than this are acknowledged as if the buffer had ended. So is what is larger than any buffer.
const JOINING: Nanos = MILLISECOND;

/// What has arrived: data in order, and data behind holes.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Whether the fast path may be taken. Otherwise every segment takes the slow path, with the same result.
    pub(crate) fast_paths: bool,
    /// All data arrived in order, the window is fully open, and ACKs depend only on count and delay. The next segment may then take the fast path.
    fast_path: bool,
    /// Next sequence number expected.
    pub(crate) next: u64,
    /// Ranges received beyond `next`: ascending, disjoint, and never adjacent.
    held: VecDeque<Range>,
    held_bytes: u64,
    /// Starts of the most recently changed ranges, newest first (RFC 2018 section 4).
    recent: [u64; 3],
    recent_len: u8,
    /// A duplicate that the next ACK reports (RFC 2883).
    duplicate: Option<Range>,
    /// Number of segments received since the last ACK was sent.
    unacked: u32,
    /// Number of segments that will still be acknowledged at once, and its initial value whenever the sender may have little in flight.
    quick: u32,
    quick_acks: u32,
    compression: Compression,
    /// When the last segment with data arrived.
    last_data: Nanos,
    ack_every: u32,
    /// [`MORE`] with receive offload, else no flag.
    joining: u8,
    /// [`PUSH`] if such a segment is acknowledged as soon as the application has read everything (Linux since 6.7), else no flag.
    push: u8,
    delayed_ack: Nanos,
    ack_tick: Nanos,
    /// When a delayed ACK must be sent.
    pub(crate) ack_deadline: Nanos,
    /// An ACK must be sent now.
    pub(crate) ack_now: bool,
    space: Space,
    /// What makes the buffer larger.
    tuning: Option<Tuning>,
    scale: u32,
    /// Highest edge that was ever advertised. It never moves back (RFC 9293 section 3.8.6).
    advertised: u64,
    pub(crate) echo: Echo,
    /// An ACK for what arrived before the newest segment. It is sent first.
    prior: Option<Segment>,
    pub(crate) ts_recent: u32,
    /// The last acknowledgment number that was sent (RFC 7323's Last.ACK.sent).
    last_ack: u64,
    fin: Option<u64>,
}

impl Receiver {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        let space = Space::new(config);
        let scale = space.scale();
        let is_tuned = config.receive_window == ReceiveWindow::Autotuned;
        Self {
            fast_paths: true,
            fast_path: false,
            next: 0,
            held: VecDeque::new(),
            held_bytes: 0,
            recent: [0; 3],
            recent_len: 0,
            duplicate: None,
            unacked: 0,
            quick: config.quick_acks,
            quick_acks: config.quick_acks,
            compression: Compression::new(config.sack_compression.0),
            last_data: NEVER,
            ack_every: config.ack_every,
            joining: if config.receive_offload { MORE } else { 0 },
            push: if config.quick_acks > 0 { PUSH } else { 0 },
            delayed_ack: config.delayed_ack.0,
            ack_tick: config.ack_tick.0,
            ack_deadline: NEVER,
            ack_now: false,
            space,
            tuning: is_tuned.then(|| Tuning::new(config.mss.into())),
            scale,
            advertised: 0,
            echo: Echo::new(),
            prior: None,
            ts_recent: 0,
            last_ack: 0,
            fin: None,
        }
    }

    /// Whether all data of the other end has arrived, including FIN.
    pub fn finished(&self) -> bool {
        self.fin.is_some_and(|end| self.next > end)
    }

    /// Payload bytes received, in order or not, each byte counted once.
    pub fn received(&self) -> u64 {
        let last = self.held.back().map_or(self.next, |&(_, end)| end);
        // SYN and FIN take one sequence number each and are not payload.
        let fin = self.fin.is_some_and(|at| at < last);
        self.next.saturating_sub(1) + self.held_bytes - u64::from(fin)
    }

    /// Bytes held beyond a hole.
    pub fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// The window-scale shift (RFC 7323).
    pub fn window_scale(&self) -> u32 {
        self.scale
    }

    /// Processes a segment with payload or FIN that arrived with code point `ecn`. Returns the number of payload bytes that became available in
    /// order.
    ///
    /// `rtt` gives this end's retransmission timeout. A longer silence means that the sender's timer has expired.
    #[inline(always)]
    pub(crate) fn on_data(
        &mut self,
        now: Nanos,
        segment: &Segment,
        fin: bool,
        ecn: Ecn,
        rtt: &RttEstimator,
    ) -> u64 {
        let start = unwrap(self.next, segment.seq);
        let is_usual = !fin
            & (start == self.next)
            & self.space.ignores(segment.length)
            & !segment.has(CWR)
            & (self.lateness(segment) <= 0);
        if self.fast_path & is_usual && self.is_data_recent(now, rtt) {
            self.on_data_in_sequence(now, segment, start);
            return segment.length.into();
        }
        if self.is_outdated(segment) {
            self.discard(start, start + u64::from(segment.length));
            return 0;
        }
        let delivered = self.on_any_data(now, segment, fin, ecn, rtt);
        self.fast_path = self.fast_paths
            && self.tuning.is_none()
            && self.held.is_empty()
            && self.quick == 0
            && self.space.is_open()
            && self.fin.is_none()
            && self.echo.feedback == EcnFeedback::Off;
        delivered
    }

    /// Notes the timestamp of a segment without data, so that our data echoes it.
    #[inline(always)]
    pub(crate) fn on_pure_ack(&mut self, segment: &Segment) {
        if let Some(tuning) = &mut self.tuning {
            tuning.skip(segment);
        }
        self.note_time(segment, unwrap(self.next, segment.seq));
    }

    /// By how much the timestamp of a segment is older than the one that is to be echoed, microseconds.
    #[inline(always)]
    fn lateness(&self, segment: &Segment) -> i32 {
        self.ts_recent.wrapping_sub(segment.tsval) as i32
    }

    /// Whether the timestamp of a segment is older than the one that is to be echoed, by more than one tick of the clock (Linux).
    fn is_outdated(&self, segment: &Segment) -> bool {
        let late = self.lateness(segment);
        late > 0 && (segment.tsval % TICK + late.unsigned_abs()) / TICK > 1
    }

    /// RFC 7323 section 5.3, R1: a segment with an older timestamp than data that was acknowledged counts as an old duplicate. It is acknowledged at
    /// once and dropped. Such segments come if a path lets a retransmission overtake data that was sent before it.
    #[cold]
    fn discard(&mut self, start: u64, end: u64) {
        if start < self.next && start < end {
            self.duplicate = Some((start, end.min(self.next)));
            self.quick = self.quick.max(self.quick_acks);
            self.fast_path = false;
        }
        self.ack_now = true;
    }

    /// Fast path of [`on_any_data`](Self::on_any_data): the segment is the next one, and nothing else must be recorded.
    #[inline(always)]
    fn on_data_in_sequence(&mut self, now: Nanos, segment: &Segment, start: u64) {
        self.note_time(segment, start);
        self.next = start + u64::from(segment.length);
        self.unacked += 1;
        if self.unacked >= self.ack_every {
            if segment.has(self.joining) && self.next - self.last_ack < LARGEST_BUFFER {
                self.ack_deadline = now + JOINING;
            } else {
                self.ack_now = true;
            }
        } else if segment.has(self.push) {
            self.ack_now = true;
        } else if self.ack_deadline == NEVER {
            self.delay_ack(now);
        }
    }

    /// Slow path: any segment with payload or FIN.
    #[inline(never)]
    fn on_any_data(
        &mut self,
        now: Nanos,
        segment: &Segment,
        fin: bool,
        ecn: Ecn,
        rtt: &RttEstimator,
    ) -> u64 {
        if !self.ack_now {
            // As in Linux: if the ACK of a duplicate waits for more data, it does not report the duplicate.
            self.duplicate = None;
        }
        let start = unwrap(self.next, segment.seq);
        let end = start + u64::from(segment.length) + u64::from(fin);
        if self.quick_acks > 0 {
            if start <= self.next && end > self.next {
                self.end_silence(now, rtt.rto());
            }
            self.hasten_after_mark(segment, ecn);
        }
        let more = segment.has(self.joining);
        let is_alone = self.is_alone(start, end);
        if self
            .space
            .note(segment.length, is_alone, more, self.held_bytes)
        {
            // An odd number stays and an even one becomes the next: no ACK that is sent at once now is missing later.
            self.quick |= 1;
        }
        let hastened = self.note_mark(segment, ecn);
        if fin {
            self.fin = Some(end - 1);
        }
        self.note_time(segment, start);
        let before = self.next;
        let offered = self.advertised - self.last_ack;
        let reading;
        if start == before && self.held.is_empty() {
            self.next = end;
            reading = self.space.deliver(now, end - before, 0, offered);
            let at_once = hastened || fin || reading == Reading::Opens;
            let pushed = segment.has(self.push);
            self.count_towards_ack(now, reading, at_once, more, pushed);
        } else {
            let waits = self.compression.is_waiting() && self.quick == 0;
            if waits && self.starts_third_range(start, end) {
                self.acknowledge_before();
            }
            self.out_of_order(start, end);
            if more && !self.held.is_empty() {
                // As one with the rest of its buffer.
                self.ack_deadline = self.ack_deadline.min(now + JOINING);
            } else {
                self.report_soon(now, rtt);
            }
            let bytes = self.next - before;
            reading = self.space.deliver(now, bytes, self.held_bytes, offered);
            self.ack_now |= reading == Reading::Opens;
        }
        self.tune(now, segment, reading != Reading::Nothing);
        let delivered = self.next - before;
        // The FIN takes a sequence number but is no payload.
        delivered - u64::from(delivered > 0 && self.finished())
    }

    /// RFC 7323 section 4.3: the next ACK echoes the timestamp of the earliest segment that it covers, so that the RTT includes the delay of the ACK.
    /// For a retransmitted segment, it echoes the retransmission's.
    #[inline]
    fn note_time(&mut self, segment: &Segment, start: u64) {
        let is_first = start <= self.last_ack;
        let is_later = self.lateness(segment) <= 0;
        self.ts_recent = select_unpredictable(is_first & is_later, segment.tsval, self.ts_recent);
    }

    /// Makes the buffer larger if the sender has become faster, when the application has read everything.
    fn tune(&mut self, now: Nanos, segment: &Segment, reads: bool) {
        let held = self.held.back().map_or(0, |&(_, end)| end - self.next);
        let Some(tuning) = &mut self.tuning else {
            return;
        };
        tuning.measure_window(now, self.next, self.advertised);
        tuning.measure(now, segment);
        if reads && let Some(window) = tuning.window(now, self.next, held) {
            self.space.enlarge(window);
        }
    }

    /// Records the code point of a segment. Returns whether the feedback requires an ACK at once.
    #[inline]
    fn note_mark(&mut self, segment: &Segment, ecn: Ecn) -> bool {
        let marked = ecn == Ecn::Ce;
        match self.echo.feedback {
            EcnFeedback::Off => false,
            EcnFeedback::Classic => {
                // RFC 3168 section 6.1.3: echo from CE until CWR. Marks do not change when ACKs are sent, except for quick ACKs at the first one.
                self.echo.on = marked || (self.echo.on && !segment.has(CWR));
                false
            }
            EcnFeedback::Dctcp if self.echo.on == marked => false,
            EcnFeedback::Dctcp => {
                self.turn_echo(marked);
                true
            }
            EcnFeedback::Accurate => self.echo.hastens(marked),
        }
    }

    /// RFC 8257 section 3.2: when marks begin or end, acknowledges the previous segments with the previous echo. As in Linux, the new segment is
    /// acknowledged at once.
    #[cold]
    fn turn_echo(&mut self, marked: bool) {
        if self.unacked > 0 {
            self.acknowledge_before();
        }
        self.echo.on = marked;
    }

    /// Writes the ACK that is due for all earlier segments, before the newest one changes what it says.
    #[cold]
    fn acknowledge_before(&mut self) {
        let mut segment = Segment {
            flags: ACK,
            ..Segment::default()
        };
        self.stamp(&mut segment);
        self.echo.tell(&mut segment);
        self.prior = Some(segment);
    }

    /// Whether a separate ACK must be sent before anything else.
    #[inline]
    pub(crate) fn has_prior(&self) -> bool {
        self.prior.is_some()
    }

    /// Whether the next segment must report more than the next expected sequence number.
    #[inline]
    pub(crate) fn has_report(&self) -> bool {
        self.duplicate.is_some() || !self.held.is_empty()
    }

    /// Writes the separate ACK into a segment, which keeps its sequence number and timestamp.
    #[cold]
    pub(crate) fn stamp_prior(&mut self, segment: &mut Segment) {
        if let Some(prior) = self.prior.take() {
            *segment = Segment {
                seq: segment.seq,
                tsval: segment.tsval,
                ..prior
            };
        }
    }

    fn forget_ack(&mut self) {
        self.compression.restart();
        self.last_ack = self.next;
        self.unacked = 0;
        self.ack_now = false;
        self.ack_deadline = NEVER;
    }

    /// Writes acknowledgment, window, timestamp and SACK blocks into a segment that is about to leave, and resets the ACK timers.
    #[inline(always)]
    pub(crate) fn stamp(&mut self, segment: &mut Segment) {
        segment.ack = self.next as u32;
        segment.window = self.window();
        segment.tsecr = self.ts_recent;
        if self.has_report() {
            self.report(segment);
        }
        self.forget_ack();
    }

    #[inline]
    fn window(&mut self) -> u32 {
        let free = self.space.window(self.held_bytes) >> self.scale << self.scale;
        self.advertised = self.advertised.max(self.next + free);
        (self.advertised - self.next) as u32
    }
}

#[cfg(test)]
mod tests;
