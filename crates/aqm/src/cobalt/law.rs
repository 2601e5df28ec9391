//! COBALT's law: CoDel whose rate decays, and BLUE.

use std::hint::select_unpredictable;

use bloatlab_units::{NEVER, Nanos, Rng};

use crate::{DropReason, Ecn, Packet, Sink, Verdict, mark};

/// A probability as a share of 2^32, saturated: integers carry state.
pub(super) fn probability(p: f64) -> u32 {
    (p * 4_294_967_296.0) as u32
}

/// COBALT's settings; shared by every queue that obeys the same ones.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// Sojourn time that is acceptable.
    pub target: Nanos,
    /// Time from the first packet above the target to the first signal.
    pub interval: Nanos,
    /// CoDel marks where it can.
    pub ecn: bool,
    /// Sojourn time above which every packet is marked.
    pub ce_threshold: Nanos,
    /// Sojourn time above which BLUE's probability grows.
    pub blue_threshold: Nanos,
    /// Step up of BLUE's probability, in 2^-32.
    pub p_inc: u32,
    /// Step down of BLUE's probability, in 2^-32.
    pub p_dec: u32,
}

/// What COBALT remembers of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Vars {
    /// When the next step of the schedule is due: a signal, or a decrement of `count`.
    drop_next: Nanos,
    /// When BLUE's probability may next change.
    blue_next: Nanos,
    /// How far up the schedule is: signals less decrements.
    count: u32,
    /// BLUE's drop probability, in 2^-32.
    p_drop: u32,
    dropping: bool,
    /// The first queue that stands is signalled to at its next packet: nothing on the schedule has set a distance yet.
    at_once: bool,
}

impl Vars {
    /// Those of a queue that begins with this drop probability of BLUE's.
    pub fn with_p_drop(p_drop: f64) -> Self {
        Self {
            p_drop: probability(p_drop),
            ..Self::default()
        }
    }

    /// Those of a new queue in Linux's cake, whose inverse square root is 0 until the count first changes.
    pub fn at_once() -> Self {
        Self {
            at_once: true,
            ..Self::default()
        }
    }
}

/// What COBALT counted.
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
    /// The law with these times, ECN on and BLUE's steps as published.
    pub fn new(target: Nanos, interval: Nanos) -> Self {
        Self {
            target,
            interval,
            ecn: true,
            ce_threshold: NEVER,
            blue_threshold: NEVER,
            // arXiv 1804.07617 section III-B: BLUE for what CoDel cannot control; steps as in Linux, 1/256 and 1/4096.
            p_inc: 1 << 24,
            p_dec: 1 << 20,
        }
    }

    /// Judges the packet that leaves the queue's head at `now`; `markable` if it is ECN-capable and the law marks.
    ///
    /// Sojourn times up to `floor` are acceptable too. Mark and drop are orders here: the law knows that they can be obeyed.
    #[inline]
    pub fn judge(
        &self,
        vars: &mut Vars,
        now: Nanos,
        sojourn: Nanos,
        floor: Nanos,
        markable: bool,
        rng: &mut Rng,
    ) -> Verdict {
        // The time first, here and below: that it has come is rare, where the count differs from queue to queue.
        let due = now >= vars.drop_next && vars.count > 0;
        let standing = sojourn > self.target.max(floor);
        if standing && !vars.dropping {
            self.stand(vars, now);
        }
        vars.dropping = standing;
        let mut verdict = Verdict::Forward;
        if due {
            verdict = self.step(vars, now, standing, markable);
        }
        if sojourn > self.blue_threshold {
            self.blue_up(vars, now);
        }
        // BLUE does not ask for ECN: what it is there for does not respond to marks.
        if vars.p_drop > 0 && (rng.bits() as u32) < vars.p_drop {
            verdict = Verdict::Drop;
        }
        // Late steps are not caught up with by marks.
        let next = if verdict == Verdict::Drop {
            vars.drop_next
        } else {
            vars.drop_next.max(now)
        };
        // At rest, this is until when the queue counts as active. Which queues of many are cannot be foretold.
        vars.drop_next = select_unpredictable(vars.count == 0, now + self.interval, next);
        verdict
    }

    /// A queue begins to stand.
    #[inline(never)]
    fn stand(&self, vars: &mut Vars, now: Nanos) {
        // The rate resumes where the decay has left it: no interval of patience, but the one between two signals.
        vars.count = vars.count.max(1);
        vars.drop_next = if vars.at_once {
            now
        } else {
            self.control_law(now, vars.count)
        };
    }

    /// The schedule's time has come: a signal if the queue stands, else the count steps down.
    #[cold]
    #[inline(never)]
    fn step(&self, vars: &mut Vars, now: Nanos, standing: bool, markable: bool) -> Verdict {
        if !standing {
            // The count is not reset: it steps down on the schedule on which it went up.
            while vars.count > 0 && now >= vars.drop_next {
                self.step_down(vars);
            }
            return Verdict::Forward;
        }
        vars.count = vars.count.saturating_add(1);
        vars.at_once = false;
        vars.drop_next = self.control_law(vars.drop_next, vars.count);
        if markable {
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }

    /// The queue was found empty. Says whether BLUE has just fallen silent.
    #[inline]
    pub fn emptied(&self, vars: &mut Vars, now: Nanos) -> bool {
        let mut silent = false;
        if vars.p_drop > 0 && now >= vars.blue_next {
            vars.p_drop = vars.p_drop.saturating_sub(self.p_dec);
            vars.blue_next = now + self.target;
            silent = vars.p_drop == 0;
        }
        vars.pause();
        if now >= vars.drop_next && vars.count > 0 {
            self.step_down(vars);
        }
        silent
    }

    /// The queue overflowed: a signal is due at once, and BLUE presses harder. Says whether it has just begun to.
    pub fn overflowed(&self, vars: &mut Vars, now: Nanos) -> bool {
        let began = self.blue_up(vars, now);
        vars.dropping = true;
        vars.drop_next = now;
        vars.count = vars.count.max(1);
        began
    }

    /// Raises BLUE's probability, at most once per target.
    fn blue_up(&self, vars: &mut Vars, now: Nanos) -> bool {
        if now < vars.blue_next {
            return false;
        }
        let silent = vars.p_drop == 0;
        vars.p_drop = vars.p_drop.saturating_add(self.p_inc);
        vars.blue_next = now + self.target;
        silent && vars.p_drop > 0
    }

    #[cold]
    #[inline(never)]
    fn step_down(&self, vars: &mut Vars) {
        vars.count -= 1;
        vars.at_once = false;
        vars.drop_next = self.control_law(vars.drop_next, vars.count.max(1));
    }

    /// RFC 8289 section 5.6: the next step comes an interval divided by the square root of the count later.
    fn control_law(&self, time: Nanos, count: u32) -> Nanos {
        time + (self.interval as f64 / libm::sqrt(f64::from(count))) as Nanos
    }

    /// Judges the packet at a queue's head; none if it may pass as it is. Always inlined: a call for every packet took 2 ns.
    #[inline(always)]
    pub fn look<P: Packet>(
        &self,
        packet: &P,
        vars: &mut Vars,
        now: Nanos,
        floor: Nanos,
        rng: &mut Rng,
    ) -> Option<Verdict> {
        let sojourn = now.saturating_sub(packet.enqueued_at());
        let markable = self.ecn && packet.ecn() != Ecn::NotEct;
        let verdict = self.judge(vars, now, sojourn, floor, markable, rng);
        (verdict != Verdict::Forward || sojourn > self.ce_threshold).then_some(verdict)
    }

    /// Does with the packet at the head as was judged; whether it is dropped. The `last` one in a queue never is.
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
                sink.dropped(packet, DropReason::Law);
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

impl Vars {
    /// How far up the schedule is.
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

    /// Whether the law is in its dropping state.
    pub fn dropping(&self) -> bool {
        self.dropping
    }

    /// The queue is empty: it does not stand.
    #[inline]
    pub fn pause(&mut self) {
        self.dropping = false;
    }

    /// Until when the law of an empty queue has nothing else to do.
    #[inline]
    pub fn decays_at(&self) -> Nanos {
        if self.p_drop > 0 {
            self.drop_next.min(self.blue_next)
        } else {
            self.drop_next
        }
    }

    /// Whether nothing is left to decay: an empty queue in this state may be forgotten.
    #[inline]
    pub fn at_rest(&self, now: Nanos) -> bool {
        now >= self.drop_next && self.count == 0 && self.p_drop == 0
    }
}
