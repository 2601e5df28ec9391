//! Set-associative places: eight candidates for each key, so that two keys share a place only when many are in use.

use super::table::PLACES;

/// Candidates of each key.
pub const WAYS: usize = 8;

/// How a key found its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// At the place it hashes to.
    Direct,
    /// At another of its candidates.
    Indirect,
    /// Nowhere: it was given a free candidate.
    Missed,
    /// Nowhere, and no candidate was free: it shares the place it hashes to.
    Collided,
}

/// The hashes of the keys that stand in a set; in one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Set([u32; WAYS]);

impl Set {
    /// The way of a key; [`WAYS`] if it has none. All are looked at, for it cannot be foretold: a branch would go wrong for every other packet.
    #[inline]
    fn way(&self, hash: u32) -> usize {
        let here = self.0.map(|own| if own == hash { u8::MAX } else { 0 });
        u64::from_le_bytes(here).trailing_zeros() as usize / 8
    }
}

/// Which key stands at which place; keys are known by their hashes, as in Linux.
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
    /// The place of a key with this hash, if it has one.
    #[inline]
    pub fn of(&self, hash: u32) -> Option<usize> {
        let set = home(hash) / WAYS;
        let way = self.sets[set].way(hash);
        (way < WAYS).then_some(set * WAYS + way)
    }

    /// The place that a key with this hash has or is given; `used` says which places must be left to their keys.
    #[inline]
    pub fn find(&mut self, hash: u32, used: impl Fn(usize) -> bool) -> (usize, Found) {
        match self.of(hash) {
            Some(place) if place == home(hash) => (place, Found::Direct),
            Some(place) => (place, Found::Indirect),
            None => self.give(hash, used),
        }
    }

    /// A place for a key that has none.
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

/// The place a key hashes to.
#[inline]
pub fn home(hash: u32) -> usize {
    (hash >> (u32::BITS - PLACES.ilog2())) as usize
}
