//! The transmitter of a link: packets arrive, wait, and are sent one after the other.

use bloatlab_units::{NEVER, Nanos};

use crate::accounting::{count_wait, settle};
use crate::boxes::Link;
use crate::flow_account::FlowAccount;
use crate::packet::Packet;
use crate::packet_log::PacketLog;
use crate::schedule::Schedule;
use crate::tail_drop::Waited;
use bloatlab_outcome::Step;

/// The parts of the network that a link's transmitter uses.
pub(crate) struct LinkContext<'a> {
    pub schedule: &'a mut Schedule,
    /// One per flow.
    pub accounts: &'a mut [FlowAccount],
    pub log: &'a mut PacketLog,
    /// Number of transmissions at whose end there was something to do, scheduled as events or not.
    pub ends: &'a mut u64,
}

impl Link {
    /// Takes a packet that arrives now.
    #[inline(always)]
    pub fn take_in(&mut self, context: &mut LinkContext, packet: &Packet) {
        let now = context.schedule.now;
        self.serve(context, now + 1);
        context.log.note(now, Step::Enqueue, self.number, packet);
        if let Some(capacity) = self.tail_drop {
            if !self.wait(now, capacity, packet) {
                settle(self, now, context.accounts, context.log);
            } else if !self.busy {
                self.send_first(context, now);
            }
            return;
        }
        self.enqueue(now, *packet);
        if !self.signals.is_empty() {
            settle(self, now, context.accounts, context.log);
        }
        if self.has_room() {
            self.fill_device(context, now);
        }
        self.plan_end(context.schedule);
    }

    /// Catches up on all transmissions that ended before this instant and were not scheduled as events.
    #[inline(always)]
    pub fn serve(&mut self, context: &mut LinkContext, before: Nanos) {
        while self.busy && self.busy_until < before {
            self.end_transmission(context, self.busy_until);
        }
    }

    /// Ends the current transmission and starts the next one.
    #[inline(always)]
    fn end_transmission(&mut self, context: &mut LinkContext, now: Nanos) {
        *context.ends += u64::from(self.awaits_end());
        self.finish(context.schedule, now);
        if self.tail_drop.is_some() {
            self.send_first(context, now);
        } else if self.packets > 0 || self.observes_idleness {
            self.fill_device(context, now);
        }
        if !self.busy {
            self.rest();
        }
    }

    /// Sends the first waiting packet of a link that keeps its FIFO itself, if there is one.
    #[inline(always)]
    fn send_first(&mut self, context: &mut LinkContext, now: Nanos) {
        if let Some(waited) = self.set_out(context.schedule, now) {
            count_wait(self, context.accounts, waited);
        }
    }

    /// Moves packets from the queue discipline to the device and the transmitter, as far as there is room.
    #[inline(always)]
    pub fn fill_device(&mut self, context: &mut LinkContext, now: Nanos) {
        while self.has_room() {
            let packet = self.dequeue(now);
            if !self.signals.is_empty() {
                settle(self, now, context.accounts, context.log);
            }
            let Some(packet) = packet else {
                if self.packets > 0 {
                    debug_assert!(!self.lazy);
                    self.arrange_wake(context.schedule);
                }
                return;
            };
            count_wait(self, context.accounts, Waited::of(&packet, now));
            context.log.note(now, Step::Dequeue, self.number, &packet);
            if self.busy {
                self.device.push_back(packet);
            } else {
                self.transmit(context.schedule, now, &packet);
            }
        }
    }

    /// Brings the link up to date. A bearer or gate has a queue but no transmitter, and nothing in flight.
    pub fn catch_up(&mut self, context: &mut LinkContext, before: Nanos) {
        if !self.flight.is_empty() {
            self.serve(context, before);
        }
    }

    /// Handles the scheduled end of a transmission.
    #[inline]
    pub fn on_done(&mut self, context: &mut LinkContext) {
        self.end_is_planned = false;
        self.end_transmission(context, context.schedule.now);
        self.plan_end(context.schedule);
    }

    /// Returns the packet that arrives at the other end now.
    #[inline]
    pub fn on_flight(&mut self, context: &mut LinkContext) -> Option<Packet> {
        self.count.departures += 1;
        let packet = self.flight.pop(context.schedule);
        if self.flight.is_empty() {
            // Without a packet in flight there is no event left that would bring the link up to date.
            self.serve(context, context.schedule.now + 1);
        }
        packet
    }

    /// Wakes the queue discipline, if this is the wake-up that is due.
    pub fn on_wake(&mut self, context: &mut LinkContext) {
        let now = context.schedule.now;
        if self.wake_at != now {
            // An earlier wake-up replaced it.
            return;
        }
        self.catch_up(context, now + 1);
        self.queue.wake(now);
        self.wake_at = NEVER;
        self.arrange_wake(context.schedule);
        if self.packets > 0 && self.has_room() {
            self.fill_device(context, now);
        }
        self.plan_end(context.schedule);
    }
}
