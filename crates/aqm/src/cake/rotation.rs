//! The flows of a tin in their rotations: sparse ones go first, then the bulk, and empty ones until what they did is forgotten.

use super::table::Table;
use crate::cobalt::Vars;
use crate::slab::{Chain, NONE};

/// What a flow counts as, and with that the rotation it stands in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Set {
    /// None: it has nothing queued and nothing to forget.
    #[default]
    Out,
    /// New: has used up no turn yet.
    Sparse,
    /// Has used up its turn but nothing is queued: it stands with the bulk flows, and still counts as sparse.
    SparseWait,
    /// Has used up a turn and had more to send.
    Bulk,
    /// Nothing is queued, but its law has not come to rest.
    Decaying,
}

/// One flow's queue: a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Flow {
    /// What is queued.
    pub chain: Chain,
    /// The neighbours in its rotation.
    next: u32,
    previous: u32,
    /// Bytes it may still send in its turn.
    pub deficit: i32,
    /// Bytes queued.
    pub backlog: u32,
    /// Places of its hosts.
    pub hosts: [u16; 2],
    /// What it counts as.
    pub set: Set,
    /// What the law remembers.
    pub vars: Vars,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            chain: Chain::default(),
            next: NONE,
            previous: NONE,
            deficit: 0,
            backlog: 0,
            hosts: [0, 0],
            set: Set::Out,
            vars: Vars::at_once(),
        }
    }
}

/// Flows in their turn, in a ring: the last is before the first. One may leave from anywhere.
#[derive(Clone, Copy, Debug)]
pub struct Rotation {
    head: u32,
}

impl Default for Rotation {
    fn default() -> Self {
        Self { head: NONE }
    }
}

impl Rotation {
    /// Whose turn it is.
    #[inline]
    pub fn first(&self) -> Option<usize> {
        (self.head != NONE).then_some(self.head as usize)
    }

    /// The first becomes the last.
    #[inline]
    pub fn turn(&mut self, flows: &Table<Flow>) {
        self.head = flows[self.head as usize].next;
    }

    /// Appends a flow that stands in no rotation.
    #[inline]
    pub fn push(&mut self, flows: &mut Table<Flow>, place: usize) {
        let own = place as u32;
        if self.head == NONE {
            (flows[place].previous, flows[place].next) = (own, own);
            self.head = own;
            return;
        }
        let tail = std::mem::replace(&mut flows[self.head as usize].previous, own);
        flows[tail as usize].next = own;
        (flows[place].previous, flows[place].next) = (tail, self.head);
    }

    /// Takes out a flow that stands in this rotation.
    #[inline]
    pub fn remove(&mut self, flows: &mut Table<Flow>, place: usize) {
        let Flow { previous, next, .. } = flows[place];
        flows[previous as usize].next = next;
        flows[next as usize].previous = previous;
        if self.head == place as u32 {
            self.head = if next == self.head { NONE } else { next };
        }
    }
}

const _: () = assert!(size_of::<Flow>() == 64, "a flow fills one cache line");
