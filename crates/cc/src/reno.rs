//! Reno as Linux runs it: bytes are counted, not ACKs, and the window grows only when it is the limit.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Law, Signal, Window};

/// Reno with appropriate byte counting, as in Linux: one segment more per window acknowledged, half the window at a loss.
///
/// Slow start doubles the window each round trip until the first loss; from then on it grows by one segment a round trip and is halved by
/// each loss or mark. Its throughput falls with the square root of the loss rate and with the round-trip time, which makes it the yardstick
/// of every other law. In a deep buffer it fills whatever there is; on a fast, long path it needs minutes to come back from one loss. Use
/// it where Linux's `reno` is compared, and as the fair neighbour.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How slow start ends.
    pub slow_start: SlowStart,
}

impl Law for Params {
    const ALIASES: &'static [&'static str] = &["TcpLinuxReno"];
    const SOURCE: &'static str = "RFC 5681 with appropriate byte counting (RFC 3465) as in Linux";

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Reno {
            starter: Starter::new(self.slow_start),
            credit: 0,
        })
    }
}

/// The law.
struct Reno {
    starter: Starter,
    /// Bytes acknowledged since the window last grew.
    credit: u64,
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        // RFC 7661: a window that was not used says nothing about the path.
        if !ack.cwnd_limited {
            return;
        }
        let acked = self.starter.open(window, ack);
        // RFC 3465 section 2.1: one segment when a whole window has been acknowledged.
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
