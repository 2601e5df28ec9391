//! TCP Nice: Vegas that halves its window when many RTTs of a round trip are long, down to less than one segment per round trip.

use bloatlab_units::{Nanos, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::delayed_ack::DelayedAcks;
use crate::vegas::{self, Vegas};
use crate::{Ack, CongestionControl, Factory, Signal, Window};

/// TCP Nice: Vegas for background transfers. It halves the window before a queue that others build can overflow.
///
/// Vegas controls the window while the path is quiet. An RTT is long if it exceeds the smallest RTT by `threshold` of the range between the smallest
/// and the largest. If more than `fraction` of the RTTs of a round trip are long, the window is halved. It may fall to one segment in 48 round trips.
/// Therefore many such flows together disturb others little. It is used for prefetching and backups. It uses a link badly whose queue other flows
/// keep half full. It knows how long the queue can get only after it has measured a large RTT.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// An RTT is long above this position between the smallest (0) and the largest (1) RTT.
    #[schemars(range(min = 0.001, max = 1.0))]
    pub threshold: f64,
    /// Share of a round trip's RTTs that must be long for the window to be halved.
    #[schemars(range(min = 0.001, max = 1.0))]
    pub fraction: f64,
    /// At the smallest window, one segment is sent in this many round trips.
    #[schemars(range(min = 1.0, max = 10000.0), extend("unit" = "round trips"))]
    pub slowest: f64,
    /// Vegas: the window grows if fewer of its segments than this are queued.
    #[schemars(range(min = 0, max = 10000), extend("unit" = "segments"))]
    pub alpha: u32,
    /// Vegas: the window shrinks if more of its segments than this are queued.
    #[schemars(range(min = 0, max = 10000), extend("unit" = "segments"))]
    pub beta: u32,
    /// Vegas: slow start ends if more of its segments than this are queued.
    #[schemars(range(min = 0, max = 10000), extend("unit" = "segments"))]
    pub gamma: u32,
}

impl Default for Params {
    fn default() -> Self {
        // Venkataramani, Kokku and Dahlin 2002, section 4; Vegas's thresholds of 1995.
        Self {
            threshold: 0.1,
            fraction: 0.5,
            slowest: 48.0,
            alpha: 1,
            beta: 3,
            gamma: 1,
        }
    }
}

impl Params {
    fn vegas(&self) -> vegas::Params {
        vegas::Params {
            alpha: self.alpha,
            beta: self.beta,
            gamma: self.gamma,
        }
    }
}

impl Factory for Params {
    const SOURCE: &'static str = "A. Venkataramani, R. Kokku and M. Dahlin, TCP Nice: A mechanism for background transfers, OSDI 2002";

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Nice {
            vegas: Vegas::new(self.vegas()),
            delayed: DelayedAcks::new(u8::MAX),
            startup: true,
            longest: 0,
            long: 0,
            samples: 0,
            share: 1.0,
            params: self.clone(),
        })
    }

    fn check(&self) -> Result<(), String> {
        self.vegas().check()
    }
}

/// State of one connection.
struct Nice {
    params: Params,
    vegas: Vegas,
    delayed: DelayedAcks,
    /// In the slow start of a new connection, whose end shows how long an RTT can get.
    startup: bool,
    /// Largest RTT so far.
    longest: Nanos,
    /// Number of RTTs in this round trip, and how many of them were long.
    samples: u32,
    long: u32,
    /// Segments per round trip when the window is one segment: 1, or less if it is paced.
    share: f64,
}

impl Nice {
    fn is_congested(&self) -> bool {
        f64::from(self.long) > self.params.fraction * f64::from(self.samples)
    }

    fn halve(&mut self, window: &mut Window) {
        if window.cwnd >= 2 * window.mss {
            window.cwnd = window.cwnd / 2 / window.mss * window.mss;
        } else {
            self.share = (self.share / 2.0).max(1.0 / self.params.slowest);
        }
        // A smaller window must not cause slow start.
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }

    /// Sets the pacing rate: less than one segment per round trip is a window of one segment, paced.
    fn pace(&self, window: &mut Window, srtt: Nanos) {
        window.pacing = if self.share < 1.0 && srtt > 0 {
            let rate = self.share * window.mss as f64 * SECOND as f64 / srtt as f64;
            (rate as u64).max(1)
        } else {
            0
        };
    }
}

impl CongestionControl for Nice {
    fn observe(&mut self, window: &Window, ack: &Ack) {
        self.vegas.observe(window, ack);
        let suspect = self.delayed.suspects(ack, window.mss);
        if ack.rtt == 0 || suspect {
            return;
        }
        self.longest = self.longest.max(ack.rtt);
        let range = self.longest.saturating_sub(self.vegas.rtts.base) as f64;
        let delay = ack.rtt.saturating_sub(self.vegas.rtts.base) as f64;
        self.samples += 1;
        self.long += u32::from(delay > self.params.threshold * range);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !self.vegas.rtts.is_over(ack) {
            return self.vegas.on_ack(window, ack);
        }
        self.startup &= window.in_slow_start();
        if self.is_congested() && !self.startup {
            self.halve(window);
            self.vegas.rtts.restart(ack);
        } else if self.share < 1.0 {
            self.share = (2.0 * self.share).min(1.0);
            self.vegas.rtts.restart(ack);
        } else {
            self.vegas.on_ack(window, ack);
        }
        self.samples = 0;
        self.long = 0;
        self.pace(window, ack.srtt);
    }

    fn on_congestion(&mut self, window: &mut Window, signal: Signal, ack: &Ack) {
        self.vegas.on_congestion(window, signal, ack);
        self.startup = false;
        // Afterwards the window is at least two segments, or one after a timeout.
        self.share = 1.0;
        window.pacing = 0;
    }

    fn on_recovered(&mut self, window: &mut Window, ack: &Ack) {
        self.vegas.on_recovered(window, ack);
        self.samples = 0;
        self.long = 0;
    }

    fn on_idle_restart(&mut self, window: &mut Window, now: Nanos, idle: Nanos) {
        self.vegas.on_idle_restart(window, now, idle);
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        let mut state = self.vegas.state();
        state.push(("share", self.share));
        state
    }
}
