//! What the network did to each flow's packets: drops, marks, times in queues.

use std::mem::take;

use bloatlab_units::Nanos;

use crate::packet::Packet;
use bloatlab_outcome::Histogram;
use bloatlab_outcome::mean_ms;

/// What the network did to a flow's data, and where it travels.
#[derive(Default)]
pub(crate) struct FlowAccount {
    /// First entry in the route table, by direction.
    pub routes: [u32; 2],
    /// Differentiated services code point of its packets, both ways.
    pub dscp: u8,
    pub start: Nanos,
    pub stop: Nanos,
    /// Base RTT of a greedy TCP flow, which takes part in loss events; `NOT_GREEDY`: it does not.
    pub greedy_rtt: Nanos,
    pub drops: u64,
    /// Drops by queues: because a limit was reached, and by decision of the algorithm.
    pub dropped: [u64; 2],
    pub marks: u64,
    /// Data that the receiver discarded by its checksum.
    pub discards: u64,
    /// Packets that entered the first box of the path, data direction.
    pub sent: u64,
    /// Packets that reached the host at its end, data direction.
    pub received: u64,
    pub sojourn: Histogram,
    /// Sum and number of the times in queues since the last sample, data direction.
    pub waits: (u64, u64),
}

impl FlowAccount {
    /// Forgets what was counted: the warm-up is over.
    pub fn reset(&mut self) {
        (self.drops, self.marks, self.discards) = (0, 0, 0);
        (self.sent, self.received, self.dropped) = (0, 0, [0; 2]);
        self.sojourn = Histogram::default();
    }

    /// The mean time in a queue since the last sample, ms; none: not a number.
    pub fn sample_waits(&mut self) -> f64 {
        let (sum, count) = take(&mut self.waits);
        mean_ms(sum, count)
    }

    pub fn count_drop(&mut self, packet: &Packet) {
        if packet.direction() == 0 {
            self.drops += 1;
        }
    }
}
