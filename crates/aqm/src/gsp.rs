//! Global Synchronization Protection (Lautenschlaeger, Francini 2016): one drop, and then none until it has had an effect.

use bloatlab_units::{Duration, Limit, MILLISECOND, Nanos, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ring::{Capacity, Ring};
use crate::{Context, DropReason, Factory, Packet, Qdisc, Sink, Slot, Verdict, mark};

/// Global Synchronization Protection: signals to one arrival above a threshold and then to none for an interval, so that flows do not slow down all
/// at once. The interval shrinks while the queue is above the threshold for longer than below.
///
/// One drop per interval is enough to slow one flow down. The others continue, so the link stays busy with a small buffer. If the queue nevertheless
/// stays above `threshold`, the interval shrinks in proportion to the surplus of time above the threshold. Use it as an AQM algorithm that needs
/// neither random numbers nor a probability. With very many flows, one drop per interval has little effect until the interval has adapted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Capacity of the queue, in packets or bytes. Packets beyond it are dropped on arrival.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Queue length above which arrivals may get a signal, in packets or bytes. If absent, `target` is used instead.
    #[schemars(extend("x-minimum" = "1p"))]
    pub threshold: Option<Limit>,
    /// Sojourn time of the latest departure above which arrivals may get a signal, if there is no `threshold`.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub target: Duration,
    /// Time without signals after a signal: the initial and largest value. A few round-trip times.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub interval: Duration,
    /// Adapt the interval.
    pub adaptive: bool,
    /// Weight of time above the threshold, relative to time below it.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub alpha: f64,
    /// Surplus of time above the threshold that halves the interval. A rule of thumb is five times `interval`.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "24h"))]
    pub tau: Duration,
    /// Largest surplus that is counted.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "24h"))]
    pub max_time: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            // Linux's txqueuelen.
            limit: Limit::Packets(1000),
            threshold: None,
            // The sources leave the threshold to the operator. This is PIE's target.
            target: Duration(15 * MILLISECOND),
            // Lautenschlaeger, Francini 2016: twice an RTT of 100 ms, and tau is five times that.
            interval: Duration(200 * MILLISECOND),
            adaptive: true,
            alpha: 2.0,
            tau: Duration(SECOND),
            max_time: Duration(60 * SECOND),
            ecn: false,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["GspQueueDisc"];
    const SOURCE: &'static str =
        "Lautenschlaeger, Francini, arXiv:1602.05333, HPSR 2016; draft-lauten-aqm-gsp";
    const NEAREST_IN_LINUX: Option<&'static str> = Some("codel");

    fn check(&self) -> Result<(), String> {
        if let Some(Limit::Buffers(_)) = self.threshold {
            return Err("threshold: is in buffers, but must be in packets or bytes".to_owned());
        }
        Capacity::not_in_buffers(self.limit)
    }

    fn build<P: Packet>(&self, _context: Context) -> Box<dyn Qdisc<P>> {
        Box::new(Gsp {
            ring: Ring::default(),
            capacity: Capacity::new(self.limit, 1),
            threshold: self.threshold.map(|threshold| Capacity::new(threshold, 1)),
            target: self.target.0,
            sojourn: 0,
            controller: GspController::new(self),
            state: GspState::default(),
            stats: Stats::default(),
        })
    }
}

/// GSP's parameters.
#[derive(Clone, Copy, Debug)]
pub struct GspController {
    interval: f64,
    adaptive: bool,
    alpha: f64,
    tau: f64,
    max_time: f64,
    signal: Verdict,
}

/// GSP's state of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct GspState {
    /// There is no signal before this.
    timeout: Nanos,
    /// Surplus of time above the threshold, nanoseconds.
    cum_time: f64,
    /// The time up to which `cum_time` is counted.
    counted_to: Nanos,
    /// Whether the queue has been above the threshold since `counted_to`.
    above: bool,
    phase: Phase,
}

/// While an overflow drains, time below the threshold is not counted, because it does not depend on the interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Clear,
    /// The queue has overflowed and has not been empty since.
    Overflow,
    /// The queue has been empty, and has not been above the threshold since.
    Drain,
}

impl GspController {
    /// Creates a controller.
    pub fn new(params: &Params) -> Self {
        Self {
            interval: params.interval.0 as f64,
            adaptive: params.adaptive,
            alpha: params.alpha,
            tau: params.tau.0 as f64,
            max_time: params.max_time.0 as f64,
            signal: if params.ecn {
                Verdict::Mark
            } else {
                Verdict::Drop
            },
        }
    }

    /// The current time without signals after a signal.
    pub fn interval(&self, state: &GspState) -> Nanos {
        // Lautenschlaeger, Francini 2016, section IV: adaptive GSP.
        (self.interval / (1.0 + state.cum_time / self.tau)) as Nanos
    }

    /// Counts the time since the last call.
    #[inline]
    pub fn count(&self, state: &mut GspState, now: Nanos) {
        if self.adaptive {
            let time = (now - state.counted_to) as f64;
            if state.above {
                state.cum_time = (state.cum_time + self.alpha * time).min(self.max_time);
            } else if state.phase == Phase::Clear {
                state.cum_time = (state.cum_time - time).max(0.0);
            }
        }
        state.counted_to = now;
    }

    /// Records whether the queue is above the threshold from now on. The time before is counted when that changes.
    #[inline]
    pub fn observe(&self, state: &mut GspState, now: Nanos, above: bool) {
        if above == state.above {
            return;
        }
        self.count(state, now);
        state.above = above;
        if above && state.phase == Phase::Drain {
            state.phase = Phase::Clear;
        }
    }

    /// Records that the queue overflowed.
    pub fn overflowed(&self, state: &mut GspState, now: Nanos) {
        self.count(state, now);
        state.phase = Phase::Overflow;
    }

    /// Records that the queue became empty.
    #[inline]
    pub fn emptied(&self, state: &mut GspState) {
        if state.phase == Phase::Overflow {
            state.phase = Phase::Drain;
        }
    }

    /// Judges an arrival.
    #[inline]
    pub fn judge(&self, state: &mut GspState, now: Nanos) -> Verdict {
        self.count(state, now);
        if !state.above || now < state.timeout {
            return Verdict::Forward;
        }
        state.timeout = now + self.interval(state);
        self.signal
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Stats {
    drop_count: u64,
    ecn_mark: u64,
    drop_overlimit: u64,
}

struct Gsp<P> {
    ring: Ring<P>,
    capacity: Capacity,
    threshold: Option<Capacity>,
    target: Nanos,
    /// Sojourn time of the last packet that left; 0 if that packet left the queue empty.
    sojourn: Nanos,
    controller: GspController,
    state: GspState,
    stats: Stats,
}

impl<P: Packet> Gsp<P> {
    /// Records whether the queue is above the threshold.
    #[inline]
    fn observe(&mut self, now: Nanos) {
        let above = match &self.threshold {
            Some(threshold) => !threshold.holds(self.ring.packets(), self.ring.bytes()),
            None => self.sojourn > self.target,
        };
        self.controller.observe(&mut self.state, now, above);
    }
}

impl<P: Packet> Qdisc<P> for Gsp<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        packet.set_enqueued_at(now);
        if !self
            .capacity
            .fits(self.ring.packets(), self.ring.bytes(), packet.size())
        {
            self.controller.overflowed(&mut self.state, now);
            self.stats.drop_overlimit += 1;
            sink.dropped(&packet, DropReason::Overflow);
            return;
        }
        match self.controller.judge(&mut self.state, now) {
            Verdict::Forward => {}
            Verdict::Mark if mark(&mut packet) => {
                self.stats.ecn_mark += 1;
                sink.marked(&packet);
            }
            Verdict::Mark | Verdict::Drop => {
                self.stats.drop_count += 1;
                sink.dropped(&packet, DropReason::Aqm);
                return;
            }
        }
        self.ring.push(packet);
        self.observe(now);
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, _sink: &mut dyn Sink<P>) -> Option<P> {
        let packet = self.ring.pop()?;
        self.sojourn = now.saturating_sub(packet.enqueued_at());
        if self.ring.packets() == 0 {
            self.sojourn = 0;
            self.controller.emptied(&mut self.state);
        }
        self.observe(now);
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

    /// `cum_time` and `interval` are in seconds.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("cum_time", self.state.cum_time * 1e-9),
            (
                "interval",
                self.controller.interval(&self.state) as f64 * 1e-9,
            ),
            ("drop_count", self.stats.drop_count as f64),
            ("drop_overlimit", self.stats.drop_overlimit as f64),
            ("ecn_mark", self.stats.ecn_mark as f64),
        ]
    }
}
