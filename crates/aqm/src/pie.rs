//! PIE (RFC 8033): a proportional integral controller of the queueing delay, and a queue that uses it.

use std::hint::select_unpredictable;

use bloatlab_units::{Duration, Limit, MILLISECOND, Nanos, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::departure_rate::DepartureRate;
use crate::ring::{Capacity, Ring};
use crate::{
    BufferDecision, Context, DropReason, Factory, Form, Packet, Qdisc, Sink, Slot, Tc, Verdict,
    Word, mark,
};

/// Proportional Integral controller Enhanced: drops arrivals at random, with a probability that keeps the delay at a target.
///
/// Every `tupdate` the probability changes by `alpha` times the difference between delay and `target`, plus `beta` times the change of the delay. The
/// steps are small while the probability is small. After a quiet time, bursts of up to `max_burst` pass. It drops on arrival and needs no timestamps,
/// which is why cable modems use it. Use it for a single queue with a known target delay. Above a probability of 0.1, ECN-capable packets are dropped
/// instead of marked, so unresponsive ECN traffic cannot take the link.
///
/// A buffer of segmentation offload is one packet, as in Linux: it is forwarded, marked or dropped as a whole. Limits count its segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Capacity of the queue, in packets or bytes. Packets beyond it are dropped on arrival.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Target queueing delay.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub target: Duration,
    /// Time between two computations of the drop probability.
    #[schemars(extend("x-minimum" = "10us", "x-maximum" = "1h"))]
    pub tupdate: Duration,
    /// Weight of the difference between delay and target, per second (tc writes 16 times this value).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub alpha: f64,
    /// Weight of the change of the delay, per second (tc writes 16 times this value).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub beta: f64,
    /// Duration of a burst that passes without drops after a quiet time.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1h"))]
    pub max_burst: Duration,
    /// Mark ECN-capable packets instead of dropping them, while the probability is at most `mark_ecnth`.
    pub ecn: bool,
    /// Drop probability above which ECN-capable packets are dropped, too.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub mark_ecnth: f64,
    /// Scale the drop probability of small packets by their size.
    pub bytemode: bool,
    /// Estimate the delay from the departure rate by Little's controller, instead of from timestamps.
    pub dq_rate_estimator: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            // tc-pie(8): 1000 packets, ECN and byte mode off, timestamps.
            limit: Limit::Packets(1000),
            ecn: false,
            bytemode: false,
            dq_rate_estimator: false,
            // RFC 8033 sections 4.2, 4.4 and 5.1.
            target: Duration(15 * MILLISECOND),
            tupdate: Duration(15 * MILLISECOND),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Duration(150 * MILLISECOND),
            mark_ecnth: 0.1,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["PieQueueDisc"];
    const SOURCE: &'static str = "RFC 8033; limit, ECN and timestamps as in tc-pie(8)";
    const TC: &'static [Tc] = &[Tc {
        name: "pie",
        words: &[
            Word::same("limit", Form::Packets),
            Word::same("target", Form::Time),
            Word::same("tupdate", Form::Time),
            Word::same("alpha", Form::Whole(16.0, 32)),
            Word::same("beta", Form::Whole(16.0, 32)),
            Word::same("ecn", Form::Flag("true")),
            Word::new("noecn", "ecn", Form::Flag("false")),
            Word::same("bytemode", Form::Flag("true")),
            Word::new("nobytemode", "bytemode", Form::Flag("false")),
            Word::same("dq_rate_estimator", Form::Flag("true")),
            Word::new(
                "no_dq_rate_estimator",
                "dq_rate_estimator",
                Form::Flag("false"),
            ),
        ],
        required: &[],
        presets: &[],
    }];

    fn check(&self) -> Result<(), String> {
        Capacity::not_in_buffers(self.limit)
    }

    fn build<P: Packet>(&self, context: Context) -> Box<dyn Qdisc<P>> {
        Box::new(Pie {
            ring: Ring::default(),
            capacity: Capacity::new(self.limit, 1),
            controller: PieController::new(self, context.mtu),
            state: PieState::new(self),
            rate: self.dq_rate_estimator.then(DepartureRate::default),
            next_update: self.tupdate.0,
            rng: context.rng,
            stats: Stats::default(),
            buffer: BufferDecision::new(Verdict::Forward),
        })
    }
}

/// PIE's parameters, in the units of its computation.
#[derive(Clone, Debug)]
pub struct PieController {
    target: f64,
    tupdate: Nanos,
    alpha: f64,
    beta: f64,
    max_burst: Nanos,
    ecn: bool,
    mark_ecnth: f64,
    bytemode: bool,
    mtu: u32,
    /// The highest value of `prob`.
    most: f64,
}

/// PIE's state of one queue.
#[derive(Clone, Copy, Debug)]
pub struct PieState {
    /// Drop probability.
    prob: f64,
    /// Sum of the probabilities since the last drop.
    accu_prob: f64,
    /// For how much longer a burst may pass without drops.
    burst_allowance: Nanos,
    /// Newest measurement of the delay, seconds.
    qdelay: f64,
    /// Delay at the last update, seconds.
    qdelay_old: f64,
}

impl PieState {
    /// The state of a new queue.
    pub fn new(params: &Params) -> Self {
        Self {
            prob: 0.0,
            accu_prob: 0.0,
            burst_allowance: params.max_burst.0,
            qdelay: 0.0,
            qdelay_old: 0.0,
        }
    }

    /// The drop probability.
    pub fn prob(&self) -> f64 {
        self.prob
    }

    /// The newest measurement of the delay, in seconds.
    pub fn qdelay(&self) -> f64 {
        self.qdelay
    }

    /// Measures the delay by a departure: the sojourn time of the packet, or 0 if it left the queue empty.
    #[inline]
    pub fn departed(&mut self, sojourn: Nanos, backlog: u64) {
        self.qdelay = select_unpredictable(backlog == 0, 0, sojourn) as f64 / SECOND as f64;
    }

    /// Records that a packet was dropped because the queue was full.
    pub(crate) fn overflowed(&mut self) {
        self.accu_prob = 0.0;
    }
}

impl PieController {
    /// Creates a controller. As in Linux, it never signals while less than two packets of `mtu` bytes are queued.
    pub fn new(params: &Params, mtu: u32) -> Self {
        Self {
            target: params.target.seconds(),
            tupdate: params.tupdate.0,
            alpha: params.alpha,
            beta: params.beta,
            max_burst: params.max_burst.0,
            ecn: params.ecn,
            mark_ecnth: params.mark_ecnth,
            bytemode: params.bytemode,
            mtu,
            // RFC 8033 section 4.2: a probability is at most 1.
            most: 1.0,
        }
    }

    /// Lets the probability rise up to 256, as Linux does. Above 1, every packet gets a signal. So a queue that was long for a long time gets every
    /// signal until its delay has been short for as long.
    pub(crate) fn winding_up(self) -> Self {
        Self {
            most: 256.0,
            ..self
        }
    }

    /// Judges a packet of `size` bytes that arrives at a queue with this backlog in bytes.
    #[inline]
    pub fn judge(&self, state: &mut PieState, backlog: u64, size: u32, rng: &mut Rng) -> Verdict {
        // RFC 8033 section 4.4: a burst after a quiet time passes.
        if state.burst_allowance > 0 {
            return Verdict::Forward;
        }
        // RFC 8033 section 4.1: do not drop while the delay is low or the queue is almost empty. As in Linux, the delay is the newest one.
        let calm = state.qdelay < self.target / 2.0 && state.prob < 0.2;
        if calm || backlog < 2 * u64::from(self.mtu) {
            return Verdict::Forward;
        }
        let mut prob = state.prob;
        if self.bytemode && size < self.mtu {
            prob *= f64::from(size) / f64::from(self.mtu);
        }
        // RFC 8033 section 5.4: avoid two drops in quick succession, and long times without a drop.
        if prob == 0.0 {
            state.accu_prob = 0.0;
        }
        state.accu_prob += prob;
        if state.accu_prob < 0.85 || (state.accu_prob < 8.5 && !rng.chance(prob)) {
            return Verdict::Forward;
        }
        state.accu_prob = 0.0;
        // RFC 8033 section 5.1: above the threshold, marks no longer control the queue.
        if self.ecn && state.prob <= self.mark_ecnth {
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }

    /// Whether updates change nothing as long as no packet arrives.
    pub fn is_settled(&self, state: &PieState) -> bool {
        let idle = (state.prob == 0.0) & (state.qdelay == 0.0) & (state.qdelay_old == 0.0);
        idle & (state.burst_allowance == self.max_burst)
    }

    /// Updates the drop probability from the delay in seconds and the backlog in bytes. Called every `tupdate`.
    pub fn update(&self, state: &mut PieState, qdelay: f64, backlog: u64) {
        let error = self.alpha * (qdelay - self.target);
        let trend = self.beta * (qdelay - state.qdelay_old);
        let mut step = (error + trend) * scale(state.prob);
        // RFC 8033 section 5.5: increase slowly if many packets are dropped already.
        if state.prob >= 0.1 && step > 0.02 {
            step = 0.02;
        }
        // Linux's sch_pie and draft-pan-aqm-pie-00: the linear controller is too slow for delays this long.
        if qdelay > 0.25 {
            step += 0.02;
        }
        state.prob += step;
        // RFC 8033 section 4.2: the probability of an idle queue decays exponentially; 1 - 1/64 is sufficient. As in Linux, a queue that holds packets is
        // not idle. Its last departure left it empty, so its delay is not known.
        if qdelay == 0.0 && state.qdelay_old == 0.0 && backlog == 0 {
            state.prob *= 1.0 - 1.0 / 64.0;
        }
        state.prob = state.prob.clamp(0.0, self.most);
        // RFC 8033 section 4.4: the allowance decreases with time, and a quiet time restores it.
        state.burst_allowance = state.burst_allowance.saturating_sub(self.tupdate);
        let half = self.target / 2.0;
        if state.prob == 0.0 && qdelay < half && state.qdelay_old < half {
            state.burst_allowance = self.max_burst;
        }
        state.qdelay = qdelay;
        state.qdelay_old = qdelay;
    }
}

/// RFC 8033 section 4.2: the smaller the probability, the smaller its steps.
fn scale(prob: f64) -> f64 {
    const STEPS: [(f64, f64); 6] = [
        (0.000001, 1.0 / 2048.0),
        (0.00001, 1.0 / 512.0),
        (0.0001, 1.0 / 128.0),
        (0.001, 1.0 / 32.0),
        (0.01, 1.0 / 8.0),
        (0.1, 1.0 / 2.0),
    ];
    STEPS
        .iter()
        .find(|(below, _)| prob < *below)
        .map_or(1.0, |(_, factor)| *factor)
}

#[derive(Clone, Copy, Debug, Default)]
struct Stats {
    dropped: u64,
    overlimit: u64,
    ecn_mark: u64,
    maxq: u64,
}

struct Pie<P> {
    ring: Ring<P>,
    capacity: Capacity,
    controller: PieController,
    state: PieState,
    rate: Option<DepartureRate>,
    next_update: Nanos,
    rng: Rng,
    stats: Stats,
    /// The decision about the offload buffer that is arriving.
    buffer: BufferDecision<Verdict>,
}

impl<P: Packet> Pie<P> {
    /// The delay in seconds that the update uses.
    fn qdelay(&self) -> f64 {
        match &self.rate {
            Some(rate) => rate.delay(self.ring.bytes()),
            None => self.state.qdelay,
        }
    }
}

impl<P: Packet> Qdisc<P> for Pie<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        packet.set_enqueued_at(now);
        let (packets, backlog, size) = (self.ring.packets(), self.ring.bytes(), packet.size());
        let earlier = self.buffer.of(&packet);
        if !self.capacity.fits(packets, backlog, size) {
            self.stats.overlimit += 1;
            self.state.overflowed();
            self.buffer.note(&packet, Verdict::Drop);
            sink.dropped(&packet, DropReason::Overflow);
            return;
        }
        let verdict = earlier.unwrap_or_else(|| {
            self.controller
                .judge(&mut self.state, backlog, size, &mut self.rng)
        });
        match verdict {
            Verdict::Forward => self.buffer.note(&packet, verdict),
            Verdict::Mark if mark(&mut packet) => {
                self.stats.ecn_mark += u64::from(earlier.is_none());
                self.buffer.note(&packet, verdict);
                sink.marked(&packet);
            }
            Verdict::Mark | Verdict::Drop => {
                self.stats.dropped += u64::from(earlier.is_none());
                self.buffer.note(&packet, Verdict::Drop);
                sink.dropped(&packet, DropReason::Aqm);
                return;
            }
        }
        self.ring.push(packet);
        self.stats.maxq = self.stats.maxq.max(packets + 1);
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, _sink: &mut dyn Sink<P>) -> Option<P> {
        let packet = self.ring.pop()?;
        let backlog = self.ring.bytes();
        match &mut self.rate {
            Some(rate) => rate.departed(now, &packet, backlog),
            None => {
                let sojourn = now.saturating_sub(packet.enqueued_at());
                self.state.departed(sojourn, backlog);
            }
        }
        Some(packet)
    }

    fn packets(&self) -> u64 {
        self.ring.packets()
    }

    fn bytes(&self) -> u64 {
        self.ring.bytes()
    }

    fn contents(&self, visit: &mut dyn FnMut(Slot, &P)) {
        self.ring.contents(Slot::default(), visit);
    }

    fn next_wake(&self) -> Option<Nanos> {
        Some(self.next_update)
    }

    fn wake(&mut self, now: Nanos) {
        let qdelay = self.qdelay();
        let backlog = self.ring.bytes();
        self.controller.update(&mut self.state, qdelay, backlog);
        self.next_update = now + self.controller.tupdate;
    }

    /// `delay` is in seconds, `avg_dq_rate` in bytes per second (0 before the first measurement).
    fn stats(&self) -> Vec<(&'static str, f64)> {
        let rate = self.rate.map_or(0.0, |rate| rate.mean());
        vec![
            ("prob", self.state.prob),
            ("delay", self.qdelay()),
            ("avg_dq_rate", rate),
            ("dropped", self.stats.dropped as f64),
            ("overlimit", self.stats.overlimit as f64),
            ("ecn_mark", self.stats.ecn_mark as f64),
            ("maxq", self.stats.maxq as f64),
        ]
    }
}
