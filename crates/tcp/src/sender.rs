//! The sending half: what an acknowledgment does to the scoreboard, the estimators and the window.

use bloatlab_cc::{Ack, CongestionControl, EcnFeedback, RateSample, Window};
use bloatlab_units::{MICROSECOND, NEVER, Nanos};

use crate::loss::{Highest, Rack};
use crate::marks::{News, Tally};
use crate::offload::Offload;
use crate::pacing::PacingClock;
use crate::prr::Prr;
use crate::rtt::RttEstimator;
use crate::scoreboard::{APP_LIMITED, EVER_RETRANSMITTED, InSequence, Record, SACKED, Scoreboard};
use crate::segment::{ECE, Segment, unwrap};
use crate::undo::{Signs, Undo};
use crate::{LossDetection, Pacing, TcpConfig};

/// What the sender is doing about congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing is wrong.
    Open,
    /// The window is being reduced after an ECN echo.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// What a sender counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Segments with payload or FIN that left, retransmissions included.
    pub segments: u64,
    /// Payload bytes that left, retransmissions included.
    pub bytes: u64,
    /// Segments that left again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub rtos: u64,
    /// Tail-loss probes.
    pub probes: u64,
    /// Fast recoveries begun.
    pub recoveries: u64,
    /// Fast recoveries that ended, and their total length, ns.
    pub recovered: u64,
    /// See `recovered`.
    pub recovery_time: Nanos,
    /// Reductions after an ECN echo.
    pub ecn_reductions: u64,
    /// Reductions taken back, because nothing had been lost.
    pub undone: u64,
}

/// The sending half of a connection.
pub struct Sender {
    /// The window that the law steers.
    pub window: Window,
    /// RTT estimates.
    pub rtt: RttEstimator,
    /// Counters.
    pub stats: SenderStats,
    /// RTT that the last ACK gave, ns; 0 when it gave none.
    pub ack_rtt: Nanos,
    /// The last delivery-rate sample; `interval` 0 when there is none.
    pub rate: RateSample,
    pub(crate) cc: Box<dyn CongestionControl>,
    pub(crate) owns_recovery: bool,
    /// Fast paths may be taken; else every ACK and segment takes the slow one, with the same result.
    pub(crate) fast_paths: bool,
    /// Nothing is SACKed, lost, reordered, sent again, probed or marked, and the stream goes on: the next ACK may take the fast path, and segments
    /// may leave as a train. Whatever changes one of these clears it; [`Sender::update_fast_path`] sets it.
    pub(crate) fast_path: bool,
    /// Single segments matter to nobody: neither to the congestion control nor to pacing nor to offload.
    pub(crate) sends_trains: bool,
    pub(crate) una: u64,
    pub(crate) next: u64,
    /// Sequence number after the last byte that the application wrote.
    pub(crate) limit: u64,
    pub(crate) fin_wanted: bool,
    pub(crate) fin_sent: bool,
    /// Right edge of the peer's window.
    pub(crate) edge: u64,
    pub(crate) board: Scoreboard,
    pub(crate) state: State,
    pub(crate) recover: u64,
    pub(crate) recovery_began: Nanos,
    pub(crate) prr: Prr,
    pub(crate) rack: Rack,
    pub(crate) highest: Highest,
    pub(crate) use_rack: bool,
    pub(crate) use_probe: bool,
    pub(crate) pacing: PacingClock,
    pub(crate) offload: Offload,
    pub(crate) delivered: u64,
    pub(crate) delivered_at: Nanos,
    pub(crate) first_sent: Nanos,
    /// `delivered` at which the current application-limited phase is over; 0 when there is none.
    pub(crate) app_limited: u64,
    pub(crate) lost: u64,
    pub(crate) last_sent: Nanos,
    /// `next` when the window last held the sender back.
    pub(crate) limited_at: u64,
    /// Retransmission or probe timer.
    pub(crate) timer: Nanos,
    pub(crate) timer_is_probe: bool,
    pub(crate) reorder_timer: Nanos,
    pub(crate) probe_wanted: bool,
    /// `next` after the probe, and whether the probe repeated old data (RFC 8985 section 7.4).
    pub(crate) probe_end: u64,
    pub(crate) probe_repeated: bool,
    pub(crate) max_ack_delay: Nanos,
    /// Most bytes by which an ACK may open the window; 0: what it acknowledged.
    pub(crate) most: u64,
    pub(crate) feedback: EcnFeedback,
    /// The law lowers the window for marks itself.
    pub(crate) answers_marks: bool,
    pub(crate) tally: Tally,
    pub(crate) cwr_wanted: bool,
    pub(crate) undo: Undo,
}

/// What one ACK delivered, while it is being worked out.
#[derive(Default)]
pub(crate) struct Delivery {
    bytes: u64,
    segments: u64,
    /// RTT of the oldest and of the newest segment, never retransmitted, that this ACK acknowledged.
    oldest_rtt: Nanos,
    newest_rtt: Nanos,
    /// The newest segment's send state.
    prior_delivered: u64,
    prior_at: Nanos,
    send_elapsed: Nanos,
    app_limited: bool,
    any: bool,
    /// Highest end SACKed before this ACK.
    highest_sacked: u64,
    /// Something sent only once, before the timer of the last timeout was started.
    original: bool,
}

impl Sender {
    pub(crate) fn new(config: &TcpConfig, cc: Box<dyn CongestionControl>) -> Self {
        let mss = u64::from(config.mss);
        let offload = Offload::new(config);
        Self {
            window: Window::new(mss, u64::from(config.initial_window)),
            rtt: RttEstimator::new(config),
            stats: SenderStats::default(),
            ack_rtt: 0,
            rate: RateSample::default(),
            owns_recovery: cc.owns_recovery(),
            fast_paths: true,
            fast_path: false,
            sends_trains: !cc.heeds_sends() && config.pacing != Pacing::On && !offload.is_on(),
            cc,
            una: 0,
            next: 0,
            limit: 1,
            fin_wanted: false,
            fin_sent: false,
            edge: 0,
            board: Scoreboard::default(),
            state: State::Open,
            recover: 0,
            recovery_began: 0,
            prr: Prr::new(config.recovery),
            rack: Rack::default(),
            highest: Highest::default(),
            use_rack: config.loss_detection == LossDetection::Rack,
            use_probe: config.loss_detection == LossDetection::Rack && config.tail_loss_probe,
            pacing: PacingClock::new(config),
            offload,
            delivered: 0,
            delivered_at: 0,
            first_sent: 0,
            app_limited: 0,
            lost: 0,
            last_sent: 0,
            limited_at: 0,
            timer: NEVER,
            timer_is_probe: false,
            reorder_timer: NEVER,
            probe_wanted: false,
            probe_end: 0,
            probe_repeated: false,
            max_ack_delay: config.delayed_ack.0,
            most: if config.byte_counting { 0 } else { mss },
            feedback: EcnFeedback::Off,
            answers_marks: false,
            tally: Tally::new(),
            cwr_wanted: false,
            undo: Undo::new(config),
        }
    }

    /// The handshake agreed on this feedback.
    pub(crate) fn agree(&mut self, feedback: EcnFeedback) {
        self.feedback = feedback;
        self.cc.on_negotiated(feedback);
        self.answers_marks = self.cc.answers_marks();
    }

    /// Whether ECE and CWR mean what RFC 3168 says.
    #[inline]
    pub(crate) fn tells_cwr(&self) -> bool {
        matches!(self.feedback, EcnFeedback::Classic | EcnFeedback::Dctcp)
    }

    /// Whether the application has never had anything to send, and has not closed.
    #[inline]
    pub(crate) fn has_never_written(&self) -> bool {
        self.limit == 1 && !self.fin_wanted
    }

    /// What the sender is doing about congestion.
    pub fn state(&self) -> State {
        self.state
    }

    /// Bytes in flight: sent, neither delivered nor judged lost (RFC 6675's pipe).
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.board.pipe
    }

    /// Bytes delivered, by ACK or SACK.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// First sequence number not acknowledged (the SYN's is 0, the first byte's 1).
    #[inline]
    pub fn una(&self) -> u64 {
        self.una
    }

    #[inline(always)]
    pub(crate) fn on_ack(&mut self, now: Nanos, segment: &Segment) {
        let ack = unwrap(self.una, segment.ack);
        if ack > self.next || ack < self.una {
            return;
        }
        self.edge = self.edge.max(ack + u64::from(segment.window));
        if self.fast_path
            && segment.blocks == 0
            && let Some(acked) = self.board.pop_in_sequence(ack)
        {
            return self.on_ack_in_sequence(now, segment, ack, &acked);
        }
        self.on_any_ack(now, segment, ack);
        self.update_fast_path();
    }

    /// Sees whether the next ACK may take the fast path.
    fn update_fast_path(&mut self) {
        self.fast_path = self.fast_paths
            && self.state == State::Open
            && self.feedback == EcnFeedback::Off
            && self.board.sacked == 0
            && self.board.to_retransmit == 0
            && self.board.highest_sacked <= self.una
            && self.reorder_timer == NEVER
            && self.rack.is_at_rest()
            && !self.probe_wanted
            && self.probe_end == 0
            && !self.undo.all_needless()
            && !self.fin_wanted;
    }

    /// Fast path of [`on_any_ack`](Self::on_any_ack): the ACK covers segments in sequence that were sent once, and all is well.
    #[inline(always)]
    fn on_ack_in_sequence(&mut self, now: Nanos, segment: &Segment, ack: u64, acked: &InSequence) {
        let before = self.una;
        let newest = &acked.newest;
        self.una = ack;
        self.rtt.reset_back_off();
        self.rtt.sample(now - acked.oldest, ack, self.next);
        self.ack_rtt = now - newest.sent_at;
        self.delivered += acked.bytes;
        self.first_sent = newest.sent_at;
        if self.use_rack {
            self.rack.on_delivered_in_sequence(now, newest);
        }
        let delivery = Delivery {
            prior_delivered: newest.delivered,
            prior_at: newest.delivered_at,
            send_elapsed: newest.sent_at - newest.first_sent,
            app_limited: newest.is(APP_LIMITED),
            any: true,
            ..Delivery::default()
        };
        self.rate = self.sample_rate(now, &delivery);
        let told = Ack {
            now,
            acked: ack - before,
            delivered_now: acked.bytes,
            most: self.most,
            delivered: self.delivered,
            lost_now: 0,
            lost: self.lost,
            rtt: self.ack_rtt,
            one_way: one_way(segment),
            srtt: self.rtt.srtt,
            min_rtt: self.rtt.min,
            prior_in_flight: self.board.pipe + acked.bytes,
            in_flight: self.board.pipe,
            una: ack,
            next: self.next,
            cwnd_limited: self.limited_at >= before,
            in_recovery: false,
            ecn_echo: false,
            marked_now: 0,
            rate: self.rate,
        };
        self.undo.sends_new = false;
        self.cc.observe(&self.window, &told);
        self.cc.on_ack(&mut self.window, &told);
        if self.board.is_empty() {
            self.timer = NEVER;
        } else {
            self.arm_timer(now);
        }
    }

    /// Slow path: any ACK.
    #[inline(never)]
    fn on_any_ack(&mut self, now: Nanos, segment: &Segment, ack: u64) {
        let mut echo = self.tells_cwr() && segment.has(ECE);
        if self.board.is_empty() && self.at_rest(segment, echo) {
            self.ack_rtt = 0;
            self.rate = RateSample::default();
            if self.feedback == EcnFeedback::Accurate {
                self.tally.read(segment, News::default());
            }
            return;
        }
        let before = self.una;
        let prior_in_flight = self.board.pipe;
        let mut delivery = Delivery {
            highest_sacked: self.board.highest_sacked,
            ..Delivery::default()
        };
        if ack > before {
            let mut repeated = false;
            while let Some(record) = self.board.pop_acked(ack) {
                repeated |= record.is(EVER_RETRANSMITTED);
                if !record.is(SACKED) {
                    self.on_delivered(now, &record, &mut delivery);
                }
            }
            if repeated {
                // RFC 6298 section 3: an ACK that a retransmission brought says nothing about what left only once either; its first ACK
                // may be lost, and the time since would be the timeout's.
                delivery.oldest_rtt = 0;
                delivery.newest_rtt = 0;
            }
            self.una = ack;
            self.rtt.reset_back_off();
        }
        let in_sequence = delivery.segments;
        let duplicate = if segment.blocks > 0 {
            self.on_sack(now, segment, &mut delivery)
        } else {
            None
        };
        if delivery.oldest_rtt > 0 {
            self.rtt.sample(delivery.oldest_rtt, self.una, self.next);
        } else if ack > before {
            self.sample_by_timestamp(now, segment.tsecr);
        }
        self.ack_rtt = delivery.newest_rtt;
        self.delivered += delivery.bytes;
        let rate = self.sample_rate(now, &delivery);
        self.rate = rate;
        let lost_now = if delivery.any {
            self.detect_losses(now)
        } else {
            0
        };
        let mut marked_now = if echo { delivery.bytes } else { 0 };
        if self.feedback == EcnFeedback::Accurate {
            let news = News {
                segments: delivery.segments,
                bytes: delivery.bytes,
                mss: self.window.mss,
            };
            (echo, marked_now) = self.tally.read(segment, news);
        }
        let ack = Ack {
            now,
            acked: self.una - before,
            delivered_now: delivery.bytes,
            most: self.most,
            delivered: self.delivered,
            lost_now,
            lost: self.lost,
            rtt: delivery.newest_rtt,
            one_way: one_way(segment),
            srtt: self.rtt.srtt,
            min_rtt: self.rtt.min,
            prior_in_flight,
            in_flight: self.board.pipe,
            una: self.una,
            next: self.next,
            cwnd_limited: self.limited_at >= before,
            in_recovery: self.state != State::Open,
            ecn_echo: echo,
            marked_now,
            rate,
        };
        let signs = Signs {
            echo,
            duplicate,
            original: delivery.original,
            sacked: delivery.segments > in_sequence,
            tsecr: segment.tsecr,
        };
        self.respond(ack, &signs);
        if self.board.is_empty() {
            self.timer = NEVER;
            self.reorder_timer = NEVER;
        } else if self.una > before || (delivery.any && self.restarts_timer(now, &delivery)) {
            self.arm_timer(now);
        }
    }

    /// RFC 7323 section 4.1: where retransmissions make the times of sending ambiguous, the echo tells which one was answered.
    #[cold]
    fn sample_by_timestamp(&mut self, now: Nanos, echo: u32) {
        let micros = ((now / MICROSECOND) as u32).wrapping_sub(echo);
        // An echo of 0 is none; one from the future belongs to no segment of ours.
        if echo != 0 && micros > 0 && micros < u32::MAX / 2 {
            self.rtt
                .sample(u64::from(micros) * MICROSECOND, self.una, self.next);
        }
    }

    /// Whether a segment that comes while nothing is outstanding leaves the sender as it is: all that a pure receiver gets.
    #[inline]
    fn at_rest(&self, segment: &Segment, echo: bool) -> bool {
        debug_assert!(self.una == self.next && self.timer == NEVER && self.reorder_timer == NEVER);
        let calm = self.state == State::Open && self.probe_end == 0 && !echo;
        segment.blocks == 0 && calm && !self.owns_recovery
    }

    /// Whether a SACK restarts the timer: not if it is for what left after the oldest segment outstanding did (again), lest a lost
    /// retransmission wait as long as SACKs come (RFC 6298 section 5.3 lets none restart it; Linux those before).
    #[cold]
    fn restarts_timer(&self, now: Nanos, delivery: &Delivery) -> bool {
        let oldest = self.board.get(0).map_or(now, |head| head.sent_at);
        self.timer_is_probe || now - oldest < delivery.oldest_rtt
    }

    /// A segment was delivered that was not known to be.
    #[inline]
    fn on_delivered(&mut self, now: Nanos, record: &Record, delivery: &mut Delivery) {
        delivery.bytes += u64::from(record.length);
        delivery.segments += 1;
        if !record.is(EVER_RETRANSMITTED) {
            delivery.original |= record.sent_at <= self.undo.waited_since;
            let rtt = now - record.sent_at;
            if delivery.oldest_rtt == 0 {
                delivery.oldest_rtt = rtt;
            }
            delivery.newest_rtt = rtt;
        }
        // Delivery-rate-estimation section 3.3: the sample starts where the newest delivered segment was sent.
        if !delivery.any || record.delivered >= delivery.prior_delivered {
            delivery.any = true;
            delivery.prior_delivered = record.delivered;
            delivery.prior_at = record.delivered_at;
            delivery.send_elapsed = record.sent_at - record.first_sent;
            delivery.app_limited = record.is(APP_LIMITED);
            self.first_sent = record.sent_at;
        }
        if self.use_rack {
            self.rack
                .on_delivered(now, record, self.rtt.min, delivery.highest_sacked);
        }
    }

    /// Walks the SACK blocks; answers the bytes and the end of a duplicate, if the first reports one (RFC 2883 section 4).
    #[cold]
    fn on_sack(
        &mut self,
        now: Nanos,
        segment: &Segment,
        delivery: &mut Delivery,
    ) -> Option<(u64, u64)> {
        let mut blocks = [(0, 0); 3];
        let mut count = 0;
        let mut duplicate = None;
        for (i, &(start, end)) in segment.sack_blocks().iter().enumerate() {
            let block = (unwrap(self.una, start), unwrap(self.una, end));
            let inside_next = segment.sack_blocks().get(1).is_some_and(|&(s, e)| {
                unwrap(self.una, s) <= block.0 && block.1 <= unwrap(self.una, e)
            });
            if i == 0 && (block.1 <= self.una || inside_next) {
                duplicate = Some((block.1.saturating_sub(block.0), block.1));
            } else if block.0 < block.1 && block.1 <= self.next {
                blocks[count] = block;
                count += 1;
            }
        }
        if duplicate.is_some() {
            self.rack.on_duplicate();
        }
        let mut board = std::mem::take(&mut self.board);
        board.sack(&blocks[..count], |record| {
            self.on_delivered(now, record, delivery);
            self.highest.note(record.seq);
        });
        self.board = board;
        duplicate
    }

    #[inline]
    fn sample_rate(&mut self, now: Nanos, delivery: &Delivery) -> RateSample {
        if !delivery.any {
            return RateSample::default();
        }
        self.delivered_at = now;
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let interval = delivery.send_elapsed.max(now - delivery.prior_at);
        // Section 3.3: an interval shorter than the minimum RTT is an artefact of ACK compression.
        let valid = interval >= self.rtt.min && interval > 0;
        RateSample {
            delivered: self.delivered - delivery.prior_delivered,
            interval: if valid { interval } else { 0 },
            prior_delivered: delivery.prior_delivered,
            app_limited: delivery.app_limited,
        }
    }

    /// An ACK-less event as the laws see it.
    pub(crate) fn snapshot(&self, now: Nanos) -> Ack {
        Ack {
            now,
            delivered: self.delivered,
            lost: self.lost,
            srtt: self.rtt.srtt,
            min_rtt: self.rtt.min,
            prior_in_flight: self.board.pipe,
            in_flight: self.board.pipe,
            una: self.una,
            next: self.next,
            in_recovery: self.state != State::Open,
            ..Ack::default()
        }
    }

    /// RFC 6298 section 5.3 and RFC 8985 section 7.2: (re)start the timer, as a probe where one is allowed.
    #[inline(always)]
    pub(crate) fn arm_timer(&mut self, now: Nanos) {
        let rto = self.rtt.rto();
        self.timer_is_probe = self.use_probe
            && self.state == State::Open
            && self.board.sacked == 0
            && self.probe_end == 0
            && self.rtt.srtt > 0;
        let wait = if self.timer_is_probe {
            let extra = if self.board.len() == 1 {
                self.max_ack_delay
            } else {
                0
            };
            (2 * self.rtt.srtt + extra).min(rto)
        } else {
            rto
        };
        self.timer = now + wait;
    }
}

/// RFC 7323: the ACK's own timestamp less the one that it echoes; both ends of a simulated path have the same clock.
#[inline]
fn one_way(segment: &Segment) -> Nanos {
    match segment.tsecr {
        0 => 0,
        echo => u64::from(segment.tsval.wrapping_sub(echo)) * MICROSECOND,
    }
}
