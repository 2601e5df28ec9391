//! H-TCP: the increase grows with the time since the last loss, and the decrease just empties the queue.

use bloatlab_units::{Duration, MILLISECOND, Nanos, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::elsewhere::{Conversion, Linux, LinuxParameter};
use crate::jiffies::jiffies;
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};

/// H-TCP: grows as Reno for a second after a loss, then faster and faster; a loss takes just what empties the queue.
///
/// The increase is a function of the time since the last loss: short loss cycles give Reno's behaviour, and long ones fast growth. A loss leaves the
/// ratio of the smallest to the largest RTT, limited to the range from 0.5 to 0.8. It leaves 0.5 if the throughput changed by more than a fifth
/// between the last two losses. H-TCP is for long paths of high rate. It shares fairly between flows, also of different RTTs, because the increase is
/// scaled by the RTT. It does not react to delay: with one flow it overflows a deep queue as often as CUBIC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Time after a loss during which it grows as Reno (draft-leith-tcp-htcp-06 section 2: Delta_L).
    pub delta_l: Duration,
    /// The smallest share of the window that remains after a loss (draft-leith-tcp-htcp-06 section 2: beta_min).
    #[schemars(range(min = 0.1, max = 0.99))]
    pub beta_min: f64,
    /// The largest share of the window that remains after a loss.
    #[schemars(range(min = 0.1, max = 0.99))]
    pub beta_max: f64,
    /// If the throughput changes by more than this share between two losses, the window falls to `beta_min` (draft-leith-tcp-htcp-06 section 2:
    /// Delta_B).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub delta_b: f64,
    /// Reduce the window to `beta_min` if the throughput changed, and otherwise by the ratio of RTTs.
    pub bandwidth_switch: bool,
    /// Scale the increase by the RTT over 100 ms, so that flows of different RTTs grow at the same speed.
    pub rtt_scaling: bool,
    /// How slow start ends.
    pub slow_start: SlowStart,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            delta_l: Duration(SECOND),
            beta_min: 0.5,
            beta_max: 0.8,
            delta_b: 0.2,
            bandwidth_switch: true,
            rtt_scaling: true,
            slow_start: SlowStart::Standard,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpHtcp"];
    const SOURCE: &'static str = "D. Leith, R. Shorten, H-TCP: TCP for high-speed and long-distance networks, PFLDnet 2004; draft-leith-tcp-htcp-06";
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: Some(Linux {
            name: "htcp",
            module: Some("tcp_htcp"),
            parameters: &[
                LinuxParameter::new("rtt_scaling", "use_rtt_scaling", Conversion::Flag, 1),
                LinuxParameter::new(
                    "bandwidth_switch",
                    "use_bandwidth_switch",
                    Conversion::Flag,
                    1,
                ),
            ],
        }),
        ns3: Some("ns3::TcpHtcp"),
        ns2: Some("Agent/TCP/Linux (htcp)"),
    };

    fn check(&self) -> Result<(), String> {
        if self.beta_min <= self.beta_max {
            Ok(())
        } else {
            Err(format!(
                "`beta_min` is {}, but must not be larger than `beta_max`, which is {}",
                self.beta_min, self.beta_max
            ))
        }
    }

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Htcp {
            starter: Starter::new(self.slow_start),
            beta_min: (self.beta_min * ONE as f64) as u64,
            beta_max: (self.beta_max * ONE as f64) as u64,
            alpha: ONE,
            beta: (self.beta_min * ONE as f64) as u64,
            adapt: false,
            credit: 0,
            acked: 1,
            last_congestion: 0,
            congestion_before: 0,
            min_rtt: 0,
            max_rtt: 0,
            throughput: Throughput::default(),
            params: self.clone(),
        })
    }
}

/// Linux's unit of alpha and beta.
const ONE: u64 = 128;
/// Linux derives the decrease from RTTs only if the smallest RTT is longer than this, ms.
const LEAST_RTT: u64 = 10;
/// Linux lets the largest RTT grow by at most this much per sample, ms.
const RTT_STEP: u64 = 20;
/// Round trips after a loss in which the throughput is the last sample and not an average.
const SETTLING: u64 = 3;

/// The largest throughput since the last loss, segments per second.
#[derive(Clone, Copy, Debug, Default)]
struct Throughput {
    segments: u64,
    since: Nanos,
    average: u64,
    largest: u64,
    /// The largest throughput before the last loss.
    before: u64,
}

/// State of one connection. Windows are whole segments. RTTs are milliseconds, as Linux counts them.
struct Htcp {
    starter: Starter,
    params: Params,
    beta_min: u64,
    beta_max: u64,
    /// Increase in segments per round trip, and the share that remains after a loss; both in 128ths.
    alpha: u64,
    beta: u64,
    /// Whether the next loss may use the ratio of RTTs.
    adapt: bool,
    /// Segments acknowledged since the window last grew.
    credit: u64,
    /// Segments for which this ACK counts.
    acked: u64,
    last_congestion: Nanos,
    /// The end of the congestion before the last one, for an undo.
    congestion_before: Nanos,
    min_rtt: u64,
    max_rtt: u64,
    throughput: Throughput,
}

impl Htcp {
    fn measure_rtt(&mut self, rtt: Nanos, open: bool) {
        let rtt = jiffies(rtt, MILLISECOND);
        if self.min_rtt == 0 || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
        if open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if rtt > self.max_rtt && rtt <= self.max_rtt + RTT_STEP {
                self.max_rtt = rtt;
            }
        }
    }

    /// Draft section 2: measures the throughput of each window and averages it.
    fn measure_throughput(&mut self, now: Nanos, window: u64, acked: u64) {
        let settled = self.round_trips(now) > SETTLING;
        let growth = (self.alpha / ONE).max(1);
        let t = &mut self.throughput;
        t.segments += acked;
        let time = (now - t.since) / MILLISECOND;
        if self.min_rtt == 0 || time < self.min_rtt || t.segments + growth < window {
            return;
        }
        let sample = t.segments * 1000 / time;
        if settled {
            t.average = (3 * t.average + sample) / 4;
            t.largest = t.largest.max(t.average);
        } else {
            t.average = sample;
            t.largest = sample;
        }
        (t.segments, t.since) = (0, now);
    }

    /// Round trips since the last congestion.
    fn round_trips(&self, now: Nanos) -> u64 {
        (now - self.last_congestion) / (self.min_rtt.max(1) * MILLISECOND)
    }

    /// Draft section 2: beta is the ratio of RTTs if the throughput was steady.
    fn update_beta(&mut self) {
        let t = &mut self.throughput;
        let (now, before) = (t.largest as f64, t.before as f64);
        t.before = t.largest;
        let changed = (now - before).abs() > self.params.delta_b * before;
        if self.params.bandwidth_switch && changed {
            self.beta = self.beta_min;
            self.adapt = false;
        } else if self.adapt && self.min_rtt > LEAST_RTT && self.max_rtt > 0 {
            self.beta = (ONE * self.min_rtt / self.max_rtt).clamp(self.beta_min, self.beta_max);
        } else {
            self.beta = self.beta_min;
            self.adapt = true;
        }
    }

    /// Draft section 2: alpha = 2 (1 - beta) (1 + 10 (t - Delta_L) + ((t - Delta_L) / 2)^2), in integer arithmetic as in Linux.
    fn update_alpha(&mut self, now: Nanos) {
        let late = (now - self.last_congestion).saturating_sub(self.params.delta_l.0) / MILLISECOND;
        let mut factor = 1 + (10 * late + (late / 2) * (late / 2) / 1000) / 1000;
        if self.params.rtt_scaling && self.min_rtt > 0 {
            // The RTT over 100 ms, limited to the range from 0.1 to 2.
            let inverse = (800 / self.min_rtt).clamp(4, 80);
            factor = (8 * factor / inverse).max(1);
        }
        self.alpha = 2 * factor * (ONE - self.beta);
    }
}

impl CongestionControl for Htcp {
    fn on_start(&mut self, _: &mut Window, now: Nanos) {
        self.last_congestion = now;
        self.throughput.since = now;
    }

    fn observe(&mut self, window: &Window, ack: &Ack) {
        let open = !ack.in_recovery && !ack.disordered;
        let segments = ack.acked.div_ceil(window.mss);
        if open {
            self.acked = segments;
        }
        if ack.rtt > 0 {
            self.measure_rtt(ack.rtt, open);
        }
        if !ack.in_recovery {
            self.measure_throughput(ack.now, window.cwnd / window.mss, segments);
        } else {
            (self.throughput.segments, self.throughput.since) = (0, ack.now);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        let started = window.in_slow_start();
        self.starter.open(window, ack);
        if started {
            return;
        }
        if self.credit * self.alpha / ONE >= window.cwnd / window.mss {
            window.cwnd += window.mss;
            self.credit = 0;
            self.update_alpha(ack.now);
        } else {
            self.credit += self.acked;
        }
        // As in Linux: while segments overtake others, an ACK counts for one.
        self.acked = 1;
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, ack: &Ack) {
        self.update_beta();
        self.update_alpha(ack.now);
        // Linux lets the largest RTT decay slowly.
        if self.max_rtt > self.min_rtt {
            self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) * 95 / 100;
        }
        let left = window.cwnd / window.mss * self.beta / ONE;
        window.ssthresh = left.max(2) * window.mss;
        self.congestion_before = std::mem::replace(&mut self.last_congestion, ack.now);
        self.credit = 0;
        self.starter.on_congestion();
    }

    fn on_recovered(&mut self, _: &mut Window, ack: &Ack) {
        self.last_congestion = ack.now;
    }

    /// As in Linux: growth goes on as if the needless recovery had not been. It starts anew if the recovery had ended before.
    fn on_undo(&mut self, _: &mut Window, ack: &Ack) {
        if ack.in_recovery {
            self.last_congestion = self.congestion_before;
        }
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.starter.on_timeout();
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("alpha", self.alpha as f64 / ONE as f64),
            ("beta", self.beta as f64 / ONE as f64),
            ("max_throughput", self.throughput.largest as f64),
        ]
    }
}
