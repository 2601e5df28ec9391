//! Storage: a ring of packets by value, and how much of it a limit allows.

use bloatlab_units::Limit;

use crate::Packet;

/// A FIFO of packets in a power-of-two ring; grows geometrically and never shrinks.
#[derive(Debug)]
pub struct Ring<P> {
    slots: Vec<P>,
    head: usize,
    len: usize,
    bytes: u64,
}

impl<P> Default for Ring<P> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            head: 0,
            len: 0,
            bytes: 0,
        }
    }
}

impl<P: Packet> Ring<P> {
    /// Packets held.
    #[inline]
    pub fn packets(&self) -> u64 {
        self.len as u64
    }

    /// Bytes held.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The packet that leaves next.
    #[inline]
    pub fn front(&self) -> Option<&P> {
        (self.len > 0).then(|| &self.slots[self.head])
    }

    /// The same, to be marked.
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut P> {
        (self.len > 0).then(|| &mut self.slots[self.head])
    }

    /// Appends a packet; returns it in its place, to be stamped there.
    #[inline]
    pub fn push(&mut self, packet: P) -> &mut P {
        if self.len == self.slots.len() {
            self.grow(packet);
        }
        let tail = (self.head + self.len) & (self.slots.len() - 1);
        self.len += 1;
        self.bytes += u64::from(packet.size());
        let slot = &mut self.slots[tail];
        *slot = packet;
        slot
    }

    /// Takes the packet that came first.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        if self.len == 0 {
            return None;
        }
        let packet = &self.slots[self.head];
        self.head = (self.head + 1) & (self.slots.len() - 1);
        self.len -= 1;
        self.bytes -= u64::from(packet.size());
        Some(*packet)
    }

    /// Doubles the ring, packets in order from slot 0; new slots hold copies of `filler` until used.
    #[cold]
    fn grow(&mut self, filler: P) {
        self.slots.rotate_left(self.head);
        self.head = 0;
        let doubled = (self.slots.len() * 2).max(16);
        self.slots.resize(doubled, filler);
    }
}

/// A limit in the terms in which a queue counts: all three units at once, so that the hot path has no case distinction.
///
/// A buffer holds up to `segments` packets. Consecutive arrivals fill the newest buffer, whatever their flow; it is closed when full. A
/// buffer is free again when its last packet has left, and an empty queue holds no buffer, not even a part-filled one.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    packets: u64,
    bytes: u64,
    segments: u64,
}

impl Capacity {
    /// The capacity that a limit describes; `segments` counts only if it is in buffers.
    pub fn new(limit: Limit, segments: u32) -> Self {
        let (packets, bytes, segments) = match limit {
            Limit::Packets(n) => (n, u64::MAX, 1),
            Limit::Bytes(n) => (u64::MAX, n, 1),
            Limit::Buffers(n) => (
                n.saturating_mul(u64::from(segments)),
                u64::MAX,
                u64::from(segments),
            ),
        };
        Self {
            packets,
            bytes,
            segments,
        }
    }

    /// Refuses limits in buffers, for disciplines that hold packets singly.
    pub fn not_in_buffers(limit: Limit) -> Result<(), String> {
        match limit {
            Limit::Buffers(_) => Err(format!(
                "limit: {limit} must be in packets or bytes (buffers: only fifo and head_drop)"
            )),
            Limit::Packets(_) | Limit::Bytes(_) => Ok(()),
        }
    }

    /// Whether a packet of `size` bytes fits beside what is held.
    #[inline]
    pub fn fits(&self, packets: u64, bytes: u64, size: u32) -> bool {
        packets < self.packets && bytes.saturating_add(u64::from(size)) <= self.bytes
    }

    /// Whether what is held is within the limit.
    #[inline]
    pub fn holds(&self, packets: u64, bytes: u64) -> bool {
        packets <= self.packets && bytes <= self.bytes
    }

    /// Packets a buffer holds.
    #[inline]
    pub fn segments(&self) -> u64 {
        self.segments
    }
}

/// A ring under a [`Capacity`], with the bookkeeping of buffers.
#[derive(Debug)]
pub struct Bounded<P> {
    ring: Ring<P>,
    capacity: Capacity,
    /// Packets that have left the oldest buffer; they still take their place in it.
    gone: u64,
}

impl<P: Packet> Bounded<P> {
    /// An empty queue of this capacity.
    pub fn new(capacity: Capacity) -> Self {
        Self {
            ring: Ring::default(),
            capacity,
            gone: 0,
        }
    }

    /// What is held.
    #[inline]
    pub fn ring(&self) -> &Ring<P> {
        &self.ring
    }

    /// Whether a packet of `size` bytes may enter now.
    #[inline]
    pub fn fits(&self, size: u32) -> bool {
        self.capacity
            .fits(self.ring.packets() + self.gone, self.ring.bytes(), size)
    }

    /// Whether a packet of `size` bytes may enter an empty queue.
    #[inline]
    pub fn could_ever_fit(&self, size: u32) -> bool {
        self.capacity.fits(0, 0, size)
    }

    /// Appends a packet, which must fit; returns it in its place, to be stamped there.
    #[inline]
    pub fn push(&mut self, packet: P) -> &mut P {
        self.ring.push(packet)
    }

    /// Takes the packet that came first.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        // The books first: the packet then goes straight from the ring to its taker, without another copy.
        let closed = self.gone + 1 >= self.capacity.segments() || self.ring.packets() <= 1;
        self.gone = if closed { 0 } else { self.gone + 1 };
        self.ring.pop()
    }

    /// Buffers in use.
    pub fn buffers(&self) -> u64 {
        (self.ring.packets() + self.gone).div_ceil(self.capacity.segments())
    }
}
