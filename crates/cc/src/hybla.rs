//! TCP Hybla: a connection with a long RTT grows as fast per second as one with a reference RTT.

use bloatlab_units::{Duration, MICROSECOND, MILLISECOND, NEVER, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::elsewhere::{Conversion, Linux, LinuxParameter};
use crate::growth::Growth;
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};

/// Hybla: Reno whose growth is scaled by the RTT over a reference RTT, for satellite paths.
///
/// Let rho be the smallest smoothed RTT over the reference RTT. Slow start multiplies the window by 2^rho per round trip, congestion avoidance adds
/// rho^2 segments per round trip, and a loss halves the window. A flow over a satellite therefore gets the rate that a flow with the reference RTT
/// would get. It is for paths with a long RTT whose losses are caused by the link. Slow start over a long path overshoots by the square of rho and
/// loses far more than Reno.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The reference RTT.
    pub rtt0: Duration,
}

impl Default for Params {
    fn default() -> Self {
        // Caini and Firrincieli 2004 section 4; Linux.
        Self {
            rtt0: Duration(25 * MILLISECOND),
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpHybla"];
    const SOURCE: &'static str = "C. Caini, R. Firrincieli, TCP Hybla: a TCP enhancement for heterogeneous networks, Int. J. Satellite Communications and Networking 22(5), 2004";
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: Some(Linux {
            name: "hybla",
            module: Some("tcp_hybla"),
            parameters: &[LinuxParameter::new(
                "rtt0",
                "rtt0",
                Conversion::Milliseconds,
                25,
            )],
        }),
        ns3: Some("ns3::TcpHybla"),
        ns2: Some("Agent/TCP/Linux (hybla)"),
    };

    fn check(&self) -> Result<(), String> {
        if self.rtt0.0 >= MICROSECOND {
            Ok(())
        } else {
            Err(format!("`rtt0` is {}, but must be 1us or more", self.rtt0))
        }
    }

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Hybla {
            rtt0: self.rtt0.0,
            srtt: NEVER,
            rho: 8,
            parts: 0,
            acks: 0,
            growth: Growth::default(),
            starter: Starter::new(SlowStart::Standard),
        })
    }
}

/// Linux counts windows in 128ths of a segment.
const SEGMENT: u64 = 128;
/// Linux's limit of the exponent in slow start.
const MAX_RHO: u64 = 16;
/// Linux's largest window, segments.
const MAX_WINDOW: u64 = 65_535;

/// State of one connection. The window grows by whole segments.
struct Hybla {
    rtt0: Nanos,
    /// The smallest smoothed RTT; `NEVER` before the first sample.
    srtt: Nanos,
    /// The smallest smoothed RTT over the reference RTT, 8ths, at least 8.
    rho: u64,
    /// Growth of less than a segment, carried over to the next ACK, 128ths of a segment.
    parts: u64,
    /// ACKs since the window last grew, counted while an ACK adds less than a segment.
    acks: u64,
    /// Growth as Reno's, which Linux falls back to while losses are repaired or segments overtake others.
    growth: Growth,
    starter: Starter,
}

impl Hybla {
    fn measure(&mut self, srtt: Nanos) {
        if srtt > 0 && srtt < self.srtt {
            self.srtt = srtt;
            self.rho = (8 * srtt / self.rtt0).max(8);
        }
    }

    /// Growth per ACK in slow start: 2^rho - 1, 128ths of a segment. Linux takes the eighths of rho from a table, rounded down.
    fn in_slow_start(&self) -> u64 {
        let eighths = (SEGMENT as f64 * libm::exp2((self.rho % 8) as f64 / 8.0)) as u64;
        (eighths << (self.rho / 8).min(MAX_RHO)) - SEGMENT
    }

    fn grow(&mut self, window: &mut Window) {
        let segments = (window.cwnd / window.mss).max(1);
        let started = window.in_slow_start();
        let increase = if started {
            self.in_slow_start()
        } else {
            // Caini and Firrincieli 2004 section 4: rho^2 / w per ACK.
            let increase = 2 * self.rho * self.rho / segments;
            self.acks += u64::from(increase < SEGMENT);
            increase
        };
        self.parts += increase;
        let mut grown = self.parts / SEGMENT;
        self.parts %= SEGMENT;
        if grown > 0 {
            self.acks = 0;
        }
        // Windows so large that an ACK adds less than 1/128 segment grow as Reno's.
        if increase == 0 && self.acks >= segments {
            grown += 1;
            self.acks = 0;
        }
        let mut cwnd = window.cwnd + grown * window.mss;
        if started {
            cwnd = cwnd.min(window.ssthresh);
        }
        window.cwnd = cwnd.min(MAX_WINDOW * window.mss).max(window.mss);
    }
}

impl CongestionControl for Hybla {
    fn on_handshake(&mut self, window: &mut Window, rtt: Nanos) {
        self.measure(rtt);
        // Linux starts with rho segments, whatever the initial window.
        window.cwnd = self.rho / 8 * window.mss;
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.measure(ack.srtt);
        if !ack.cwnd_limited {
            return;
        }
        if ack.in_recovery || ack.disordered {
            self.growth.reno(window, &mut self.starter, ack);
        } else {
            self.grow(window);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        window.ssthresh = (window.cwnd / window.mss / 2).max(2) * window.mss;
        self.acks = 0;
        self.growth.forget();
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![("rho", self.rho as f64 / 8.0)]
    }
}
