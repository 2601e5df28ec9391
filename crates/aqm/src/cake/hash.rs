//! A set-associative hash table: each key has eight candidate places, so that keys share a place only when many are in use.

use super::table::PLACES;

/// Number of candidate places of each key.
pub const WAYS: usize = 8;

/// How the place of a key was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It has the place that it hashes to.
    Direct,
    /// It has another one of its candidates.
    Indirect,
    /// It had no place and was given a free candidate.
    Missed,
    /// It had no place and no candidate was free, so it shares the place that it hashes to.
    Collided,
}

/// The hashes of the keys in one set. It fits into one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Set([u32; WAYS]);

impl Set {
    /// The way of a key, or [`WAYS`] if the key is not in the set. It compares all ways, because a branch would be mispredicted for every other
    /// packet.
    #[inline]
    fn way(&self, hash: u32) -> usize {
        let here = self.0.map(|own| if own == hash { u8::MAX } else { 0 });
        u64::from_le_bytes(here).trailing_zeros() as usize / 8
    }
}

/// Which key has which place. As in Linux, keys are identified by their hashes.
#[derive(Clone, Debug)]
pub struct Ways {
    sets: [Set; PLACES / WAYS],
}

impl Default for Ways {
    fn default() -> Self {
        Self {
            sets: [Set::default(); PLACES / WAYS],
        }
    }
}

impl Ways {
    /// The place of the key with this hash, if it has one.
    #[inline]
    pub fn of(&self, hash: u32) -> Option<usize> {
        let set = home(hash) / WAYS;
        let way = self.sets[set].way(hash);
        (way < WAYS).then_some(set * WAYS + way)
    }

    /// The place that the key with this hash has or is given. `used` tells which places may not be taken from their keys.
    #[inline]
    pub fn find(&mut self, hash: u32, used: impl Fn(usize) -> bool) -> (usize, Found) {
        match self.of(hash) {
            Some(place) if place == home(hash) => (place, Found::Direct),
            Some(place) => (place, Found::Indirect),
            None => self.give(hash, used),
        }
    }

    /// Gives a place to a key that has none.
    #[cold]
    fn give(&mut self, hash: u32, used: impl Fn(usize) -> bool) -> (usize, Found) {
        let home = home(hash);
        let set = home / WAYS;
        let mut ways = (0..WAYS).map(|step| (home + step) % WAYS);
        let free = ways.find(|way| !used(set * WAYS + way));
        let way = free.unwrap_or(home % WAYS);
        self.sets[set].0[way] = hash;
        let found = match free {
            Some(_) => Found::Missed,
            None => Found::Collided,
        };
        (set * WAYS + way, found)
    }
}

/// The place that a key hashes to.
#[inline]
pub fn home(hash: u32) -> usize {
    (hash >> (u32::BITS - PLACES.ilog2())) as usize
}
