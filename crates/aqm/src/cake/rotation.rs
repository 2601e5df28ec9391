//! The flows of a tin in their rotations: sparse ones go first, then the bulk, and empty ones until what they did is forgotten.

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

/// Flows in their turn; one may leave from anywhere.
#[derive(Clone, Copy, Debug)]
pub struct Rotation {
    head: u32,
    tail: u32,
}

impl Default for Rotation {
    fn default() -> Self {
        Self {
            head: NONE,
            tail: NONE,
        }
    }
}

impl Rotation {
    /// Whose turn it is.
    #[inline]
    pub fn first(&self) -> Option<usize> {
        (self.head != NONE).then_some(self.head as usize)
    }

    /// Appends a flow that stands in no rotation.
    #[inline]
    pub fn push(&mut self, flows: &mut [Flow], place: usize) {
        let flow = &mut flows[place];
        (flow.previous, flow.next) = (self.tail, NONE);
        match self.tail {
            NONE => self.head = place as u32,
            tail => flows[tail as usize].next = place as u32,
        }
        self.tail = place as u32;
    }

    /// Takes out a flow that stands in this rotation.
    #[inline]
    pub fn remove(&mut self, flows: &mut [Flow], place: usize) {
        let Flow { previous, next, .. } = flows[place];
        match previous {
            NONE => self.head = next,
            previous => flows[previous as usize].next = next,
        }
        match next {
            NONE => self.tail = previous,
            next => flows[next as usize].previous = previous,
        }
    }
}

const _: () = assert!(size_of::<Flow>() == 64, "a flow fills one cache line");
