//! LEDBAT: keeps the queueing delay at a target, and so yields to flows that queue more.

use bloatlab_units::{Duration, MILLISECOND, NEVER, Nanos, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base_delay::BaseDelay;
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};

/// LEDBAT: background transport that adds at most `target` of queueing delay.
///
/// The queueing delay is the one-way delay minus the smallest one-way delay of the last ten minutes. Below the target the window grows in proportion
/// to the missing delay, by at most one segment per round trip. Above the target it shrinks in proportion to the excess. It therefore yields to flows
/// that queue more, and takes the rate that they leave. It is used for updates and peer-to-peer transfers. It shares badly with its own kind: a flow
/// that starts late measures its base delay on top of the queue of the others, and starves them. If a queue is too short to reach the target, LEDBAT
/// behaves as Reno.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Target queueing delay. RFC 6817 section 2.5 allows at most 100 ms.
    pub target: Duration,
    /// Growth in segments per round trip while the queue is empty.
    #[schemars(range(min = 0.001, max = 1.0))]
    pub gain: f64,
    /// The base delay is the smallest delay of this time.
    pub base_history: Duration,
    /// The current delay is the smallest of this many samples.
    #[schemars(range(min = 1, max = 1000), extend("unit" = "samples"))]
    pub current_filter: u32,
    /// How far the window may exceed what is in flight.
    #[schemars(range(min = 1, max = 1000), extend("unit" = "segments"))]
    pub allowed_increase: u32,
    /// The smallest window, except after a timeout.
    #[schemars(range(min = 1, max = 1000), extend("unit" = "segments"))]
    pub min_window: u32,
    /// Begin with slow start, up to the target (as many implementations do). Otherwise LEDBAT's own growth applies from the initial window on.
    pub startup: bool,
}

impl Default for Params {
    fn default() -> Self {
        // RFC 6817 section 2.5.
        Self {
            target: Duration(100 * MILLISECOND),
            gain: 1.0,
            base_history: Duration(600 * SECOND),
            current_filter: 4,
            allowed_increase: 1,
            min_window: 2,
            startup: true,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpLedbat"];
    const SOURCE: &'static str = "RFC 6817";
    const ELSEWHERE: Elsewhere = Elsewhere::ns3("ns3::TcpLedbat");

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Ledbat {
            delays: BaseDelay::new(self.base_history, self.current_filter),
            starter: Starter::new(SlowStart::Standard),
            startup: self.startup,
            timed_out: false,
            fraction: 0.0,
            params: self.clone(),
        })
    }

    fn check(&self) -> Result<(), String> {
        if self.target.0 == 0 {
            return Err(
                "`target` is 0s, but must be longer: write a delay such as 100ms".to_owned(),
            );
        }
        Ok(())
    }
}

/// State of one connection.
struct Ledbat {
    params: Params,
    delays: BaseDelay,
    starter: Starter,
    /// In the slow start of a new connection.
    startup: bool,
    /// In the slow start after a timeout.
    timed_out: bool,
    /// Fraction of a byte that is carried over to the next ACK.
    fraction: f64,
}

impl Ledbat {
    /// Section 2.4.2: (TARGET - queuing_delay) / TARGET.
    fn off_target(&self) -> f64 {
        let target = self.params.target.0 as f64;
        (target - self.delays.queueing() as f64) / target
    }

    /// Whether slow start continues.
    fn in_slow_start(&self, window: &Window) -> bool {
        (self.startup || self.timed_out) && window.in_slow_start() && self.off_target() > 0.0
    }
}

impl CongestionControl for Ledbat {
    fn observe(&mut self, _: &Window, ack: &Ack) {
        if ack.one_way > 0 {
            self.delays.observe(ack.now, ack.one_way);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if self.in_slow_start(window) {
            if ack.cwnd_limited {
                self.starter.open(window, ack);
            }
            return;
        }
        self.startup = false;
        self.timed_out = false;
        let mss = window.mss;
        let acked = ack.credit();
        // Section 2.4.2: cwnd += GAIN * off_target * bytes_newly_acked * MSS / cwnd.
        let step = self.params.gain * self.off_target() * (acked * mss) as f64 / window.cwnd as f64;
        self.fraction += step;
        let bytes = self.fraction as i64;
        self.fraction -= bytes as f64;
        let cwnd = window.cwnd.saturating_add_signed(bytes);
        // Section 2.4.2: at most what was in flight plus ALLOWED_INCREASE. If the window limits the sender, all of it is in flight, except for a part
        // of a segment that does not fit.
        let used = if ack.cwnd_limited {
            ack.prior_in_flight.max(window.cwnd)
        } else {
            ack.prior_in_flight
        };
        let most = used + u64::from(self.params.allowed_increase) * mss;
        let least = u64::from(self.params.min_window) * mss;
        window.cwnd = cwnd.min(most).max(least);
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        // Section 2.4.2: halve at most once per round trip, and not below MIN_CWND.
        let least = u64::from(self.params.min_window.max(2)) * window.mss;
        window.ssthresh = (window.cwnd / 2).max(least);
        self.startup = false;
        self.fraction = 0.0;
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.timed_out = true;
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        let base = match self.delays.base() {
            NEVER => 0.0,
            base => base as f64 * 1e-9,
        };
        vec![
            ("base_delay", base),
            ("queueing_delay", self.delays.queueing() as f64 * 1e-9),
        ]
    }
}
