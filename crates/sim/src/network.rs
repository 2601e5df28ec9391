//! Packets on their way: from box to box of their path, until they reach the host at its end.

use bloatlab_units::{NEVER, Nanos};

use crate::boxes::{DelayLine, Link};
use crate::packet::Packet;
use crate::packet_log::{HOST, PacketLog, Step};
use crate::passage::{Passage, count_wait, settle};
use crate::radio::RadioCell;
use crate::scatter::Scatter;
use crate::schedule::Schedule;
use crate::stretch::{Duplicator, Stretch};
use crate::tail_drop::Waited;

/// Where a packet goes next: a box, by kind and index among its kind, or the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Link(u32),
    Delay(u32),
    Loss(u32),
    /// A queue that is left when the radio is ready.
    Gate(u32),
    /// A link that is a bearer of the cell.
    Bearer(u32),
    Host,
    Scatter(u32),
    Corrupt(u32),
    Duplicate(u32),
    /// A host at the end of a path that damages packets: it looks at checksums.
    CheckingHost,
}

impl Place {
    /// Whether packets leave it within the call that brings them.
    pub fn takes_no_time(self) -> bool {
        matches!(self, Self::Loss(_) | Self::Corrupt(_) | Self::Duplicate(_))
    }
}

/// Everything between the hosts, and the clock.
pub(crate) struct Network {
    pub schedule: Schedule,
    pub links: Vec<Link>,
    pub delays: Vec<DelayLine>,
    pub scatters: Vec<Scatter>,
    pub losses: Vec<Stretch>,
    pub corrupters: Vec<Stretch>,
    pub duplicators: Vec<Duplicator>,
    pub radio: Option<Box<RadioCell>>,
    /// Boxes of all paths, one path after the other, each with the host at its end.
    pub routes: Vec<Place>,
    /// By flow.
    pub passages: Vec<Passage>,
    pub log: PacketLog,
    /// Ends of transmissions that something waited for, whether they were events or not.
    pub ends: u64,
}

impl Network {
    pub fn new(log: bool) -> Self {
        Self {
            schedule: Schedule::new(),
            links: Vec::new(),
            delays: Vec::new(),
            scatters: Vec::new(),
            losses: Vec::new(),
            corrupters: Vec::new(),
            duplicators: Vec::new(),
            radio: None,
            routes: Vec::new(),
            passages: Vec::new(),
            log: PacketLog::new(log),
            ends: 0,
        }
    }

    /// A host sends a packet. Every path has a box that takes time, so none arrives within this call.
    #[inline(always)]
    pub fn send(&mut self, packet: &mut Packet) {
        let passage = &mut self.passages[packet.flow_index()];
        packet.set_dscp(passage.dscp);
        passage.sent += u64::from(packet.direction() == 0);
        self.log.note(self.schedule.now, Step::Send, HOST, packet);
        match self.next_place(packet) {
            Place::Link(i) => self.enter_link(i as usize, packet),
            place => {
                let arrived = self.forward_to(place, packet);
                debug_assert!(!arrived);
            }
        }
    }

    /// A host sends a train: `count` packets that differ only in their sequence numbers. `packet`, the first of them, becomes the one that would
    /// follow the last.
    #[inline(always)]
    pub fn send_train(&mut self, packet: &mut Packet, count: u64) {
        let passage = &mut self.passages[packet.flow_index()];
        packet.set_dscp(passage.dscp);
        if packet.direction() == 0 {
            passage.sent += count;
        }
        let place = self.next_place(packet);
        for _ in 0..count {
            self.log.note(self.schedule.now, Step::Send, HOST, packet);
            match place {
                Place::Link(i) => self.enter_link(i as usize, packet),
                place => {
                    let arrived = self.forward_to(place, &mut packet.clone());
                    debug_assert!(!arrived);
                }
            }
            packet.follow();
        }
    }

    /// Takes a packet to `next`, or else to the next box of its path; true if it is at the host at the end.
    #[inline(always)]
    pub fn forward_ahead(&mut self, next: Option<Place>, packet: &mut Packet) -> bool {
        let place = next.unwrap_or_else(|| self.next_place(packet));
        self.forward_to(place, packet)
    }

    /// Takes a packet to the next box of its path that holds it; true if it is at the host at the end.
    #[inline(always)]
    pub fn forward(&mut self, packet: &mut Packet) -> bool {
        self.forward_to(self.next_place(packet), packet)
    }

    #[inline(always)]
    fn forward_to(&mut self, place: Place, packet: &mut Packet) -> bool {
        match place {
            Place::Link(i) => self.enter_next_link(i as usize, packet),
            Place::Delay(i) => self.delays[i as usize].enter(&mut self.schedule, packet),
            Place::Host => {
                self.log
                    .note(self.schedule.now, Step::Receive, HOST, packet);
                self.passages[packet.flow_index()].received += u64::from(packet.direction() == 0);
                return true;
            }
            _ => return self.forward_by_rare_boxes(packet),
        }
        false
    }

    #[inline]
    fn next_place(&self, packet: &Packet) -> Place {
        let first = self.passages[packet.flow_index()].routes[packet.direction()];
        self.routes[first as usize + packet.hop()]
    }

    /// The same where the next box is one that few paths have.
    #[inline(never)]
    fn forward_by_rare_boxes(&mut self, packet: &mut Packet) -> bool {
        match self.next_place(packet) {
            Place::Loss(i) => {
                if self.is_lost(i as usize, packet) {
                    return false;
                }
            }
            Place::Corrupt(i) => self.corrupt(i as usize, packet),
            Place::Duplicate(i) => self.duplicate(i as usize, packet),
            Place::Gate(i) => {
                self.enter_gate(i as usize, packet);
                return false;
            }
            Place::Bearer(i) => {
                self.enter_bearer(i as usize, packet);
                return false;
            }
            Place::Scatter(i) => {
                self.scatters[i as usize].enter(&mut self.schedule, packet);
                return false;
            }
            Place::CheckingHost => return self.check(packet),
            Place::Link(_) | Place::Delay(_) | Place::Host => return self.forward(packet),
        }
        packet.cross();
        self.forward(packet)
    }

    fn is_lost(&mut self, index: usize, packet: &Packet) -> bool {
        let stretch = &mut self.losses[index];
        let lost = stretch.hits(self.schedule.now);
        stretch.count.drops += u64::from(lost);
        stretch.count.departures += u64::from(!lost);
        if lost {
            self.log
                .note(self.schedule.now, Step::Drop, stretch.number, packet);
            self.passages[packet.flow_index()].count_drop(packet);
        }
        lost
    }

    #[cold]
    fn corrupt(&mut self, index: usize, packet: &mut Packet) {
        let (now, stretch) = (self.schedule.now, &mut self.corrupters[index]);
        stretch.count.departures += 1;
        if stretch.hits(now) {
            packet.damage();
            self.log.note(now, Step::Corrupt, stretch.number, packet);
        }
    }

    #[cold]
    fn duplicate(&mut self, index: usize, packet: &Packet) {
        let duplicator = &mut self.duplicators[index];
        if duplicator.pass(&mut self.schedule, packet) {
            let number = duplicator.stretch.number;
            self.log
                .note(self.schedule.now, Step::Duplicate, number, packet);
        }
    }

    /// The host at the end looks at the checksum; false: the packet is discarded.
    #[cold]
    fn check(&mut self, packet: &Packet) -> bool {
        let damaged = packet.is_damaged();
        let step = if damaged {
            Step::Discard
        } else {
            Step::Receive
        };
        self.log.note(self.schedule.now, step, HOST, packet);
        if packet.direction() == 0 {
            let passage = &mut self.passages[packet.flow_index()];
            passage.discards += u64::from(damaged);
            passage.received += u64::from(!damaged);
        }
        !damaged
    }

    /// A packet enters a link that is not the first of its path, so less often.
    #[inline(never)]
    fn enter_next_link(&mut self, index: usize, packet: &Packet) {
        self.enter_link(index, packet);
    }

    #[inline(always)]
    fn enter_link(&mut self, index: usize, packet: &Packet) {
        let now = self.schedule.now;
        self.serve(index, now + 1);
        let link = &mut self.links[index];
        self.log.note(now, Step::Enqueue, link.number, packet);
        if let Some(capacity) = link.tail_drop {
            if !link.wait(now, capacity, packet) {
                settle(link, now, &mut self.passages, &mut self.log);
            } else if !link.busy {
                self.set_out(index, now);
            }
            return;
        }
        link.enqueue(now, *packet);
        if !link.fate.is_empty() {
            settle(link, now, &mut self.passages, &mut self.log);
        }
        if link.has_room() {
            self.fill_device(index, now);
        }
        self.links[index].plan_end(&mut self.schedule);
    }

    /// Does what a link had to do at the ends of transmissions before this instant that were no events.
    #[inline(always)]
    fn serve(&mut self, index: usize, before: Nanos) {
        while self.links[index].busy && self.links[index].busy_until < before {
            let at = self.links[index].busy_until;
            self.end_transmission(index, at);
        }
    }

    /// The transmitter is free.
    #[inline(always)]
    fn end_transmission(&mut self, index: usize, now: Nanos) {
        let link = &mut self.links[index];
        self.ends += u64::from(link.awaits_end());
        link.finish(&mut self.schedule, now);
        if link.tail_drop.is_some() {
            self.set_out(index, now);
        } else if link.packets > 0 || link.heeds_idleness {
            self.fill_device(index, now);
        }
        let link = &mut self.links[index];
        if !link.busy {
            link.rest();
        }
    }

    /// The packet that has waited longest in a link that keeps them itself sets out, if there is one.
    #[inline(always)]
    fn set_out(&mut self, index: usize, now: Nanos) {
        let link = &mut self.links[index];
        if let Some(waited) = link.set_out(&mut self.schedule, now) {
            count_wait(link, &mut self.passages, waited);
        }
    }

    /// Moves packets from the queue discipline to the device and the transmitter, as far as there is room.
    #[inline(always)]
    fn fill_device(&mut self, index: usize, now: Nanos) {
        let link = &mut self.links[index];
        while link.has_room() {
            let packet = link.dequeue(now);
            if !link.fate.is_empty() {
                settle(link, now, &mut self.passages, &mut self.log);
            }
            let Some(packet) = packet else {
                if link.packets > 0 {
                    debug_assert!(!link.lazy);
                    link.arrange_wake(&mut self.schedule);
                }
                return;
            };
            count_wait(link, &mut self.passages, Waited::of(&packet, now));
            self.log.note(now, Step::Dequeue, link.number, &packet);
            if link.busy {
                link.device.push_back(packet);
            } else {
                link.transmit(&mut self.schedule, now, &packet);
            }
        }
    }

    /// Brings all links up to now, except for what happens at this very instant.
    pub fn catch_up(&mut self) {
        for index in 0..self.links.len() {
            self.catch_up_link(index, self.schedule.now);
        }
    }

    /// The same of one link, up to an instant. A bearer or gate has a queue, but no transmitter.
    fn catch_up_link(&mut self, index: usize, before: Nanos) {
        if !self.links[index].flight.is_empty() {
            self.serve(index, before);
        }
    }

    /// A transmission ends whose end is an event.
    #[inline]
    pub fn on_link_done(&mut self, index: usize) {
        self.links[index].end_is_planned = false;
        self.end_transmission(index, self.schedule.now);
        self.links[index].plan_end(&mut self.schedule);
    }

    /// Takes the packet that has crossed a link; says where it goes, if all go there.
    #[inline]
    pub fn on_link_flight(&mut self, index: usize) -> (Option<Packet>, Option<Place>) {
        let link = &mut self.links[index];
        link.count.departures += 1;
        let arrived = (link.flight.pop(&mut self.schedule), link.flight.next);
        if link.flight.is_empty() {
            // Only arrivals of packets that were sent are events.
            self.serve(index, self.schedule.now + 1);
        }
        arrived
    }

    /// Takes the packet that leaves a delay line; says where it goes, if all go there.
    #[inline]
    pub fn on_delay(&mut self, index: usize) -> (Option<Packet>, Option<Place>) {
        let line = &mut self.delays[index];
        line.count.departures += 1;
        (line.flight.pop(&mut self.schedule), line.flight.next)
    }

    /// Takes the packet that leaves a delay which lets packets overtake each other.
    #[cold]
    pub fn on_scatter(&mut self, index: usize) -> Option<Packet> {
        self.scatters[index].pop()
    }

    /// Takes the copy that follows its original.
    #[cold]
    pub fn on_copy(&mut self, index: usize) -> Option<Packet> {
        self.duplicators[index].pop(&mut self.schedule)
    }

    /// A queue discipline asked to be woken.
    #[inline(never)]
    pub fn on_wake(&mut self, index: usize) {
        let now = self.schedule.now;
        if self.links[index].wake_at != now {
            // An earlier wake-up took its place.
            return;
        }
        self.catch_up_link(index, now + 1);
        let link = &mut self.links[index];
        link.queue.wake(now);
        link.wake_at = NEVER;
        link.arrange_wake(&mut self.schedule);
        if link.packets > 0 && link.has_room() {
            self.fill_device(index, now);
        }
        self.links[index].plan_end(&mut self.schedule);
    }
}
