//! A FIFO of queues waiting for their turn, linked through them.

use std::hint::select_unpredictable;

use crate::slab::NONE;

/// What can stand in a [`List`]; in one at a time.
pub trait Linked {
    /// The place of the one behind it.
    fn next(&mut self) -> &mut u32;
}

/// Places in a slice, first in, first out.
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
    /// How many stand in it.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether none does.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Whose turn it is.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// Appends one that stands in no list.
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

    /// Appends one that stands in no list if it is `wanted`. Neither that nor whether the list is empty can be foretold, so nothing branches
    /// on them: the first of a list is put behind itself for a moment.
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

    /// Takes off the first; there must be one.
    #[inline]
    pub fn pop<T: Linked>(&mut self, all: &mut [T]) {
        self.head = *all[self.head as usize].next();
        self.len -= 1;
    }

    /// The same if it is `wanted`, without a branch on that.
    #[inline]
    pub fn pop_if<T: Linked>(&mut self, all: &mut [T], wanted: bool) {
        let second = *all[self.head as usize].next();
        self.advance_if(second, wanted);
    }

    /// The same where the second is known.
    #[inline]
    pub(crate) fn advance_if(&mut self, second: u32, wanted: bool) {
        self.head = select_unpredictable(wanted, second, self.head);
        self.len -= u32::from(wanted);
    }

    /// Takes out one that stands in the list, wherever: at once if it is the first, else by a walk.
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
