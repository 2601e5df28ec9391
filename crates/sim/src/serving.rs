//! A link at work: what comes in waits, sets out, and what follows when a transmission ends.

use bloatlab_units::{NEVER, Nanos};

use crate::boxes::Link;
use crate::packet::Packet;
use crate::packet_log::{PacketLog, Step};
use crate::passage::{Passage, count_wait, settle};
use crate::schedule::Schedule;
use crate::tail_drop::Waited;

/// What the work of a link touches besides it.
pub(crate) struct Around<'a> {
    pub schedule: &'a mut Schedule,
    /// By flow.
    pub passages: &'a mut [Passage],
    pub log: &'a mut PacketLog,
    /// Ends of transmissions that something waited for, whether they were events or not.
    pub ends: &'a mut u64,
}

impl Link {
    /// A packet comes in.
    #[inline(always)]
    pub fn take_in(&mut self, around: &mut Around, packet: &Packet) {
        let now = around.schedule.now;
        self.serve(around, now + 1);
        around.log.note(now, Step::Enqueue, self.number, packet);
        if let Some(capacity) = self.tail_drop {
            if !self.wait(now, capacity, packet) {
                settle(self, now, around.passages, around.log);
            } else if !self.busy {
                self.send_first(around, now);
            }
            return;
        }
        self.enqueue(now, *packet);
        if !self.fate.is_empty() {
            settle(self, now, around.passages, around.log);
        }
        if self.has_room() {
            self.fill_device(around, now);
        }
        self.plan_end(around.schedule);
    }

    /// Does what was to be done at the ends of transmissions before this instant that were no events.
    #[inline(always)]
    pub fn serve(&mut self, around: &mut Around, before: Nanos) {
        while self.busy && self.busy_until < before {
            self.end_transmission(around, self.busy_until);
        }
    }

    /// The transmitter is free.
    #[inline(always)]
    fn end_transmission(&mut self, around: &mut Around, now: Nanos) {
        *around.ends += u64::from(self.awaits_end());
        self.finish(around.schedule, now);
        if self.tail_drop.is_some() {
            self.send_first(around, now);
        } else if self.packets > 0 || self.heeds_idleness {
            self.fill_device(around, now);
        }
        if !self.busy {
            self.rest();
        }
    }

    /// The packet that has waited longest in a link that keeps them itself sets out, if there is one.
    #[inline(always)]
    fn send_first(&mut self, around: &mut Around, now: Nanos) {
        if let Some(waited) = self.set_out(around.schedule, now) {
            count_wait(self, around.passages, waited);
        }
    }

    /// Moves packets from the queue discipline to the device and the transmitter, as far as there is room.
    #[inline(always)]
    fn fill_device(&mut self, around: &mut Around, now: Nanos) {
        while self.has_room() {
            let packet = self.dequeue(now);
            if !self.fate.is_empty() {
                settle(self, now, around.passages, around.log);
            }
            let Some(packet) = packet else {
                if self.packets > 0 {
                    debug_assert!(!self.lazy);
                    self.arrange_wake(around.schedule);
                }
                return;
            };
            count_wait(self, around.passages, Waited::of(&packet, now));
            around.log.note(now, Step::Dequeue, self.number, &packet);
            if self.busy {
                self.device.push_back(packet);
            } else {
                self.transmit(around.schedule, now, &packet);
            }
        }
    }

    /// Brings it up to an instant. A bearer or gate has a queue, but no transmitter.
    pub fn catch_up(&mut self, around: &mut Around, before: Nanos) {
        if !self.flight.is_empty() {
            self.serve(around, before);
        }
    }

    /// A transmission ends whose end is an event.
    #[inline]
    pub fn on_done(&mut self, around: &mut Around) {
        self.end_is_planned = false;
        self.end_transmission(around, around.schedule.now);
        self.plan_end(around.schedule);
    }

    /// Takes the packet that has crossed it.
    #[inline]
    pub fn on_flight(&mut self, around: &mut Around) -> Option<Packet> {
        self.count.departures += 1;
        let packet = self.flight.pop(around.schedule);
        if self.flight.is_empty() {
            // Only arrivals of packets that were sent are events.
            self.serve(around, around.schedule.now + 1);
        }
        packet
    }

    /// The queue discipline asked to be woken.
    pub fn on_wake(&mut self, around: &mut Around) {
        let now = around.schedule.now;
        if self.wake_at != now {
            // An earlier wake-up took its place.
            return;
        }
        self.catch_up(around, now + 1);
        self.queue.wake(now);
        self.wake_at = NEVER;
        self.arrange_wake(around.schedule);
        if self.packets > 0 && self.has_room() {
            self.fill_device(around, now);
        }
        self.plan_end(around.schedule);
    }
}
