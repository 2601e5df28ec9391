//! CoDel (RFC 8289): the controller, and a queue that uses it.

use bloatlab_units::{Duration, Limit, MILLISECOND, NEVER, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ring::{Capacity, Ring};
use crate::{
    Context, DropReason, Factory, Form, Packet, Qdisc, Sink, Slot, Tc, Verdict, Word, mark,
};

/// Controlled Delay: drops at the head once the sojourn time has stayed above a target for an interval, then more and more often.
///
/// Each packet carries its time of arrival. Only packets that have waited longer than `target` for a whole `interval` indicate a standing queue, so
/// bursts pass. As long as it lasts, the time between drops shrinks with the square root of their number. Use it for a single queue at any rate
/// without tuning: `target` should be 5 to 10 % of `interval`, and `interval` a typical large RTT. It reacts slowly at first, so many flows or
/// unresponsive flows keep the delay above `target`. At rates below a few Mbit/s, `target` must be at least the transmission time of one packet.
///
/// A buffer of segmentation offload is one packet, as in Linux: it is forwarded, marked or dropped as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Capacity of the queue, in packets or bytes. Packets beyond it are dropped on arrival.
    #[schemars(extend("x-minimum" = "1p"))]
    pub limit: Limit,
    /// Acceptable sojourn time. Longer sojourn times are tolerated for up to one interval.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub target: Duration,
    /// How long the sojourn time may stay above the target. It should exceed the RTT of most connections.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "1h"))]
    pub interval: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Mark every ECN-capable packet whose sojourn time exceeds this. If absent, this rule is off.
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

impl Factory for Params {
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
            controller: CodelController::new(
                self.target,
                self.interval,
                context.mtu,
                self.ecn,
                self.ce_threshold,
            ),
            state: CodelState::default(),
            stats: Stats::default(),
        })
    }
}

/// CoDel's parameters. Queues with the same parameters share one controller.
#[derive(Clone, Copy, Debug)]
pub struct CodelController {
    target: Nanos,
    interval: Nanos,
    mtu: u64,
    signal: Verdict,
    ce_threshold: Nanos,
}

/// CoDel's state of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct CodelState {
    /// When the sojourn time will have been above the target for an interval; 0 while it is below.
    first_above_time: Nanos,
    /// While dropping: when the next signal is due. Afterwards: when the last signal was due.
    drop_next: Nanos,
    /// Signals since the dropping state was entered.
    count: u32,
    /// `count` when the dropping state was last entered.
    lastcount: u32,
    /// 1 / sqrt(count), approximated. 0 before the first signal.
    inverse_root: f32,
    dropping: bool,
    /// A signal was sent. `drop_next` advances only if the next packet is above the target, too.
    pending: bool,
    /// The decision about the offload buffer of the last packet, if it has more packets.
    buffer: Option<Verdict>,
}

/// Access to the head of a queue. CoDel judges packets in place.
pub trait Head<P> {
    /// The packet that leaves next, and the bytes of the whole queue.
    fn head(&mut self) -> Option<(&mut P, u64)>;
    /// Removes and returns that packet.
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

/// CoDel's counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// Packets dropped by CoDel.
    pub drop_count: u64,
    /// Packets marked by CoDel.
    pub ecn_mark: u64,
    /// Packets marked because their sojourn time exceeded `ce_threshold`.
    pub ce_mark: u64,
    /// Packets dropped because the queue was full.
    pub drop_overlimit: u64,
}

impl CodelController {
    /// Creates a controller. It never signals while `mtu` bytes or fewer are left in the queue.
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

    /// Judges the packet at the head of the queue at `now`. `backlog` is the number of bytes behind it.
    ///
    /// If the packet is dropped, the next call is for the following packet at the same time, or [`CodelState::emptied`].
    #[inline]
    pub fn judge(
        &self,
        state: &mut CodelState,
        now: Nanos,
        sojourn: Nanos,
        backlog: u64,
    ) -> Verdict {
        // RFC 8289 section 5.6: a queue with at most one packet behind the head is not a standing queue.
        let ok_to_drop = if sojourn < self.target || backlog <= self.mtu {
            state.first_above_time = 0;
            false
        } else if state.first_above_time == 0 {
            state.first_above_time = now + self.interval;
            false
        } else {
            now >= state.first_above_time
        };
        if state.dropping {
            self.judge_dropping(state, now, ok_to_drop)
        } else if ok_to_drop {
            self.start_dropping(state, now)
        } else {
            Verdict::Forward
        }
    }

    /// RFC 8289 section 5.5: in the dropping state, signals each time that `drop_next` is reached.
    fn judge_dropping(&self, state: &mut CodelState, now: Nanos, ok_to_drop: bool) -> Verdict {
        let pending = std::mem::take(&mut state.pending);
        if !ok_to_drop {
            state.dropping = false;
            return Verdict::Forward;
        }
        if pending {
            state.drop_next = self.control_law(state.drop_next, state.inverse_root);
        }
        if now < state.drop_next {
            return Verdict::Forward;
        }
        state.count = state.count.saturating_add(1);
        state.refine();
        state.pending = true;
        self.signal
    }

    /// RFC 8289 section 5.5: sends the first signal. If the last dropping state was recent, the drop rate resumes near its previous value.
    fn start_dropping(&self, state: &mut CodelState, now: Nanos) -> Verdict {
        let delta = state.count - state.lastcount;
        let recent = now < state.drop_next + 16 * self.interval;
        if delta > 1 && recent {
            state.count = delta;
            state.refine();
        } else {
            state.count = 1;
            state.inverse_root = 1.0;
        }
        state.lastcount = state.count;
        state.dropping = true;
        state.drop_next = self.control_law(now, state.inverse_root);
        self.signal
    }

    /// RFC 8289 section 5.6: the time to the next signal is the interval divided by the square root of the number of signals.
    fn control_law(&self, time: Nanos, inverse_root: f32) -> Nanos {
        time + (self.interval as f64 * f64::from(inverse_root)) as Nanos
    }

    /// Dequeues the next packet that may pass, and drops those before it. As in Linux, an offload buffer is judged once.
    #[inline]
    pub fn dequeue<P: Packet>(
        &self,
        state: &mut CodelState,
        stats: &mut Stats,
        now: Nanos,
        sink: &mut dyn Sink<P>,
        queue: &mut impl Head<P>,
    ) -> Option<P> {
        loop {
            let Some((packet, bytes)) = queue.head() else {
                state.emptied();
                return None;
            };
            if state.buffer.is_some() {
                match state.continue_buffer(packet, sink) {
                    Some(Verdict::Drop) => {
                        queue.pop();
                        continue;
                    }
                    Some(_) => return queue.pop(),
                    None => {}
                }
            }
            let backlog = bytes - u64::from(packet.size());
            let sojourn = now.saturating_sub(packet.enqueued_at());
            let verdict = match self.judge(state, now, sojourn, backlog) {
                Verdict::Forward if sojourn <= self.ce_threshold => Verdict::Forward,
                Verdict::Forward => {
                    if mark(packet) {
                        stats.ce_mark += 1;
                        sink.marked(packet);
                        Verdict::Mark
                    } else {
                        Verdict::Forward
                    }
                }
                Verdict::Mark if mark(packet) => {
                    stats.ecn_mark += 1;
                    sink.marked(packet);
                    Verdict::Mark
                }
                Verdict::Mark | Verdict::Drop => {
                    stats.drop_count += 1;
                    sink.dropped(packet, DropReason::Aqm);
                    Verdict::Drop
                }
            };
            if packet.has_more() {
                state.buffer = Some(verdict);
            }
            if verdict == Verdict::Drop {
                queue.pop();
                continue;
            }
            return queue.pop();
        }
    }
}

impl CodelState {
    /// Records that the queue was found empty, which ends the dropping state.
    #[inline]
    pub fn emptied(&mut self) {
        self.first_above_time = 0;
        self.dropping = false;
        self.pending = false;
    }

    /// Applies the decision about the buffer of the previous packet to the next one. Returns `None` if that packet starts another buffer.
    #[cold]
    fn continue_buffer<P: Packet>(
        &mut self,
        packet: &mut P,
        sink: &mut dyn Sink<P>,
    ) -> Option<Verdict> {
        let verdict = self.buffer.take().filter(|_| packet.follows())?;
        match verdict {
            Verdict::Forward => {}
            Verdict::Mark => {
                if mark(packet) {
                    sink.marked(packet);
                }
            }
            Verdict::Drop => sink.dropped(packet, DropReason::Aqm),
        }
        self.buffer = packet.has_more().then_some(verdict);
        Some(verdict)
    }

    /// Newton's method, as in Linux and ns-3: one step towards 1 / sqrt(count) per signal. So the third signal follows the second after half an interval
    /// instead of 0.71 of it.
    #[inline]
    fn refine(&mut self) {
        let (count, root) = (self.count as f32, self.inverse_root);
        self.inverse_root = root * (1.5 - 0.5 * count * root * root);
    }

    /// Counts packets that were dropped by overflow as signals, so that CoDel drops more often (Linux's fq_codel).
    pub fn add_signals(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
        // One step of Newton's method does not bridge such a jump.
        self.inverse_root = 1.0 / libm::sqrtf(self.count as f32);
    }

    /// Number of signals since the dropping state was entered.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether CoDel is in its dropping state.
    pub fn dropping(&self) -> bool {
        self.dropping
    }
}

struct Codel<P> {
    ring: Ring<P>,
    capacity: Capacity,
    controller: CodelController,
    state: CodelState,
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
        self.controller
            .dequeue(&mut self.state, &mut self.stats, now, sink, &mut self.ring)
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

    /// `drop_next` is in seconds since the start of the run.
    fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("count", f64::from(self.state.count)),
            ("lastcount", f64::from(self.state.lastcount)),
            ("dropping", f64::from(u8::from(self.state.dropping))),
            ("drop_next", self.state.drop_next as f64 * 1e-9),
            ("drop_count", self.stats.drop_count as f64),
            ("drop_overlimit", self.stats.drop_overlimit as f64),
            ("ecn_mark", self.stats.ecn_mark as f64),
            ("ce_mark", self.stats.ce_mark as f64),
        ]
    }
}
