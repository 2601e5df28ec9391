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
    /// Bytes it may still send in its turn.
    pub deficit: i32,
    /// Bytes queued.
    pub backlog: u32,
    /// Places of its hosts.
    pub hosts: [u16; 2],
    /// What the law remembers.
    pub vars: Vars,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            chain: Chain::default(),
            deficit: 0,
            backlog: 0,
            hosts: [0, 0],
            vars: Vars::at_once(),
        }
    }
}

/// The neighbours of a flow in its rotation.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    next: u16,
    previous: u16,
}

/// The neighbours of every flow; apart from the flows, so that one that comes or goes touches none of its neighbours' cache lines.
#[derive(Debug)]
pub struct Links(Table<Link>);

impl Default for Links {
    fn default() -> Self {
        Self(Table::new(Link::default()))
    }
}

/// Flows in their turn, in a ring: the last is before the first. One may leave from anywhere.
#[derive(Clone, Copy, Debug)]
pub struct Rotation {
    /// Whose turn it is; [`NONE`] if nobody's. Not a `u16` beside another one: what is written as one and read as two has to wait.
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
    pub fn turn(&mut self, links: &Links) {
        self.head = links.0[self.head as usize].next.into();
    }

    /// Appends a flow that stands in no rotation.
    #[inline]
    pub fn push(&mut self, links: &mut Links, place: usize) {
        let own = place as u16;
        if self.head == NONE {
            (links.0[place].previous, links.0[place].next) = (own, own);
            self.head = own.into();
            return;
        }
        let tail = std::mem::replace(&mut links.0[self.head as usize].previous, own);
        links.0[tail.into()].next = own;
        (links.0[place].previous, links.0[place].next) = (tail, self.head as u16);
    }

    /// Takes out a flow that stands in this rotation.
    #[inline]
    pub fn remove(&mut self, links: &mut Links, place: usize) {
        let Link { previous, next } = links.0[place];
        links.0[previous.into()].next = next;
        links.0[next.into()].previous = previous;
        if self.head == place as u32 {
            let next = u32::from(next);
            self.head = if next == self.head { NONE } else { next };
        }
    }
}

const _: () = assert!(size_of::<Flow>() == 64, "a flow fills one cache line");
