//! LEDBAT++: LEDBAT with round-trip times, a proportional decrease, and pauses that reveal the base delay.

use bloatlab_units::{Duration, MILLISECOND, NEVER, Nanos, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base_delay::BaseDelay;
use crate::{Ack, CongestionControl, Factory, Signal, Window};

/// LEDBAT++: background transport that shares with its own kind and empties the queue now and then to measure the base RTT.
///
/// The queueing delay is the RTT minus the base RTT. Below the target the window grows by a fraction of a segment per round trip; above it, the
/// window shrinks in proportion to the excess. From time to time the flow pauses: it keeps two segments in flight for two round trips, so that the
/// queue drains and every flow can measure the base delay. It then returns by slow start. A flow that starts late therefore does not starve the
/// others. It is used for background transfers (Windows updates). It mistakes a queue on the return path for its own, and its pauses cost a tenth of
/// the link's rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Target queueing delay.
    pub target: Duration,
    /// The base RTT is the smallest RTT of this time.
    pub base_history: Duration,
    /// The current RTT is the smallest of this many samples.
    #[schemars(range(min = 1, max = 1000), extend("unit" = "samples"))]
    pub current_filter: u32,
    /// The gain is at least 1 / `max_divisor`.
    #[schemars(range(min = 1, max = 1000))]
    pub max_divisor: u32,
    /// How strongly a queueing delay above the target shrinks the window.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub constant: f64,
    /// Share of the target at which the first slow start ends.
    #[schemars(range(min = 0.01, max = 1.0))]
    pub exit: f64,
    /// The smallest window, and the window of a pause.
    #[schemars(range(min = 2, max = 1000), extend("unit" = "segments"))]
    pub min_window: u32,
    /// How long a pause lasts at that window.
    #[schemars(range(min = 1, max = 1000), extend("unit" = "round trips"))]
    pub pause: u32,
    /// Time from one pause to the next, as a multiple of the length of the last pause with its slow start; 0: no pauses.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub interval: f64,
}

impl Default for Params {
    fn default() -> Self {
        // The draft's sections 4.1 to 4.4.
        Self {
            target: Duration(60 * MILLISECOND),
            base_history: Duration(600 * SECOND),
            current_filter: 4,
            max_divisor: 16,
            constant: 1.0,
            exit: 0.75,
            min_window: 2,
            pause: 2,
            interval: 9.0,
        }
    }
}

impl Factory for Params {
    const SOURCE: &'static str = "draft-irtf-iccrg-ledbat-plus-plus";

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(LedbatPlusPlus {
            delays: BaseDelay::new(self.base_history, self.current_filter),
            phase: Phase::Startup,
            fraction: 0.0,
            params: self.clone(),
        })
    }

    fn check(&self) -> Result<(), String> {
        if self.target.0 == 0 {
            return Err(
                "`target` is 0s, but must be longer: write a delay such as 60ms".to_owned(),
            );
        }
        Ok(())
    }
}

/// Round trips between the first slow start and the first pause (section 4.4).
const FIRST_PAUSE: u64 = 2;

/// Phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The slow start of a new connection.
    Startup,
    /// The delay controls the window until the next pause.
    Steady { pause_at: Nanos },
    /// A pause.
    Paused { since: Nanos, until: Nanos },
    /// Slow start back to the window before the pause.
    Resuming { since: Nanos },
}

/// State of one connection.
struct LedbatPlusPlus {
    params: Params,
    delays: BaseDelay,
    phase: Phase,
    /// Fraction of a byte that is carried over to the next ACK.
    fraction: f64,
}

impl LedbatPlusPlus {
    /// Section 4.2: GAIN = 1 / min(16, ceil(2 TARGET / base)).
    fn gain(&self) -> f64 {
        let base = self.delays.base();
        let divisor = (2 * self.params.target.0).div_ceil(base.max(1)).max(1);
        1.0 / divisor.min(u64::from(self.params.max_divisor)) as f64
    }

    /// Adds bytes, which may be negative, to the window and carries the fraction over.
    fn add(&mut self, window: &mut Window, bytes: f64) {
        self.fraction += bytes;
        let whole = self.fraction as i64;
        self.fraction -= whole as f64;
        let least = u64::from(self.params.min_window) * window.mss;
        window.cwnd = window.cwnd.saturating_add_signed(whole).max(least);
    }

    /// Section 4.3: slow start, scaled by the gain. Returns whether it continues.
    fn slow_start(&mut self, window: &mut Window, ack: &Ack, acked: u64) -> bool {
        if !window.in_slow_start() {
            return false;
        }
        let exit = self.params.exit * self.params.target.0 as f64;
        if self.phase == Phase::Startup && self.delays.queueing() as f64 > exit {
            // Only the first slow start ends by delay. The later ones end at the threshold.
            window.ssthresh = window.cwnd.max(2 * window.mss);
            return false;
        }
        if ack.cwnd_limited {
            let gain = self.gain();
            self.add(window, gain * acked as f64);
            window.cwnd = window.cwnd.min(window.ssthresh);
        }
        window.in_slow_start()
    }

    /// Section 4.4: starts a pause. The threshold keeps the window.
    fn pause(&mut self, window: &mut Window, ack: &Ack) {
        let least = u64::from(self.params.min_window) * window.mss;
        window.ssthresh = window.cwnd.max(least);
        window.cwnd = least;
        self.phase = Phase::Paused {
            since: ack.now,
            until: ack.now + u64::from(self.params.pause) * ack.srtt,
        };
    }

    /// Section 4.4: the next pause comes after nine times the length of the last one.
    fn steady(&mut self, now: Nanos, wait: f64) {
        let pause_at = if self.params.interval > 0.0 {
            now.saturating_add(wait as Nanos)
        } else {
            NEVER
        };
        self.phase = Phase::Steady { pause_at };
    }

    /// Section 4.2: W += max(GAIN - Constant W (delay / target - 1), -W / 2) per round trip.
    fn adjust(&mut self, window: &mut Window, ack: &Ack, acked: u64) {
        let share = acked as f64 / window.cwnd as f64;
        let segments = window.cwnd as f64 / window.mss as f64;
        let excess = self.delays.queueing() as f64 / self.params.target.0 as f64 - 1.0;
        let mut step = self.gain();
        if excess > 0.0 {
            step = (step - self.params.constant * segments * excess).max(-segments / 2.0);
        }
        if step < 0.0 || ack.cwnd_limited {
            self.add(window, step * share * window.mss as f64);
        }
        // A smaller window must not cause slow start.
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }
}

impl CongestionControl for LedbatPlusPlus {
    fn observe(&mut self, _: &Window, ack: &Ack) {
        if ack.rtt > 0 {
            self.delays.observe(ack.now, ack.rtt);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Phase::Paused { since, until } = self.phase {
            if ack.now < until {
                return;
            }
            self.phase = Phase::Resuming { since };
        }
        let acked = ack.credit();
        if self.slow_start(window, ack, acked) {
            return;
        }
        match self.phase {
            Phase::Startup => self.steady(ack.now, (FIRST_PAUSE * ack.srtt) as f64),
            Phase::Resuming { since } => {
                let length = (ack.now - since) as f64;
                self.steady(ack.now, self.params.interval * length);
            }
            Phase::Steady { pause_at } if ack.now >= pause_at => self.pause(window, ack),
            _ => self.adjust(window, ack, acked),
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, ack: &Ack) {
        // In a pause, the loss belongs to the window before the pause. A loss also ends the pause.
        let mut lost = window.cwnd;
        if let Phase::Paused { since, .. } | Phase::Resuming { since } = self.phase {
            lost = lost.max(window.ssthresh);
            let length = (ack.now - since) as f64;
            self.steady(ack.now, self.params.interval * length);
        }
        let least = u64::from(self.params.min_window) * window.mss;
        window.ssthresh = (lost / 2).max(least);
        self.fraction = 0.0;
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        let base = match self.delays.base() {
            NEVER => 0.0,
            base => base as f64 * 1e-9,
        };
        let paused = matches!(self.phase, Phase::Paused { .. });
        vec![
            ("base_rtt", base),
            ("queueing_delay", self.delays.queueing() as f64 * 1e-9),
            ("gain", self.gain()),
            ("paused", f64::from(u8::from(paused))),
        ]
    }
}
