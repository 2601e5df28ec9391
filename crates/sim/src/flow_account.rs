//! Accounts of the network for each flow's packets: drops, marks, sojourn times.

use std::mem::{replace, take};

use bloatlab_units::Nanos;

use crate::packet::Packet;
use bloatlab_outcome::{Histogram, Protocol, mean_ms};

/// The network's account of a flow's data, and the flow's routes.
#[derive(Default)]
pub(crate) struct FlowAccount {
    /// First entry in the route table, by direction.
    pub routes: [u32; 2],
    /// Differentiated services code point of its packets, both ways.
    pub dscp: u8,
    pub start: Nanos,
    pub stop: Nanos,
    /// Base RTT of a greedy TCP flow, which takes part in loss events; `NOT_GREEDY` for all other flows.
    pub greedy_rtt: Nanos,
    pub drops: u64,
    /// Of these, drops by queues: because the limit was reached, and because the AQM algorithm decided so.
    pub dropped: [u64; 2],
    pub marks: u64,
    /// Data that the receiver discarded by its checksum.
    pub discards: u64,
    /// Packets that were under way at the end of the warm-up, data direction.
    pub under_way: u64,
    /// When counting began: the end of the warm-up.
    pub since: Nanos,
    /// Lost datagrams that had been sent before.
    pub earlier_losses: u64,
    /// Packets that entered the first box of the path, data direction.
    pub sent: u64,
    /// Packets that reached the host at its end, data direction.
    pub received: u64,
    pub sojourn: Histogram,
    /// Number of sojourn times since the last sample, data direction.
    pub waits: u64,
    /// Sum of all sojourn times at the last sample. It wraps, because the end of the warm-up forgets those before.
    pub sampled_sojourn: u64,
}

impl FlowAccount {
    /// Resets the counts at the end of the warm-up.
    pub fn reset(&mut self, now: Nanos) {
        self.under_way = self.residue();
        (self.since, self.earlier_losses) = (now, 0);
        (self.drops, self.marks, self.discards) = (0, 0, 0);
        (self.sent, self.received, self.dropped) = (0, 0, [0; 2]);
        self.sampled_sojourn = (self.sampled_sojourn).wrapping_sub(self.sojourn.sum() as u64);
        self.sojourn = Histogram::default();
    }

    /// Packets that were lost on the way or discarded by the receiver.
    fn lost(&self) -> u64 {
        self.drops + self.discards
    }

    /// Packets sent that have neither arrived nor been lost. Copies that the path made are not counted as sent, so the difference may be negative.
    pub fn residue(&self) -> u64 {
        (self.under_way + self.sent).saturating_sub(self.received + self.lost())
    }

    /// Datagrams sent since the end of the warm-up that were lost. The path may lose copies that it made itself, so this is at most those sent.
    pub fn lost_datagrams(&self) -> u64 {
        (self.lost() - self.earlier_losses).min(self.sent)
    }

    /// Returns the mean sojourn time since the last sample, in ms; NaN if there was none.
    pub fn sample_waits(&mut self) -> f64 {
        let sum = self.sojourn.sum() as u64;
        let before = replace(&mut self.sampled_sojourn, sum);
        mean_ms(sum.wrapping_sub(before), take(&mut self.waits))
    }

    /// Counts a packet that was lost on the way.
    pub fn count_drop(&mut self, packet: &Packet) {
        if packet.direction() == 0 {
            self.drops += 1;
            self.count_earlier_loss(packet);
        }
    }

    /// Counts a packet of the data direction that the receiver discarded by its checksum.
    pub fn count_discard(&mut self, packet: &Packet) {
        self.discards += 1;
        self.count_earlier_loss(packet);
    }

    fn count_earlier_loss(&mut self, packet: &Packet) {
        let is_datagram = packet.protocol() == Protocol::Udp;
        self.earlier_losses += u64::from(is_datagram && packet.stamped() < self.since);
    }
}
