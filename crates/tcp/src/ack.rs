//! How an acknowledgment changes the scoreboard, the estimators and the window.

use bloatlab_cc::{Ack, EcnFeedback, RateSample};
use bloatlab_units::{MICROSECOND, NEVER, Nanos};

use crate::marks::Delivered;
use crate::scoreboard::{APP_LIMITED, EVER_RETRANSMITTED, InSequence, Record, SACKED};
use crate::segment::{ECE, Segment, unwrap};
use crate::sender::Sender;
use crate::state::State;
use crate::undo::{AckReport, Duplicate};

/// What one ACK delivered, collected while it is processed.
#[derive(Default)]
struct Delivery {
    bytes: u64,
    segments: u64,
    /// RTTs of the oldest and the newest segment that this ACK acknowledged and that were never retransmitted.
    oldest_rtt: Nanos,
    newest_rtt: Nanos,
    /// The state when the newest segment was sent.
    prior_delivered: u64,
    prior_at: Nanos,
    send_elapsed: Nanos,
    app_limited: bool,
    any: bool,
    /// Highest end SACKed before this ACK.
    highest_sacked: u64,
    /// It delivered something that was sent only once, before the timer of the last timeout started.
    original: bool,
}

impl Sender {
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

    /// Checks whether the next ACK may take the fast path.
    fn update_fast_path(&mut self) {
        self.fast_path = self.fast_paths
            && self.state == State::Open
            && self.feedback == EcnFeedback::Off
            && self.board.sacked == 0
            && self.board.to_retransmit == 0
            && self.board.highest_sacked <= self.una
            && self.reorder_timer == NEVER
            && self.rack.is_settled()
            && !self.probe_wanted
            && self.probe_end == 0
            && !self.undo.all_spurious()
            && !self.fin_wanted;
    }

    /// Fast path of [`on_any_ack`](Self::on_any_ack): the ACK covers segments in sequence that were sent once, and there is no congestion.
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
            disordered: false,
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

    /// Slow path: processes any ACK.
    #[inline(never)]
    fn on_any_ack(&mut self, now: Nanos, segment: &Segment, ack: u64) {
        let mut echo = self.uses_cwr() && segment.has(ECE);
        if self.board.is_empty() && self.is_unaffected(segment, echo) {
            self.ack_rtt = 0;
            self.rate = RateSample::default();
            if self.feedback == EcnFeedback::Accurate {
                self.counter_reader.read(segment, Delivered::default());
            }
            return;
        }
        let before = self.una;
        let prior_in_flight = self.board.pipe;
        let duplicate = self.reported_duplicate(segment, ack);
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
                // RFC 6298 section 3: an ACK caused by a retransmission gives no RTT for segments that were sent once, either. Their first ACK may
                // have been lost, and the elapsed time would then include the timeout.
                delivery.oldest_rtt = 0;
                delivery.newest_rtt = 0;
            }
            self.una = ack;
            self.rtt.reset_back_off();
        }
        let (in_sequence, rtt) = (delivery.segments, self.rack.rtt);
        if segment.blocks > 0 {
            self.on_sack(now, segment, duplicate.is_some(), &mut delivery);
        }
        let duplicate = duplicate.filter(|duplicate| self.may_be_needless(duplicate));
        if in_sequence > 0 {
            // RACK looks at what SACK reports first, as in Linux.
            self.rack.rtt = rtt;
        }
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
            let news = Delivered {
                segments: delivery.segments,
                bytes: delivery.bytes,
                mss: self.window.mss,
            };
            (echo, marked_now) = self.counter_reader.read(segment, news);
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
            disordered: self.disordered,
            ecn_echo: echo,
            marked_now,
            rate,
        };
        let signs = AckReport {
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

    /// RFC 7323 section 4.1: if retransmissions make the times of sending ambiguous, the timestamp echo tells which transmission was acknowledged.
    #[cold]
    pub(crate) fn sample_by_timestamp(&mut self, now: Nanos, echo: u32) {
        let micros = ((now / MICROSECOND) as u32).wrapping_sub(echo);
        // Zero means that nothing is echoed. A time in the future does not belong to any segment that was sent.
        if echo != 0 && micros > 0 && micros < u32::MAX / 2 {
            self.rtt
                .sample(u64::from(micros) * MICROSECOND, self.una, self.next);
        }
    }

    /// Whether a segment that arrives while nothing is outstanding does not change the sender. This holds for all data that an end gets which has never
    /// written. Algorithms that own recovery look at every other ACK.
    #[inline]
    fn is_unaffected(&self, segment: &Segment, echo: bool) -> bool {
        debug_assert!(self.una == self.next && self.timer == NEVER && self.reorder_timer == NEVER);
        let calm = self.state == State::Open && self.probe_end == 0 && !echo;
        let looks = self.owns_recovery && !self.has_never_written();
        segment.blocks == 0 && calm && !looks
    }

    /// Whether a SACK restarts the timer. It does not if it is for data sent after the last transmission of the oldest outstanding segment. Otherwise
    /// a lost retransmission would wait as long as SACKs arrive. (In RFC 6298 section 5.3 no SACK restarts the timer; in Linux those before do.)
    #[cold]
    fn restarts_timer(&self, now: Nanos, delivery: &Delivery) -> bool {
        let oldest = self.board.get(0).map_or(now, |head| head.sent_at);
        self.timer_is_probe || now - oldest < delivery.oldest_rtt
    }

    /// Records the delivery of a segment that was not known to be delivered.
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
        // Delivery-rate-estimation section 3.3: the sample starts when the newest delivered segment was sent.
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

    /// What an ACK reports as received twice: a first SACK block below the ACK or inside the second block (RFC 2883 section 4).
    #[inline]
    fn reported_duplicate(&self, segment: &Segment, ack: u64) -> Option<Duplicate> {
        let blocks = segment.sack_blocks();
        let block = |i: usize| {
            let &(start, end) = blocks.get(i)?;
            Some((unwrap(ack, start), unwrap(ack, end)))
        };
        let (start, end) = block(0)?;
        let inside_next = || block(1).is_some_and(|next| next.0 <= start && end <= next.1);
        let sent_again = || {
            let record = self.board.get(self.board.index_of(start));
            record.is_some_and(|record| record.is(EVER_RETRANSMITTED))
        };
        (end <= ack || inside_next()).then(|| Duplicate {
            bytes: end.saturating_sub(start),
            end,
            of_repeat: end <= self.una || sent_again(),
        })
    }

    /// Whether a duplicate may come from a needless retransmission. As in Linux, more duplicates than retransmissions are copies that the network made.
    #[cold]
    fn may_be_needless(&mut self, duplicate: &Duplicate) -> bool {
        self.duplicates += duplicate.bytes.div_ceil(self.window.mss);
        let needless = self.duplicates <= self.stats.retransmissions;
        if needless {
            self.rack.on_duplicate(self.una, self.next);
        }
        needless
    }

    /// Processes the SACK blocks, without the first one if it reports a duplicate.
    #[cold]
    fn on_sack(
        &mut self,
        now: Nanos,
        segment: &Segment,
        reports_duplicate: bool,
        delivery: &mut Delivery,
    ) {
        let mut blocks = [(0, 0); 3];
        let mut count = 0;
        for &(start, end) in &segment.sack_blocks()[usize::from(reports_duplicate)..] {
            let block = (unwrap(self.una, start), unwrap(self.una, end));
            if block.0 < block.1 && block.1 <= self.next {
                blocks[count] = block;
                count += 1;
            }
        }
        let mut board = std::mem::take(&mut self.board);
        board.sack(&blocks[..count], |record| {
            self.on_delivered(now, record, delivery);
            self.highest.note(record.seq);
        });
        self.board = board;
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
}

/// RFC 7323: the ACK's timestamp minus the one that it echoes. Both ends of a simulated path have the same clock.
#[inline]
fn one_way(segment: &Segment) -> Nanos {
    match segment.tsecr {
        0 => 0,
        echo => u64::from(segment.tsval.wrapping_sub(echo)) * MICROSECOND,
    }
}
