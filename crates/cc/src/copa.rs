//! Copa: aims at a rate that is inversely proportional to the queueing delay.

use bloatlab_units::{Duration, NEVER, Nanos, Rng, SECOND, float, whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::recent_min::RecentMin;
use crate::{Ack, CongestionControl, Law, Signal, Window};

/// Copa: steers the window to the rate 1 / (delta times queueing delay), and gets rough when others fill the queue.
///
/// The target rate falls as the queue grows, so flows settle at a few packets each in the queue and empty it every five round trips, which keeps the
/// base RTT known. The velocity of change doubles while the direction stays the same. If the queue has not been empty for five round
/// trips, others must be filling it: `delta` then follows an AIMD rule and Copa competes like Reno. It is for low delay
/// beside its like. A base RTT measured too high, or jitter of the delay, costs throughput, and the competitive mode ends the low delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How much delay weighs against throughput in default mode: a flow keeps about 1 / delta packets in the queue.
    #[schemars(range(min = 0.004, max = 10.0))]
    pub delta: f64,
    /// Switch to the competitive mode when the queue is never nearly empty.
    pub competitive: bool,
    /// Time over which the base RTT is the smallest RTT.
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

impl Law for Params {
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

/// Section 2.1: the velocity doubles after this many windows in one direction.
const STEADY_ROUNDS: u32 = 3;
/// Section 2.2: round trips in which the queue should be nearly empty once.
const EMPTY_ROUNDS: u64 = 5;
/// Section 2.2: the largest RTT is that of this many round trips...
const MAX_ROUNDS: u64 = 4;
/// ... and a queueing delay below this share of what it varies is nearly empty.
const NEARLY_EMPTY: f64 = 0.1;
/// Section 2.1: paced at twice the rate of the window, so that no queue comes from bursts.
const PACING_GAIN: f64 = 2.0;
/// The smallest window, segments.
const MIN_WINDOW: u64 = 2;

/// The law.
struct Copa {
    params: Params,
    /// In force: the parameter, or less in the competitive mode.
    delta: f64,
    srtt: Nanos,
    /// The base RTT.
    min: RecentMin,
    /// The smallest RTT of half a smoothed RTT: without the jitter of ACKs.
    standing: RecentMin,
    /// The largest RTT, as what is missing to `NEVER`.
    max: RecentMin,
    /// What they gave last: RTTstanding, and the queueing delay of section 2.1, d_q = RTTstanding - RTTmin; 0 before the first RTT.
    rtt: Nanos,
    queueing: Nanos,
    /// When the queue was nearly empty.
    last_empty: Nanos,
    competing: bool,
    /// In slow start.
    starting: bool,
    velocity: f64,
    /// Direction of the last window, and for how many it has been the same.
    up: bool,
    same: u32,
    /// Stream offset that ends the window, and the congestion window at its start.
    round_end: u64,
    round_cwnd: u64,
    /// A loss came in this window.
    lost: bool,
    /// Part of a byte that the window could not take.
    fraction: f64,
}

impl Copa {
    /// Takes an RTT sample in.
    fn measure(&mut self, window: &Window, ack: &Ack) {
        let (now, rtt, srtt) = (ack.now, ack.rtt, ack.srtt);
        self.srtt = srtt;
        let base = self.min.update(now, self.params.min_rtt_window.0, rtt);
        let missing = self.max.update(now, MAX_ROUNDS * srtt, NEVER - rtt);
        let largest = NEVER - missing;
        self.rtt = self.standing.update(now, srtt / 2, rtt);
        self.queueing = self.rtt.saturating_sub(base);
        let variation = float(largest.saturating_sub(base));
        // A delayed ACK's segments wait for each other, so less than the time of one segment at the flow's rate is no queue of others'.
        let within_segment = self.queueing * window.cwnd <= self.rtt * window.mss;
        if within_segment || float(self.queueing) <= NEARLY_EMPTY * variation {
            self.last_empty = now;
        }
    }

    /// Whether the rate of the window is at most the target rate 1 / (delta d_q).
    fn below_target(&self, window: &Window) -> bool {
        // cwnd / RTTstanding <= mss / (delta d_q), without a division.
        let cwnd = self.delta * float(window.cwnd);
        cwnd * float(self.queueing) <= float(self.rtt) * float(window.mss)
    }

    /// Section 2.1, step 4: once a window, is the congestion window larger than at its start?
    fn end_round(&mut self, window: &Window, ack: &Ack) {
        let up = window.cwnd > self.round_cwnd;
        if up == self.up {
            self.same += 1;
            if self.same >= STEADY_ROUNDS {
                self.velocity *= 2.0;
            }
        } else {
            (self.up, self.same, self.velocity) = (up, 0, 1.0);
        }
        self.choose_mode(ack.now);
        self.round_end = ack.next;
        self.round_cwnd = window.cwnd;
        self.lost = false;
    }

    /// Section 2.2: competes when the queue has not been nearly empty for five round trips; 1 / delta then grows by one a round trip.
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
            // Section 2.1: doubles once a round trip until the rate exceeds the target.
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
            // The velocity was won in the other direction; the paper resets it at the end of the window only.
            self.velocity = 1.0;
        }
        // Step 3: v / (delta cwnd) packets for each one acknowledged; never faster than slow start.
        let share = float(window.mss) / (self.delta * float(window.cwnd));
        let step = acked * (self.velocity * share).min(1.0);
        // The integer below, without the call that a float's takes.
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
            // In this order the division does not wait for the window.
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
            // Section 2.2: a loss halves 1 / delta, as Reno its window.
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
        // Nothing was in the queue of ours, and nothing is known of others'.
        self.last_empty = now;
    }

    // Losses do not move the window.
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
