//! BBR version 1: paces at the bottleneck's measured rate and keeps about two bandwidth-delay products in flight.

mod model;
mod policer;

use bloatlab_units::{Duration, MILLISECOND, NEVER, Nanos, Rng, SECOND, float, whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::model::Model;
use crate::ack_aggregation::AckAggregation;
use crate::elsewhere::Linux;
use crate::{Ack, CongestionControl, Elsewhere, Factory, Signal, Window};

/// BBR version 1: a model of bottleneck rate and base RTT instead of a reaction to loss.
///
/// It paces at the highest delivery rate of the last ten round trips and keeps up to two bandwidth-delay products in flight. It probes for more in an
/// eighth of its rounds. Every ten seconds it falls to four segments, to measure the RTT without its own queue. A single flow keeps a deep buffer
/// nearly empty and tolerates random loss. It ignores how many packets a shallow buffer drops. Several flows hold a queue of about one
/// bandwidth-delay product. Its share against loss-based flows depends on the buffer and not on the number of flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Pacing gain and window gain of Startup, 2/ln 2. Drain paces at the inverse.
    #[schemars(range(min = 1.1, max = 10.0))]
    pub high_gain: f64,
    /// Window gain in ProbeBW: how many bandwidth-delay products may be in flight.
    #[schemars(range(min = 1.0, max = 10.0))]
    pub cwnd_gain: f64,
    /// The bottleneck rate is the largest delivery rate of this many rounds.
    #[schemars(range(min = 1, max = 1000), extend("unit" = "round trips"))]
    pub bw_window: u32,
    /// The base RTT is the smallest RTT of this time.
    pub min_rtt_window: Duration,
    /// Shortest time in ProbeRTT.
    pub probe_rtt: Duration,
    /// Window in ProbeRTT, and the smallest window at any time.
    #[schemars(range(min = 1, max = 1000), extend("unit" = "segments"))]
    pub min_window: u32,
    /// Pacing stays below the estimated rate by this share.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub pacing_margin: f64,
    /// How much of the excess data of ACK aggregation is added to the window; 0 turns this off.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub extra_acked_gain: f64,
    /// Whether a flow that always gets the same rate and loses a fifth of it takes this as the rate of a policer, as in Linux. Then it does not probe
    /// for 48 round trips.
    pub detects_policer: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            high_gain: 2.0 / core::f64::consts::LN_2,
            cwnd_gain: 2.0,
            bw_window: 10,
            min_rtt_window: Duration(10 * SECOND),
            probe_rtt: Duration(200 * MILLISECOND),
            min_window: 4,
            pacing_margin: 0.01,
            extra_acked_gain: 1.0,
            detects_policer: true,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["TcpBbr"];
    const SOURCE: &'static str =
        "draft-cardwell-iccrg-bbr-congestion-control-00; ACM Queue 14(5), 2016";
    const ELSEWHERE: Elsewhere = Elsewhere {
        linux: Some(Linux::module("bbr", "tcp_bbr")),
        ns3: Some("ns3::TcpBbr"),
        ns2: None,
    };

    fn build(&self, rng: Rng) -> Box<dyn CongestionControl> {
        Box::new(Bbr {
            rng,
            mode: Mode::Startup,
            pacing_gain: self.high_gain,
            cwnd_gain: self.high_gain,
            model: Model::new(self.bw_window as usize, self.min_rtt_window.0),
            cycle: 0,
            cycle_stamp: 0,
            probe_done: NEVER,
            probe_round_done: false,
            idle_restart: false,
            seen_rtt: false,
            in_recovery: false,
            recovered: false,
            conservation: false,
            prior_cwnd: 0,
            aggregation: AckAggregation::default(),
            rounded: (0, 0),
            params: self.clone(),
        })
    }
}

/// Section 4.3.4.2: the pacing gains of ProbeBW's cycle.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Index of the cycle's phase that probes for more bandwidth.
const PROBE_UP: usize = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// State of one connection.
struct Bbr {
    params: Params,
    rng: Rng,
    mode: Mode,
    pacing_gain: f64,
    cwnd_gain: f64,
    model: Model,
    cycle: usize,
    cycle_stamp: Nanos,
    probe_done: Nanos,
    probe_round_done: bool,
    idle_restart: bool,
    seen_rtt: bool,
    in_recovery: bool,
    /// Whether recovery has ended with the ACK that is processed.
    recovered: bool,
    conservation: bool,
    prior_cwnd: u64,
    aggregation: AckAggregation,
    /// The number of bytes rounded up last, and the segments it gave. They change only when the model does.
    rounded: (u64, u64),
}

impl Bbr {
    fn update_model(&mut self, window: &Window, ack: &Ack) {
        self.model.update_round(ack);
        // Section 4.2.3.4: packet conservation lasts for the first round of recovery.
        self.conservation &= !self.model.round_start;
        if ack.rate.interval == 0 {
            return;
        }
        if self.params.detects_policer {
            let probes = self.mode == Mode::ProbeBw;
            if self.model.update_policer(ack, probes) && probes {
                self.enter_probe_bw(ack.now);
            }
        }
        self.model.update_bw(ack);
        if self.params.extra_acked_gain > 0.0 {
            let (bw, round_start) = (self.model.bw(), self.model.round_start);
            self.aggregation.update(ack, bw, round_start, window.cwnd);
        }
    }

    /// Section 4.3.4.3: a phase lasts one base RTT. Probing up must also fill the pipe; probing down ends once the queue is drained.
    fn check_cycle(&mut self, window: &Window, ack: &Ack) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let full = ack.now.saturating_sub(self.cycle_stamp) > self.model.min_rtt;
        let gain = self.gain();
        let next = if gain > 1.0 {
            // As in Linux since it schedules departures: the burst that leaves next is part of what the probe put in flight.
            let in_network = ack.prior_in_flight + window.quantum;
            full && (ack.lost_now > 0 || in_network >= self.inflight(window, gain))
        } else if gain < 1.0 {
            full || ack.prior_in_flight <= self.inflight(window, 1.0)
        } else {
            full
        };
        if next {
            self.advance_cycle(ack.now);
        }
    }

    /// The pacing gain. Probing would only lose more at a policer.
    fn gain(&self) -> f64 {
        if self.mode == Mode::ProbeBw && self.model.is_policed() {
            1.0
        } else {
            self.pacing_gain
        }
    }

    fn advance_cycle(&mut self, now: Nanos) {
        self.cycle_stamp = now;
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.pacing_gain = CYCLE[self.cycle];
    }

    fn check_drain(&mut self, window: &Window, ack: &Ack) {
        if self.mode == Mode::Startup && self.model.filled_pipe {
            self.mode = Mode::Drain;
            self.pacing_gain = 1.0 / self.params.high_gain;
            self.cwnd_gain = self.params.high_gain;
        }
        if self.mode == Mode::Drain && ack.in_flight <= self.inflight(window, 1.0) {
            self.enter_probe_bw(ack.now);
        }
    }

    /// Section 4.3.4.3: start in any phase except the draining one, so that flows do not probe at the same time.
    fn enter_probe_bw(&mut self, now: Nanos) {
        self.mode = Mode::ProbeBw;
        self.cwnd_gain = self.params.cwnd_gain;
        self.cycle = CYCLE.len() - 1 - self.rng.below(CYCLE.len() as u64 - 1) as usize;
        self.advance_cycle(now);
    }

    /// Section 4.3.5.
    fn check_probe_rtt(&mut self, window: &mut Window, ack: &Ack) {
        if self.mode != Mode::ProbeRtt && self.model.min_rtt_expired && !self.idle_restart {
            self.save_cwnd(window);
            self.mode = Mode::ProbeRtt;
            self.pacing_gain = 1.0;
            self.cwnd_gain = 1.0;
            self.probe_done = NEVER;
            self.model.hold_down(ack);
        }
        if self.mode == Mode::ProbeRtt {
            self.model.still_held_down(ack);
            if self.probe_done == NEVER {
                if ack.in_flight <= self.min_window(window) {
                    self.probe_done = ack.now + self.params.probe_rtt.0;
                    self.probe_round_done = false;
                    self.model.restart_round(ack);
                }
            } else {
                self.probe_round_done |= self.model.round_start;
                if self.probe_round_done && ack.now > self.probe_done {
                    self.exit_probe_rtt(window, ack.now);
                }
            }
        }
        self.idle_restart = false;
    }

    fn exit_probe_rtt(&mut self, window: &mut Window, now: Nanos) {
        self.model.stamp_min_rtt(now);
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.model.filled_pipe {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
            self.pacing_gain = self.params.high_gain;
            self.cwnd_gain = self.params.high_gain;
        }
    }

    /// Section 4.2.1: the rate may fall only once the pipe has been filled.
    fn set_pacing(&self, window: &mut Window, gain: f64) {
        let rate = whole(gain * self.model.bw() * (1.0 - self.params.pacing_margin));
        if rate > window.pacing || (self.model.filled_pipe && rate < window.pacing) {
            window.pacing = rate.max(1);
            set_quantum(window);
        }
    }

    /// Section 4.2.1: before any sample, the initial window over the RTT, or over 1 ms if the RTT is unknown.
    fn initial_pacing(&self, window: &mut Window, rtt: Nanos) {
        let rtt = if rtt == 0 { MILLISECOND } else { rtt };
        window.pacing =
            ((self.params.high_gain * window.cwnd as f64 * 1e9 / rtt as f64) as u64).max(1);
        set_quantum(window);
    }

    /// Section 4.2.3.2: the window for `gain` bandwidth-delay products, with room for three bursts.
    fn inflight(&mut self, window: &Window, gain: f64) -> u64 {
        let bdp = self.model.bdp();
        bdp.map_or(window.initial, |bdp| {
            self.quantized(window, whole(gain * bdp))
        })
    }

    /// As in Linux: an even number of segments, which suits delayed ACKs, and two more in the probing phase, so that a small window can probe at all.
    fn quantized(&mut self, window: &Window, bytes: u64) -> u64 {
        let bytes = bytes.saturating_add(3 * window.quantum);
        if bytes != self.rounded.0 {
            self.rounded = (bytes, bytes.div_ceil(window.mss).next_multiple_of(2));
        }
        let probing = self.mode == Mode::ProbeBw && self.cycle == PROBE_UP;
        (self.rounded.1 + if probing { 2 } else { 0 }) * window.mss
    }

    /// The bytes that ACK aggregation adds to the target, at most 100 ms of data.
    fn aggregated(&self) -> u64 {
        if !self.model.filled_pipe {
            return 0;
        }
        let extra = self.params.extra_acked_gain * float(self.aggregation.extra());
        whole(extra.min(self.model.bw() * 0.1))
    }

    fn min_window(&self, window: &Window) -> u64 {
        u64::from(self.params.min_window) * window.mss
    }

    /// Section 4.2.3.4: saves the window before recovery or ProbeRTT reduces it.
    fn save_cwnd(&mut self, window: &Window) {
        let cut = self.in_recovery || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if cut {
            self.prior_cwnd.max(window.cwnd)
        } else {
            window.cwnd
        };
    }

    /// Section 4.2.3.
    fn set_cwnd(&mut self, window: &mut Window, ack: &Ack) {
        let bdp = self.model.bdp();
        let target = bdp.map_or(window.initial, |bdp| {
            self.quantized(window, whole(self.cwnd_gain * bdp) + self.aggregated())
        });
        let floor = self.min_window(window);
        if ack.lost_now > 0 {
            window.cwnd = window.cwnd.saturating_sub(ack.lost_now).max(window.mss);
        }
        if std::mem::take(&mut self.recovered) {
            self.in_recovery = false;
            self.conservation = false;
            window.cwnd = window.cwnd.max(self.prior_cwnd);
        }
        if self.conservation {
            window.cwnd = window.cwnd.max(ack.in_flight + ack.delivered_now);
        } else {
            let grown = window.cwnd + ack.delivered_now;
            if self.model.filled_pipe {
                window.cwnd = grown.min(target);
            } else if window.cwnd < target || ack.delivered < window.initial {
                window.cwnd = grown;
            }
            window.cwnd = window.cwnd.max(floor);
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(floor);
        }
    }
}

/// Section 4.2.2: sets the size of a burst to the whole segments of a millisecond, as in Linux (2^-10 s): at least one below 1.2 Mbit/s, otherwise at
/// least two.
fn set_quantum(window: &mut Window) {
    let least = if window.pacing < 150_000 { 1 } else { 2 };
    let burst = (window.pacing >> 10).min(64 * 1024);
    window.quantum = (burst / window.mss).max(least) * window.mss;
}

impl CongestionControl for Bbr {
    fn on_start(&mut self, window: &mut Window, now: Nanos) {
        self.model.stamp_min_rtt(now);
        self.aggregation = AckAggregation::new(now);
        self.initial_pacing(window, 0);
    }

    /// BBRInit: the RTT of the handshake is the first estimate.
    fn on_handshake(&mut self, window: &mut Window, rtt: Nanos) {
        self.seen_rtt = true;
        self.model.min_rtt = rtt;
        self.initial_pacing(window, rtt);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !self.seen_rtt && ack.srtt > 0 {
            self.seen_rtt = true;
            self.initial_pacing(window, ack.srtt);
        }
        self.update_model(window, ack);
        self.check_cycle(window, ack);
        self.model.check_full_pipe(ack);
        self.check_drain(window, ack);
        self.model.update_min_rtt(ack);
        self.check_probe_rtt(window, ack);
        self.set_pacing(window, self.gain());
        self.set_cwnd(window, ack);
    }

    fn on_congestion(&mut self, window: &mut Window, signal: Signal, ack: &Ack) {
        if signal == Signal::Ecn {
            return;
        }
        self.save_cwnd(window);
        self.in_recovery = true;
        // As in Linux, a recovery that begins with the ACK that ends another one continues it.
        let begins = !std::mem::take(&mut self.recovered);
        if begins && signal == Signal::Loss {
            // Section 4.2.3.4: send as much as was delivered, for one round.
            self.conservation = true;
            self.model.restart_round(ack);
            window.cwnd = ack.in_flight + ack.delivered_now.max(window.mss);
        }
    }

    fn on_recovered(&mut self, _: &mut Window, _: &Ack) {
        self.recovered = self.in_recovery;
    }

    fn on_timeout(&mut self, window: &mut Window, _: Nanos) {
        // Section 4.2.3.4, and as in Linux: restart the search for the full pipe.
        self.conservation = false;
        self.model.full_bw = 0.0;
        window.cwnd = window.mss;
    }

    /// As in Linux: the search for the full pipe starts anew, because its rounds were slowed down without need.
    fn on_undo(&mut self, _: &mut Window, _: &Ack) {
        self.model.restart_search();
    }

    fn observes_sends(&self) -> bool {
        true
    }

    fn on_send(&mut self, window: &mut Window, now: Nanos, in_flight: u64, app_limited: bool) {
        // Section 4.3.4.4: restart from idle at the estimated rate, neither probing nor draining.
        if app_limited && in_flight <= window.mss {
            self.idle_restart = true;
            self.aggregation.restart(now);
            match self.mode {
                Mode::ProbeBw => self.set_pacing(window, 1.0),
                // ProbeRTT ended during the idle time, as in Linux.
                Mode::ProbeRtt if now > self.probe_done => self.exit_probe_rtt(window, now),
                _ => {}
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
        let mut state = vec![
            ("mode", f64::from(self.mode as u8)),
            ("pacing_gain", self.gain()),
            ("cwnd_gain", self.cwnd_gain),
            ("bw", self.model.bw()),
            ("round", self.model.round as f64),
        ];
        if self.model.min_rtt != NEVER {
            state.push(("min_rtt", self.model.min_rtt as f64));
        }
        state
    }
}
