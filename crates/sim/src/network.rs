//! Moves packets from box to box of their path, until they reach the host at its end.

use std::mem::take;

use bloatlab_aqm::Qdisc;
use bloatlab_link::Action;

use crate::accounting::Context;
use crate::delay_line::DelayLine;
use crate::flow_account::FlowAccount;
use crate::impairment::ImpairmentBox;
use crate::link::Link;
use crate::packet::Packet;
use crate::packet_log::PacketLog;
use crate::place::Place;
use crate::radio::RadioCell;
use crate::reordering_delay::ReorderingDelay;
use crate::schedule::Schedule;
use crate::station::Station;
use bloatlab_outcome::{HOST, Step};

/// Everything between the hosts, and the clock.
pub(crate) struct Network {
    pub schedule: Schedule,
    pub links: Vec<Link>,
    pub delays: Vec<DelayLine>,
    pub reordering_delays: Vec<ReorderingDelay>,
    pub impairments: Vec<ImpairmentBox>,
    pub radio: Option<Box<RadioCell>>,
    /// Boxes of all paths, one path after the other, each with the host at its end.
    pub routes: Vec<Place>,
    /// By flow.
    pub accounts: Vec<FlowAccount>,
    pub log: PacketLog,
    /// Number of transmissions at whose end there was something to do, scheduled as events or not.
    pub ends: u64,
}

impl Network {
    pub fn new(log: PacketLog) -> Self {
        Self {
            schedule: Schedule::new(),
            links: Vec::new(),
            delays: Vec::new(),
            reordering_delays: Vec::new(),
            impairments: Vec::new(),
            radio: None,
            routes: Vec::new(),
            accounts: Vec::new(),
            log,
            ends: 0,
        }
    }

    /// Sends a packet from a host. Every path has a box that takes time, so the packet does not arrive within this call.
    #[inline(always)]
    pub fn send(&mut self, packet: &mut Packet) {
        let account = &mut self.accounts[packet.flow_index()];
        packet.set_dscp(account.dscp);
        self.enter(packet);
    }

    /// A packet enters the first box of its path.
    #[inline(always)]
    pub fn enter(&mut self, packet: &mut Packet) {
        let account = &mut self.accounts[packet.flow_index()];
        account.sent += u64::from(packet.direction() == 0);
        self.log.note(self.schedule.now, Step::Send, HOST, packet);
        match self.next_place(packet) {
            Place::Link(i) => self.enter_link(i as usize, packet),
            place => {
                let arrived = self.forward_to(place, packet);
                debug_assert!(!arrived);
            }
        }
    }

    /// Sends a train from a host: `count` packets that differ only in their sequence numbers. `packet` is the first of them. Afterwards it is the
    /// packet that would follow the last.
    #[inline(always)]
    pub fn send_train(&mut self, packet: &mut Packet, count: u64) {
        let account = &mut self.accounts[packet.flow_index()];
        packet.set_dscp(account.dscp);
        if packet.direction() == 0 {
            account.sent += count;
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

    /// Moves a packet to `next`, or to the next box of its path if that is `None`. Returns true if the packet is at the host at the end.
    #[inline(always)]
    pub fn forward_ahead(&mut self, next: Option<Place>, packet: &mut Packet) -> bool {
        let place = next.unwrap_or_else(|| self.next_place(packet));
        self.forward_to(place, packet)
    }

    /// Moves a packet to the next box of its path that holds it. Returns true if the packet is at the host at the end.
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
                self.accounts[packet.flow_index()].received += u64::from(packet.direction() == 0);
                return true;
            }
            _ => return self.forward_to_uncommon(place, packet),
        }
        false
    }

    #[inline]
    fn next_place(&self, packet: &Packet) -> Place {
        let first = self.accounts[packet.flow_index()].routes[packet.direction()];
        self.routes[first as usize + packet.hop()]
    }

    /// Slow path of `forward_to` for uncommon boxes.
    #[inline(never)]
    fn forward_to_uncommon(&mut self, mut place: Place, packet: &mut Packet) -> bool {
        while let Place::Impairment(index) = place {
            if !self.impair(index as usize, packet) {
                return false;
            }
            packet.cross();
            place = self.next_place(packet);
        }
        match place {
            Place::Gate(i) => self.enter_gate(i as usize, packet),
            Place::Bearer(i) => self.enter_bearer(i as usize, packet),
            Place::ReorderingDelay(i) => {
                self.reordering_delays[i as usize].enter(&mut self.schedule, packet);
            }
            Place::CheckingHost => return self.check(packet),
            _ => return self.forward_to(place, packet),
        }
        false
    }

    /// Takes a packet through an impairment. Returns false if the packet is dropped.
    fn impair(&mut self, index: usize, packet: &mut Packet) -> bool {
        let impairment = &mut self.impairments[index];
        let action = impairment.pass(&mut self.schedule, packet);
        let number = impairment.number;
        let step = match action {
            Action::Forward => return true,
            Action::Drop => {
                self.accounts[packet.flow_index()].count_drop(packet);
                self.log.note_loss(self.schedule.now, number, packet);
                return false;
            }
            Action::Corrupt => Step::Corrupt,
            Action::Duplicate => Step::Duplicate,
        };
        self.log.note(self.schedule.now, step, number, packet);
        true
    }

    /// Verifies the checksum at the host at the end. Returns false if the packet is discarded.
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
            let account = &mut self.accounts[packet.flow_index()];
            if damaged {
                account.count_discard(packet);
            } else {
                account.received += 1;
            }
        }
        !damaged
    }

    /// A packet enters a link that is not the first of its path. Not inlined, because this is less frequent.
    #[inline(never)]
    fn enter_next_link(&mut self, index: usize, packet: &Packet) {
        self.enter_link(index, packet);
    }

    #[inline(always)]
    fn enter_link(&mut self, index: usize, packet: &Packet) {
        let (link, mut context) = self.link(index);
        link.take_in(&mut context, packet);
    }

    /// A link and its context.
    #[inline(always)]
    fn link(&mut self, index: usize) -> (&mut Link, Context<'_>) {
        let context = Context {
            schedule: &mut self.schedule,
            accounts: &mut self.accounts,
            log: &mut self.log,
            ends: &mut self.ends,
        };
        (&mut self.links[index], context)
    }

    /// Replaces the queue discipline of a link.
    pub fn replace_queue(&mut self, index: usize, queue: Box<dyn Qdisc<Packet>>) {
        let (link, mut context) = self.link(index);
        link.replace_queue(&mut context, queue);
    }

    /// Lets all links catch up to the current instant, and excludes the instant.
    pub fn catch_up(&mut self) {
        let now = self.schedule.now;
        for index in 0..self.links.len() {
            let (link, mut context) = self.link(index);
            link.serve(&mut context, now);
        }
    }

    /// Handles the scheduled end of a transmission.
    #[inline]
    pub fn on_link_done(&mut self, index: usize) {
        let (link, mut context) = self.link(index);
        link.on_done(&mut context);
    }

    /// Takes the packet that has crossed a link. Also returns its next place, if it is the same for all packets of the link.
    #[inline]
    pub fn on_link_flight(&mut self, index: usize) -> (Option<Packet>, Option<Place>) {
        let (link, mut context) = self.link(index);
        (link.on_flight(&mut context), link.flight.next)
    }

    /// Takes the packet that leaves a delay line. Also returns its next place, if it is the same for all packets of the line.
    #[inline]
    pub fn on_delay(&mut self, index: usize) -> (Option<Packet>, Option<Place>) {
        let line = &mut self.delays[index];
        line.count.departures += 1;
        (line.flight.pop(&mut self.schedule), line.flight.next)
    }

    /// Takes the packet that leaves a reordering delay.
    #[cold]
    pub fn on_reordering_delay(&mut self, index: usize) -> Option<Packet> {
        self.reordering_delays[index].pop()
    }

    /// Takes the copy that follows its original.
    #[cold]
    pub fn on_copy(&mut self, index: usize) -> Option<Packet> {
        self.impairments[index].pop(&mut self.schedule)
    }

    /// Wakes the queue discipline of a box.
    #[inline(never)]
    pub fn on_wake(&mut self, place: Place) {
        if let Place::Link(index) = place {
            let (link, mut context) = self.link(index as usize);
            link.on_wake(&mut context);
        } else if let Some(radio) = &mut self.radio
            && let Some(queue) = radio.queue_mut(place)
        {
            queue.on_wake(&mut self.schedule);
        }
    }

    /// The link, bearer or gate at a place.
    pub fn station(&self, place: Place) -> Option<&dyn Station> {
        match place {
            Place::Link(i) => Some(&self.links[i as usize]),
            _ => self.radio.as_ref()?.queue(place).map(|queue| queue as _),
        }
    }

    /// The link, bearer or gate at a place.
    pub fn station_mut(&mut self, place: Place) -> Option<&mut dyn Station> {
        match place {
            Place::Link(i) => Some(&mut self.links[i as usize]),
            _ => self
                .radio
                .as_mut()?
                .queue_mut(place)
                .map(|queue| queue as _),
        }
    }

    /// The radio cell and its context.
    fn radio(&mut self) -> Option<(&mut RadioCell, Context<'_>)> {
        let context = Context {
            schedule: &mut self.schedule,
            accounts: &mut self.accounts,
            log: &mut self.log,
            ends: &mut self.ends,
        };
        self.radio.as_deref_mut().map(|radio| (radio, context))
    }

    /// A packet arrives at a bearer of the radio cell.
    fn enter_bearer(&mut self, index: usize, packet: &Packet) {
        if let Some((radio, mut context)) = self.radio() {
            radio.enter_bearer(index, packet, &mut context);
        }
    }

    /// A packet arrives at a gate before the radio. Some packets may go on at once.
    fn enter_gate(&mut self, index: usize, packet: &Packet) {
        if let Some((radio, mut context)) = self.radio() {
            let most = radio.enter_gate(index, packet, &mut context);
            self.release(index, most);
        }
    }

    /// Releases up to `most` packets of a gate, because one arrived or a TTI ended.
    fn release(&mut self, gate: usize, most: u64) {
        let packets = self.pass(gate, most);
        if let Some(radio) = &mut self.radio {
            radio.on_release(gate, packets);
        }
    }

    /// Lets up to `most` packets pass a gate and returns the count. Packets that leave SDAP let others leave the UPF.
    fn pass(&mut self, gate: usize, most: u64) -> u64 {
        let mut count = 0;
        while count < most
            && let Some((radio, mut context)) = self.radio()
            && let Some(mut packet) = radio.release(gate, &mut context)
        {
            count += 1;
            packet.cross();
            let arrived = self.forward(&mut packet);
            debug_assert!(!arrived);
        }
        if let Some(radio) = &mut self.radio
            && let Some(upf) = radio.on_passed(gate, count)
        {
            let most = radio.may_release(upf);
            self.pass(upf, most);
        }
        count
    }

    /// Handles the tick of a gate.
    #[inline(never)]
    pub fn on_tick(&mut self, gate: usize) {
        let now = self.schedule.now;
        let Some(radio) = &mut self.radio else {
            return;
        };
        let most = radio.tick(gate, now);
        self.pass(gate, most);
        if let Some((radio, context)) = self.radio() {
            radio.end_tick(gate, context.schedule);
        }
    }

    /// Lets the radio cell do what is due. Returns the packets that have crossed it.
    pub fn on_cell(&mut self) -> Vec<Packet> {
        let Some((radio, mut context)) = self.radio() else {
            return Vec::new();
        };
        radio.run(&mut context);
        let crossed = take(&mut radio.out);
        let mut filled = take(&mut radio.filled);
        for &bearer in &filled {
            self.end_tti(bearer);
        }
        filled.clear();
        if let Some(radio) = &mut self.radio {
            // The list goes back, so that its memory is used again.
            radio.filled = filled;
        }
        crossed
    }

    /// A transport block was filled from a bearer of the downlink. The algorithms above learn what is left.
    fn end_tti(&mut self, bearer: usize) {
        let now = self.schedule.now;
        if let Some(radio) = &mut self.radio
            && let Some(gate) = radio.end_tti(bearer, now)
        {
            let most = radio.may_release(gate);
            self.release(gate, most);
        }
    }

    /// Takes back the emptied list of [`Network::on_cell`], so that its memory is used again.
    pub fn take_back(&mut self, list: Vec<Packet>) {
        if let Some(radio) = &mut self.radio {
            radio.out = list;
        }
    }
}
