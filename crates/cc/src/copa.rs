//! Copa: aims at a rate that is inversely proportional to the queueing delay.

use bloatlab_units::{Duration, NEVER, Nanos, Rng, SECOND, float, whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::recent_min::RecentMin;
use crate::{Ack, CongestionControl, Factory, Signal, Window};

/// Copa: aims at the rate 1 / (delta * queueing delay), and competes like Reno when other flows fill the queue.
///
/// The target rate falls as the queue grows. Flows therefore settle at a few packets each in the queue and empty it every five round trips, which
/// keeps the base RTT known. The velocity of change doubles while the direction stays the same. If the queue has not been empty for five round trips,
/// other flows must be filling it: `delta` then follows an AIMD rule and Copa competes like Reno. It is for low delay among flows of its own kind. A
/// base RTT measured too high, or jitter, costs throughput, and the competitive mode gives up the low delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Weight of delay against throughput in default mode. A flow keeps about 1 / delta packets in the queue.
    #[schemars(range(min = 0.004, max = 10.0))]
    pub delta: f64,
    /// Switch to competitive mode when the queue is never nearly empty.
    pub competitive: bool,
    /// The base RTT is the smallest RTT of this time.
    pub min_rtt_window: Duration,
}

impl Default for Params {
    fn default() -> Self {
        // Arun and Balakrishnan 2018 sections 2.1 and 2.2.
        Self {
            delta: 0.5,
            competitive: true,
            min_rtt_window: Duration(10 * SECOND),
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpCopa"];
    const SOURCE: &'static str = "V. Arun, H. Balakrishnan, Copa: practical delay-based congestion control for the Internet, USENIX NSDI 2018";

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Copa {
            delta: self.delta,
            params: self.clone(),
            srtt: 0,
            min: RecentMin::default(),
            standing: RecentMin::default(),
            max: RecentMin::default(),
            rtt: 0,
            queueing: 0,
            last_empty: 0,
            competing: false,
            starting: true,
            velocity: 1.0,
            up: true,
            same: 0,
            round_end: 0,
            round_cwnd: 0,
            lost: false,
            fraction: 0.0,
        })
    }
}

/// Section 2.1: the velocity doubles once the direction has been the same for this many round trips. The one that changed it counts.
const STEADY_ROUNDS: u32 = 3;
/// Section 2.2: the queue should be nearly empty once in this many round trips.
const EMPTY_ROUNDS: u64 = 5;
/// Section 2.2: the largest RTT is taken over this many round trips.
const MAX_ROUNDS: u64 = 4;
/// Section 2.2: a queueing delay below this share of the RTT's variation is considered nearly empty.
const NEARLY_EMPTY: f64 = 0.1;
/// Section 2.1: pace at twice the rate of the window, so that bursts do not build a queue.
const PACING_GAIN: f64 = 2.0;
/// The smallest window, segments.
const MIN_WINDOW: u64 = 2;

/// State of one connection.
struct Copa {
    params: Params,
    /// The current delta: the parameter, or less in competitive mode.
    delta: f64,
    srtt: Nanos,
    /// The base RTT.
    min: RecentMin,
    /// The smallest RTT of the last half smoothed RTT, which excludes the jitter of ACKs.
    standing: RecentMin,
    /// The largest RTT, stored as `NEVER` minus the RTT.
    max: RecentMin,
    /// Latest values of the filters: RTTstanding, and the queueing delay of section 2.1, d_q = RTTstanding - RTTmin. 0 before the first RTT sample.
    rtt: Nanos,
    queueing: Nanos,
    /// When the queue was last nearly empty.
    last_empty: Nanos,
    competing: bool,
    /// In slow start.
    starting: bool,
    velocity: f64,
    /// The direction of the last change, and for how many round trips it has been the same.
    up: bool,
    same: u32,
    /// Stream offset that ends the round trip, and cwnd at its start.
    round_end: u64,
    round_cwnd: u64,
    /// A loss occurred in this round trip.
    lost: bool,
    /// Fraction of a byte that is carried over to the next ACK.
    fraction: f64,
}

impl Copa {
    /// Records an RTT sample.
    fn measure(&mut self, window: &Window, ack: &Ack) {
        let (now, rtt, srtt) = (ack.now, ack.rtt, ack.srtt);
        self.srtt = srtt;
        let base = self.min.update(now, self.params.min_rtt_window.0, rtt);
        let missing = self.max.update(now, MAX_ROUNDS * srtt, NEVER - rtt);
        let largest = NEVER - missing;
        self.rtt = self.standing.update(now, srtt / 2, rtt);
        self.queueing = self.rtt.saturating_sub(base);
        let variation = float(largest.saturating_sub(base));
        // The segments of a delayed ACK wait for each other. So a queueing delay shorter than one segment takes at the flow's rate does not come from
        // other flows.
        let within_segment = self.queueing * window.cwnd <= self.rtt * window.mss;
        if within_segment || float(self.queueing) <= NEARLY_EMPTY * variation {
            self.last_empty = now;
        }
    }

    /// Whether the rate cwnd / RTTstanding is at most the target rate 1 / (delta d_q).
    fn below_target(&self, window: &Window) -> bool {
        // cwnd / RTTstanding <= mss / (delta d_q), written without a division.
        let cwnd = self.delta * float(window.cwnd);
        cwnd * float(self.queueing) <= float(self.rtt) * float(window.mss)
    }

    /// Section 2.1, step 4: once per round trip, compares cwnd with its value at the start.
    fn end_round(&mut self, window: &Window, ack: &Ack) {
        let up = window.cwnd > self.round_cwnd;
        if up == self.up {
            self.same += 1;
            if self.same >= STEADY_ROUNDS {
                self.velocity *= 2.0;
            }
        } else {
            (self.up, self.same, self.velocity) = (up, 1, 1.0);
        }
        self.choose_mode(ack.now);
        self.round_end = ack.next;
        self.round_cwnd = window.cwnd;
        self.lost = false;
    }

    /// Section 2.2: competes when the queue has not been nearly empty for five round trips. 1 / delta then grows by one per round trip.
    fn choose_mode(&mut self, now: Nanos) {
        let full = now - self.last_empty > EMPTY_ROUNDS * self.srtt;
        self.competing = self.params.competitive && full;
        if !self.competing {
            self.delta = self.params.delta;
        } else if !self.lost {
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
        }
    }

    fn steer(&mut self, window: &mut Window, ack: &Ack) {
        let acked = float(ack.delivered_now);
        let below = self.below_target(window);
        if self.starting {
            // Section 2.1: the window doubles once per round trip until the rate exceeds the target.
            if below {
                window.cwnd += if ack.cwnd_limited {
                    ack.delivered_now
                } else {
                    0
                };
                return;
            }
            self.starting = false;
            (self.up, self.same, self.velocity) = (false, 0, 1.0);
        }
        if below != self.up {
            // The velocity was reached in the other direction. The paper resets it only at the end of the round trip.
            self.velocity = 1.0;
        }
        // Step 3: v / (delta cwnd) packets per acknowledged packet, never faster than slow start.
        let share = float(window.mss) / (self.delta * float(window.cwnd));
        let step = acked * (self.velocity * share).min(1.0);
        // Floor, without calling `floor`.
        let bytes = if below {
            if !ack.cwnd_limited {
                return;
            }
            self.fraction += step;
            self.fraction as i64
        } else {
            self.fraction -= step;
            let near = self.fraction as i64;
            near - i64::from(near as f64 > self.fraction)
        };
        self.fraction -= bytes as f64;
        window.cwnd = (window.cwnd as i64 + bytes).max((MIN_WINDOW * window.mss) as i64) as u64;
    }

    fn pace(&self, window: &mut Window) {
        if self.rtt > 0 {
            // In this order, the division does not depend on the window.
            let windows = PACING_GAIN * 1e9 / float(self.rtt);
            window.pacing = whole(windows * float(window.cwnd)).max(1);
        }
    }
}

impl CongestionControl for Copa {
    fn on_start(&mut self, _: &mut Window, now: Nanos) {
        self.last_empty = now;
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.rtt > 0 {
            self.measure(window, ack);
        }
        if ack.delivered_now > 0 && self.rtt > 0 {
            self.steer(window, ack);
            if ack.una > self.round_end {
                self.end_round(window, ack);
            }
        }
        self.pace(window);
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        window.ssthresh = window.cwnd.max(2 * window.mss);
        self.lost = true;
        if self.competing {
            // Section 2.2: a loss halves 1 / delta, as Reno halves its window.
            self.delta = (2.0 * self.delta).min(self.params.delta);
        }
    }

    fn on_timeout(&mut self, window: &mut Window, _: Nanos) {
        window.cwnd = MIN_WINDOW * window.mss;
        self.starting = true;
        self.velocity = 1.0;
        self.pace(window);
    }

    fn on_idle_restart(&mut self, _: &mut Window, now: Nanos, _: Nanos) {
        // After the idle period this flow has nothing in the queue, and the queue of other flows is unknown.
        self.last_empty = now;
    }

    // Losses do not change the window.
    fn owns_recovery(&self) -> bool {
        true
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("delta", self.delta),
            ("velocity", self.velocity),
            ("competing", f64::from(u8::from(self.competing))),
            ("queueing", self.queueing as f64),
        ]
    }
}
