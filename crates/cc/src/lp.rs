//! TCP-LP: Reno that takes growing one-way delay for someone else's traffic, and withdraws.

use bloatlab_units::{NEVER, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::delayed_ack::DelayedAcks;
use crate::growth::{Growth, half, segments};
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Law, Signal, Window};

/// TCP-LP: low priority by delay, halves at the first sign of a queue and falls to one segment if the sign stays.
///
/// It smooths the one-way delay, which does not see a queue on the way back, and compares it with a point between the smallest and the
/// largest one. Beyond that point it halves its window and waits for a few round trips without growing; another sign within them takes the
/// window to one segment. Otherwise it grows as Reno. It is used for background transfers that should only take what is left. It is bad
/// at queues that stay short (delay never reaches its point before others lose), and the largest delay needs a full queue to be known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Where between the smallest (0) and the largest (1) one-way delay congestion begins.
    #[schemars(range(min = 0.001, max = 1.0))]
    pub threshold: f64,
    /// Weight of a new sample in the smoothed one-way delay.
    #[schemars(range(min = 0.001, max = 1.0))]
    pub gamma: f64,
    /// How long after a sign of congestion the window rests.
    #[schemars(range(min = 0.0, max = 100.0), extend("unit" = "round trips"))]
    pub inference: f64,
    /// How slow start ends.
    pub slow_start: SlowStart,
    /// `paper`: the bounds of the delay are the smallest and the largest one of all, and a response is judged by what was sent after it.
    /// `ns2`: a sign sets the bounds to the smoothed delay and twice that, slow start is judged too, and `ssthresh` stays.
    pub variant: Variant,
}

/// Which TCP-LP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// Kuzmanovic and Knightly 2003.
    #[default]
    Paper,
    /// As it behaves in ns-2's `Agent/TCP/Linux`.
    Ns2,
}

impl Default for Params {
    fn default() -> Self {
        // Kuzmanovic and Knightly 2003, section III.
        Self {
            threshold: 0.15,
            gamma: 0.125,
            inference: 3.0,
            slow_start: SlowStart::Standard,
            variant: Variant::Paper,
        }
    }
}

impl Law for Params {
    const ALIASES: &'static [&'static str] = &["TcpLp"];
    const SOURCE: &'static str = "A. Kuzmanovic and E. Knightly, TCP-LP: A distributed algorithm for low priority data transfer, IEEE INFOCOM \
         2003";

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Lp {
            starter: Starter::new(self.slow_start),
            params: self.clone(),
            growth: Growth::default(),
            delayed: DelayedAcks::new(u8::MAX),
            startup: true,
            smoothed: 0.0,
            shortest: NEVER,
            longest: 0,
            rest_until: 0,
            response_end: 0,
            fresh: false,
        })
    }
}

/// The law.
struct Lp {
    params: Params,
    growth: Growth,
    starter: Starter,
    delayed: DelayedAcks,
    /// In the slow start of a new connection, whose end shows how long the queue can get.
    startup: bool,
    /// Smoothed one-way delay, ns; 0 before the first sample that counts.
    smoothed: f64,
    shortest: Nanos,
    longest: Nanos,
    /// End of the inference phase.
    rest_until: Nanos,
    /// Stream offset beyond which acknowledgements show what the last response did.
    response_end: u64,
    /// The last ACK brought a sample.
    fresh: bool,
}

impl Lp {
    /// Section III-C: early congestion indication.
    fn is_congested(&self) -> bool {
        let span = self.longest.saturating_sub(self.shortest) as f64;
        self.fresh && self.smoothed > self.shortest as f64 + self.params.threshold * span
    }
}

impl CongestionControl for Lp {
    fn observe(&mut self, window: &Window, ack: &Ack) {
        let by_paper = self.params.variant == Variant::Paper;
        let suspect = by_paper && self.delayed.suspects(ack, window.mss);
        self.fresh = ack.one_way > 0 && !suspect;
        if !self.fresh {
            return;
        }
        let gamma = self.params.gamma;
        self.shortest = self.shortest.min(ack.one_way);
        self.longest = self.longest.max(ack.one_way);
        // What was sent before the last response says nothing about it.
        if by_paper && ack.una <= self.response_end {
            self.smoothed = 0.0;
            return;
        }
        self.smoothed = if self.smoothed == 0.0 {
            ack.one_way as f64
        } else {
            (1.0 - gamma) * self.smoothed + gamma * ack.one_way as f64
        };
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let resting = ack.now < self.rest_until;
        if !resting {
            self.growth.reno(window, &mut self.starter, ack);
        }
        self.startup &= window.in_slow_start();
        let by_paper = self.params.variant == Variant::Paper;
        if (self.startup && by_paper) || !self.is_congested() {
            return;
        }
        let cwnd = if resting {
            1
        } else {
            (segments(window) / 2).max(1)
        };
        window.cwnd = cwnd * window.mss;
        if by_paper {
            self.response_end = ack.next;
            self.smoothed = 0.0;
            window.ssthresh = window.ssthresh.min(window.cwnd.max(2 * window.mss));
        } else {
            // From here on a sign is a delay that has grown by `threshold` once more.
            self.shortest = self.smoothed as Nanos;
            self.longest = 2 * self.shortest;
        }
        let rest = self.params.inference * ack.srtt as f64;
        self.rest_until = ack.now + rest as Nanos;
        self.growth.forget();
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        window.ssthresh = half(window);
        self.startup = false;
        self.growth.forget();
        self.starter.on_congestion();
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.starter.on_timeout();
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("one_way", self.smoothed * 1e-9),
            ("congested", f64::from(u8::from(self.is_congested()))),
        ]
    }
}
