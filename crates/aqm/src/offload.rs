//! Offload buffers: a decision about the first packet of a buffer holds for all its packets.

use crate::Packet;

/// The flow of an arrival after which no buffer is open. No packet has it.
const NOBODY: u64 = u64::MAX;

/// The decision about the offload buffer that is arriving, for disciplines that decide on arrival.
#[derive(Clone, Copy, Debug)]
pub struct BufferDecision<T> {
    /// The flow of the last arrival if its buffer has more packets.
    flow: u64,
    decision: T,
}

impl<T: Copy> BufferDecision<T> {
    /// The state before the first arrival. `decision` is never returned.
    pub fn new(decision: T) -> Self {
        Self {
            flow: NOBODY,
            decision,
        }
    }

    /// The decision about the buffer that this packet continues, if there is one.
    #[inline]
    pub fn of<P: Packet>(&self, packet: &P) -> Option<T> {
        (packet.follows() && self.flow == packet.flow()).then_some(self.decision)
    }

    /// Forgets the decision: the last arrival ended its buffer, or the decision about it holds for no other packet.
    #[inline]
    pub fn forget(&mut self) {
        self.flow = NOBODY;
    }

    /// Records the decision about an arrival.
    #[inline]
    pub fn note<P: Packet>(&mut self, packet: &P, decision: T) {
        self.flow = if packet.has_more() {
            packet.flow()
        } else {
            NOBODY
        };
        self.decision = decision;
    }
}
