//! BBR's model of the path: round trips, the bottleneck's rate, the base RTT, and whether the pipe is full.

use bloatlab_units::{NEVER, Nanos, float};

use super::policer::Policer;
use crate::Ack;
use crate::windowed_max::WindowedMax;

/// Section 4.3.2.2: if the rate grows less than this per round, the pipe may be full.
const FULL_BW_GROWTH: f64 = 1.25;
/// Section 4.3.2.2: rounds without that growth after which the pipe is full.
const FULL_BW_ROUNDS: u32 = 3;

/// The model of the path.
pub(super) struct Model {
    bw: WindowedMax,
    /// `NEVER` before the first sample.
    pub min_rtt: Nanos,
    min_rtt_stamp: Nanos,
    min_rtt_window: Nanos,
    pub min_rtt_expired: bool,
    pub round: u64,
    /// `delivered` at which the round ends.
    round_end: u64,
    /// This ACK started a round.
    pub round_start: bool,
    pub full_bw: f64,
    full_bw_rounds: u32,
    pub filled_pipe: bool,
    /// Range of `delivered` in which segments were sent while ProbeRTT limited the window.
    held_down: (u64, u64),
    policer: Policer,
}

impl Model {
    pub fn new(bw_window: usize, min_rtt_window: Nanos) -> Self {
        Self {
            bw: WindowedMax::new(bw_window),
            min_rtt: NEVER,
            min_rtt_stamp: 0,
            min_rtt_window,
            min_rtt_expired: false,
            round: 0,
            round_end: 0,
            round_start: false,
            full_bw: 0.0,
            full_bw_rounds: 0,
            filled_pipe: false,
            held_down: (NEVER, 0),
            policer: Policer::default(),
        }
    }

    /// The bottleneck's rate, or that of a policer, bytes per second.
    pub fn bw(&self) -> f64 {
        self.policer.rate().unwrap_or_else(|| self.bw.get())
    }

    /// Whether a policer is believed to limit the rate.
    pub fn is_policed(&self) -> bool {
        self.policer.rate().is_some()
    }

    /// Looks for a policer. Returns whether one is forgotten, so that probing starts again.
    pub fn update_policer(&mut self, ack: &Ack, probes: bool) -> bool {
        self.policer.update(ack, self.round_start, probes)
    }

    /// Section 4.1.1.3: a round trip ends when data sent after its start is delivered.
    pub fn update_round(&mut self, ack: &Ack) {
        self.round_start = ack.rate.interval > 0 && ack.rate.prior_delivered >= self.round_end;
        if self.round_start {
            self.round_end = ack.delivered;
            self.round += 1;
        }
    }

    /// Starts a round here, whatever is in flight.
    pub fn restart_round(&mut self, ack: &Ack) {
        self.round_end = ack.delivered;
    }

    /// Section 4.1.1: records the rate sample, unless the application or ProbeRTT limited it.
    pub fn update_bw(&mut self, ack: &Ack) {
        let sample = float(ack.rate.delivered) * 1e9 / float(ack.rate.interval);
        if !self.limited(ack) || sample >= self.bw.get() {
            self.bw.update(self.round, sample);
        }
    }

    /// Section 4.3.5: samples from ProbeRTT count as application-limited.
    fn limited(&self, ack: &Ack) -> bool {
        let (start, end) = self.held_down;
        ack.rate.app_limited || (start..=end).contains(&ack.rate.prior_delivered)
    }

    /// Marks the start of the data that are sent while ProbeRTT limits the window.
    pub fn hold_down(&mut self, ack: &Ack) {
        self.held_down.0 = ack.delivered;
    }

    /// Extends that range to what is in flight now.
    pub fn still_held_down(&mut self, ack: &Ack) {
        self.held_down.1 = ack.delivered + ack.in_flight;
    }

    /// Forgets the bandwidth and the rounds of the search for the full pipe.
    pub fn restart_search(&mut self) {
        self.full_bw = 0.0;
        self.full_bw_rounds = 0;
    }

    /// Section 4.3.2.2: the pipe is full after three rounds in which the rate grew by less than a quarter.
    pub fn check_full_pipe(&mut self, ack: &Ack) {
        if self.filled_pipe || !self.round_start || self.limited(ack) {
            return;
        }
        if self.bw.get() >= self.full_bw * FULL_BW_GROWTH {
            self.full_bw = self.bw.get();
            self.full_bw_rounds = 0;
            return;
        }
        self.full_bw_rounds += 1;
        self.filled_pipe = self.full_bw_rounds >= FULL_BW_ROUNDS;
    }

    /// Section 4.1.2.3: the smallest RTT of the window, or the newest once the window has passed. As in Linux and in draft-02, an equal RTT does not
    /// restart the window. Otherwise a path with constant RTTs would never be probed.
    pub fn update_min_rtt(&mut self, ack: &Ack) {
        self.min_rtt_expired = ack.now > self.min_rtt_stamp + self.min_rtt_window;
        if ack.rtt > 0 && (ack.rtt < self.min_rtt || self.min_rtt_expired) {
            self.min_rtt = ack.rtt;
            self.min_rtt_stamp = ack.now;
        }
    }

    /// Marks the base RTT as measured now.
    pub fn stamp_min_rtt(&mut self, now: Nanos) {
        self.min_rtt_stamp = now;
    }

    /// The bandwidth-delay product, bytes; `None` before the first RTT.
    pub fn bdp(&self) -> Option<f64> {
        (self.min_rtt != NEVER).then(|| self.bw() * float(self.min_rtt) * 1e-9)
    }
}
