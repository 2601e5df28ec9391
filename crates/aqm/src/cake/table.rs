//! A table with one value per place of a tin.

use std::ops::{Index, IndexMut};

/// Number of places of a tin, for flows and for the hosts at each end.
pub const PLACES: usize = 1024;

/// One value per place, stored inline. An index beyond the last place wraps around, so that no access needs a bounds check.
#[derive(Clone, Debug)]
pub struct Table<T>([T; PLACES]);

impl<T: Copy> Table<T> {
    /// Creates a table with the same value everywhere.
    pub fn new(value: T) -> Self {
        Self([value; PLACES])
    }
}

impl<T> Table<T> {
    /// Iterates over all values.
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
