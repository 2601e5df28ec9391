//! What of a link or delay another value replaces during the run.

use bloatlab_aqm::Qdisc;
use bloatlab_units::{NEVER, Nanos, Rate};

use crate::accounting::settle;
use crate::boxes::{DelayLine, Link};
use crate::mean_rate::MeanRate;
use crate::packet::Packet;
use crate::serialization::Serialization;
use crate::serving::LinkContext;
use crate::varying::VaryingDelay;

impl Link {
    /// The rate of the packets that are sent from now on. A packet that is being sent keeps its time.
    pub fn set_rate(&mut self, now: Nanos, rate: Rate, warmup: Nanos, sampled_at: Nanos) {
        let before = self.wire.rate;
        let start = || Box::new(MeanRate::start(before, warmup, sampled_at));
        self.mean_rate.get_or_insert_with(start).set(now, rate);
        self.wire = Serialization::new(rate);
    }

    /// The propagation delay of the packets that are sent from now on. None arrives before those in flight.
    pub fn set_delay(&mut self, delay: Nanos) {
        let last = self.flight.last_arrival();
        self.delay = delay;
        let varying = self.varying.get_or_insert_default();
        varying.delay = Some(VaryingDelay::after(last, delay));
    }

    /// Replaces the queue discipline. The waiting packets move to the new one as if they arrived now.
    pub fn replace_queue(&mut self, context: &mut LinkContext, queue: Box<dyn Qdisc<Packet>>) {
        let now = context.schedule.now;
        let waiting = self.take_waiting(context);
        self.lazy &= queue.is_work_conserving();
        self.observes_idleness = queue.observes_idleness();
        self.tail_drop = None;
        self.wake_at = NEVER;
        self.queue = queue;
        self.queues_replaced += 1;
        for mut packet in waiting {
            packet.lengthen(self.header);
            self.queue.enqueue(now, packet, &mut self.signals);
            self.account(now, 1, u64::from(packet.length()));
            if !self.signals.is_empty() {
                settle(self, now, context.accounts, context.log);
            }
        }
        self.arrange_wake(context.schedule);
        if self.has_room() {
            self.fill_device(context, now);
        }
        self.plan_end(context.schedule);
    }

    /// Takes all packets out of the queue.
    fn take_waiting(&mut self, context: &mut LinkContext) -> Vec<Packet> {
        let now = context.schedule.now;
        if self.tail_drop.is_some() {
            self.set_length(now, 0, 0);
            return self.flight.take_waiting();
        }
        let mut waiting = Vec::new();
        while let Some(packet) = self.dequeue(now) {
            waiting.push(packet);
        }
        if !self.signals.is_empty() {
            settle(self, now, context.accounts, context.log);
        }
        debug_assert_eq!(self.packets, 0);
        waiting
    }
}

impl DelayLine {
    /// The delay of the packets that come from now on. None leaves before those inside.
    pub fn set_delay(&mut self, delay: Nanos) {
        let last = self.flight.last_arrival();
        self.delay = delay;
        self.varying = Some(Box::new(VaryingDelay::after(last, delay)));
    }
}
