//! BLUE (Feng, Kandlur, Saha, Shin 1999, 2002): a probability that losses raise and an idle link lowers, and a queue that uses it.

use bloatlab_units::{Duration, Limit, MILLISECOND, NEVER, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ring::{Capacity, Ring};
use crate::{Context, DropReason, Factory, Packet, Qdisc, Sink, Slot, mark};

/// BLUE: signals at random on arrival, with a probability that rises when packets are lost and falls when the link is idle.
///
/// Each loss adds `increment` to the probability, and each idle time of the link subtracts `decrement`, at most once per `freeze_time`. Arrivals are
/// marked or dropped with that probability. It uses no average queue: only losses and idle times show whether it signals too little or too much. Use
/// it to compare with RED, which uses the queue length. The probability changes slowly, so a sudden change of the load causes losses or an idle link
/// for seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Capacity of the queue, in packets or bytes. Packets beyond it are dropped on arrival.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Queue length above which arrivals raise the probability as losses do, in packets or bytes. If absent, only losses do.
    #[schemars(extend("x-minimum" = "1p"))]
    pub threshold: Option<Limit>,
    /// Increase of the probability at a loss.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub increment: f64,
    /// Decrease of the probability when the link is idle.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub decrement: f64,
    /// Shortest time between two changes of the probability.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub freeze_time: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            // Linux's txqueuelen.
            limit: Limit::Packets(1000),
            threshold: None,
            // Feng et al. 2002, table of BLUE's configurations: d1 is ten times d2, and changes are 100 ms apart.
            increment: 0.02,
            decrement: 0.002,
            freeze_time: Duration(100 * MILLISECOND),
            ecn: true,
        }
    }
}

impl Factory for Params {
    const ALIASES: &'static [&'static str] = &["BlueQueueDisc"];
    const SOURCE: &'static str =
        "Feng, Kandlur, Saha, Shin, The BLUE Active Queue Management Algorithms, IEEE/ACM ToN 2002";
    const NEAREST_IN_LINUX: Option<&'static str> = Some("sfb");

    fn check(&self) -> Result<(), String> {
        if let Some(Limit::Buffers(_)) = self.threshold {
            return Err("threshold: is in buffers, but must be in packets or bytes".to_owned());
        }
        Capacity::not_in_buffers(self.limit)
    }

    fn build<P: Packet>(&self, context: Context) -> Box<dyn Qdisc<P>> {
        Box::new(Blue {
            ring: Ring::default(),
            capacity: Capacity::new(self.limit, 1),
            threshold: self.threshold.map(|threshold| Capacity::new(threshold, 1)),
            ecn: self.ecn,
            controller: BlueController::new(self),
            state: BlueState::default(),
            stats: Stats::default(),
            rng: context.rng,
        })
    }
}

/// BLUE's parameters.
#[derive(Clone, Copy, Debug)]
pub struct BlueController {
    increment: f64,
    decrement: f64,
    freeze_time: Nanos,
}

/// BLUE's state of one queue.
#[derive(Clone, Copy, Debug)]
pub struct BlueState {
    prob: f64,
    /// The probability does not change before this.
    frozen_until: Nanos,
    /// When the link became idle.
    idle_since: Nanos,
}

impl Default for BlueState {
    fn default() -> Self {
        Self {
            prob: 0.0,
            frozen_until: 0,
            idle_since: NEVER,
        }
    }
}

impl BlueState {
    /// The probability of a signal.
    pub fn prob(&self) -> f64 {
        self.prob
    }

    /// Records that the link found nothing to send. It is idle until the next arrival.
    #[inline]
    pub fn idle(&mut self, now: Nanos) {
        self.idle_since = self.idle_since.min(now);
    }
}

impl BlueController {
    /// Creates a controller.
    pub fn new(params: &Params) -> Self {
        Self {
            increment: params.increment,
            decrement: params.decrement,
            freeze_time: params.freeze_time.0,
        }
    }

    /// Feng et al. 2002, section III-A: raises the probability because a packet was lost or the queue is above its threshold.
    #[inline]
    pub fn lost(&self, state: &mut BlueState, now: Nanos) {
        if now >= state.frozen_until {
            state.prob = (state.prob + self.increment).min(1.0);
            state.frozen_until = now + self.freeze_time;
        }
    }

    /// Handles an arrival. If the link was idle, the probability has fallen once at the start and then once per freeze time.
    #[inline]
    pub fn arrival(&self, state: &mut BlueState, now: Nanos) {
        if state.idle_since == NEVER {
            return;
        }
        let first = state.idle_since.max(state.frozen_until);
        state.idle_since = NEVER;
        if now < first {
            return;
        }
        let more = (now - first) / self.freeze_time;
        state.prob = (state.prob - self.decrement * (more + 1) as f64).max(0.0);
        state.frozen_until = first + (more + 1) * self.freeze_time;
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Stats {
    early: u64,
    marked: u64,
    pdrop: u64,
}

struct Blue<P> {
    ring: Ring<P>,
    capacity: Capacity,
    threshold: Option<Capacity>,
    ecn: bool,
    controller: BlueController,
    state: BlueState,
    stats: Stats,
    rng: Rng,
}

impl<P: Packet> Qdisc<P> for Blue<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        packet.set_enqueued_at(now);
        let (packets, bytes, size) = (self.ring.packets(), self.ring.bytes(), packet.size());
        self.controller.arrival(&mut self.state, now);
        if !self.capacity.fits(packets, bytes, size) {
            self.controller.lost(&mut self.state, now);
            self.stats.pdrop += 1;
            sink.dropped(&packet, DropReason::Overflow);
            return;
        }
        if self
            .threshold
            .is_some_and(|threshold| !threshold.holds(packets, bytes))
        {
            self.controller.lost(&mut self.state, now);
        }
        if self.rng.chance(self.state.prob) {
            if !(self.ecn && mark(&mut packet)) {
                self.stats.early += 1;
                sink.dropped(&packet, DropReason::Aqm);
                return;
            }
            self.stats.marked += 1;
            sink.marked(&packet);
        }
        self.ring.push(packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, _sink: &mut dyn Sink<P>) -> Option<P> {
        let packet = self.ring.pop();
        if packet.is_none() {
            self.state.idle(now);
        }
        packet
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

    /// `prob` is the probability at the last arrival.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("prob", self.state.prob),
            ("early", self.stats.early as f64),
            ("marked", self.stats.marked as f64),
            ("pdrop", self.stats.pdrop as f64),
        ]
    }
}
