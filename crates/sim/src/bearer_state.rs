//! Packets on their way through the radio cell: into its bearers, through the gates before them, and out again.

use std::mem::take;

use bloatlab_aqm::Packet as _;
use bloatlab_units::NEVER;

use crate::accounting::{count_wait, mark, settle};
use crate::gate::ReleasePolicy;
use crate::network::Network;
use crate::packet::Packet;
use crate::radio::Bearers;
use crate::schedule::{clock, event};
use crate::tail_drop::Waited;
use bloatlab_outcome::Step;

impl Network {
    /// A packet comes to a bearer: it may be marked, and is put into its queue.
    pub fn enter_bearer(&mut self, index: usize, packet: &Packet) {
        let (Some(radio), link) = (&mut self.radio, &mut self.links[index]) else {
            return;
        };
        let now = self.schedule.now;
        let mut packet = *packet;
        self.log.note(now, Step::Enqueue, link.number, &packet);
        if radio.marks(link, &packet) {
            packet.set_ce();
            mark(link, now, &mut self.accounts, &mut self.log, &packet);
        }
        link.enter(now, packet, |bearer| radio.cell.held(bearer));
        if !link.signals.is_empty() {
            settle(link, now, &mut self.accounts, &mut self.log);
        }
        radio.cell.wake(now);
        radio.arrange(&mut self.schedule);
    }

    /// A packet comes to a queue before the radio, from which some may go on at once.
    pub fn enter_gate(&mut self, index: usize, packet: &Packet) {
        let Some(radio) = &mut self.radio else {
            return;
        };
        let link = &mut self.links[index];
        let index = link.gate;
        let gate = &mut radio.gates[index];
        let now = self.schedule.now;
        self.log.note(now, Step::Enqueue, link.number, packet);
        link.enqueue(now, *packet);
        if !link.signals.is_empty() {
            settle(link, now, &mut self.accounts, &mut self.log);
        }
        if let Some(at) = gate.arrange(now) {
            let number = clock::GATE + index as u32;
            self.schedule.at(at, event::CLOCK, number);
        }
        let open = radio.opening(index, &self.links);
        self.let_through(index, open);
    }

    /// Lets up to so many packets through a gate, not at a tick of its own.
    fn let_through(&mut self, index: usize, most: u64) {
        let passed = self.pass(index, most);
        let Some(radio) = &mut self.radio else {
            return;
        };
        if let ReleasePolicy::Sdap(algorithm) = &mut radio.gates[index].policy {
            algorithm.on_release(passed);
        }
    }

    /// Up to so many packets go through a gate; says how many did. What SDAP passes on lets more out of the UPF.
    fn pass(&mut self, index: usize, most: u64) -> u64 {
        let now = self.schedule.now;
        let mut passed = 0;
        while passed < most {
            let Some(radio) = &self.radio else {
                break;
            };
            let link = &mut self.links[radio.gates[index].link];
            let packet = link.dequeue(now);
            if !link.signals.is_empty() {
                settle(link, now, &mut self.accounts, &mut self.log);
            }
            let Some(mut packet) = packet else {
                if link.packets > 0 {
                    link.arrange_wake(&mut self.schedule);
                }
                break;
            };
            link.count.departures += 1;
            link.stats.sent_bytes += u64::from(packet.length());
            count_wait(link, &mut self.accounts, Waited::of(&packet, now));
            self.log.note(now, Step::Dequeue, link.number, &packet);
            passed += 1;
            packet.cross();
            let arrived = self.forward(&mut packet);
            debug_assert!(!arrived);
        }
        if let Some(radio) = &mut self.radio
            && let Some(upf) = radio.passed(index, passed)
        {
            let open = radio.opening(upf, &self.links);
            self.pass(upf, open);
        }
        passed
    }

    /// A gate's tick.
    #[inline(never)]
    pub fn on_tick(&mut self, index: usize) {
        let now = self.schedule.now;
        let Some(radio) = &mut self.radio else {
            return;
        };
        let open = radio.tick(index, now, &self.links);
        self.pass(index, open);
        let Some(radio) = &mut self.radio else {
            return;
        };
        let gate = &mut radio.gates[index];
        gate.is_ticking = false;
        // What is empty and stays so needs no ticks.
        if self.links[gate.link].packets > 0
            && let Some(at) = gate.arrange(now)
        {
            self.schedule
                .at(at, event::CLOCK, clock::GATE + index as u32);
        }
    }

    /// The cell does what is due; gives the packets that have crossed it.
    pub fn on_cell(&mut self) -> Vec<Packet> {
        let now = self.schedule.now;
        let Some(radio) = self.radio.as_deref_mut() else {
            return Vec::new();
        };
        if radio.scheduled != now {
            // An earlier call took its place.
            return Vec::new();
        }
        radio.scheduled = NEVER;
        let mut bearers = Bearers {
            links: &mut self.links,
            map: &radio.links,
            accounts: &mut self.accounts,
            log: &mut self.log,
            slot: radio.slot,
            out: &mut radio.out,
            gates: &mut radio.gates,
            bearer_states: &mut radio.bearer_states,
            filled: &mut radio.filled,
        };
        radio.cell.run(now, &mut bearers);
        radio.arrange(&mut self.schedule);
        let crossed = take(&mut radio.out);
        let filled = take(&mut radio.filled);
        for &bearer in &filled {
            self.end_tti(bearer);
        }
        if let Some(radio) = &mut self.radio {
            radio.filled = filled;
            radio.filled.clear();
        }
        crossed
    }

    /// After a block was filled from a bearer of the downlink: tells the algorithms before it what is left.
    fn end_tti(&mut self, bearer: usize) {
        let now = self.schedule.now;
        let Some(radio) = &mut self.radio else {
            return;
        };
        if let Some(gate) = radio.end_tti(bearer, now, &self.links) {
            let open = radio.opening(gate, &self.links);
            self.let_through(gate, open);
        }
    }

    /// Takes back the emptied list of what crossed the cell, so that its memory is used again.
    pub fn take_back(&mut self, list: Vec<Packet>) {
        if let Some(radio) = &mut self.radio {
            radio.out = list;
        }
    }
}
