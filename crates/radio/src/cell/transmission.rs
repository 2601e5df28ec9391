//! Transport blocks in flight and those to retransmit.

use bloatlab_units::Nanos;

use crate::TransportBlock;
use crate::bler::Combined;
use crate::rlc::{Pdu, Status};

/// The part of a block from one bearer.
#[derive(Clone, Debug)]
pub struct Part {
    /// Number of the bearer.
    pub bearer: usize,
    /// A status report on the opposite direction of the bearer.
    pub status: Option<Status>,
    /// Index of the end of its data among the data of the block.
    pub end: usize,
    /// Bytes of the block that it takes.
    pub bytes: u32,
}

/// The contents of a block.
#[derive(Clone, Debug)]
pub struct Content<T> {
    /// The parts, in the order of the block. A bearer may have several parts.
    pub parts: Vec<Part>,
    /// The data of all parts.
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
    /// Iterates over the parts, each with its data.
    pub fn iter(&self) -> impl Iterator<Item = (&Part, &[Pdu<T>])> {
        let begins = std::iter::once(0).chain(self.parts.iter().map(|part| part.end));
        let parts = self.parts.iter().zip(begins);
        parts.map(|(part, begin)| (part, &self.pdus[begin..part.end]))
    }
}

/// A transport block.
#[derive(Clone, Debug)]
pub struct Transmission<T> {
    /// Number of the UE.
    pub ue: usize,
    /// Its modulation and coding scheme.
    pub mcs: usize,
    /// Number of units of the slot that it takes.
    pub units: u32,
    /// Number of symbols of the whole band that this corresponds to.
    pub symbols: u32,
    /// Its size.
    pub size: TransportBlock,
    /// Number of symbols from the start of the slot to its end.
    pub ends: u32,
    /// What has been received of it so far.
    pub received: Combined,
    /// Number of transmissions so far.
    pub attempts: u32,
    /// On the uplink: bytes that the UE still had to send.
    pub report: u32,
    /// Its contents.
    pub content: Content<T>,
}

/// Blocks in flight: by the slot in which they are sent, and by the time at which they are decoded.
#[derive(Debug)]
pub struct Air<T> {
    /// The next slot and those after it.
    slots: Vec<Vec<Transmission<T>>>,
    /// Blocks that are received but not decoded yet, latest first.
    decoding: Vec<(Nanos, Transmission<T>)>,
    /// Contents that are reused.
    spare: Vec<Content<T>>,
    waiting: usize,
}

/// Number of slots for which blocks may be scheduled in advance; a power of two.
const AHEAD: u64 = 16;

impl<T: Copy> Air<T> {
    /// Creates it without blocks.
    pub fn new() -> Self {
        Self {
            slots: (0..AHEAD).map(|_| Vec::new()).collect(),
            decoding: Vec::new(),
            spare: Vec::new(),
            waiting: 0,
        }
    }

    /// Returns empty contents to fill.
    pub fn content(&mut self) -> Content<T> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes back contents that are not needed any more.
    #[inline]
    pub fn give_back(&mut self, mut content: Content<T>) {
        content.parts.clear();
        content.pdus.clear();
        self.spare.push(content);
    }

    /// Schedules a block for a slot, which must be less than [`AHEAD`] slots after the current one.
    pub fn put(&mut self, slot: u64, block: Transmission<T>) {
        self.waiting += 1;
        self.slots[(slot % AHEAD) as usize].push(block);
    }

    /// The blocks that are sent in a slot.
    pub fn of(&self, slot: u64) -> &[Transmission<T>] {
        &self.slots[(slot % AHEAD) as usize]
    }

    /// Removes and returns the blocks of the current slot. The list must be returned to [`Air::rest`].
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

    /// Records that a block will be decoded at this time.
    pub fn decode(&mut self, at: Nanos, block: Transmission<T>) {
        let place = self.decoding.partition_point(|(other, _)| *other > at);
        self.decoding.insert(place, (at, block));
    }

    /// When the next block will be decoded.
    pub fn next_decoded(&self) -> Option<Nanos> {
        self.decoding.last().map(|(at, _)| *at)
    }

    /// Removes and returns a block that is decoded by now.
    pub fn decoded(&mut self, now: Nanos) -> Option<Transmission<T>> {
        let at = self.next_decoded()?;
        let is_due = at <= now;
        is_due.then(|| self.decoding.pop())?.map(|(_, block)| block)
    }

    /// Whether no block waits for its slot.
    pub fn is_idle(&self) -> bool {
        self.waiting == 0
    }
}
