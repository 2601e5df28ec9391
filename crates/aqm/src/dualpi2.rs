//! DualPI2 (RFC 9332): two queues, one of low latency for scalable congestion controls, coupled so that both share the link evenly.

use bloatlab_units::{Duration, Limit, MILLISECOND, Nanos, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ring::{Capacity, Ring};
use crate::tc::{Form, Word};
use crate::{Algorithm, Context, DropReason, Ecn, Packet, Qdisc, Sink, Tc, Verdict, mark};

/// Dual-queue coupled AQM: L4S packets wait in a shallow queue of their own and are marked early; a PI controller of the delay couples
/// their marks to the drops of the classic queue.
///
/// Packets whose ECN field says L4S go to the low-latency queue, all others to the classic one. A PI controller keeps the classic delay at
/// `target`; its output is squared for classic drops and multiplied by `coupling_factor` for L4S marks, so that both sorts of congestion
/// control get about the same rate. Beyond the coupling, every L4S packet that has waited longer than `step_thresh` is marked. Use it with
/// `dctcp`, `prague` or other scalable senders beside classic ones. A sender that says ECT(1) but answers as a classic one, or not at all,
/// takes what is not its own until the overload protection drops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How much both queues together hold, in packets or bytes; what arrives beyond it is dropped.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// The queueing delay that the classic queue is steered to.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub target: Duration,
    /// How often the base probability is computed.
    #[schemars(extend("x-minimum" = "10us", "x-maximum" = "1h"))]
    pub tupdate: Duration,
    /// Weight of the delay's distance from the target, per second.
    #[schemars(range(min = 0.0, max = 255.0))]
    pub alpha: f64,
    /// Weight of the delay's change, per second.
    #[schemars(range(min = 0.0, max = 255.0))]
    pub beta: f64,
    /// L4S packets are marked with this many times the base probability, classic ones signalled to with its square.
    #[schemars(range(min = 0, max = 255))]
    pub coupling_factor: u32,
    /// Sojourn time in the L4S queue above which every packet is marked.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1h"))]
    pub step_thresh: Duration,
    /// The step as a number of packets behind the one that leaves, instead of a time; absent: `step_thresh`.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub step_packets: Option<u32>,
    /// Packets that a packet must leave behind it in the L4S queue for the step to apply to it.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub min_qlen_step: u32,
    /// Per cent of the link that the classic queue gets at least, while both hold packets.
    #[schemars(range(min = 0, max = 100))]
    pub classic_protection: u32,
    /// When even marking every L4S packet does not suffice, drop like classic ones; otherwise mark all until the limit is reached.
    pub drop_on_overload: bool,
    /// Signal to packets as they arrive instead of as they leave.
    pub drop_enqueue: bool,
    /// Which packets wait in the L4S queue.
    pub ecn_class: EcnClass,
}

/// Which packets count as L4S.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EcnClass {
    /// ECT(1) and CE (RFC 9331).
    L4sEct,
    /// Every ECN-capable one: for a network in which all use DCTCP.
    AnyEct,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            // Linux's sch_dualpi2: 10 000 packets, update and gains for an RTT of 100 ms as in RFC 9332 appendix A.1, rounded.
            limit: Limit::Packets(10_000),
            target: Duration(15 * MILLISECOND),
            tupdate: Duration(16 * MILLISECOND),
            alpha: 0.16,
            beta: 3.2,
            // RFC 9332 section 2.5: rates are about even with 2.
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

impl Algorithm for Params {
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
            law: Law {
                target: self.target.seconds(),
                alpha: self.alpha,
                beta: self.beta,
                coupling: f64::from(self.coupling_factor),
                drop_on_overload: self.drop_on_overload,
                floor: 2 * u64::from(context.mtu),
            },
            vars: Vars::default(),
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

/// The coupled law: a PI controller of the delay, and what it means for either class.
struct Law {
    target: f64,
    alpha: f64,
    beta: f64,
    coupling: f64,
    drop_on_overload: bool,
    /// Bytes below which nothing is signalled.
    floor: u64,
}

/// What the controller remembers.
#[derive(Clone, Copy, Debug, Default)]
struct Vars {
    /// Base probability, p' of the RFC.
    prob: f64,
    /// Delay at the last update, seconds.
    qdelay_old: f64,
}

impl Law {
    /// RFC 9332 appendix A.1: computes the base probability anew from the delay in seconds.
    fn update(&self, vars: &mut Vars, qdelay: f64) {
        let error = self.alpha * (qdelay - self.target);
        let trend = self.beta * (qdelay - vars.qdelay_old);
        // Linux: a queue that marks all L4S packets rather than to drop stops where the mark probability is 1, which keeps rates even.
        let most = if self.drop_on_overload || self.coupling <= 1.0 {
            1.0
        } else {
            1.0 / self.coupling
        };
        vars.prob = (vars.prob + error + trend).clamp(0.0, most);
        vars.qdelay_old = qdelay;
    }

    /// Judges a packet, this backlog being behind it, or before it, in both queues.
    #[inline]
    fn judge(&self, vars: &Vars, is_l4s: bool, backlog: u64, rng: &mut Rng) -> Verdict {
        // Linux: no signal while less than two packets wait.
        if vars.prob == 0.0 || backlog < self.floor {
            return Verdict::Forward;
        }
        let coupled = self.coupling * vars.prob;
        // RFC 9332 section 4.2 and appendix A.2: beyond this, marks do not hold L4S traffic back: both classes see drops.
        let overload = coupled > 1.0;
        if is_l4s && !overload {
            return if rng.chance(coupled) {
                Verdict::Mark
            } else {
                Verdict::Forward
            };
        }
        let is_hit = (!is_l4s || self.drop_on_overload) && rng.chance(vars.prob * vars.prob);
        match (is_l4s, is_hit) {
            (true, true) => Verdict::Drop,
            (true, false) => Verdict::Mark,
            (false, true) if overload => Verdict::Drop,
            (false, true) => Verdict::Mark,
            (false, false) => Verdict::Forward,
        }
    }
}

/// The L4S queue's own AQM: marks everything beyond a step.
struct Step {
    time: Nanos,
    packets: Option<u64>,
    least: u64,
}

impl Step {
    /// Whether a packet of this sojourn time that leaves so many behind it is beyond.
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
    law: Law,
    vars: Vars,
    step: Step,
    drop_enqueue: bool,
    /// Per cent for the classic queue.
    share: i64,
    /// Above 0 it is the classic queue's turn: bytes sent by either, weighted by the other's share.
    credit: i64,
    /// The credit of an idle link: the L4S queue goes first.
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

    /// Whether it is the L4S queue's turn, and what a byte that is sent does to the credit; RFC 9332 section 4.1.2 asks for a conditional
    /// priority.
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
    /// Carries the law's verdict out; whether the packet stays.
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
                sink.dropped(packet, DropReason::Law);
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
            let (law, backlog) = (&self.law, self.bytes());
            let verdict = law.judge(&self.vars, is_l4s, backlog, &mut self.rng);
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
            // The packet is judged where it lies; what it leaves behind is the backlog.
            let Some(packet) = queue.front_mut() else {
                break;
            };
            let size = packet.size();
            if !self.drop_enqueue {
                let (law, backlog) = (&self.law, bytes - u64::from(size));
                let verdict = law.judge(&self.vars, is_l4s, backlog, &mut self.rng);
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

    fn next_wake(&self) -> Option<Nanos> {
        Some(self.next_update)
    }

    fn wake(&mut self, now: Nanos) {
        let stats = &mut self.stats;
        stats.delay_c = head_delay(&self.classic, now);
        stats.delay_l = head_delay(&self.l4s, now);
        // RFC 9332 section 2.4: the longer of the two delays counts.
        let delay = stats.delay_c.max(stats.delay_l);
        self.law
            .update(&mut self.vars, delay as f64 / SECOND as f64);
        self.next_update = now + self.tupdate;
    }

    /// `delay_c` and `delay_l` are those of the last update, seconds; `credit` is in bytes times per cent.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        let stats = &self.stats;
        vec![
            ("prob", self.vars.prob),
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
