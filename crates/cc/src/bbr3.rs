//! BBR version 3: paces at the bottleneck's rate, probes for more every few seconds, and bounds what is in flight by losses.

mod control;
mod cycle;
mod flights;
mod model;

use bloatlab_units::{Duration, MILLISECOND, NEVER, Nanos, Rng, SECOND, float};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::model::{Model, Sample, UNBOUNDED};
use crate::{Ack, CongestionControl, Factory, Signal, Window};

/// BBR version 3: a model of bottleneck rate, base RTT and tolerable data in flight, probed every two to three seconds.
///
/// Like version 1, it paces at the largest delivery rate and keeps up to two bandwidth-delay products in flight. Every two to three seconds, or as
/// often as Reno would lose, it probes upwards until the rate no longer grows or 2 % of a round trip is lost. It remembers that amount in flight as a
/// bound and stays 15 % below it, to leave room for others. Losses reduce its short-term bounds by 30 %. It is meant for the open Internet. Compared
/// with version 1 it shares better with Reno and CUBIC and loses less in shallow queues. It is slow to use rate that becomes free.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Pacing gain of Startup, 4 ln 2.
    #[schemars(range(min = 1.1, max = 10.0))]
    pub startup_gain: f64,
    /// Pacing gain of Drain.
    #[schemars(range(min = 0.1, max = 0.99))]
    pub drain_gain: f64,
    /// Pacing gain while it probes for bandwidth.
    #[schemars(range(min = 1.01, max = 3.0))]
    pub up_gain: f64,
    /// Pacing gain while it drains the queue of a probe.
    #[schemars(range(min = 0.1, max = 0.99))]
    pub down_gain: f64,
    /// How many bandwidth-delay products may be in flight.
    #[schemars(range(min = 1.0, max = 10.0))]
    pub cwnd_gain: f64,
    /// Window gain while it probes for bandwidth.
    #[schemars(range(min = 1.0, max = 10.0))]
    pub up_cwnd_gain: f64,
    /// Window gain in ProbeRTT.
    #[schemars(range(min = 0.1, max = 1.0))]
    pub probe_rtt_cwnd_gain: f64,
    /// Share of a round trip's data that may be lost while probing.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub loss_threshold: f64,
    /// Share of the short-term bounds that remains after a loss.
    #[schemars(range(min = 0.1, max = 0.99))]
    pub beta: f64,
    /// Share of the long-term bound that is left free for other flows.
    #[schemars(range(min = 0.0, max = 0.9))]
    pub headroom: f64,
    /// Shortest time from one probe for bandwidth to the next. Up to one second is added at random.
    pub probe_wait: Duration,
    /// Largest number of round trips from one probe to the next.
    #[schemars(range(min = 1, max = 10000), extend("unit" = "round trips"))]
    pub probe_rounds: u32,
    /// Time between two ProbeRTTs, if no smaller RTT is measured.
    pub probe_rtt_interval: Duration,
    /// Shortest time in ProbeRTT.
    pub probe_rtt: Duration,
    /// Pacing stays below the estimated rate by this share.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub pacing_margin: f64,
}

impl Default for Params {
    fn default() -> Self {
        // draft-ietf-ccwg-bbr section 2 and section 5.6.1.
        Self {
            startup_gain: 2.77,
            drain_gain: 0.5,
            up_gain: 1.25,
            down_gain: 0.91,
            cwnd_gain: 2.0,
            up_cwnd_gain: 2.25,
            probe_rtt_cwnd_gain: 0.5,
            loss_threshold: 0.02,
            beta: 0.7,
            headroom: 0.15,
            probe_wait: Duration(2 * SECOND),
            probe_rounds: 63,
            probe_rtt_interval: Duration(5 * SECOND),
            probe_rtt: Duration(200 * MILLISECOND),
            pacing_margin: 0.01,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpBbr3"];
    const SOURCE: &'static str = "draft-ietf-ccwg-bbr";

    fn build(&self, rng: Rng) -> Box<dyn CongestionControl> {
        Box::new(Bbr3 {
            rng,
            mode: Mode::Startup,
            model: Model::new(),
            acks: Acks::Other,
            probing: true,
            rounds_since_probe: 0,
            wait: 0,
            cycle_stamp: 0,
            up_rounds: 0,
            up_acks: 0,
            up_price: UNBOUNDED,
            drain_round: 0,
            probe_done: NEVER,
            probe_round_done: false,
            idle_restart: false,
            prior_cwnd: 0,
            recovery_round: UNBOUNDED,
            params: self.clone(),
        })
    }
}

/// Section 5.3.1.3: number of loss events in a round that end Startup.
const STARTUP_LOSSES: u32 = 6;
/// Section 5.3.2: Drain ends after this many rounds at the latest.
const DRAIN_ROUNDS: u64 = 3;
/// Section 5.3.3.6: the slope of probing doubles at most this many times.
const MAX_UP_ROUNDS: u32 = 30;
/// Section 2.7: the smallest window, segments.
const MIN_WINDOW: u64 = 4;

/// The state machine of section 5.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// Section 5.3.3.6: the phase of the probe to which incoming ACKs belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acks {
    ProbeStarting,
    ProbeStopping,
    Other,
}

/// State of one connection.
struct Bbr3 {
    params: Params,
    rng: Rng,
    mode: Mode,
    model: Model,
    acks: Acks,
    /// The samples show the effect of a probe, so losses may lower the long-term bound.
    probing: bool,
    rounds_since_probe: u64,
    wait: Nanos,
    cycle_stamp: Nanos,
    /// How Up raises the long-term bound: rounds so far, bytes acknowledged, and bytes that raise it by one byte.
    up_rounds: u32,
    up_acks: u64,
    up_price: u64,
    drain_round: u64,
    probe_done: Nanos,
    probe_round_done: bool,
    idle_restart: bool,
    prior_cwnd: u64,
    /// The round in which recovery began; `UNBOUNDED` outside recovery.
    recovery_round: u64,
}

impl Bbr3 {
    fn gains(&self) -> (f64, f64) {
        let p = &self.params;
        match self.mode {
            Mode::Startup => (p.startup_gain, p.cwnd_gain),
            Mode::Drain => (p.drain_gain, p.cwnd_gain),
            Mode::Down => (p.down_gain, p.cwnd_gain),
            Mode::Cruise | Mode::Refill => (1.0, p.cwnd_gain),
            Mode::Up => (p.up_gain, p.up_cwnd_gain),
            Mode::ProbeRtt => (1.0, p.probe_rtt_cwnd_gain),
        }
    }

    fn in_probe_bw(&self) -> bool {
        matches!(
            self.mode,
            Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up
        )
    }

    /// Section 5.5.10.2: whether more than the threshold of what was in flight is lost.
    fn too_high(&self, sample: &Sample) -> bool {
        let tolerated = self.params.loss_threshold * float(sample.tx_in_flight);
        sample.lost > 0 && float(sample.lost) > tolerated
    }

    /// Section 5.3.1.3: whether a whole round had many losses.
    fn is_lossy(&self, sample: &Sample) -> bool {
        let m = &self.model;
        let ends_round = m.loss_round_start && m.round > self.recovery_round;
        ends_round && m.loss_events >= STARTUP_LOSSES && self.too_high(sample)
    }

    /// Section 5.3.1: Startup ends when the pipe is full or losses are high. Drain ends when the queue should be empty.
    fn check_startup_and_drain(&mut self, window: &Window, ack: &Ack, sample: &Sample) {
        if !self.model.filled_pipe && self.is_lossy(sample) {
            let m = &mut self.model;
            m.filled_pipe = true;
            let bdp = m.bdp(m.max_bw.get()).map_or(0, |bdp| bdp as u64);
            m.inflight_long = bdp.max(m.inflight_latest);
        }
        if self.mode == Mode::Startup && self.model.filled_pipe {
            self.mode = Mode::Drain;
            self.drain_round = self.model.round;
        }
        if self.mode == Mode::Drain {
            let drained = ack.in_flight <= self.inflight(window, 1.0);
            if drained || self.model.round > self.drain_round + DRAIN_ROUNDS {
                self.start_down(ack);
            }
        }
    }

    /// Section 5.3.4.
    fn check_probe_rtt(&mut self, window: &mut Window, ack: &Ack) {
        if self.mode != Mode::ProbeRtt && self.model.probe_rtt_expired && !self.idle_restart {
            self.save_cwnd(window);
            self.mode = Mode::ProbeRtt;
            self.probe_done = NEVER;
            self.acks = Acks::ProbeStopping;
            self.model.start_round(ack.delivered);
        }
        if self.mode == Mode::ProbeRtt {
            if self.probe_done == NEVER {
                if ack.in_flight <= self.probe_rtt_cwnd(window) {
                    self.probe_done = ack.now + self.params.probe_rtt.0;
                    self.probe_round_done = false;
                    self.model.start_round(ack.delivered);
                }
            } else {
                self.probe_round_done |= self.model.round_start;
                if self.probe_round_done && ack.now > self.probe_done {
                    self.exit_probe_rtt(window, ack);
                }
            }
        }
        self.idle_restart &= ack.delivered_now == 0;
    }

    fn exit_probe_rtt(&mut self, window: &mut Window, ack: &Ack) {
        self.model.probe_rtt_stamp = ack.now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        self.model.reset_short_term();
        if self.model.filled_pipe {
            self.start_down(ack);
            self.mode = Mode::Cruise;
        } else {
            self.mode = Mode::Startup;
        }
    }
}

impl CongestionControl for Bbr3 {
    fn on_start(&mut self, window: &mut Window, now: Nanos) {
        self.model.start(now);
        self.initial_pacing(window, MILLISECOND);
    }

    fn on_handshake(&mut self, window: &mut Window, rtt: Nanos) {
        self.initial_pacing(window, rtt.max(1));
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let sample = self.model.update(ack, window.cwnd);
        self.rounds_since_probe += u64::from(self.model.round_start);
        self.check_losses(window, ack, &sample);
        self.model.check_full_bw(&sample);
        self.check_startup_and_drain(window, ack, &sample);
        let probing = matches!(self.mode, Mode::Startup | Mode::Refill | Mode::Up);
        self.model
            .adapt_short_term(window.cwnd, probing, self.params.beta);
        self.update_cycle(window, ack, &sample);
        self.model
            .update_min_rtt(ack, self.params.probe_rtt_interval.0);
        self.check_probe_rtt(window, ack);
        self.model.advance_latest(ack, &sample);
        let (pacing_gain, cwnd_gain) = self.gains();
        self.set_pacing(window, pacing_gain);
        self.set_cwnd(window, ack, cwnd_gain);
    }

    fn on_congestion(&mut self, window: &mut Window, signal: Signal, _: &Ack) {
        window.ssthresh = window.cwnd.max(2 * window.mss);
        if signal != Signal::Ecn {
            self.save_cwnd(window);
            self.recovery_round = self.model.round;
        }
    }

    fn on_recovered(&mut self, window: &mut Window, _: &Ack) {
        if self.recovery_round != UNBOUNDED {
            self.recovery_round = UNBOUNDED;
            window.cwnd = window.cwnd.max(self.prior_cwnd);
        }
    }

    fn on_timeout(&mut self, window: &mut Window, _: Nanos) {
        // Section 5.6.4.4: one segment; the saved window returns when everything is repaired.
        window.cwnd = window.mss;
    }

    fn observes_sends(&self) -> bool {
        true
    }

    fn on_send(&mut self, window: &mut Window, now: Nanos, in_flight: u64, app_limited: bool) {
        self.model.flights.on_send(in_flight);
        // Section 5.4.1: restart from idle at the estimated rate.
        if app_limited && in_flight <= window.mss {
            self.idle_restart = true;
            self.model.aggregation.restart(now);
            if self.in_probe_bw() {
                self.set_pacing(window, 1.0);
            }
        }
    }

    fn send_buffer_windows(&self) -> u64 {
        3
    }

    fn owns_recovery(&self) -> bool {
        true
    }

    fn state(&self) -> Vec<(&'static str, f64)> {
        let (pacing_gain, cwnd_gain) = self.gains();
        let mut state = vec![
            ("mode", f64::from(self.mode as u8)),
            ("pacing_gain", pacing_gain),
            ("cwnd_gain", cwnd_gain),
            ("bw", self.model.bw()),
            ("round", self.model.round as f64),
        ];
        if self.model.min_rtt != NEVER {
            state.push(("min_rtt", self.model.min_rtt as f64));
        }
        if self.model.inflight_long != UNBOUNDED {
            state.push(("inflight_longterm", self.model.inflight_long as f64));
        }
        if self.model.inflight_short != UNBOUNDED {
            state.push(("inflight_shortterm", self.model.inflight_short as f64));
        }
        state
    }
}
