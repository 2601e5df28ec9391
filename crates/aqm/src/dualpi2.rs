//! DualPI2 (RFC 9332): two queues, one with low latency for scalable congestion controls, coupled so that both share the link evenly.

use bloatlab_units::{Duration, Limit, MILLISECOND, Nanos, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ring::{Capacity, Ring};
use crate::tc::{Form, Word};
use crate::{
    Band, Context, DropReason, Ecn, Factory, Packet, Qdisc, Sink, Slot, Tc, Verdict, mark,
};

/// Dual-queue coupled AQM: L4S packets wait in a separate shallow queue and are marked early; a PI controller of the delay couples their marks to the
/// drops of the classic queue.
///
/// Packets whose ECN field identifies them as L4S go to the low-latency queue, all others to the classic queue. A PI controller keeps the classic
/// delay at `target`. Its output is squared for classic drops and multiplied by `coupling_factor` for L4S marks, so that both kinds of congestion
/// control get about the same rate. In addition, every L4S packet whose sojourn time exceeds `step_thresh` is marked. Use it with `dctcp`, `prague`
/// or other scalable senders together with classic ones. A sender that sends ECT(1) but responds as a classic sender, or not at all, takes more than
/// its share until the overload protection drops its packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Capacity of both queues together, in packets or bytes. Packets beyond it are dropped on arrival.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Target queueing delay of the classic queue.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub target: Duration,
    /// Time between two computations of the base probability.
    #[schemars(extend("x-minimum" = "10us", "x-maximum" = "1h"))]
    pub tupdate: Duration,
    /// Weight of the difference between delay and target, per second.
    #[schemars(range(min = 0.0, max = 255.0))]
    pub alpha: f64,
    /// Weight of the change of the delay, per second.
    #[schemars(range(min = 0.0, max = 255.0))]
    pub beta: f64,
    /// L4S packets are marked with this many times the base probability. Classic packets get signals with its square.
    #[schemars(range(min = 0, max = 255))]
    pub coupling_factor: u32,
    /// Sojourn time in the L4S queue above which every packet is marked.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1h"))]
    pub step_thresh: Duration,
    /// Number of packets behind the departing packet above which it is marked, instead of `step_thresh`. If absent, `step_thresh` applies.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub step_packets: Option<u32>,
    /// Number of packets that must be behind a packet in the L4S queue for the step to apply to it.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub min_qlen_step: u32,
    /// Smallest share of the link for the classic queue while both queues hold packets, in percent.
    #[schemars(range(min = 0, max = 100))]
    pub classic_protection: u32,
    /// If marking every L4S packet is not enough, drop L4S packets as classic ones. Otherwise mark all of them until the limit is reached.
    pub drop_on_overload: bool,
    /// Signal to packets on arrival instead of on departure.
    pub drop_enqueue: bool,
    /// Which packets enter the L4S queue.
    pub ecn_class: EcnClass,
}

/// Which packets are treated as L4S.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EcnClass {
    /// ECT(1) and CE (RFC 9331).
    L4sEct,
    /// All ECN-capable packets, for a network in which all senders use DCTCP.
    AnyEct,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            // Linux's sch_dualpi2: 10 000 packets; update time and gains for an RTT of 100 ms as in RFC 9332 appendix A.1, rounded.
            limit: Limit::Packets(10_000),
            target: Duration(15 * MILLISECOND),
            tupdate: Duration(16 * MILLISECOND),
            alpha: 0.16,
            beta: 3.2,
            // RFC 9332 section 2.5: with 2, the rates are about even.
            coupling_factor: 2,
            step_thresh: Duration(MILLISECOND),
            step_packets: None,
            min_qlen_step: 0,
            classic_protection: 10,
            drop_on_overload: true,
            drop_enqueue: false,
            ecn_class: EcnClass::L4sEct,
        }
    }
}

impl Factory for Params {
    const SOURCE: &'static str = "RFC 9332, appendix A; limit, step and shares as in tc-dualpi2(8)";
    const TC: &'static [Tc] = &[Tc {
        name: "dualpi2",
        words: &[
            Word::same("limit", Form::Packets),
            Word::same("coupling_factor", Form::Integer),
            Word::same("step_thresh", Form::Time),
            Word::same("min_qlen_step", Form::Integer),
            Word::new("drop_on_overload", "drop_on_overload", Form::Flag("true")),
            Word::new("overflow", "drop_on_overload", Form::Flag("false")),
            Word::new("drop_enqueue", "drop_enqueue", Form::Flag("true")),
            Word::new("drop_dequeue", "drop_enqueue", Form::Flag("false")),
            Word::same("classic_protection", Form::Integer),
            Word::same("target", Form::Time),
            Word::same("tupdate", Form::Time),
            Word::same("alpha", Form::Number(1.0)),
            Word::same("beta", Form::Number(1.0)),
            Word::new("l4s_ect", "ecn_class", Form::Flag("\"l4s_ect\"")),
            Word::new("any_ect", "ecn_class", Form::Flag("\"any_ect\"")),
        ],
        required: &[],
        presets: &[],
    }];

    fn check(&self) -> Result<(), String> {
        Capacity::not_in_buffers(self.limit)
    }

    fn build<P: Packet>(&self, context: Context) -> Box<dyn Qdisc<P>> {
        let share = i64::from(self.classic_protection);
        let start = i64::from(context.mtu) * (2 * share - 100);
        Box::new(DualPi2 {
            classic: Ring::default(),
            l4s: Ring::default(),
            capacity: Capacity::new(self.limit, 1),
            any_ect: self.ecn_class == EcnClass::AnyEct,
            controller: CoupledController {
                target: self.target.seconds(),
                alpha: self.alpha,
                beta: self.beta,
                coupling: f64::from(self.coupling_factor),
                drop_on_overload: self.drop_on_overload,
                floor: 2 * u64::from(context.mtu),
            },
            state: ControllerState::default(),
            step: Step {
                time: self.step_thresh.0,
                packets: self.step_packets.map(u64::from),
                least: u64::from(self.min_qlen_step),
            },
            drop_enqueue: self.drop_enqueue,
            share,
            credit: start,
            start,
            tupdate: self.tupdate.0,
            next_update: self.tupdate.0,
            rng: context.rng,
            stats: Stats::default(),
        })
    }
}

/// The coupled controller: a PI controller of the delay, and its decisions for both classes.
struct CoupledController {
    target: f64,
    alpha: f64,
    beta: f64,
    coupling: f64,
    drop_on_overload: bool,
    /// There are no signals below this backlog, bytes.
    floor: u64,
}

/// The controller's state.
#[derive(Clone, Copy, Debug, Default)]
struct ControllerState {
    /// Base probability, p' of the RFC.
    prob: f64,
    /// Delay at the last update, seconds.
    qdelay_old: f64,
}

impl CoupledController {
    /// RFC 9332 appendix A.1: computes the base probability from the delay in seconds.
    fn update(&self, state: &mut ControllerState, qdelay: f64) {
        let error = self.alpha * (qdelay - self.target);
        let trend = self.beta * (qdelay - state.qdelay_old);
        // As in Linux: a queue that marks all L4S packets instead of dropping them stops where the mark probability is 1, which keeps the rates even.
        let most = if self.drop_on_overload || self.coupling <= 1.0 {
            1.0
        } else {
            1.0 / self.coupling
        };
        state.prob = (state.prob + error + trend).clamp(0.0, most);
        state.qdelay_old = qdelay;
    }

    /// Judges a packet. `backlog` is that of both queues, behind the packet or before it.
    #[inline]
    fn judge(&self, state: &ControllerState, is_l4s: bool, backlog: u64, rng: &mut Rng) -> Verdict {
        // As in Linux: no signals while less than two packets wait.
        if state.prob == 0.0 || backlog < self.floor {
            return Verdict::Forward;
        }
        let coupled = self.coupling * state.prob;
        // RFC 9332 section 4.2 and appendix A.2: above this, marks do not control L4S traffic, so packets of both classes are dropped.
        let overload = coupled > 1.0;
        if is_l4s && !overload {
            return if rng.chance(coupled) {
                Verdict::Mark
            } else {
                Verdict::Forward
            };
        }
        let is_hit = (!is_l4s || self.drop_on_overload) && rng.chance(state.prob * state.prob);
        match (is_l4s, is_hit) {
            (true, true) => Verdict::Drop,
            (true, false) => Verdict::Mark,
            (false, true) if overload => Verdict::Drop,
            (false, true) => Verdict::Mark,
            (false, false) => Verdict::Forward,
        }
    }
}

/// The AQM of the L4S queue: marks every packet beyond a step.
struct Step {
    time: Nanos,
    packets: Option<u64>,
    least: u64,
}

impl Step {
    /// Whether a packet with this sojourn time, and `behind` packets behind it, is beyond the step.
    #[inline]
    fn is_passed(&self, sojourn: Nanos, behind: u64) -> bool {
        behind >= self.least
            && match self.packets {
                Some(packets) => behind > packets,
                None => sojourn > self.time,
            }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Stats {
    delay_c: Nanos,
    delay_l: Nanos,
    pkts_in_c: u64,
    pkts_in_l: u64,
    maxq: u64,
    ecn_mark: u64,
    step_marks: u64,
    dropped: u64,
    overlimit: u64,
}

struct DualPi2<P> {
    classic: Ring<P>,
    l4s: Ring<P>,
    capacity: Capacity,
    any_ect: bool,
    controller: CoupledController,
    state: ControllerState,
    step: Step,
    drop_enqueue: bool,
    /// Share of the classic queue, percent.
    share: i64,
    /// Bytes sent by either queue, weighted by the share of the other. If positive, the classic queue is served next.
    credit: i64,
    /// The credit of an idle link, with which the L4S queue is served first.
    start: i64,
    tupdate: Nanos,
    next_update: Nanos,
    rng: Rng,
    stats: Stats,
}

/// How long the head of a queue has waited.
#[inline]
fn head_delay<P: Packet>(queue: &Ring<P>, now: Nanos) -> Nanos {
    let since = |packet: &P| now.saturating_sub(packet.enqueued_at());
    queue.front().map_or(0, since)
}

impl<P: Packet> DualPi2<P> {
    #[inline]
    fn is_l4s(&self, packet: &P) -> bool {
        match packet.ecn() {
            Ecn::NotEct => false,
            Ecn::Ect0 => self.any_ect,
            Ecn::Ect1 | Ecn::Ce => true,
        }
    }

    /// Whether the L4S queue is served next, and how much the credit changes per byte sent. RFC 9332 section 4.1.2 requires a conditional priority.
    #[inline]
    fn turn(&self) -> (bool, i64) {
        let is_contended = self.classic.packets() > 0 && self.l4s.packets() > 0;
        match (is_contended, self.credit <= 0) {
            (false, _) => (self.l4s.packets() > 0, 0),
            (true, true) => (true, self.share),
            (true, false) => (false, self.share - 100),
        }
    }
}

impl Stats {
    /// Applies the controller's decision. Returns whether the packet stays.
    #[inline]
    fn obey<P: Packet>(
        &mut self,
        verdict: Verdict,
        packet: &mut P,
        sink: &mut dyn Sink<P>,
    ) -> bool {
        match verdict {
            Verdict::Forward => true,
            Verdict::Mark if mark(packet) => {
                self.ecn_mark += 1;
                sink.marked(packet);
                true
            }
            Verdict::Mark | Verdict::Drop => {
                self.dropped += 1;
                sink.dropped(packet, DropReason::Aqm);
                false
            }
        }
    }
}

impl<P: Packet> Qdisc<P> for DualPi2<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        packet.set_enqueued_at(now);
        let packets = self.packets();
        if !self.capacity.fits(packets, self.bytes(), packet.size()) {
            self.stats.overlimit += 1;
            sink.dropped(&packet, DropReason::Overflow);
            return;
        }
        let is_l4s = self.is_l4s(&packet);
        if self.drop_enqueue {
            let (controller, backlog) = (&self.controller, self.bytes());
            let verdict = controller.judge(&self.state, is_l4s, backlog, &mut self.rng);
            if !self.stats.obey(verdict, &mut packet, sink) {
                return;
            }
        }
        if is_l4s {
            self.stats.pkts_in_l += 1;
            self.l4s.push(packet);
        } else {
            self.stats.pkts_in_c += 1;
            self.classic.push(packet);
        }
        self.stats.maxq = self.stats.maxq.max(packets + 1);
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, sink: &mut dyn Sink<P>) -> Option<P> {
        loop {
            let ((is_l4s, weight), bytes) = (self.turn(), self.bytes());
            let queue = if is_l4s {
                &mut self.l4s
            } else {
                &mut self.classic
            };
            let packets = queue.packets();
            // The packet is judged in place. The backlog is what it leaves behind.
            let Some(packet) = queue.front_mut() else {
                break;
            };
            let size = packet.size();
            if !self.drop_enqueue {
                let (controller, backlog) = (&self.controller, bytes - u64::from(size));
                let verdict = controller.judge(&self.state, is_l4s, backlog, &mut self.rng);
                if !self.stats.obey(verdict, packet, sink) {
                    queue.pop();
                    continue;
                }
            }
            if is_l4s && packet.ecn() != Ecn::Ce {
                let sojourn = now.saturating_sub(packet.enqueued_at());
                if self.step.is_passed(sojourn, packets - 1) {
                    packet.set_ce();
                    self.stats.step_marks += 1;
                    sink.marked(packet);
                }
            }
            self.credit += weight * i64::from(size);
            return queue.pop();
        }
        self.credit = self.start;
        None
    }

    fn packets(&self) -> u64 {
        self.classic.packets() + self.l4s.packets()
    }

    fn bytes(&self) -> u64 {
        self.classic.bytes() + self.l4s.bytes()
    }

    fn contents(&self, visit: &mut dyn FnMut(Slot, &P)) {
        self.l4s.contents(Slot::band(0), visit);
        self.classic.contents(Slot::band(1), visit);
    }

    fn bands(&self) -> Vec<Band> {
        vec![Band::new("L", 1), Band::new("C", 1)]
    }

    fn next_wake(&self) -> Option<Nanos> {
        Some(self.next_update)
    }

    fn wake(&mut self, now: Nanos) {
        let stats = &mut self.stats;
        stats.delay_c = head_delay(&self.classic, now);
        stats.delay_l = head_delay(&self.l4s, now);
        // RFC 9332 section 2.4: the longer one of the two delays is used.
        let delay = stats.delay_c.max(stats.delay_l);
        self.controller
            .update(&mut self.state, delay as f64 / SECOND as f64);
        self.next_update = now + self.tupdate;
    }

    /// `delay_c` and `delay_l` are those of the last update, in seconds. `credit` is in bytes times percent.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        let stats = &self.stats;
        vec![
            ("prob", self.state.prob),
            ("delay_c", stats.delay_c as f64 / SECOND as f64),
            ("delay_l", stats.delay_l as f64 / SECOND as f64),
            ("pkts_in_c", stats.pkts_in_c as f64),
            ("pkts_in_l", stats.pkts_in_l as f64),
            ("maxq", stats.maxq as f64),
            ("ecn_mark", stats.ecn_mark as f64),
            ("step_marks", stats.step_marks as f64),
            ("credit", self.credit as f64),
            ("dropped", stats.dropped as f64),
            ("overlimit", stats.overlimit as f64),
        ]
    }
}
