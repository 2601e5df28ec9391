//! What a discipline holds, packet by packet: for pictures and tests, never for the hot path.

use crate::Packet;
use crate::ring::Ring;
use crate::slab::{Chain, Slab};

/// The queue in which a packet waits inside a discipline. Ordered by band, then by queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// Index of the band among those of [`Qdisc::bands`](crate::Qdisc::bands).
    pub band: u32,
    /// Number of the queue inside the band, such as the hash of a flow.
    pub queue: u32,
}

impl Slot {
    /// The only queue of a band.
    pub fn band(band: u32) -> Self {
        Self { band, queue: 0 }
    }
}

/// The packets of one class inside a discipline, such as a tin of CAKE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// Name of the class. Empty if the discipline has one band only.
    pub name: String,
    /// Number of queues in the band: more than one if each flow has its own.
    pub queues: u32,
}

impl Band {
    /// A band with this name and number of queues.
    pub fn new(name: impl Into<String>, queues: u32) -> Self {
        Self {
            name: name.into(),
            queues,
        }
    }

    /// The bands of a discipline that has one, with this number of queues.
    pub fn single(queues: u32) -> Vec<Self> {
        vec![Self::new("", queues)]
    }
}

impl<P: Packet> Ring<P> {
    /// Visits all packets, oldest first, as those of the queue `slot`.
    pub fn contents(&self, slot: Slot, visit: &mut dyn FnMut(Slot, &P)) {
        self.iter().for_each(|packet| visit(slot, packet));
    }
}

impl<P: Packet> Slab<P> {
    /// Visits the packets of the chains, which are all queues of a band in the order of their numbers.
    pub fn contents<'a>(
        &self,
        band: u32,
        chains: impl IntoIterator<Item = &'a Chain>,
        visit: &mut dyn FnMut(Slot, &P),
    ) {
        for (queue, chain) in (0..).zip(chains) {
            self.iter(chain)
                .for_each(|packet| visit(Slot { band, queue }, packet));
        }
    }
}
