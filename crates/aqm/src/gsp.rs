//! Global Synchronization Protection (Lautenschlaeger, Francini 2016): one drop, and then none until it has shown effect.

use bloatlab_units::{Duration, Limit, MILLISECOND, Nanos, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ring::{Capacity, Ring};
use crate::{Algorithm, Context, DropReason, Packet, Qdisc, Sink, Verdict, mark};

/// Global Synchronization Protection: signals to one arrival above a threshold and then to none for an interval, so that flows do not
/// all slow down at once; the interval shrinks while the queue is above the threshold for longer than below.
///
/// One drop in each interval is enough to slow one flow down; the others go on, so that the link stays busy with a small buffer. A queue
/// that stays above `threshold` in spite of it shortens the interval, by how much longer it is above than below. Use it as a law that needs
/// no random numbers and no probability. With very many flows one drop in an interval says little, until the interval has adapted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How much the queue holds, in packets or bytes; what arrives beyond it is dropped.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Queue above which arrivals may be signalled to, in packets or bytes; absent: by its delay, see `target`.
    #[schemars(extend("x-minimum" = "1p"))]
    pub threshold: Option<Limit>,
    /// Sojourn time of the latest departure above which arrivals may be signalled to, if there is no `threshold`.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub target: Duration,
    /// Time without signals after one: at first, and at most; some round-trip times.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub interval: Duration,
    /// Adapt the interval.
    pub adaptive: bool,
    /// Weight of time above the threshold against time below.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub alpha: f64,
    /// Surplus of time above the threshold that halves the interval; five times as long as `interval`, by rule of thumb.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "24h"))]
    pub tau: Duration,
    /// Most surplus that is remembered.
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
            // The sources leave the threshold to the operator; this is PIE's target.
            target: Duration(15 * MILLISECOND),
            // Lautenschlaeger, Francini 2016: twice a round trip of 100 ms, and tau five times that.
            interval: Duration(200 * MILLISECOND),
            adaptive: true,
            alpha: 2.0,
            tau: Duration(SECOND),
            max_time: Duration(60 * SECOND),
            ecn: false,
        }
    }
}

impl Algorithm for Params {
    const ALIASES: &'static [&'static str] = &["GspQueueDisc"];
    const SOURCE: &'static str =
        "Lautenschlaeger, Francini, arXiv:1602.05333, HPSR 2016; draft-lauten-aqm-gsp";
    const NEAREST_IN_LINUX: Option<&'static str> = Some("codel");

    fn check(&self) -> Result<(), String> {
        if let Some(Limit::Buffers(_)) = self.threshold {
            return Err("threshold: must be in packets or bytes".to_owned());
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
            law: Law::new(self),
            vars: Vars::default(),
            stats: Stats::default(),
        })
    }
}

/// GSP's settings.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    interval: f64,
    adaptive: bool,
    alpha: f64,
    tau: f64,
    max_time: f64,
    signal: Verdict,
}

/// What GSP remembers of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vars {
    /// No signal before this.
    timeout: Nanos,
    /// Surplus of time above the threshold, nanoseconds.
    cum_time: f64,
    /// Until when `cum_time` counts.
    counted_to: Nanos,
    /// Whether the queue has been above the threshold since then.
    above: bool,
    phase: Phase,
}

/// Time below the threshold does not count while an overflow drains: it says nothing of the interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Clear,
    /// The queue has overflowed and not been empty since.
    Overflow,
    /// It has been empty, and not above the threshold since.
    Drain,
}

impl Law {
    /// The law with these settings.
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

    /// The time without signals after one, as it stands.
    pub fn interval(&self, vars: &Vars) -> Nanos {
        // Lautenschlaeger, Francini 2016, section IV: adaptive GSP.
        (self.interval / (1.0 + vars.cum_time / self.tau)) as Nanos
    }

    /// Counts the time since the last call.
    #[inline]
    pub fn count(&self, vars: &mut Vars, now: Nanos) {
        if self.adaptive {
            let time = (now - vars.counted_to) as f64;
            if vars.above {
                vars.cum_time = (vars.cum_time + self.alpha * time).min(self.max_time);
            } else if vars.phase == Phase::Clear {
                vars.cum_time = (vars.cum_time - time).max(0.0);
            }
        }
        vars.counted_to = now;
    }

    /// Takes note of what the queue is from now on; the time before is counted when that changes.
    #[inline]
    pub fn observe(&self, vars: &mut Vars, now: Nanos, above: bool) {
        if above == vars.above {
            return;
        }
        self.count(vars, now);
        vars.above = above;
        if above && vars.phase == Phase::Drain {
            vars.phase = Phase::Clear;
        }
    }

    /// The queue overflowed.
    pub fn overflowed(&self, vars: &mut Vars, now: Nanos) {
        self.count(vars, now);
        vars.phase = Phase::Overflow;
    }

    /// The queue was left empty.
    #[inline]
    pub fn emptied(&self, vars: &mut Vars) {
        if vars.phase == Phase::Overflow {
            vars.phase = Phase::Drain;
        }
    }

    /// Judges an arrival.
    #[inline]
    pub fn judge(&self, vars: &mut Vars, now: Nanos) -> Verdict {
        self.count(vars, now);
        if !vars.above || now < vars.timeout {
            return Verdict::Forward;
        }
        vars.timeout = now + self.interval(vars);
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
    /// Of the packet that left last; 0 once the queue was left empty.
    sojourn: Nanos,
    law: Law,
    vars: Vars,
    stats: Stats,
}

impl<P: Packet> Gsp<P> {
    /// Takes note of the queue as it is.
    #[inline]
    fn observe(&mut self, now: Nanos) {
        let above = match &self.threshold {
            Some(threshold) => !threshold.holds(self.ring.packets(), self.ring.bytes()),
            None => self.sojourn > self.target,
        };
        self.law.observe(&mut self.vars, now, above);
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
            self.law.overflowed(&mut self.vars, now);
            self.stats.drop_overlimit += 1;
            sink.dropped(&packet, DropReason::Overflow);
            return;
        }
        match self.law.judge(&mut self.vars, now) {
            Verdict::Forward => {}
            Verdict::Mark if mark(&mut packet) => {
                self.stats.ecn_mark += 1;
                sink.marked(&packet);
            }
            Verdict::Mark | Verdict::Drop => {
                self.stats.drop_count += 1;
                sink.dropped(&packet, DropReason::Law);
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
            self.law.emptied(&mut self.vars);
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

    /// `cum_time` and `interval` are in seconds.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("cum_time", self.vars.cum_time * 1e-9),
            ("interval", self.law.interval(&self.vars) as f64 * 1e-9),
            ("drop_count", self.stats.drop_count as f64),
            ("drop_overlimit", self.stats.drop_overlimit as f64),
            ("ecn_mark", self.stats.ecn_mark as f64),
        ]
    }
}
