//! A link: its port, and the propagation behind it.

use bloatlab_aqm::{BufferDecision, Capacity, Qdisc};
use bloatlab_outcome::Step;
use bloatlab_port::{Backlog, Egress, Port};
use bloatlab_units::{Nanos, Rate};

use crate::accounting::{Context, Waited};
use crate::flight::Flight;
use crate::own_queue::OwnQueue;
use crate::packet::Packet;
use crate::schedule::{Schedule, Slot, application, event};

/// A link with its queue. Packets arrive, wait, are sent one after the other, and propagate.
pub(crate) struct Link {
    pub port: Port<Packet>,
    pub flight: Flight,
    /// The end of a transmission is never an event. The link catches up when a packet arrives, when its last packet in flight arrives, and before it
    /// is measured. Only links with a work-conserving queue are lazy; the results are the same.
    pub lazy: bool,
    /// The capacity of a tail-drop FIFO whose packets this lazy link stores itself.
    pub tail_drop: Option<Capacity>,
    /// The offload buffer that is arriving, if that FIFO refused it.
    pub refused: BufferDecision<()>,
    /// The end of the current transmission is scheduled as an event.
    pub end_is_planned: bool,
    pub done_slot: Slot,
    /// What the connections of the host have waiting here, if the link is a host's own. Such a link is not lazy.
    pub own: Option<Box<OwnQueue>>,
    /// Its rate divided by that of a shaper in its queue; 1 without one. Rates and utilization are those of the shaper.
    pub shaping: f64,
    /// Number of queue disciplines that were replaced.
    pub queues_replaced: u32,
}

impl Link {
    /// Handles a packet that arrives now.
    #[inline(always)]
    pub fn take_in(&mut self, context: &mut Context, packet: &Packet) {
        let now = context.schedule.now;
        self.serve(context, now + 1);
        context
            .log
            .note(now, Step::Enqueue, self.port.backlog.number, packet);
        if let Some(capacity) = self.tail_drop {
            if !self.wait(now, capacity, packet) {
                context.settle(now, &mut self.port.backlog);
            } else if !self.port.transmitter.busy {
                self.send_first(context, now);
            }
            return;
        }
        let (port, mut out) = self.parts(context);
        port.enqueue(now, packet, &mut out);
        self.plan_end(context.schedule);
    }

    /// Catches up on all transmissions that ended before this instant and were not scheduled as events.
    #[inline(always)]
    pub fn serve(&mut self, context: &mut Context, before: Nanos) {
        while self.port.transmitter.busy && self.port.transmitter.busy_until < before {
            self.end_transmission(context, self.port.transmitter.busy_until);
        }
    }

    /// Ends the current transmission and starts the next one.
    #[inline(always)]
    fn end_transmission(&mut self, context: &mut Context, now: Nanos) {
        if self.tail_drop.is_none() {
            *context.ends += u64::from(self.port.awaits_end());
            let (port, mut out) = self.parts(context);
            port.end_transmission(now, &mut out);
            return;
        }
        self.port.finish();
        if self.port.backlog.packets > 0 {
            *context.ends += 1;
            self.send_first(context, now);
        } else {
            self.port.transmitter.rest();
        }
    }

    /// Schedules the end of the current transmission as an event, if it has to be one.
    #[inline]
    fn plan_end(&mut self, schedule: &mut Schedule) {
        if !self.lazy
            && !self.end_is_planned
            && let Some(at) = self.port.next()
        {
            self.end_is_planned = true;
            schedule.set(self.done_slot, at, event::LINK_DONE, self.flight.index);
        }
    }

    /// Handles the scheduled end of a transmission.
    #[inline]
    pub fn on_done(&mut self, context: &mut Context) {
        self.end_is_planned = false;
        // At rates that send a packet in less than a nanosecond, a packet of the same instant may have ended this transmission and started another one.
        if self.port.transmitter.busy_until <= context.schedule.now {
            self.end_transmission(context, context.schedule.now);
        }
        self.plan_end(context.schedule);
    }

    /// Returns the packet that arrives at the other end now.
    #[inline]
    pub fn on_flight(&mut self, context: &mut Context) -> Option<Packet> {
        self.port.backlog.count.departures += 1;
        let packet = self.flight.pop(context.schedule);
        if self.flight.is_empty() {
            // Without a packet in flight there is no event left that would bring the link up to date.
            self.serve(context, context.schedule.now + 1);
        }
        packet
    }

    /// Wakes the queue discipline, if this is the wake-up that is due.
    pub fn on_wake(&mut self, context: &mut Context) {
        let now = context.schedule.now;
        if !self.port.backlog.is_wake_due(now) {
            return;
        }
        self.serve(context, now + 1);
        let (port, mut out) = self.parts(context);
        port.backlog.wake(now);
        out.plan_wake(now, &mut port.backlog);
        if port.backlog.packets > 0 && port.has_room() {
            port.fill(now, &mut out);
        }
        self.plan_end(context.schedule);
    }

    /// Schedules the first wake-up of the queue discipline.
    pub fn plan_wake(&mut self, schedule: &mut Schedule) {
        plan_wake(schedule, &mut self.port.backlog);
    }

    /// Sets the rate of the packets that are sent from now on. A packet that is being sent keeps its time.
    pub fn set_rate(&mut self, now: Nanos, rate: Rate) {
        self.port.set_rate(now, rate);
    }

    /// Sets the propagation delay of the packets that are sent from now on. None arrives before those in flight.
    pub fn set_delay(&mut self, delay: Nanos) {
        let last = self.flight.last_arrival();
        self.port.transmitter.set_delay(delay, last);
    }

    /// Replaces the queue discipline. The waiting packets move to the new one as if they arrived now.
    pub fn replace_queue(&mut self, context: &mut Context, queue: Box<dyn Qdisc<Packet>>) {
        let now = context.schedule.now;
        let stored = self.tail_drop.take().map(|_| self.take_stored(now));
        self.lazy &= queue.is_work_conserving();
        self.queues_replaced += 1;
        let (port, mut out) = self.parts(context);
        let waiting = stored.unwrap_or_else(|| port.drain(now, &mut out));
        port.replace_queue(now, queue, waiting, &mut out);
        self.plan_end(context.schedule);
    }

    /// The port, and what receives its packets.
    #[inline(always)]
    fn parts<'a, 'b>(
        &'a mut self,
        context: &'a mut Context<'b>,
    ) -> (&'a mut Port<Packet>, Propagation<'a, 'b>) {
        let out = Propagation {
            context,
            flight: &mut self.flight,
            own: self.own.as_deref_mut(),
        };
        (&mut self.port, out)
    }
}

/// Receives the packets of a link's port.
struct Propagation<'a, 'b> {
    context: &'a mut Context<'b>,
    flight: &'a mut Flight,
    own: Option<&'a mut OwnQueue>,
}

impl Propagation<'_, '_> {
    /// A packet leaves a host's own queue, so that its flow may go on sending.
    #[cold]
    fn leave_own_queue(&mut self, packet: &Packet) {
        let awaited = self.own.as_mut().and_then(|own| own.remove(packet));
        if let Some(flow) = awaited {
            let schedule = &mut self.context.schedule;
            let target = flow as u32 * application::KINDS + application::RESUME;
            schedule.at(schedule.now, event::APPLICATION, target);
        }
    }
}

impl Egress<Packet> for Propagation<'_, '_> {
    #[inline(always)]
    fn signalled(&mut self, now: Nanos, backlog: &mut Backlog<Packet>) {
        if self.own.is_some() {
            for (packet, _) in &backlog.signals.drops {
                self.leave_own_queue(packet);
            }
        }
        self.context.settle(now, backlog);
    }

    #[inline(always)]
    fn dequeued(&mut self, now: Nanos, backlog: &mut Backlog<Packet>, packet: &Packet) {
        self.context.count_wait(backlog, Waited::of(packet, now));
        self.context
            .log
            .note(now, Step::Dequeue, backlog.number, packet);
    }

    #[inline(always)]
    fn plan_wake(&mut self, _now: Nanos, backlog: &mut Backlog<Packet>) {
        plan_wake(self.context.schedule, backlog);
    }

    #[inline(always)]
    fn transmitted(&mut self, arrival: Nanos, packet: &Packet) {
        if self.own.is_some() {
            self.leave_own_queue(packet);
        }
        self.flight.push(self.context.schedule, arrival, packet);
    }
}

/// Schedules the next wake-up of a queue discipline, if it asks for an earlier one than the planned one.
pub(crate) fn plan_wake(schedule: &mut Schedule, backlog: &mut Backlog<Packet>) {
    if let Some(at) = backlog.plan_wake(schedule.now) {
        schedule.at(at, event::WAKE, backlog.number);
    }
}
