//! CoDel (RFC 8289): the law, and one queue under it.

use bloatlab_units::{Duration, Limit, MILLISECOND, NEVER, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ring::{Capacity, Ring};
use crate::{Algorithm, Context, DropReason, Form, Packet, Qdisc, Sink, Tc, Verdict, Word, mark};

/// Controlled Delay: drops from the head once the sojourn time has stayed above a target for an interval, then ever more often.
///
/// Each packet carries its time of arrival, and only what has waited longer than `target` for a whole `interval` counts as a standing
/// queue; bursts pass. While it lasts, the distance between drops shrinks with the square root of their number. Use it for one queue of any
/// rate without tuning: `target` should be 5 to 10 % of `interval`, and `interval` a usual long round trip. It signals slowly at first, so
/// many flows or unresponsive ones keep the delay above `target`. At rates below some Mbit/s, `target` must hold at least one packet's
/// time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How much the queue holds, in packets or bytes; what arrives beyond it is dropped.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Sojourn time that is acceptable for longer than an interval.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub target: Duration,
    /// How long the sojourn time may stay above the target: a round-trip time that most connections are below.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub interval: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Mark every ECN-capable packet whose sojourn time is above this; absent: never.
    #[schemars(extend("x-minimum" = "0s", "x-maximum" = "1h"))]
    pub ce_threshold: Option<Duration>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            // tc-codel(8): 1000 packets and ECN off.
            limit: Limit::Packets(1000),
            // RFC 8289 section 5.3.
            target: Duration(5 * MILLISECOND),
            interval: Duration(100 * MILLISECOND),
            ecn: false,
            ce_threshold: None,
        }
    }
}

impl Algorithm for Params {
    const ALIASES: &'static [&'static str] = &["CoDelQueueDisc"];
    const SOURCE: &'static str = "RFC 8289; limit and ECN as in tc-codel(8)";
    const TC: &'static [Tc] = &[Tc {
        name: "codel",
        words: &[
            Word::same("limit", Form::Packets),
            Word::same("target", Form::Time),
            Word::same("interval", Form::Time),
            Word::same("ecn", Form::Flag("true")),
            Word::new("noecn", "ecn", Form::Flag("false")),
            Word::same("ce_threshold", Form::Time),
        ],
        required: &[],
        presets: &[],
    }];

    fn check(&self) -> Result<(), String> {
        Capacity::not_in_buffers(self.limit)
    }

    fn build<P: Packet>(&self, context: Context) -> Box<dyn Qdisc<P>> {
        Box::new(Codel {
            ring: Ring::default(),
            capacity: Capacity::new(self.limit, 1),
            law: Law::new(
                self.target,
                self.interval,
                context.mtu,
                self.ecn,
                self.ce_threshold,
            ),
            vars: Vars::default(),
            stats: Stats::default(),
        })
    }
}

/// CoDel's settings; shared by every queue that obeys the same ones.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    target: Nanos,
    interval: Nanos,
    mtu: u64,
    signal: Verdict,
    ce_threshold: Nanos,
}

/// What CoDel remembers of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vars {
    /// When the sojourn time will have been above the target for an interval; 0 while it is below.
    first_above_time: Nanos,
    /// When the next signal is due while dropping; when it last was, after that.
    drop_next: Nanos,
    /// Signals since the dropping state was entered.
    count: u32,
    /// `count` when the dropping state was last entered.
    lastcount: u32,
    dropping: bool,
    /// A signal was sent, and `drop_next` moves on only if the following packet is above the target too.
    pending: bool,
}

/// A queue as CoDel sees it: packets are judged where they lie.
pub trait Head<P> {
    /// The packet that leaves next and the bytes of the whole queue.
    fn head(&mut self) -> Option<(&mut P, u64)>;
    /// Takes that packet off.
    fn pop(&mut self) -> Option<P>;
}

impl<P: Packet> Head<P> for Ring<P> {
    #[inline]
    fn head(&mut self) -> Option<(&mut P, u64)> {
        let bytes = self.bytes();
        self.front_mut().map(|packet| (packet, bytes))
    }

    #[inline]
    fn pop(&mut self) -> Option<P> {
        Ring::pop(self)
    }
}

/// What CoDel counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// Packets dropped by the law.
    pub drop_count: u64,
    /// Packets marked by the law.
    pub ecn_mark: u64,
    /// Packets marked because they were above `ce_threshold`.
    pub ce_mark: u64,
    /// Packets dropped because the queue was full.
    pub drop_overlimit: u64,
}

impl Law {
    /// The law with these settings; it never signals while `mtu` bytes or fewer remain queued.
    pub fn new(
        target: Duration,
        interval: Duration,
        mtu: u32,
        ecn: bool,
        ce_threshold: Option<Duration>,
    ) -> Self {
        Self {
            target: target.0,
            interval: interval.0,
            mtu: u64::from(mtu),
            signal: if ecn { Verdict::Mark } else { Verdict::Drop },
            ce_threshold: ce_threshold.map_or(NEVER, |threshold| threshold.0),
        }
    }

    /// Judges the packet that left the queue's head at `now`, `backlog` being the bytes behind it.
    ///
    /// A packet that is dropped is followed by a judgement of the next one at the same instant, or by [`Vars::emptied`].
    #[inline]
    pub fn judge(&self, vars: &mut Vars, now: Nanos, sojourn: Nanos, backlog: u64) -> Verdict {
        // RFC 8289 section 5.6: with at most one packet's worth behind it, a queue is not a standing queue.
        let ok_to_drop = if sojourn < self.target || backlog <= self.mtu {
            vars.first_above_time = 0;
            false
        } else if vars.first_above_time == 0 {
            vars.first_above_time = now + self.interval;
            false
        } else {
            now >= vars.first_above_time
        };
        if vars.dropping {
            self.judge_dropping(vars, now, ok_to_drop)
        } else if ok_to_drop {
            self.start_dropping(vars, now)
        } else {
            Verdict::Forward
        }
    }

    /// RFC 8289 section 5.5: in the dropping state, signal whenever the control law's time has come.
    fn judge_dropping(&self, vars: &mut Vars, now: Nanos, ok_to_drop: bool) -> Verdict {
        let pending = std::mem::take(&mut vars.pending);
        if !ok_to_drop {
            vars.dropping = false;
            return Verdict::Forward;
        }
        if pending {
            vars.drop_next = self.control_law(vars.drop_next, vars.count);
        }
        if now < vars.drop_next {
            return Verdict::Forward;
        }
        vars.count = vars.count.saturating_add(1);
        vars.pending = true;
        self.signal
    }

    /// RFC 8289 section 5.5: the first signal; the rate resumes near where it was if the last dropping state was recent.
    fn start_dropping(&self, vars: &mut Vars, now: Nanos) -> Verdict {
        let delta = vars.count - vars.lastcount;
        let recent = now < vars.drop_next + 16 * self.interval;
        vars.count = if delta > 1 && recent { delta } else { 1 };
        vars.lastcount = vars.count;
        vars.dropping = true;
        vars.drop_next = self.control_law(now, vars.count);
        self.signal
    }

    /// RFC 8289 section 5.6: the next signal comes an interval divided by the square root of the signals so far later.
    fn control_law(&self, time: Nanos, count: u32) -> Nanos {
        time + (self.interval as f64 / libm::sqrt(f64::from(count))) as Nanos
    }

    /// Takes packets off the head until one may pass.
    #[inline]
    pub fn dequeue<P: Packet>(
        &self,
        vars: &mut Vars,
        stats: &mut Stats,
        now: Nanos,
        sink: &mut dyn Sink<P>,
        queue: &mut impl Head<P>,
    ) -> Option<P> {
        loop {
            let Some((packet, bytes)) = queue.head() else {
                vars.emptied();
                return None;
            };
            let backlog = bytes - u64::from(packet.size());
            let sojourn = now.saturating_sub(packet.enqueued_at());
            match self.judge(vars, now, sojourn, backlog) {
                Verdict::Forward if sojourn <= self.ce_threshold => {}
                Verdict::Forward => {
                    if mark(packet) {
                        stats.ce_mark += 1;
                        sink.marked(packet);
                    }
                }
                Verdict::Mark if mark(packet) => {
                    stats.ecn_mark += 1;
                    sink.marked(packet);
                }
                Verdict::Mark | Verdict::Drop => {
                    stats.drop_count += 1;
                    sink.dropped(packet, DropReason::Law);
                    queue.pop();
                    continue;
                }
            }
            return queue.pop();
        }
    }
}

impl Vars {
    /// The queue was found empty: it is below the target, and nothing is left to drop.
    #[inline]
    pub fn emptied(&mut self) {
        self.first_above_time = 0;
        self.dropping = false;
        self.pending = false;
    }

    /// Counts packets that were dropped for want of room as signals, so that the law presses harder (Linux's fq_codel).
    pub fn add_signals(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    /// Signals since the dropping state was entered.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether the law is in its dropping state.
    pub fn dropping(&self) -> bool {
        self.dropping
    }
}

struct Codel<P> {
    ring: Ring<P>,
    capacity: Capacity,
    law: Law,
    vars: Vars,
    stats: Stats,
}

impl<P: Packet> Qdisc<P> for Codel<P> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, mut packet: P, sink: &mut dyn Sink<P>) {
        if self
            .capacity
            .fits(self.ring.packets(), self.ring.bytes(), packet.size())
        {
            self.ring.push(packet).set_enqueued_at(now);
        } else {
            packet.set_enqueued_at(now);
            self.stats.drop_overlimit += 1;
            sink.dropped(&packet, DropReason::Overflow);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, sink: &mut dyn Sink<P>) -> Option<P> {
        self.law
            .dequeue(&mut self.vars, &mut self.stats, now, sink, &mut self.ring)
    }

    fn packets(&self) -> u64 {
        self.ring.packets()
    }

    fn bytes(&self) -> u64 {
        self.ring.bytes()
    }

    /// `drop_next` is in seconds since the start.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("count", f64::from(self.vars.count)),
            ("lastcount", f64::from(self.vars.lastcount)),
            ("dropping", f64::from(u8::from(self.vars.dropping))),
            ("drop_next", self.vars.drop_next as f64 * 1e-9),
            ("drop_count", self.stats.drop_count as f64),
            ("drop_overlimit", self.stats.drop_overlimit as f64),
            ("ecn_mark", self.stats.ecn_mark as f64),
            ("ce_mark", self.stats.ce_mark as f64),
        ]
    }
}
