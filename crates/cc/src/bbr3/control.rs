//! Pacing rate and window that BBR version 3 derives from its model.

use bloatlab_units::{Nanos, float, smaller, whole};

use super::model::UNBOUNDED;
use super::{Bbr3, MIN_WINDOW, Mode};
use crate::{Ack, Window};

/// Section 5.6.3: sets the size of a burst.
fn set_quantum(window: &mut Window) {
    // 1.2 Mbit/s, in bytes per second.
    let least = if window.pacing < 150_000 { 1 } else { 2 };
    // The minimum comes last, because two segments may be more than 64 KiB.
    let wanted = (window.pacing / 1000).min(64 * 1024);
    window.quantum = wanted.max(least * window.mss);
}

impl Bbr3 {
    /// Section 5.6.2: the rate may fall only once the pipe has been filled.
    pub(super) fn set_pacing(&self, window: &mut Window, gain: f64) {
        let rate = whole(gain * self.model.bw() * (1.0 - self.params.pacing_margin));
        if rate > window.pacing || (self.model.filled_pipe && rate < window.pacing) {
            window.pacing = rate.max(1);
            set_quantum(window);
        }
    }

    /// Section 5.6.2: before any sample, the initial window over the RTT, or over 1 ms if the RTT is unknown.
    pub(super) fn initial_pacing(&self, window: &mut Window, rtt: Nanos) {
        let rate = self.params.startup_gain * window.cwnd as f64 * 1e9 / rtt as f64;
        window.pacing = (rate as u64).max(1);
        set_quantum(window);
    }

    /// Section 5.6.4.2: `gain` bandwidth-delay products plus `extra`, with room for bursts and delayed ACKs.
    fn budget(&self, window: &Window, gain: f64, extra: u64) -> u64 {
        let bdp = self.model.bdp(self.model.max_bw.get());
        let base = bdp.map_or(window.initial, |bdp| whole(gain * bdp)) + extra;
        let room = base.max(3 * window.quantum).max(MIN_WINDOW * window.mss);
        room + if self.mode == Mode::Up {
            2 * window.mss
        } else {
            0
        }
    }

    pub(super) fn inflight(&self, window: &Window, gain: f64) -> u64 {
        self.budget(window, gain, 0)
    }

    /// Section 5.3.3.5.3: the bytes that the flow would have in flight without probing.
    pub(super) fn target(&self, window: &Window) -> f64 {
        let bdp = self.model.bdp(self.model.bw());
        smaller(bdp.unwrap_or(float(window.initial)), float(window.cwnd))
    }

    pub(super) fn with_headroom(&self, window: &Window) -> u64 {
        if self.model.inflight_long == UNBOUNDED {
            return UNBOUNDED;
        }
        let long = self.model.inflight_long;
        let free = ((self.params.headroom * long as f64) as u64).max(window.mss);
        long.saturating_sub(free).max(MIN_WINDOW * window.mss)
    }

    pub(super) fn probe_rtt_cwnd(&self, window: &Window) -> u64 {
        let bdp = self.model.bdp(self.model.bw());
        let share = bdp.map_or(window.initial, |bdp| {
            (self.params.probe_rtt_cwnd_gain * bdp) as u64
        });
        share.max(MIN_WINDOW * window.mss)
    }

    pub(super) fn save_cwnd(&mut self, window: &Window) {
        let cut = self.recovery_round != UNBOUNDED || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if cut {
            self.prior_cwnd.max(window.cwnd)
        } else {
            window.cwnd
        };
    }

    /// Section 5.6.4.
    pub(super) fn set_cwnd(&self, window: &mut Window, ack: &Ack, gain: f64) {
        let extra = if self.model.filled_pipe {
            self.model.aggregation.extra()
        } else {
            0
        };
        let most = self.budget(window, gain, extra);
        let floor = MIN_WINDOW * window.mss;
        let grown = window.cwnd + ack.delivered_now;
        if self.model.filled_pipe {
            window.cwnd = grown.min(most);
        } else if window.cwnd < most || ack.delivered < window.initial {
            window.cwnd = grown;
        }
        // Sections 5.6.4.5 and 5.6.4.7: ProbeRTT and the model's bounds.
        let mut cap = match self.mode {
            Mode::ProbeRtt => self.probe_rtt_cwnd(window).min(self.with_headroom(window)),
            Mode::Cruise => self.with_headroom(window),
            Mode::Down | Mode::Refill | Mode::Up => self.model.inflight_long,
            Mode::Startup | Mode::Drain => UNBOUNDED,
        };
        cap = cap.min(self.model.inflight_short);
        window.cwnd = window.cwnd.min(cap).max(floor);
    }
}
