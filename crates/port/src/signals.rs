//! What a queue discipline dropped or marked during one call.

use bloatlab_aqm::{DropReason, Packet, Sink};

/// The packets that a queue discipline dropped or marked during one call.
pub struct Signals<P> {
    /// Dropped packets.
    pub drops: Vec<(P, DropReason)>,
    /// Marked packets, which stay in the queue.
    pub marks: Vec<P>,
}

impl<P> Signals<P> {
    /// Whether nothing was dropped or marked.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.drops.is_empty() && self.marks.is_empty()
    }
}

impl<P> Default for Signals<P> {
    fn default() -> Self {
        Self {
            drops: Vec::new(),
            marks: Vec::new(),
        }
    }
}

impl<P: Packet> Sink<P> for Signals<P> {
    fn dropped(&mut self, packet: &P, reason: DropReason) {
        self.drops.push((*packet, reason));
    }

    fn marked(&mut self, packet: &P) {
        self.marks.push(*packet);
    }
}
