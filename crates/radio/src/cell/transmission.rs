//! Transport blocks on their way, and those that are sent again.

use bloatlab_units::Nanos;

use crate::TransportBlock;
use crate::bler::Combined;
use crate::rlc::{Pdu, Status};

/// What one bearer has put into a block.
#[derive(Clone, Debug)]
pub struct Part {
    /// Whose it is.
    pub bearer: usize,
    /// A report on the opposite direction of the bearer.
    pub status: Option<Status>,
    /// Where its data ends among that of the block.
    pub end: usize,
    /// Bytes of the block that it takes.
    pub bytes: u32,
}

/// What a block carries.
#[derive(Clone, Debug)]
pub struct Content<T> {
    /// By bearer, in the order of the block; one may be there more than once.
    pub parts: Vec<Part>,
    /// Data of all parts.
    pub pdus: Vec<Pdu<T>>,
}

impl<T> Default for Content<T> {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            pdus: Vec::new(),
        }
    }
}

impl<T> Content<T> {
    /// The parts, each with its data.
    pub fn iter(&self) -> impl Iterator<Item = (&Part, &[Pdu<T>])> {
        let begins = std::iter::once(0).chain(self.parts.iter().map(|part| part.end));
        let parts = self.parts.iter().zip(begins);
        parts.map(|(part, begin)| (part, &self.pdus[begin..part.end]))
    }
}

/// A transport block.
#[derive(Clone, Debug)]
pub struct Transmission<T> {
    /// Whose it is.
    pub ue: usize,
    /// Its modulation and coding scheme.
    pub mcs: usize,
    /// Units of the slot that it takes.
    pub units: u32,
    /// Symbols of the whole band that it amounts to.
    pub symbols: u32,
    /// Its size.
    pub size: TransportBlock,
    /// Symbols from the slot's beginning to its end.
    pub ends: u32,
    /// What of it was received so far.
    pub received: Combined,
    /// Times that it was sent.
    pub attempts: u32,
    /// On the uplink: bytes that the UE still had.
    pub report: u32,
    /// What it carries.
    pub content: Content<T>,
}

/// Blocks under way: by the slot in which they are on air, and by the instant at which they are received.
#[derive(Debug)]
pub struct Air<T> {
    /// The slot that comes next, and those after it.
    slots: Vec<Vec<Transmission<T>>>,
    /// Received but not decoded yet, the latest first.
    decoding: Vec<(Nanos, Transmission<T>)>,
    /// Lists of contents that are used again.
    spare: Vec<Content<T>>,
    waiting: usize,
}

/// Slots ahead for which blocks may be scheduled: a power of two.
const AHEAD: u64 = 16;

impl<T: Copy> Air<T> {
    /// Nothing under way.
    pub fn new() -> Self {
        Self {
            slots: (0..AHEAD).map(|_| Vec::new()).collect(),
            decoding: Vec::new(),
            spare: Vec::new(),
            waiting: 0,
        }
    }

    /// Nothing, to be filled.
    pub fn content(&mut self) -> Content<T> {
        self.spare.pop().unwrap_or_default()
    }

    /// A content is no longer needed.
    #[inline]
    pub fn give_back(&mut self, mut content: Content<T>) {
        content.parts.clear();
        content.pdus.clear();
        self.spare.push(content);
    }

    /// A block goes on air in this slot, less than [`AHEAD`] after the one that is now.
    pub fn put(&mut self, slot: u64, block: Transmission<T>) {
        self.waiting += 1;
        self.slots[(slot % AHEAD) as usize].push(block);
    }

    /// The blocks that are on air in a slot.
    pub fn of(&self, slot: u64) -> &[Transmission<T>] {
        &self.slots[(slot % AHEAD) as usize]
    }

    /// Takes the blocks that are on air in the slot that begins; the list is to be given back to [`Air::rest`].
    pub fn take(&mut self, slot: u64) -> Vec<Transmission<T>> {
        let list = std::mem::take(&mut self.slots[(slot % AHEAD) as usize]);
        self.waiting -= list.len();
        list
    }

    /// Takes back the list of a slot.
    pub fn rest(&mut self, slot: u64, list: Vec<Transmission<T>>) {
        self.waiting += list.len();
        self.slots[(slot % AHEAD) as usize] = list;
    }

    /// A block will have been decoded at this instant.
    pub fn decode(&mut self, at: Nanos, block: Transmission<T>) {
        let place = self.decoding.partition_point(|(other, _)| *other > at);
        self.decoding.insert(place, (at, block));
    }

    /// When the next block will have been decoded.
    pub fn next_decoded(&self) -> Option<Nanos> {
        self.decoding.last().map(|(at, _)| *at)
    }

    /// A block that has been decoded by now.
    pub fn decoded(&mut self, now: Nanos) -> Option<Transmission<T>> {
        let at = self.next_decoded()?;
        let is_due = at <= now;
        is_due.then(|| self.decoding.pop())?.map(|(_, block)| block)
    }

    /// Whether any block waits for its slot.
    pub fn is_idle(&self) -> bool {
        self.waiting == 0
    }
}
