//! TCP Hybla: a connection with a long RTT grows as fast, in seconds, as one with a reference RTT would.

use bloatlab_units::{Duration, MICROSECOND, MILLISECOND, NEVER, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Ack, CongestionControl, Law, Signal, Window};

/// Hybla: Reno whose growth is scaled by the RTT over a reference RTT, for satellite paths.
///
/// Slow start multiplies the window by 2^rho a round trip, and congestion avoidance adds rho squared segments, where rho is the smallest smoothed RTT over the
/// reference RTT; a loss halves the window. So a flow over a satellite gets the rate that a flow over the reference RTT would.
/// It is for paths whose RTT is long and whose losses come from the link. In slow start over a long path it overshoots by the
/// square of rho and loses far more than Reno.
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

impl Law for Params {
    const ALIASES: &'static [&'static str] = &["TcpHybla"];
    const SOURCE: &'static str = "C. Caini, R. Firrincieli, TCP Hybla: a TCP enhancement for heterogeneous networks, Int. J. Satellite Communications and Networking 22(5), 2004";

    fn check(&self) -> Result<(), String> {
        if self.rtt0.0 >= MICROSECOND {
            Ok(())
        } else {
            Err("`rtt0` must be 1us or more".to_owned())
        }
    }

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Hybla {
            rtt0: self.rtt0.0,
            srtt: NEVER,
            rho: 8,
            parts: 0,
            acks: 0,
        })
    }
}

/// Linux counts windows in 128ths of a segment.
const SEGMENT: u64 = 128;
/// Linux's bound on the exponent of slow start.
const MAX_RHO: u64 = 16;
/// Linux's largest window, segments.
const MAX_WINDOW: u64 = 65_535;

/// The law. The window grows by whole segments.
struct Hybla {
    rtt0: Nanos,
    /// The smallest smoothed RTT; `NEVER` before the first.
    srtt: Nanos,
    /// It over the reference RTT, 8ths, at least 8.
    rho: u64,
    /// 128ths of a segment that the window could not take.
    parts: u64,
    /// ACKs since the window last grew, while an ACK adds less than a segment.
    acks: u64,
}

impl Hybla {
    fn measure(&mut self, srtt: Nanos) {
        if srtt > 0 && srtt < self.srtt {
            self.srtt = srtt;
            self.rho = (8 * srtt / self.rtt0).max(8);
        }
    }

    /// What an ACK adds in slow start: 2^rho - 1, 128ths of a segment. Linux takes the eighths of rho from a table, rounded down.
    fn in_slow_start(&self) -> u64 {
        let eighths = (SEGMENT as f64 * libm::exp2((self.rho % 8) as f64 / 8.0)) as u64;
        (eighths << (self.rho / 8).min(MAX_RHO)) - SEGMENT
    }

    /// Reno, as Linux falls back to it while a loss is repaired.
    fn reno(&mut self, window: &mut Window, acked: u64) {
        if window.in_slow_start() {
            window.cwnd += acked.min(window.ssthresh - window.cwnd);
        }
    }

    fn grow(&mut self, window: &mut Window) {
        let segments = (window.cwnd / window.mss).max(1);
        let started = window.in_slow_start();
        let increase = if started {
            self.in_slow_start()
        } else {
            // Caini and Firrincieli 2004 section 4: rho^2 / w for an ACK.
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
        // Windows so large that an ACK adds less than a 128th grow as Reno's.
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
        // Linux starts with rho segments, whatever the initial window is.
        window.cwnd = self.rho / 8 * window.mss;
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.measure(ack.srtt);
        if !ack.cwnd_limited || ack.acked == 0 {
            return;
        }
        if ack.in_recovery {
            self.reno(window, ack.credit());
        } else {
            self.grow(window);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        window.ssthresh = (window.cwnd / window.mss / 2).max(2) * window.mss;
        self.acks = 0;
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![("rho", self.rho as f64 / 8.0)]
    }
}
