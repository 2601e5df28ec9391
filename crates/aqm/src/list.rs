//! A linked FIFO of queues that wait to be served. The links are inside the queues.

use std::hint::select_unpredictable;

use crate::slab::NONE;

/// An element of a [`List`]. It can be in one list at a time.
pub trait Linked {
    /// The place of the next element.
    fn next(&mut self) -> &mut u32;
}

/// A FIFO of places in a slice.
#[derive(Clone, Copy, Debug)]
pub struct List {
    head: u32,
    tail: u32,
    len: u32,
}

impl Default for List {
    fn default() -> Self {
        Self {
            head: NONE,
            tail: NONE,
            len: 0,
        }
    }
}

impl List {
    /// The number of elements.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether the list is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// The first element.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// Appends an element that is in no list.
    #[inline]
    pub fn push<T: Linked>(&mut self, all: &mut [T], place: u32) {
        *all[place as usize].next() = NONE;
        if self.head == NONE {
            self.head = place;
        } else {
            *all[self.tail as usize].next() = place;
        }
        self.tail = place;
        self.len += 1;
    }

    /// Appends an element that is in no list, if `wanted`. This condition and whether the list is empty are unpredictable, so this code does not
    /// branch on them. The first element of a list is temporarily linked to itself.
    #[inline]
    pub fn push_if<T: Linked>(&mut self, all: &mut [T], place: u32, wanted: bool) {
        let is_first = self.head == NONE;
        let last = all[select_unpredictable(is_first, place, self.tail) as usize].next();
        *last = select_unpredictable(wanted, place, *last);
        let own = all[place as usize].next();
        *own = select_unpredictable(wanted, NONE, *own);
        self.head = select_unpredictable(is_first & wanted, place, self.head);
        self.tail = select_unpredictable(wanted, place, self.tail);
        self.len += u32::from(wanted);
    }

    /// Removes the first element. There must be one.
    #[inline]
    pub fn pop<T: Linked>(&mut self, all: &mut [T]) {
        self.head = *all[self.head as usize].next();
        self.len -= 1;
    }

    /// Removes the first element if `wanted`, without a branch.
    #[inline]
    pub fn pop_if<T: Linked>(&mut self, all: &mut [T], wanted: bool) {
        let second = *all[self.head as usize].next();
        self.advance_if(second, wanted);
    }

    /// Removes the first element if `wanted`, where the second is already known.
    #[inline]
    pub(crate) fn advance_if(&mut self, second: u32, wanted: bool) {
        self.head = select_unpredictable(wanted, second, self.head);
        self.len -= u32::from(wanted);
    }

    /// Removes an element from anywhere in the list: directly if it is the first, otherwise by a walk.
    #[inline]
    pub fn remove<T: Linked>(&mut self, all: &mut [T], place: u32) {
        if self.head == place {
            self.pop(all);
        } else {
            self.remove_behind(all, place);
        }
    }

    #[cold]
    fn remove_behind<T: Linked>(&mut self, all: &mut [T], place: u32) {
        let mut before = self.head;
        while *all[before as usize].next() != place {
            before = *all[before as usize].next();
        }
        *all[before as usize].next() = *all[place as usize].next();
        if self.tail == place {
            self.tail = before;
        }
        self.len -= 1;
    }
}
