//! Reno as Linux implements it: it counts bytes, not ACKs, windows are whole segments, and they grow only while they limit the sender.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::elsewhere::Linux;
use crate::growth::{Growth, half};
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};

/// Reno with appropriate byte counting, as in Linux: one more segment per window acknowledged, half the window at a loss.
///
/// Slow start doubles the window every round trip until the first loss. After that the window grows by one segment per round trip, and every loss or
/// mark halves it. Its throughput falls with the square root of the loss rate and with the RTT, and every other congestion control is measured
/// against it. It fills a deep buffer completely. On a fast, long path it needs minutes to recover from one loss. Use it to compare with Linux's
/// `reno`, or as a fair competing flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How slow start ends.
    pub slow_start: SlowStart,
    /// A loss leaves whole segments, as in Linux. If false, half of an odd window ends with half a segment, as in ns-2.
    pub whole_segments: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            slow_start: SlowStart::default(),
            whole_segments: true,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpLinuxReno"];
    const SOURCE: &'static str = "RFC 5681 with appropriate byte counting (RFC 3465) as in Linux";
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: Some(Linux {
            name: "reno",
            module: None,
            parameters: &[],
        }),
        ns3: Some("ns3::TcpLinuxReno"),
        ns2: Some("Agent/TCP/Linux (reno)"),
    };

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Reno {
            starter: Starter::new(self.slow_start),
            growth: Growth::default(),
            whole_segments: self.whole_segments,
        })
    }
}

/// State of one connection.
struct Reno {
    starter: Starter,
    growth: Growth,
    whole_segments: bool,
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.growth.reno(window, &mut self.starter, ack);
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        window.ssthresh = match self.whole_segments {
            true => half(window),
            false => (window.cwnd / 2).max(2 * window.mss),
        };
        self.growth.forget();
        self.starter.on_congestion();
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.starter.on_timeout();
    }
}
