//! Storage: a ring of packets by value, and its capacity.

use std::collections::VecDeque;

use bloatlab_units::Limit;

use crate::Packet;

/// A FIFO of packets in a power-of-two ring. It grows geometrically and never shrinks.
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
    /// Number of packets in the ring.
    #[inline]
    pub fn packets(&self) -> u64 {
        self.len as u64
    }

    /// Number of bytes in the ring.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The packet that leaves next.
    #[inline]
    pub fn front(&self) -> Option<&P> {
        (self.len > 0).then(|| &self.slots[self.head])
    }

    /// The packet that leaves next, mutable, to mark it.
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut P> {
        (self.len > 0).then(|| &mut self.slots[self.head])
    }

    /// All packets, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &P> {
        let (before, after) = self.slots.split_at(self.head);
        after.iter().chain(before).take(self.len)
    }

    /// Appends a packet. Returns a reference to the stored packet, to stamp it there.
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

    /// Removes and returns the oldest packet.
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

    /// The packet that arrived last.
    pub fn back(&self) -> Option<&P> {
        let last = self.len.checked_sub(1)?;
        self.slots.get((self.head + last) & (self.slots.len() - 1))
    }

    /// Removes and returns the newest packet.
    pub fn pop_back(&mut self) -> Option<P> {
        let packet = *self.back()?;
        self.len -= 1;
        self.bytes -= u64::from(packet.size());
        Some(packet)
    }

    /// Doubles the ring and moves the packets to slot 0 onwards. New slots hold copies of `filler` until they are used.
    #[cold]
    fn grow(&mut self, filler: P) {
        self.slots.rotate_left(self.head);
        self.head = 0;
        let doubled = (self.slots.len() * 2).max(16);
        self.slots.resize(doubled, filler);
    }
}

/// A limit in packets and in bytes at once, so that the hot path needs no case distinction.
///
/// If a buffer holds one packet, buffers are counted as packets. If it holds several, [`Bounded`] counts the buffers.
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

    /// Number of packets that one buffer holds.
    pub fn segments(&self) -> u32 {
        self.segments
    }

    /// The capacity that `limit` describes. `segments` is used only if the limit is in buffers.
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

    /// The capacity that is within both capacities.
    pub fn and(self, other: Self) -> Self {
        Self {
            packets: self.packets.min(other.packets),
            bytes: self.bytes.min(other.bytes),
            segments: self.segments,
        }
    }

    /// Refuses limits in buffers, for disciplines that store packets singly.
    pub fn not_in_buffers(limit: Limit) -> Result<(), String> {
        match limit {
            Limit::Buffers(_) => Err(format!(
                "limit: {limit} is in buffers, but must be in packets or bytes (only fifo and head_drop have buffers)"
            )),
            Limit::Packets(_) | Limit::Bytes(_) => Ok(()),
        }
    }

    /// Returns the capacity if every buffer holds a single packet.
    pub fn of_single_packets(self) -> Option<Self> {
        (self.segments == 1).then_some(self)
    }

    /// Whether a packet of `size` bytes fits into a queue with this backlog.
    #[inline]
    pub fn fits(&self, packets: u64, bytes: u64, size: u32) -> bool {
        packets < self.packets && bytes.saturating_add(u64::from(size)) <= self.bytes
    }

    /// Whether this backlog is within the limit.
    #[inline]
    pub fn holds(&self, packets: u64, bytes: u64) -> bool {
        packets <= self.packets && bytes <= self.bytes
    }
}

/// The buffers of a queue whose buffers hold several packets, as filled by a host with segmentation offload.
///
/// A buffer belongs to one host. It holds up to `segments` consecutive packets of a flow that the host handed over together ([`Packet::follows`]).
/// Every other packet, such as an ACK or a ping, occupies its own buffer. A buffer is accepted as a whole or refused as a whole. It becomes free when
/// its last packet has left.
#[derive(Debug)]
struct Buffers {
    most: usize,
    segments: u32,
    /// Number of packets left in each buffer, oldest first.
    held: VecDeque<u32>,
    newest: Newest,
}

/// The buffer of the newest packet.
#[derive(Debug, Default)]
struct Newest {
    flow: u64,
    /// Packets that arrived in it; 0 before the first.
    filled: u32,
    is_held: bool,
}

impl Buffers {
    /// Whether a packet belongs to the newest buffer.
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

    /// Records an arrival.
    fn note(&mut self, packet: &impl Packet, is_held: bool) {
        let joins = self.joins(packet);
        if is_held {
            match self.held.back_mut().filter(|_| joins) {
                Some(newest) => *newest += 1,
                // This includes the case that all earlier packets of the buffer have already left.
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

/// A ring with a [`Capacity`], which also counts buffers.
#[derive(Debug)]
pub struct Bounded<P> {
    ring: Ring<P>,
    capacity: Capacity,
    /// Present if a buffer holds more than one packet.
    buffers: Option<Box<Buffers>>,
}

impl<P: Packet> Bounded<P> {
    /// Creates an empty queue of this capacity.
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

    /// The capacity.
    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// The stored packets.
    #[inline]
    pub fn ring(&self) -> &Ring<P> {
        &self.ring
    }

    /// Whether a packet may enter now. A packet that belongs to a refused buffer may not.
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

    /// Appends a packet, which must fit. Returns a reference to the stored packet, to stamp it there.
    #[inline]
    pub fn push(&mut self, packet: P) -> &mut P {
        // The buffers are updated last. Reading the packet before would make the compiler copy it field by field, which waits for the stores that
        // created it.
        let stored = self.ring.push(packet);
        if let Some(buffers) = &mut self.buffers {
            buffers.note(stored, true);
        }
        stored
    }

    /// Records that a packet was refused. The rest of its buffer is refused, too.
    #[inline]
    pub fn refuse(&mut self, packet: &P) {
        if let Some(buffers) = &mut self.buffers {
            buffers.note(packet, false);
        }
    }

    /// Removes and returns the oldest packet.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        // The buffers are updated first, so that the packet goes directly from the ring to the caller without another copy.
        if let Some(buffers) = &mut self.buffers {
            buffers.pop();
        }
        self.ring.pop()
    }

    /// Takes back the newest packet if `packet` continues its offload buffer. If buffers are counted, a buffer is admitted as a whole anyway.
    pub fn take_back(&mut self, packet: &P) -> Option<P> {
        let newest = self.ring.back()?;
        let joins = packet.follows() && newest.has_more() && newest.flow() == packet.flow();
        (joins && self.buffers.is_none()).then(|| self.ring.pop_back())?
    }

    /// Number of buffers in use.
    pub fn buffers(&self) -> u64 {
        match &self.buffers {
            None => self.ring.packets(),
            Some(buffers) => buffers.held.len() as u64,
        }
    }
}
