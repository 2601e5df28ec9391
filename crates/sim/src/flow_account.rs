//! Accounts of the network for each flow's packets: drops, marks, sojourn times.

use std::mem::{replace, take};

use bloatlab_units::Nanos;

use crate::packet::Packet;
use bloatlab_outcome::Histogram;
use bloatlab_outcome::mean_ms;

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
    pub fn reset(&mut self) {
        (self.drops, self.marks, self.discards) = (0, 0, 0);
        (self.sent, self.received, self.dropped) = (0, 0, [0; 2]);
        self.sampled_sojourn = (self.sampled_sojourn).wrapping_sub(self.sojourn.sum() as u64);
        self.sojourn = Histogram::default();
    }

    /// Returns the mean sojourn time since the last sample, in ms; NaN if there was none.
    pub fn sample_waits(&mut self) -> f64 {
        let sum = self.sojourn.sum() as u64;
        let before = replace(&mut self.sampled_sojourn, sum);
        mean_ms(sum.wrapping_sub(before), take(&mut self.waits))
    }

    pub fn count_drop(&mut self, packet: &Packet) {
        if packet.direction() == 0 {
            self.drops += 1;
        }
    }
}
