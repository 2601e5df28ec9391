//! Prague: DCTCP made safe for the Internet, the scalable congestion control of L4S (RFC 9330).

use bloatlab_units::{Duration, MILLISECOND, Nanos, Rng, SECOND, float, whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::growth::{Growth, half};
use crate::mark_share::MarkShare;
use crate::slow_start::{SlowStart, Starter};
use crate::{Ack, CongestionControl, EcnFeedback, Factory, Signal, Window};

/// Prague: a scalable congestion control that keeps queues below a millisecond where the network marks L4S packets (ECT(1)) at once.
///
/// Every unmarked byte opens the window. Every round trip with marks reduces it by half of alpha, the average share of marked bytes. In equilibrium
/// it gets about two marks per round trip at any rate. Packets are paced at one window per round trip. After `rtt_rounds` round trips, a flow whose
/// RTT is below `reference_rtt` grows and yields as if its RTT were that long, so that flows of different RTTs get equal rates. Use it with
/// `dualpi2`, or with a queue that has a low marking threshold. In a shared queue without L4S it takes more than its share. After a loss, or without
/// AccECN, it reacts as Reno.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Weight of one round trip's share of marks in alpha.
    #[schemars(range(min = 0.0001, max = 1.0))]
    pub g: f64,
    /// Flows with a shorter RTT behave as if they had this RTT; 0 turns this off.
    pub reference_rtt: Duration,
    /// Number of round trips after slow start before `reference_rtt` applies.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub rtt_rounds: u32,
    /// How slow start ends, in addition to a mark.
    pub slow_start: SlowStart,
}

impl Default for Params {
    fn default() -> Self {
        // draft-briscoe-iccrg-prague-congestion-control-04 and Linux's module: g 1/16, 25 ms, 500 rounds.
        Self {
            g: 1.0 / 16.0,
            reference_rtt: Duration(25 * MILLISECOND),
            rtt_rounds: 500,
            slow_start: SlowStart::Standard,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &[];
    const SOURCE: &'static str =
        "draft-briscoe-iccrg-prague-congestion-control-04, as in L4S Linux";

    fn build(&self, _: Rng) -> Box<dyn CongestionControl> {
        Box::new(Prague {
            reference: self.reference_rtt.0,
            rtt_rounds: self.rtt_rounds,
            share: MarkShare::new(self.g),
            starter: Starter::new(self.slow_start),
            fallback: None,
            window: 0.0,
            shown: 0,
            news: News::default(),
            marks_seen: false,
            rounds: 0,
            updated: 0,
            reduced: Reduction::default(),
        })
    }
}

/// Draft section 2.4.5, and as in Linux: a burst lasts at most a quarter of a millisecond.
const BURSTS_A_SECOND: u64 = 4000;

/// What ACKs reported since the window was last updated.
#[derive(Default)]
struct News {
    unmarked: u64,
    marks: bool,
}

/// The last reduction: its time, and the stream offset whose acknowledgement ends its round trip.
#[derive(Default)]
struct Reduction {
    at: Nanos,
    round_end: u64,
}

/// State of one connection.
struct Prague {
    reference: Nanos,
    rtt_rounds: u32,
    share: MarkShare,
    starter: Starter,
    /// Reno's growth, used without AccECN.
    fallback: Option<Growth>,
    /// The window with its fraction of a byte, and the window that the sender uses: whole segments, rounded up.
    window: f64,
    shown: u64,
    news: News,
    marks_seen: bool,
    /// Round trips since slow start.
    rounds: u32,
    /// When alpha was last updated.
    updated: Nanos,
    reduced: Reduction,
}

impl Prague {
    /// Whether the flow is old enough to behave as one with the reference RTT.
    fn is_independent(&self, window: &Window) -> bool {
        self.rounds >= self.rtt_rounds && !window.in_slow_start()
    }

    /// Draft section 2.4.5: whether a virtual round trip has passed since `since`. It lasts as long as the reference RTT, if that applies to the
    /// flow.
    fn virtual_round_is_over(&self, window: &Window, now: Nanos, since: Nanos) -> bool {
        !self.is_independent(window) || now - since >= self.reference
    }

    /// Growth in segments per round trip: one, or (RTT / reference RTT)^2, which gives flows of both RTTs equal rates.
    fn increase(&self, window: &Window, srtt: Nanos) -> f64 {
        if !self.is_independent(window) || srtt >= self.reference {
            return 1.0;
        }
        let share = float(srtt) / float(self.reference);
        share * share
    }

    fn open(&mut self, window: &mut Window, ack: &Ack) {
        let mut acked = self.news.unmarked;
        if window.in_slow_start() {
            self.starter.observe(window, ack);
        }
        if window.in_slow_start() {
            let increase = self.starter.increase(window, acked);
            let used = increase.min(window.ssthresh - window.cwnd);
            self.window += float(used);
            acked = increase - used;
        }
        // Draft section 2.4.4: every unmarked byte counts, also in a round trip with marks.
        let mss = float(window.mss);
        self.window += float(acked) * mss / self.window * self.increase(window, ack.srtt);
    }

    /// Draft section 2.4.3: reduces the window at most once per (virtual) round trip.
    fn close(&mut self, window: &mut Window, ack: &Ack) {
        let over = ack.una >= self.reduced.round_end;
        if !over || !self.virtual_round_is_over(window, ack.now, self.reduced.at) {
            return;
        }
        self.reduced = Reduction {
            at: ack.now,
            round_end: ack.next,
        };
        self.window -= self.window * self.share.alpha / 2.0;
        self.window = self.window.max(2.0 * window.mss as f64);
        window.ssthresh = self.window as u64;
        self.starter.on_congestion();
    }

    /// Passes the window and the pacing rate to the sender.
    fn show(&mut self, window: &mut Window, srtt: Nanos) {
        let bytes = whole(self.window);
        if bytes > self.shown || bytes + window.mss <= self.shown {
            self.shown = bytes.div_ceil(window.mss) * window.mss;
        }
        window.cwnd = self.shown;
        if srtt > 0 {
            // As in Linux: one window per round trip, and twice that in slow start, where each ACK releases two segments.
            let second = if window.cwnd < window.ssthresh / 2 {
                2 * SECOND
            } else {
                SECOND
            };
            window.pacing = whole(self.window * float(second) / float(srtt));
            window.quantum = window.pacing / BURSTS_A_SECOND;
        }
    }
}

impl CongestionControl for Prague {
    fn needs_ecn(&self) -> EcnFeedback {
        EcnFeedback::Accurate
    }

    fn is_l4s(&self) -> bool {
        true
    }

    fn on_negotiated(&mut self, feedback: EcnFeedback) {
        // RFC 9331 section 4.3: without AccECN feedback it must behave as a classic congestion control.
        self.fallback = (feedback != EcnFeedback::Accurate).then(Growth::default);
    }

    fn responds_to_marks(&self) -> bool {
        self.fallback.is_none()
    }

    fn observe(&mut self, window: &Window, ack: &Ack) {
        let over = self.share.observe(ack);
        self.marks_seen |= ack.ecn_echo;
        self.news.marks |= ack.ecn_echo;
        self.news.unmarked += ack.delivered_now.saturating_sub(ack.marked_now);
        if !over || !self.virtual_round_is_over(window, ack.now, self.updated) {
            return;
        }
        // As in Linux: before the first mark it is unknown whether the path has a queue that marks.
        if self.marks_seen {
            self.share.update(ack);
            self.updated = ack.now;
        } else {
            self.share.skip(ack);
        }
        if !window.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(growth) = &mut self.fallback {
            return growth.reno(window, &mut self.starter, ack);
        }
        if window.cwnd != self.shown {
            // The sender set it: at the start, or after recovery, a timeout or idle time.
            self.window = float(window.cwnd);
        }
        if ack.cwnd_limited {
            self.open(window, ack);
        }
        if self.news.marks {
            self.close(window, ack);
        }
        self.news = News::default();
        self.show(window, ack.srtt);
    }

    fn on_congestion(&mut self, window: &mut Window, _: Signal, _: &Ack) {
        // Draft section 2.4.2: reacts to a loss as Reno; without AccECN also to a mark.
        window.ssthresh = half(window);
        if let Some(growth) = &mut self.fallback {
            growth.forget();
        }
        self.starter.on_congestion();
    }

    fn on_recovered(&mut self, _: &mut Window, _: &Ack) {
        // Recovery has already reacted to what it delivered.
        self.news = News::default();
    }

    fn on_timeout(&mut self, _: &mut Window, _: Nanos) {
        self.starter.on_timeout();
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("alpha", self.share.alpha),
            ("rounds", f64::from(self.rounds)),
        ]
    }
}
