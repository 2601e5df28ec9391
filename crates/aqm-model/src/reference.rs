//! The reference model: which packets the queue was given, and which of them it still holds.

use std::collections::VecDeque;

use bloatlab_aqm::{DropReason, Ecn, Sink};
use bloatlab_units::Nanos;

use crate::packet::ModelPacket;
use crate::rules::Rules;

/// A packet that was given to the queue.
#[derive(Clone, Copy, Debug)]
struct Entry {
    packet: ModelPacket,
    held: bool,
    marks: u32,
}

/// Tracks every packet that the queue should hold, and how it must look when it leaves.
pub(crate) struct ReferenceModel {
    /// The packets in order of arrival, from the oldest that is still held. The identity of the first is `first`.
    entries: VecDeque<Entry>,
    first: u64,
    /// For each flow, one more than the identity of the packet that departed last.
    departed: Vec<u64>,
    in_order: bool,
    /// The depth to which queues are nested. Each may mark a packet once.
    levels: u32,
    pub packets: u64,
    pub bytes: u64,
    /// Number of held packets whose identity is below `boundary`.
    pub earlier: u64,
    boundary: u64,
    pub drops: u64,
    pub marks: u64,
    pub departures: u64,
    /// Hash of all observed events in order, to compare two runs.
    digest: u64,
}

impl ReferenceModel {
    pub fn new(flows: u32, rules: &Rules) -> Self {
        Self {
            entries: VecDeque::new(),
            first: 0,
            departed: vec![0; flows as usize],
            in_order: rules.in_order,
            levels: rules.levels,
            packets: 0,
            bytes: 0,
            earlier: 0,
            boundary: 0,
            drops: 0,
            marks: 0,
            departures: 0,
            digest: 0,
        }
    }

    /// The identity of the next packet.
    pub fn next_id(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// From here on, `earlier` counts those of the packets now held that have not left.
    pub fn set_boundary(&mut self) {
        self.boundary = self.next_id();
        self.earlier = self.packets;
    }

    /// Records that the packet is given to the queue at `now`.
    pub fn arrives(&mut self, now: Nanos, packet: ModelPacket) {
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        let packet = ModelPacket {
            enqueued_at: now,
            ..packet
        };
        self.entries.push_back(Entry {
            packet,
            held: true,
            marks: 0,
        });
    }

    /// Records that the queue gave the packet to the link.
    pub fn departs(&mut self, packet: &ModelPacket) {
        self.leaves(packet);
        self.departures += 1;
        self.note(1 + packet.id);
        let last = &mut self.departed[packet.flow as usize];
        assert!(
            *last <= packet.id || !self.in_order,
            "a flow's packets stay in order"
        );
        *last = packet.id + 1;
    }

    /// Whether the queue should hold the packet of this identity.
    pub fn holds(&self, id: u64) -> bool {
        let place = id.checked_sub(self.first);
        let entry = place.and_then(|place| self.entries.get(place as usize));
        entry.is_some_and(|entry| entry.held)
    }

    fn leaves(&mut self, packet: &ModelPacket) {
        let entry = self.entry(packet.id);
        assert!(entry.held, "a packet leaves once");
        assert_eq!(
            *packet, entry.packet,
            "a packet leaves unchanged, except for the time stamp of its arrival and a mark that was reported"
        );
        entry.held = false;
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
        self.earlier -= u64::from(packet.id < self.boundary);
        while self.entries.front().is_some_and(|entry| !entry.held) {
            self.entries.pop_front();
            self.first += 1;
        }
    }

    fn entry(&mut self, id: u64) -> &mut Entry {
        let place = id.checked_sub(self.first);
        let entry = place.and_then(|place| self.entries.get_mut(place as usize));
        entry.expect("only packets that are held leave or are marked")
    }

    /// Adds an observable value to the digest.
    pub fn note(&mut self, value: u64) {
        self.digest = (self.digest ^ value)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
    }

    pub fn digest(&self) -> u64 {
        self.digest
    }
}

impl Sink<ModelPacket> for ReferenceModel {
    fn dropped(&mut self, packet: &ModelPacket, reason: DropReason) {
        self.leaves(packet);
        self.drops += 1;
        self.note(packet.id << 2 | (reason == DropReason::Aqm) as u64 | 1 << 62);
    }

    fn marked(&mut self, packet: &ModelPacket) {
        let id = packet.id;
        let entry = self.entry(id);
        assert!(entry.held, "a packet that left is not marked");
        assert_ne!(
            entry.packet.ecn,
            Ecn::NotEct,
            "only ECN-capable packets are marked"
        );
        entry.marks += 1;
        let marks = entry.marks;
        entry.packet.ecn = Ecn::Ce;
        assert_eq!(*packet, entry.packet, "a marked packet shows its mark");
        assert!(marks <= self.levels, "a mark is reported once");
        self.marks += 1;
        self.note(id << 2 | 1 << 63);
    }
}
