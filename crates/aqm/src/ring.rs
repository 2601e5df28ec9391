//! Storage: a ring of packets by value, and how much of it a limit allows.

use std::collections::VecDeque;

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

/// A limit in the terms in which a queue counts: packets and bytes at once, so that the hot path has no case distinction.
///
/// Where a buffer holds one packet, buffers are packets; where it holds more, [`Bounded`] keeps the books.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    packets: u64,
    bytes: u64,
    segments: u32,
}

impl Capacity {
    /// No limit.
    pub const ENDLESS: Self = Self {
        packets: u64::MAX,
        bytes: u64::MAX,
        segments: 1,
    };

    /// The capacity that a limit describes; `segments` counts only if it is in buffers.
    pub fn new(limit: Limit, segments: u32) -> Self {
        let (packets, bytes, segments) = match limit {
            Limit::Packets(n) => (n, u64::MAX, 1),
            Limit::Bytes(n) => (u64::MAX, n, 1),
            Limit::Buffers(n) => (n.saturating_mul(u64::from(segments)), u64::MAX, segments),
        };
        Self {
            packets,
            bytes,
            segments,
        }
    }

    /// What is within both limits.
    pub fn and(self, other: Self) -> Self {
        Self {
            packets: self.packets.min(other.packets),
            bytes: self.bytes.min(other.bytes),
            segments: self.segments,
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

    /// Returns the capacity if every buffer holds one packet.
    pub fn of_single_packets(self) -> Option<Self> {
        (self.segments == 1).then_some(self)
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
}

/// The books of a queue whose buffers hold several packets, as a host with segmentation offload fills them.
///
/// A buffer is one host's: up to `segments` packets of a flow that came one after the other and that their host handed over together
/// ([`Packet::follows`]). Anything else, an ACK or a ping too, has a buffer of its own. A buffer enters whole or not at all. It is
/// free again when its last packet has left.
#[derive(Debug)]
struct Buffers {
    most: usize,
    segments: u32,
    /// How many packets are left of each, the oldest first.
    held: VecDeque<u32>,
    newest: Newest,
}

/// The buffer of the packet that came last.
#[derive(Debug, Default)]
struct Newest {
    flow: u64,
    /// Packets that came in it; 0 before the first.
    filled: u32,
    is_held: bool,
}

impl Buffers {
    /// Whether a packet belongs into the newest buffer.
    fn joins(&self, packet: &impl Packet) -> bool {
        let newest = &self.newest;
        packet.follows()
            && newest.flow == packet.flow()
            && (1..self.segments).contains(&newest.filled)
    }

    fn fits(&self, packet: &impl Packet) -> bool {
        if self.joins(packet) && (!self.newest.is_held || !self.held.is_empty()) {
            return self.newest.is_held;
        }
        self.held.len() < self.most
    }

    /// Notes an arrival.
    fn note(&mut self, packet: &impl Packet, is_held: bool) {
        let joins = self.joins(packet);
        if is_held {
            match self.held.back_mut().filter(|_| joins) {
                Some(newest) => *newest += 1,
                // Also where the buffer's first packets have left already.
                None => self.held.push_back(1),
            }
        }
        self.newest = Newest {
            flow: packet.flow(),
            filled: if joins { self.newest.filled + 1 } else { 1 },
            is_held,
        };
    }

    fn pop(&mut self) {
        if let Some(oldest) = self.held.front_mut() {
            *oldest -= 1;
            if *oldest == 0 {
                self.held.pop_front();
            }
        }
    }
}

/// A ring under a [`Capacity`], with the bookkeeping of buffers.
#[derive(Debug)]
pub struct Bounded<P> {
    ring: Ring<P>,
    capacity: Capacity,
    /// Where a buffer holds more than one packet.
    buffers: Option<Box<Buffers>>,
}

impl<P: Packet> Bounded<P> {
    /// An empty queue of this capacity.
    pub fn new(capacity: Capacity) -> Self {
        let books = || Buffers {
            most: usize::try_from(capacity.packets / u64::from(capacity.segments))
                .unwrap_or(usize::MAX),
            segments: capacity.segments,
            held: VecDeque::new(),
            newest: Newest::default(),
        };
        Self {
            ring: Ring::default(),
            capacity,
            buffers: (capacity.segments > 1).then(|| Box::new(books())),
        }
    }

    /// The most it may hold.
    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// What is held.
    #[inline]
    pub fn ring(&self) -> &Ring<P> {
        &self.ring
    }

    /// Whether a packet may enter now. One that belongs into the buffer of one that was refused may not.
    #[inline]
    pub fn fits(&self, packet: &P) -> bool {
        match &self.buffers {
            None => self
                .capacity
                .fits(self.ring.packets(), self.ring.bytes(), packet.size()),
            Some(buffers) => buffers.fits(packet),
        }
    }

    /// Whether a packet of `size` bytes may enter an empty queue.
    #[inline]
    pub fn could_ever_fit(&self, size: u32) -> bool {
        self.capacity.fits(0, 0, size)
    }

    /// Appends a packet, which must fit; returns it in its place, to be stamped there.
    #[inline]
    pub fn push(&mut self, packet: P) -> &mut P {
        // The books last: a packet that they had seen before would be copied field by field, which waits for the stores that made it.
        let stored = self.ring.push(packet);
        if let Some(buffers) = &mut self.buffers {
            buffers.note(stored, true);
        }
        stored
    }

    /// Notes that a packet was refused: what belongs into its buffer is refused as well.
    #[inline]
    pub fn refuse(&mut self, packet: &P) {
        if let Some(buffers) = &mut self.buffers {
            buffers.note(packet, false);
        }
    }

    /// Takes the packet that came first.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        // The books first: the packet then goes straight from the ring to its taker, without another copy.
        if let Some(buffers) = &mut self.buffers {
            buffers.pop();
        }
        self.ring.pop()
    }

    /// Buffers in use.
    pub fn buffers(&self) -> u64 {
        match &self.buffers {
            None => self.ring.packets(),
            Some(buffers) => buffers.held.len() as u64,
        }
    }
}
