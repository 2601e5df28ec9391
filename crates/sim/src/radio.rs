//! A radio cell among the links: it takes packets from the queues of its bearers and hands on what has crossed it.

use std::ops::Range;

use bloatlab_aqm::Packet as _;
use bloatlab_radio::cell::{Above, Cell};
use bloatlab_radio::rlc::Sdu;
use bloatlab_units::{Nanos, Rng};

use crate::accounting::{count_wait, discard, settle};
use crate::boxes::Link;
use crate::flow_account::FlowAccount;
use crate::gate::{BearerState, Gate, ReleasePolicy};
use crate::packet::Packet;
use crate::packet_log::PacketLog;
use crate::schedule::{Schedule, clock, event};
use crate::tail_drop::Waited;
use bloatlab_outcome::Step;

/// A cell, and which links are its bearers.
pub(crate) struct RadioCell {
    pub cell: Cell<Packet>,
    /// Index of the link of each bearer.
    pub links: Vec<usize>,
    /// Duration of a slot.
    pub slot: Nanos,
    /// When the cell is called next; `NEVER`: not.
    pub scheduled: Nanos,
    /// What has crossed it and goes on.
    pub out: Vec<Packet>,
    pub gates: Vec<Gate>,
    /// Index of the gate of each UE in the UPF.
    pub upfs: Vec<Option<usize>>,
    /// By bearer, as they are numbered, both directions together.
    pub bearer_states: Vec<BearerState>,
    /// Bearers that have filled a block just now.
    pub filled: Vec<usize>,
    /// What marks before the RLC draws from here.
    pub rng: Rng,
}

impl RadioCell {
    /// Sees to it that the cell is called when it wants to be.
    #[inline]
    pub fn arrange(&mut self, schedule: &mut Schedule) {
        let Some(at) = self.cell.next_event() else {
            return;
        };
        if at < self.scheduled {
            self.scheduled = at;
            schedule.at(at, event::CLOCK, clock::CELL);
        }
    }

    /// Whether a packet that enters a bearer's RLC is marked.
    pub fn marks(&mut self, link: &Link, packet: &Packet) -> bool {
        let Some((bearer, _)) = link.bearer.filter(|(bearer, _)| bearer.is_multiple_of(2)) else {
            return false;
        };
        let bearer_state = &self.bearer_states[bearer / 2];
        if bearer_state.marker.is_none() {
            return false;
        }
        let users = self.upfs.len() as u64;
        let chance = bearer_state.marking(packet.ecn(), link.bytes, users, packet.length());
        self.rng.chance(chance)
    }

    /// The bearers of a UE on their way down.
    fn bearers_of(&self, ue: usize) -> Range<usize> {
        let count = self.bearer_states.len() / self.upfs.len();
        ue * count..(ue + 1) * count
    }

    /// Packets in the RLC of a bearer, on the downlink.
    fn in_rlc(&self, bearer: usize, links: &[Link]) -> u64 {
        links[self.links[2 * bearer]].packets
    }

    /// How many packets may go through a gate now.
    pub fn opening(&self, index: usize, links: &[Link]) -> u64 {
        let gate = &self.gates[index];
        match &gate.policy {
            ReleasePolicy::Sdap(algorithm) => {
                algorithm.may_release(self.in_rlc(gate.bearer, links))
            }
            ReleasePolicy::Upf { pacer, delay } => {
                // What SDAP passes on while packets are under way to it has to be under way.
                let pipe = self.below(gate.ue, links).1 * *delay as f64 / self.slot as f64;
                pacer.may_release(self.in_sdap(gate.ue, links).saturating_sub(pipe as u64))
            }
        }
    }

    /// Packets that a tick lets through a gate.
    pub fn tick(&mut self, index: usize, now: Nanos, links: &[Link]) -> u64 {
        let ue = self.gates[index].ue;
        let waiting = links[self.gates[index].link].packets;
        let (has_room, pace) = self.below(ue, links);
        let sdaps = self.bearer_states[self.bearers_of(ue)].iter();
        let queues = sdaps.filter_map(|bearer_state| bearer_state.sdap);
        let queued = queues
            .map(|sdap| links[self.gates[sdap].link].packets)
            .sum();
        match &mut self.gates[index].policy {
            ReleasePolicy::Sdap(algorithm) => algorithm.on_tick(now, waiting),
            ReleasePolicy::Upf { pacer, .. } => {
                pacer.on_tick(now, has_room, queued, pace);
                self.opening(index, links)
            }
        }
    }

    /// Whether all RLCs below SDAP have room, and the packets that all of them send per TTI, by SDAP's algorithms or else by the backlog of the RLC.
    fn below(&self, ue: usize, links: &[Link]) -> (bool, f64) {
        let mut sum = (true, 0.0);
        for bearer in self.bearers_of(ue) {
            let queued = self.in_rlc(bearer, links);
            let algorithm = self.bearer_states[bearer]
                .sdap
                .map(|sdap| &self.gates[sdap].policy);
            let (limit, pace) = match algorithm {
                Some(ReleasePolicy::Sdap(algorithm)) => (algorithm.limit(), algorithm.pace()),
                _ => (None, None),
            };
            sum.0 &= limit.is_none_or(|limit| queued < limit);
            sum.1 += pace.unwrap_or(queued as f64);
        }
        sum
    }

    /// Packets between the UPF's gate and those of SDAP.
    fn in_sdap(&self, ue: usize, links: &[Link]) -> u64 {
        let count = |gate: usize| links[self.gates[gate].link].count;
        let Some(upf) = self.upfs[ue] else {
            return 0;
        };
        let sdaps = self.bearer_states[self.bearers_of(ue)].iter();
        let gone = sdaps.filter_map(|bearer_state| bearer_state.sdap.map(count));
        count(upf).departures - gone.map(|sdap| sdap.departures + sdap.drops).sum::<u64>()
    }

    /// So many packets went through a gate; the UPF's gate, if that may let more out for it.
    pub fn passed(&mut self, index: usize, packets: u64) -> Option<usize> {
        let gate = &self.gates[index];
        if packets == 0 || matches!(gate.policy, ReleasePolicy::Upf { .. }) {
            return None;
        }
        let upf = self.upfs[gate.ue]?;
        if let ReleasePolicy::Upf { pacer, .. } = &mut self.gates[upf].policy {
            pacer.on_passed(packets);
        }
        Some(upf)
    }

    /// A TTI of a bearer on the downlink has ended; the gate above it, if there is one.
    pub fn end_tti(&mut self, bearer: usize, now: Nanos, links: &[Link]) -> Option<usize> {
        let bearer_state = &mut self.bearer_states[bearer / 2];
        let link = &links[self.links[bearer]];
        let packets = std::mem::take(&mut bearer_state.packets_out);
        let bytes = std::mem::take(&mut bearer_state.bytes_out);
        if let Some(marker) = &mut bearer_state.marker {
            // What it could have had: a radio that waits for packets is not slow.
            marker.on_tti_end(self.slot, bearer_state.offered, link.bytes);
        }
        let gate = bearer_state.sdap?;
        if let ReleasePolicy::Sdap(algorithm) = &mut self.gates[gate].policy {
            // Packets of the size that went.
            let could = (bearer_state.offered * packets)
                .checked_div(bytes)
                .unwrap_or(0);
            algorithm.on_tti_end(now, packets, could.max(packets), link.packets);
        }
        Some(gate)
    }
}

/// The bearers' queues, as the cell sees them.
pub(crate) struct Bearers<'a> {
    pub links: &'a mut [Link],
    pub map: &'a [usize],
    pub accounts: &'a mut [FlowAccount],
    pub log: &'a mut PacketLog,
    pub slot: Nanos,
    pub out: &'a mut Vec<Packet>,
    pub gates: &'a mut [Gate],
    pub bearer_states: &'a mut [BearerState],
    pub filled: &'a mut Vec<usize>,
}

impl Above<Packet> for Bearers<'_> {
    fn opportunity(&mut self, bearer: usize, now: Nanos, held_since: Option<Nanos>) {
        self.links[self.map[bearer]]
            .queue
            .opportunity(now, held_since);
    }

    fn pull(&mut self, bearer: usize, now: Nanos) -> Option<Sdu<Packet>> {
        let link = &mut self.links[self.map[bearer]];
        let packet = link.dequeue(now);
        if !link.signals.is_empty() {
            settle(link, now, self.accounts, self.log);
        }
        let packet = packet?;
        link.taken += 1;
        count_wait(link, self.accounts, Waited::of(&packet, now));
        self.log.note(now, Step::Dequeue, link.number, &packet);
        if bearer.is_multiple_of(2) {
            let bearer_state = &mut self.bearer_states[bearer / 2];
            bearer_state.packets_out += 1;
            bearer_state.bytes_out += u64::from(packet.length() + link.header);
            if let Some(gate) = bearer_state.sdap
                && let ReleasePolicy::Sdap(algorithm) = &mut self.gates[gate].policy
            {
                algorithm.on_packet_out(now - packet.enqueued_at());
            }
        }
        Some(Sdu {
            item: packet,
            bytes: packet.length() + link.header,
            entered_at: packet.enqueued_at(),
        })
    }

    fn packets(&self, bearer: usize) -> u64 {
        self.links[self.map[bearer]].packets
    }

    fn bytes(&self, bearer: usize) -> u64 {
        self.links[self.map[bearer]].bytes
    }

    fn filled(&mut self, bearer: usize, _now: Nanos, offered: u32) {
        self.bearer_states[bearer / 2].offered = u64::from(offered);
        self.filled.push(bearer);
    }

    fn sent(&mut self, bearer: usize, _now: Nanos, bytes: u32, share: f64) {
        let stats = &mut self.links[self.map[bearer]].stats;
        stats.busy += (share * self.slot as f64) as Nanos;
        stats.sent_bytes += u64::from(bytes);
    }

    fn delivered(&mut self, bearer: usize, _now: Nanos, packet: &Packet) {
        let link = &mut self.links[self.map[bearer]];
        link.taken -= 1;
        link.count.departures += 1;
        self.out.push(*packet);
    }

    fn lost(&mut self, bearer: usize, now: Nanos, packet: &Packet) {
        let link = &mut self.links[self.map[bearer]];
        link.taken -= 1;
        discard(link, now, self.accounts, self.log, packet);
    }
}
