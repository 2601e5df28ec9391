//! What a tin keeps for each of its places.

use std::ops::{Index, IndexMut};

/// Places of a tin: flows, and hosts at each end.
pub const PLACES: usize = 1024;

/// A value for each place, in the tin itself; a place beyond the last counts from the first, so that no access need be checked.
#[derive(Clone, Debug)]
pub struct Table<T>([T; PLACES]);

impl<T: Copy> Table<T> {
    /// The same value everywhere.
    pub fn new(value: T) -> Self {
        Self([value; PLACES])
    }
}

impl<T> Table<T> {
    /// All values.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;

    #[inline]
    fn index(&self, place: usize) -> &T {
        &self.0[place % PLACES]
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline]
    fn index_mut(&mut self, place: usize) -> &mut T {
        &mut self.0[place % PLACES]
    }
}
