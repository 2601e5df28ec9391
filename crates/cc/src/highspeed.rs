//! HighSpeed TCP: the larger the window, the faster it grows and the less it loses.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::elsewhere::Linux;
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};

/// HighSpeed TCP: Reno up to 38 segments, beyond that a larger increase and a smaller decrease.
///
/// Increase and decrease are functions of the window. With them, a window of 83000 segments needs one loss in ten million packets, where Reno needs
/// one in five billion. At 38 segments and below it is Reno. It was designed for single flows over long paths of high rate. It grows per ACK, so
/// delayed ACKs slow it down as they did the original Reno. Large windows grow faster than small ones, so flows converge to equal shares slowly, and
/// the flow with the shorter RTT gets much more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// At or below this window, it behaves as Reno (RFC 3649 section 5: Low_Window).
    #[schemars(range(min = 2, max = 1000), extend("unit" = "segments"))]
    pub low_window: u32,
    /// Window at which a loss takes the share `high_decrease` (RFC 3649 section 5: High_Window).
    #[schemars(range(min = 1001, max = 1_000_000), extend("unit" = "segments"))]
    pub high_window: u32,
    /// Share of the window that a loss takes at `high_window` (RFC 3649 section 5: High_Decrease).
    #[schemars(range(min = 0.01, max = 0.5))]
    pub high_decrease: f64,
    /// How slow start ends.
    pub slow_start: SlowStart,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            low_window: 38,
            high_window: 83_000,
            high_decrease: 0.1,
            slow_start: SlowStart::Standard,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpHighSpeed"];
    const SOURCE: &'static str = "RFC 3649";
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: Some(Linux::module("highspeed", "tcp_highspeed")),
        ns3: Some("ns3::TcpHighSpeed"),
        ns2: Some("Agent/TCP/Linux (highspeed)"),
    };

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(HighSpeed {
            starter: Starter::new(self.slow_start),
            steps: self.steps(),
            step: 0,
            credit: 0,
        })
    }
}

impl Params {
    /// RFC 3649 section 5: b(w) falls with log w, from a half at the low window.
    fn decrease(&self, w: f64) -> f64 {
        let low = libm::log(f64::from(self.low_window));
        let high = libm::log(f64::from(self.high_window));
        let b = 0.5 + (self.high_decrease - 0.5) * (libm::log(w) - low) / (high - low);
        b.clamp(0.0, 0.5)
    }

    /// RFC 3649 section 5: a(w) = w^2 p(w) 2 b(w) / (2 - b(w)); appendix B: p(w) = 1 / (12.8 w^1.2).
    fn increase(&self, w: f64) -> f64 {
        let b = self.decrease(w);
        w * w * 2.0 * b / ((2.0 - b) * 12.8 * libm::pow(w, 1.2))
    }

    /// RFC 3649 appendix B: the windows at which the increase has grown by more than one since the previous row.
    fn steps(&self) -> Vec<Step> {
        let mut window = u64::from(self.low_window);
        let mut steps = vec![self.step(window)];
        let mut last = 1.0;
        loop {
            let (mut below, mut above) = (window, TOP.max(window) + 1);
            while above - below > 1 {
                let middle = below.midpoint(above);
                if self.increase(middle as f64) > last + 1.0 {
                    above = middle;
                } else {
                    below = middle;
                }
            }
            if above > TOP {
                return steps;
            }
            window = above;
            last = self.increase(window as f64);
            steps.push(self.step(window));
        }
    }

    fn step(&self, window: u64) -> Step {
        Step {
            window,
            decrease: (self.decrease(window as f64) * 256.0) as u64,
        }
    }
}

/// A row of the table. Its number, counted from 1, is the increase in segments per round trip.
struct Step {
    /// The largest window to which the row applies, segments.
    window: u64,
    /// Share of the window that a loss takes, 256ths.
    decrease: u64,
}

/// RFC 3649 appendix B: where the table ends, segments.
const TOP: u64 = 100_000;

/// State of one connection. The window grows by whole segments.
struct HighSpeed {
    starter: Starter,
    steps: Vec<Step>,
    step: usize,
    /// Progress towards the next segment, in units of 1/cwnd segments.
    credit: u64,
}

impl HighSpeed {
    /// Finds the row for a window.
    fn find(&mut self, segments: u64) {
        while self.step + 1 < self.steps.len() && segments > self.steps[self.step].window {
            self.step += 1;
        }
        while self.step > 0 && segments <= self.steps[self.step - 1].window {
            self.step -= 1;
        }
    }
}

impl CongestionControl for HighSpeed {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        let started = window.in_slow_start();
        self.starter.open(window, ack);
        if started {
            return;
        }
        let segments = window.cwnd / window.mss;
        self.find(segments);
        // RFC 3649 section 5: w += a(w) / w for each acknowledgment.
        self.credit += self.step as u64 + 1;
        if self.credit >= segments {
            self.credit -= segments;
            window.cwnd += window.mss;
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        let segments = window.cwnd / window.mss;
        // RFC 3649 section 5: w -= b(w) w. The row is the last one used in congestion avoidance, so the first loss takes half the window, as in
        // Linux.
        let taken = (segments * self.steps[self.step].decrease) >> 8;
        window.ssthresh = (segments - taken).max(2) * window.mss;
        self.credit = 0;
        self.starter.on_congestion();
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.starter.on_timeout();
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("increase", self.step as f64 + 1.0),
            ("decrease", self.steps[self.step].decrease as f64 / 256.0),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makes_the_table_of_appendix_b() {
        let steps = Params::default().steps();
        assert_eq!(steps.len(), 73);
        for (increase, window, decrease) in [
            (1, 38, 0.50),
            (2, 118, 0.44),
            (3, 221, 0.41),
            (4, 347, 0.38),
            (5, 495, 0.37),
            (6, 663, 0.35),
            (7, 851, 0.34),
            (8, 1058, 0.33),
            (9, 1284, 0.32),
            (10, 1529, 0.31),
            (20, 5036, 0.25),
            (30, 10661, 0.21),
            (40, 18955, 0.18),
            (50, 30975, 0.15),
            (60, 48961, 0.13),
            (70, 79517, 0.10),
            (73, 94717, 0.09),
        ] {
            let step = &steps[increase - 1];
            assert_eq!(step.window, window, "row {increase}");
            let exact = Params::default().decrease(window as f64);
            assert!((exact - decrease).abs() < 0.00501, "{exact} {decrease}");
            assert_eq!(step.decrease, (exact * 256.0) as u64);
        }
    }
}
