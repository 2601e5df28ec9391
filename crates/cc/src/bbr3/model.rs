//! BBR version 3's model: bounds of bandwidth and data in flight. Probing sets the long-term bounds, losses set the short-term bounds.

use bloatlab_units::{NEVER, Nanos, SECOND, float, larger, smaller};

use super::flights::Flights;
use crate::Ack;
use crate::ack_aggregation::AckAggregation;
use crate::windowed_max::WindowedMax;

/// Section 5.5.6: the bandwidth is the maximum of this cycle and the last one.
const BW_CYCLES: usize = 2;
/// Section 5.3.1.2: if the rate grows less than this per round, for this many rounds, the pipe is full.
const FULL_BW_GROWTH: f64 = 1.25;
const FULL_BW_ROUNDS: u32 = 3;
/// Section 2.12: MinRTTFilterLen.
const MIN_RTT_WINDOW: Nanos = 10 * SECOND;
/// No bound.
pub(super) const UNBOUNDED: u64 = u64::MAX;

/// What one ACK reported.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    /// Bytes per second.
    pub rate: f64,
    pub app_limited: bool,
    /// Bytes in flight when the newest delivered segment was sent, and bytes lost since.
    pub tx_in_flight: u64,
    pub lost: u64,
}

/// The model of the path.
pub(super) struct Model {
    pub max_bw: WindowedMax,
    pub cycle: u64,
    pub bw_short: f64,
    pub inflight_long: u64,
    pub inflight_short: u64,
    bw_latest: f64,
    pub inflight_latest: u64,
    /// `delivered` at which the round of losses ends, and whether this ACK started a new one.
    loss_round_end: u64,
    pub loss_round_start: bool,
    pub loss_in_round: bool,
    /// Number of ACKs in the round that reported losses.
    pub loss_events: u32,
    pub round: u64,
    round_end: u64,
    pub round_start: bool,
    pub full_bw: f64,
    full_bw_rounds: u32,
    /// The pipe is full now, and was full at some time.
    pub full_bw_now: bool,
    pub filled_pipe: bool,
    /// `NEVER` before the first sample.
    pub min_rtt: Nanos,
    min_rtt_stamp: Nanos,
    probe_rtt_min: Nanos,
    pub probe_rtt_stamp: Nanos,
    pub probe_rtt_expired: bool,
    pub flights: Flights,
    pub aggregation: AckAggregation,
}

impl Model {
    pub fn new() -> Self {
        Self {
            max_bw: WindowedMax::new(BW_CYCLES),
            cycle: 0,
            bw_short: f64::INFINITY,
            inflight_long: UNBOUNDED,
            inflight_short: UNBOUNDED,
            bw_latest: 0.0,
            inflight_latest: 0,
            loss_round_end: 0,
            loss_round_start: false,
            loss_in_round: false,
            loss_events: 0,
            round: 0,
            round_end: 0,
            round_start: false,
            full_bw: 0.0,
            full_bw_rounds: 0,
            full_bw_now: false,
            filled_pipe: false,
            min_rtt: NEVER,
            min_rtt_stamp: 0,
            probe_rtt_min: NEVER,
            probe_rtt_stamp: 0,
            probe_rtt_expired: false,
            flights: Flights::default(),
            aggregation: AckAggregation::default(),
        }
    }

    pub fn start(&mut self, now: Nanos) {
        self.min_rtt_stamp = now;
        self.probe_rtt_stamp = now;
        self.aggregation = AckAggregation::new(now);
    }

    /// Section 5.5.10.3: the bandwidth in use, bytes per second.
    pub fn bw(&self) -> f64 {
        smaller(self.max_bw.get(), self.bw_short)
    }

    /// The bandwidth-delay product at bandwidth `bw`; `None` before the first RTT sample.
    pub fn bdp(&self, bw: f64) -> Option<f64> {
        (self.min_rtt != NEVER).then(|| bw * float(self.min_rtt) * 1e-9)
    }

    /// Updates rounds, rates and data in flight from an ACK.
    pub fn update(&mut self, ack: &Ack, cwnd: u64) -> Sample {
        let (tx_in_flight, lost) = self.flights.on_ack(ack);
        self.round_start = false;
        self.loss_round_start = false;
        if ack.lost_now > 0 {
            if !self.loss_in_round {
                self.loss_round_end = ack.delivered;
            }
            self.loss_in_round = true;
            self.loss_events += 1;
        }
        if ack.rate.interval == 0 {
            return Sample::default();
        }
        let prior = ack.rate.prior_delivered;
        // Section 5.5.1: a round trip ends when data sent after its start is delivered.
        if prior >= self.round_end {
            self.start_round(ack.delivered);
            self.round += 1;
            self.round_start = true;
        }
        if prior >= self.loss_round_end {
            self.loss_round_end = ack.delivered;
            self.loss_round_start = true;
        }
        let rate = float(ack.rate.delivered) * 1e9 / float(ack.rate.interval);
        self.bw_latest = larger(self.bw_latest, rate);
        self.inflight_latest = self.inflight_latest.max(ack.rate.delivered);
        // Section 5.5.5: application-limited samples count only if they raise the estimate.
        if !ack.rate.app_limited || rate >= self.max_bw.get() {
            self.max_bw.update(self.cycle, rate);
        }
        self.aggregation
            .update(ack, self.bw(), self.round_start, cwnd);
        Sample {
            rate,
            app_limited: ack.rate.app_limited,
            tx_in_flight,
            lost,
        }
    }

    /// Starts a round trip, which ends when data sent after `delivered` bytes are delivered.
    pub fn start_round(&mut self, delivered: u64) {
        self.round_end = delivered;
    }

    /// Section 5.5.10.3: losses lower the short-term bounds once per round, unless it probes. A loss leaves the share `beta`.
    pub fn adapt_short_term(&mut self, cwnd: u64, probing: bool, beta: f64) {
        if !self.loss_round_start {
            return;
        }
        if self.loss_in_round && !probing {
            let (bw, inflight) = (
                self.bw_short.min(self.max_bw.get()),
                self.inflight_short.min(cwnd),
            );
            self.bw_short = self.bw_latest.max(beta * bw);
            self.inflight_short = self.inflight_latest.max((beta * inflight as f64) as u64);
        }
        self.loss_in_round = false;
        self.loss_events = 0;
    }

    /// Section 5.5.10.3: at the end of an ACK, starts a new round of the latest signals.
    pub fn advance_latest(&mut self, ack: &Ack, sample: &Sample) {
        if self.loss_round_start {
            self.bw_latest = sample.rate;
            self.inflight_latest = ack.rate.delivered;
        }
    }

    pub fn reset_signals(&mut self) {
        self.loss_in_round = false;
        self.loss_events = 0;
        self.bw_latest = 0.0;
        self.inflight_latest = 0;
    }

    pub fn reset_short_term(&mut self) {
        self.bw_short = f64::INFINITY;
        self.inflight_short = UNBOUNDED;
    }

    /// Section 5.3.1.2: the pipe is full after three rounds in which the rate grew by less than a quarter.
    pub fn check_full_bw(&mut self, sample: &Sample) {
        if self.full_bw_now || !self.round_start || sample.app_limited {
            return;
        }
        if sample.rate >= self.full_bw * FULL_BW_GROWTH {
            return self.reset_full_bw(sample.rate);
        }
        self.full_bw_rounds += 1;
        self.full_bw_now = self.full_bw_rounds >= FULL_BW_ROUNDS;
        self.filled_pipe |= self.full_bw_now;
    }

    /// Restarts the search for a full pipe from this rate.
    pub fn reset_full_bw(&mut self, rate: f64) {
        self.full_bw = rate;
        self.full_bw_rounds = 0;
        self.full_bw_now = false;
    }

    /// Section 5.3.4.3: the smallest RTT since the last ProbeRTT, and that of the last ten seconds.
    pub fn update_min_rtt(&mut self, ack: &Ack, interval: Nanos) {
        self.probe_rtt_expired = ack.now > self.probe_rtt_stamp + interval;
        if ack.rtt > 0 && (ack.rtt < self.probe_rtt_min || self.probe_rtt_expired) {
            self.probe_rtt_min = ack.rtt;
            self.probe_rtt_stamp = ack.now;
        }
        let expired = ack.now > self.min_rtt_stamp + MIN_RTT_WINDOW;
        if self.probe_rtt_min < self.min_rtt || (expired && self.probe_rtt_min != NEVER) {
            self.min_rtt = self.probe_rtt_min;
            self.min_rtt_stamp = self.probe_rtt_stamp;
        }
    }
}
