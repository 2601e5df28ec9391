//! Set-associative places: eight candidates for each key, so that two keys share a place only when many are in use.

/// Places in a table.
pub const PLACES: usize = 1024;
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

/// Which key stands at which place.
#[derive(Clone, Debug)]
pub struct Ways {
    keys: Vec<u64>,
}

impl Default for Ways {
    fn default() -> Self {
        Self {
            keys: vec![u64::MAX; PLACES],
        }
    }
}

impl Ways {
    /// The place of a key that hashes to `home`; `used` says which places must be left to their keys.
    #[inline]
    pub fn find(&mut self, home: usize, key: u64, used: impl Fn(usize) -> bool) -> (usize, Found) {
        if self.keys[home] == key {
            return (home, Found::Direct);
        }
        self.search(home, key, used)
    }

    fn search(&mut self, home: usize, key: u64, used: impl Fn(usize) -> bool) -> (usize, Found) {
        let set = home & !(WAYS - 1);
        let mut candidates = (0..WAYS).map(|step| set | ((home + step) & (WAYS - 1)));
        if let Some(place) = candidates.clone().find(|&place| self.keys[place] == key) {
            return (place, Found::Indirect);
        }
        let free = candidates.find(|&place| !used(place));
        self.keys[free.unwrap_or(home)] = key;
        match free {
            Some(place) => (place, Found::Missed),
            None => (home, Found::Collided),
        }
    }
}
