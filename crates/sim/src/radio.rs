//! A radio cell among the links: it takes packets from the queues of its bearers and hands on what has crossed it.

use bloatlab_aqm::Packet as _;
use bloatlab_radio::cell::{Above, Cell};
use bloatlab_radio::rlc::Sdu;
use bloatlab_units::Nanos;

use crate::boxes::Link;
use crate::network::{Passage, discard, settle};
use crate::packet::Packet;
use crate::packet_log::{PacketLog, Step};
use crate::schedule::{Schedule, clock, event};

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
}

/// The bearers' queues, as the cell sees them.
pub(crate) struct Bearers<'a> {
    pub links: &'a mut [Link],
    pub map: &'a [usize],
    pub passages: &'a mut [Passage],
    pub log: &'a mut PacketLog,
    pub slot: Nanos,
    pub out: &'a mut Vec<Packet>,
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
        if !link.fate.is_empty() {
            settle(link, now, self.passages, self.log);
        }
        let packet = packet?;
        link.taken += 1;
        if packet.direction() == 0 {
            let sojourn = now - packet.enqueued_at();
            self.passages[packet.flow_index()].sojourn.record(sojourn);
        }
        self.log.note(now, Step::Dequeue, link.number, &packet);
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

    fn sent(&mut self, bearer: usize, _now: Nanos, bytes: u32, share: f64) {
        let stats = &mut self.links[self.map[bearer]].stats;
        stats.busy += (share * self.slot as f64) as Nanos;
        stats.sent_bytes += u64::from(bytes);
        stats.interval.bytes += u64::from(bytes);
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
        discard(link, now, self.passages, self.log, packet);
    }
}
