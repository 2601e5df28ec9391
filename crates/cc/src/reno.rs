//! Reno as Linux implements it: it counts bytes, not ACKs, and the window grows only while it limits the sender.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::elsewhere::Linux;
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};

/// Reno with appropriate byte counting, as in Linux: one more segment per window acknowledged, half the window at a loss.
///
/// Slow start doubles the window every round trip until the first loss. After that the window grows by one segment per round trip, and every loss or
/// mark halves it. Its throughput falls with the square root of the loss rate and with the RTT, and every other congestion control is measured
/// against it. It fills a deep buffer completely. On a fast, long path it needs minutes to recover from one loss. Use it to compare with Linux's
/// `reno`, or as a fair competing flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How slow start ends.
    pub slow_start: SlowStart,
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
            credit: 0,
        })
    }
}

/// State of one connection.
struct Reno {
    starter: Starter,
    /// Bytes acknowledged since the window last grew.
    credit: u64,
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        // RFC 7661: do not grow a window that the sender did not use.
        if !ack.cwnd_limited {
            return;
        }
        let acked = self.starter.open(window, ack);
        // RFC 3465 section 2.1: add one segment when a whole window has been acknowledged.
        self.credit += acked;
        if self.credit >= window.cwnd {
            self.credit -= window.cwnd;
            window.cwnd += window.mss;
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        window.ssthresh = (window.cwnd / 2).max(2 * window.mss);
        self.credit = 0;
        self.starter.on_congestion();
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.starter.on_timeout();
    }
}
