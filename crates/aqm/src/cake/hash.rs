//! Set-associative places: eight candidates for each key, so that two keys share a place only when many are in use.

use super::table::{PLACES, Table};

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

/// Which key stands at which place; keys are known by their hashes, as in Linux.
#[derive(Clone, Debug)]
pub struct Ways {
    hashes: Table<u32>,
}

impl Default for Ways {
    fn default() -> Self {
        Self {
            hashes: Table::new(0),
        }
    }
}

impl Ways {
    /// The place of a key with this hash; `used` says which places must be left to their keys.
    #[inline]
    pub fn find(&mut self, hash: u32, used: impl Fn(usize) -> bool) -> (usize, Found) {
        let home = home(hash);
        let set = home & !(WAYS - 1);
        // All are looked at, for where a key stands cannot be foretold: a branch would go wrong for every other packet.
        let is_here = |way| u32::from(self.hashes[set | way] == hash) << way;
        let here: u32 = (0..WAYS).map(is_here).sum();
        if here == 0 {
            return self.give(home, hash, used);
        }
        let place = set | here.trailing_zeros() as usize;
        let found = if place == home {
            Found::Direct
        } else {
            Found::Indirect
        };
        (place, found)
    }

    /// A place for a key that has none.
    #[cold]
    fn give(&mut self, home: usize, hash: u32, used: impl Fn(usize) -> bool) -> (usize, Found) {
        let set = home & !(WAYS - 1);
        let mut candidates = (0..WAYS).map(|step| set | ((home + step) & (WAYS - 1)));
        let free = candidates.find(|&place| !used(place));
        self.hashes[free.unwrap_or(home)] = hash;
        match free {
            Some(place) => (place, Found::Missed),
            None => (home, Found::Collided),
        }
    }
}

/// The place a key hashes to.
fn home(hash: u32) -> usize {
    (hash >> (u32::BITS - PLACES.ilog2())) as usize
}
