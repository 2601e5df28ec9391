//! TCP-LP: Reno that takes a growing one-way delay as a sign of other traffic, and yields.

use bloatlab_units::{NEVER, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::delayed_ack::DelayedAcks;
use crate::elsewhere::Linux;
use crate::growth::{Growth, half, segments};
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};

/// TCP-LP: low priority by delay. It halves at the first sign of a queue and falls to one segment if the sign remains.
///
/// It smooths the one-way delay, which excludes a queue on the return path, and compares it with a threshold between the smallest and the largest
/// one-way delay. Above the threshold it halves its window and does not grow for a few round trips. Another sign in that time reduces the window to
/// one segment. Otherwise it grows as Reno. It is used for background transfers that should only take the rate that others leave. It works badly with
/// queues that stay short, where the delay does not reach the threshold before other flows lose. It knows the largest delay only after a queue has
/// been full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Position of the threshold between the smallest (0) and the largest (1) one-way delay.
    #[schemars(range(min = 0.001, max = 1.0))]
    pub threshold: f64,
    /// Weight of a new sample in the smoothed one-way delay.
    #[schemars(range(min = 0.001, max = 1.0))]
    pub gamma: f64,
    /// How long the window does not grow after a sign of congestion.
    #[schemars(range(min = 0.0, max = 100.0), extend("unit" = "round trips"))]
    pub inference: f64,
    /// How slow start ends.
    pub slow_start: SlowStart,
    /// `paper`: the bounds are the smallest and the largest delay of the connection, and a reaction is judged by data sent after it. `ns2`: a sign
    /// sets the bounds to the smoothed delay and twice that, slow start is judged too, and `ssthresh` does not change.
    pub variant: Variant,
}

/// Variants of TCP-LP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// Kuzmanovic and Knightly 2003.
    #[default]
    Paper,
    /// As in ns-2's `Agent/TCP/Linux`.
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

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpLp"];
    const SOURCE: &'static str = "A. Kuzmanovic and E. Knightly, TCP-LP: A distributed algorithm for low priority data transfer, IEEE INFOCOM \
         2003";
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: Some(Linux::module("lp", "tcp_lp")),
        ns3: Some("ns3::TcpLp"),
        ns2: Some("Agent/TCP/Linux (lp)"),
    };

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

/// State of one connection.
struct Lp {
    params: Params,
    growth: Growth,
    starter: Starter,
    delayed: DelayedAcks,
    /// In the slow start of a new connection, whose end shows how large the delay can get.
    startup: bool,
    /// Smoothed one-way delay, ns; 0 before the first valid sample.
    smoothed: f64,
    shortest: Nanos,
    longest: Nanos,
    /// End of the inference phase.
    rest_until: Nanos,
    /// Stream offset after which ACKs show the effect of the last reaction.
    response_end: u64,
    /// The last ACK carried a valid sample.
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
        // RFC 7323 section 4.1: an ACK of no new data echoes an older timestamp, so its delay is too long.
        let outdated = !by_paper && ack.acked == 0;
        self.fresh = ack.one_way > 0 && !suspect && !outdated;
        if !self.fresh {
            return;
        }
        let gamma = self.params.gamma;
        self.shortest = self.shortest.min(ack.one_way);
        self.longest = self.longest.max(ack.one_way);
        // Data sent before the last reaction do not show its effect.
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
            // From now on, the next sign is a delay that has grown by `threshold` again.
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
