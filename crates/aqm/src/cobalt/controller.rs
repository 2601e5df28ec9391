//! COBALT's controller: CoDel whose drop rate decays, and BLUE.

use std::hint::select_unpredictable;

use bloatlab_units::{NEVER, Nanos, Rng};

use crate::{DropReason, Ecn, Packet, Sink, Verdict, mark};

/// A probability as a multiple of 2^-32, saturated. State is kept in integers.
pub(super) fn probability(p: f64) -> u32 {
    (p * 4_294_967_296.0) as u32
}

/// COBALT's parameters. Queues with the same parameters share one controller.
#[derive(Clone, Copy, Debug)]
pub struct CobaltController {
    /// Acceptable sojourn time.
    pub target: Nanos,
    /// Time from the first packet above the target to the first signal.
    pub interval: Nanos,
    /// Whether CoDel marks ECN-capable packets.
    pub ecn: bool,
    /// Sojourn time above which every packet is marked.
    pub ce_threshold: Nanos,
    /// Sojourn time above which BLUE's probability grows.
    pub blue_threshold: Nanos,
    /// Increase of BLUE's probability per step, in 2^-32.
    pub p_inc: u32,
    /// Decrease of BLUE's probability per step, in 2^-32.
    pub p_dec: u32,
}

/// COBALT's state of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct CobaltState {
    /// When the next step of the schedule is due: a signal, or a decrement of `count`.
    drop_next: Nanos,
    /// When BLUE's probability may next change.
    blue_next: Nanos,
    /// Position on the schedule: signals minus decrements.
    count: u32,
    /// BLUE's drop probability, in 2^-32.
    p_drop: u32,
    dropping: bool,
    /// The first standing queue gets a signal at its next packet, because no previous step has set a time.
    at_once: bool,
}

impl CobaltState {
    /// The state of a new queue with this initial BLUE probability.
    pub fn with_p_drop(p_drop: f64) -> Self {
        Self {
            p_drop: probability(p_drop),
            ..Self::default()
        }
    }

    /// The state of a new queue in Linux's cake, whose inverse square root is 0 until the count first changes.
    pub fn at_once() -> Self {
        Self {
            at_once: true,
            ..Self::default()
        }
    }
}

/// COBALT's counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// Packets dropped by COBALT.
    pub drop_count: u64,
    /// Packets marked by COBALT.
    pub ecn_mark: u64,
    /// Packets marked because their sojourn time exceeded `ce_threshold`.
    pub ce_mark: u64,
    /// Packets dropped because the queue was full.
    pub drop_overlimit: u64,
}

impl CobaltController {
    /// Creates a controller with these times, with ECN and with BLUE's published steps.
    pub fn new(target: Nanos, interval: Nanos) -> Self {
        Self {
            target,
            interval,
            ecn: true,
            ce_threshold: NEVER,
            blue_threshold: NEVER,
            // arXiv 1804.07617 section III-B: BLUE handles what CoDel cannot control. The steps are those of Linux, 1/256 and 1/4096.
            p_inc: 1 << 24,
            p_dec: 1 << 20,
        }
    }

    /// Judges the packet that leaves the head of the queue at `now`. `markable` means that it is ECN-capable and the controller may mark.
    ///
    /// Sojourn times up to `floor` are acceptable, too. A mark or a drop returned here can always be applied.
    #[inline]
    pub fn judge(
        &self,
        state: &mut CobaltState,
        now: Nanos,
        sojourn: Nanos,
        floor: Nanos,
        markable: bool,
        rng: &mut Rng,
    ) -> Verdict {
        // The time is compared first, here and below, because it has rarely come, while the count differs between queues.
        let due = now >= state.drop_next && state.count > 0;
        let standing = sojourn > self.target.max(floor);
        if standing && !state.dropping {
            self.stand(state, now);
        }
        state.dropping = standing;
        let mut verdict = Verdict::Forward;
        if due {
            verdict = self.step(state, now, standing, markable);
        }
        if sojourn > self.blue_threshold {
            self.blue_up(state, now);
        }
        // BLUE does not mark, because it acts on flows that do not respond to marks.
        if state.p_drop > 0 && (rng.bits() as u32) < state.p_drop {
            verdict = Verdict::Drop;
        }
        // Steps that are late are not made up for by marks.
        let next = if verdict == Verdict::Drop {
            state.drop_next
        } else {
            state.drop_next.max(now)
        };
        // At rest, the queue is active until this time. Whether a queue is at rest is unpredictable.
        state.drop_next = select_unpredictable(state.count == 0, now + self.interval, next);
        verdict
    }

    /// Handles that a standing queue begins.
    #[inline(never)]
    fn stand(&self, state: &mut CobaltState, now: Nanos) {
        // The rate resumes where the decay left it: after the time between two signals, not after a whole interval.
        state.count = state.count.max(1);
        state.drop_next = if state.at_once {
            now
        } else {
            self.control_law(now, state.count)
        };
    }

    /// Performs a step of the schedule: a signal if there is a standing queue, otherwise a decrement of the count.
    #[cold]
    #[inline(never)]
    fn step(&self, state: &mut CobaltState, now: Nanos, standing: bool, markable: bool) -> Verdict {
        if !standing {
            // The count is not reset. It decreases on the same schedule on which it increased.
            while state.count > 0 && now >= state.drop_next {
                self.step_down(state);
            }
            return Verdict::Forward;
        }
        state.count = state.count.saturating_add(1);
        state.at_once = false;
        state.drop_next = self.control_law(state.drop_next, state.count);
        if markable {
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }

    /// Records that the queue was found empty. Returns whether BLUE's probability has just reached zero.
    #[inline]
    pub fn emptied(&self, state: &mut CobaltState, now: Nanos) -> bool {
        let mut silent = false;
        if state.p_drop > 0 && now >= state.blue_next {
            state.p_drop = state.p_drop.saturating_sub(self.p_dec);
            state.blue_next = now + self.target;
            silent = state.p_drop == 0;
        }
        state.pause();
        if now >= state.drop_next && state.count > 0 {
            self.step_down(state);
        }
        silent
    }

    /// Records that the queue overflowed: a signal is due at once, and BLUE's probability rises. Returns whether it was zero before.
    pub fn overflowed(&self, state: &mut CobaltState, now: Nanos) -> bool {
        let began = self.blue_up(state, now);
        state.dropping = true;
        state.drop_next = now;
        state.count = state.count.max(1);
        began
    }

    /// Raises BLUE's probability, at most once per target.
    fn blue_up(&self, state: &mut CobaltState, now: Nanos) -> bool {
        if now < state.blue_next {
            return false;
        }
        let silent = state.p_drop == 0;
        state.p_drop = state.p_drop.saturating_add(self.p_inc);
        state.blue_next = now + self.target;
        silent && state.p_drop > 0
    }

    #[cold]
    #[inline(never)]
    fn step_down(&self, state: &mut CobaltState) {
        state.count -= 1;
        state.at_once = false;
        state.drop_next = self.control_law(state.drop_next, state.count.max(1));
    }

    /// RFC 8289 section 5.6: the time to the next step is the interval divided by the square root of the count.
    fn control_law(&self, time: Nanos, count: u32) -> Nanos {
        time + (self.interval as f64 / libm::sqrt(f64::from(count))) as Nanos
    }

    /// Judges the packet at the head of a queue. Returns `None` if it may pass unchanged. Always inlined, because a call per packet took 2 ns.
    #[inline(always)]
    pub fn look<P: Packet>(
        &self,
        packet: &P,
        state: &mut CobaltState,
        now: Nanos,
        floor: Nanos,
        rng: &mut Rng,
    ) -> Option<Verdict> {
        let sojourn = now.saturating_sub(packet.enqueued_at());
        let markable = self.ecn && packet.ecn() != Ecn::NotEct;
        let verdict = self.judge(state, now, sojourn, floor, markable, rng);
        (verdict != Verdict::Forward || sojourn > self.ce_threshold).then_some(verdict)
    }

    /// Applies a decision to the packet at the head. Returns whether the packet was dropped. The last packet of a queue is never dropped.
    #[cold]
    #[inline(never)]
    pub fn obey<P: Packet>(
        &self,
        judged: Verdict,
        packet: &mut P,
        last: bool,
        now: Nanos,
        stats: &mut Stats,
        sink: &mut dyn Sink<P>,
    ) -> bool {
        match judged {
            Verdict::Mark => {
                stats.ecn_mark += 1;
                mark(packet);
                sink.marked(packet);
            }
            // arXiv 1804.07617: a queue of one packet is not a standing queue.
            Verdict::Drop if !last => {
                stats.drop_count += 1;
                sink.dropped(packet, DropReason::Aqm);
                return true;
            }
            Verdict::Drop | Verdict::Forward => {
                let sojourn = now.saturating_sub(packet.enqueued_at());
                if sojourn > self.ce_threshold && mark(packet) {
                    stats.ce_mark += 1;
                    sink.marked(packet);
                }
            }
        }
        false
    }
}

impl CobaltState {
    /// Position on the schedule.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// When the next step of the schedule is due.
    pub fn drop_next(&self) -> Nanos {
        self.drop_next
    }

    /// BLUE's drop probability.
    pub fn p_drop(&self) -> f64 {
        f64::from(self.p_drop) / 4_294_967_296.0
    }

    /// Whether COBALT is in its dropping state.
    pub fn dropping(&self) -> bool {
        self.dropping
    }

    /// Records that the queue is empty, which ends the dropping state.
    #[inline]
    pub fn pause(&mut self) {
        self.dropping = false;
    }

    /// Until when an empty queue needs no update.
    #[inline]
    pub fn decays_at(&self) -> Nanos {
        if self.p_drop > 0 {
            self.drop_next.min(self.blue_next)
        } else {
            self.drop_next
        }
    }

    /// Whether nothing is left to decay. The state of an empty queue at rest may be discarded.
    #[inline]
    pub fn at_rest(&self, now: Nanos) -> bool {
        now >= self.drop_next && self.count == 0 && self.p_drop == 0
    }
}
