//! Chains that can also be shortened at their end, for disciplines that drop the newest packet of a queue.

use crate::Packet;
use crate::slab::{Chain, Slab};

/// A [`Slab`] that also stores the predecessor of each packet.
#[derive(Debug)]
pub struct Deques<P> {
    slab: Slab<P>,
    /// For each place of the slab, the place before it in its chain. Undefined for the head of a chain.
    before: Vec<u32>,
}

impl<P> Default for Deques<P> {
    fn default() -> Self {
        Self {
            slab: Slab::default(),
            before: Vec::new(),
        }
    }
}

impl<P: Packet> Deques<P> {
    /// The underlying slab.
    #[inline]
    pub fn slab(&self) -> &Slab<P> {
        &self.slab
    }

    /// Appends a packet to a chain. Returns a reference to the stored packet, to stamp it there.
    #[inline]
    pub fn push(&mut self, chain: &mut Chain, packet: P) -> &mut P {
        let before = chain.tail();
        let stored = self.slab.push(chain, packet);
        let place = chain.tail() as usize;
        if place == self.before.len() {
            self.before.push(before);
        } else {
            self.before[place] = before;
        }
        stored
    }

    /// The oldest packet of a chain.
    #[inline]
    pub fn front_mut(&mut self, chain: &Chain) -> Option<&mut P> {
        self.slab.front_mut(chain)
    }

    /// Removes and returns the oldest packet of a chain.
    #[inline]
    pub fn pop(&mut self, chain: &mut Chain) -> Option<P> {
        self.slab.pop(chain)
    }

    /// Removes and returns the newest packet of a chain.
    pub fn pop_back(&mut self, chain: &mut Chain) -> Option<P> {
        let before = self.before.get(chain.tail() as usize).copied()?;
        self.slab.pop_back(chain, before)
    }
}
