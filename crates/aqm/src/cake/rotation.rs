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

/// The neighbours of a flow in its rotation; apart from the flows, so that one that comes or goes touches none of its neighbours' cache
/// lines.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    next: u16,
    previous: u16,
}

/// Flows that wait for their turn, first in, first out; none stands in it twice, so there is room for all.
#[derive(Debug)]
pub struct Line {
    places: Table<u16>,
    /// How many have left it, and how many have come; both wrap.
    left: u32,
    came: u32,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            places: Table::new(0),
            left: 0,
            came: 0,
        }
    }
}

impl Line {
    /// Whose turn it is.
    #[inline]
    pub fn first(&self) -> Option<usize> {
        (self.left != self.came).then(|| self.places[self.left as usize].into())
    }

    /// Appends a flow.
    #[inline]
    pub fn push(&mut self, place: usize) {
        self.places[self.came as usize] = place as u16;
        self.came = self.came.wrapping_add(1);
    }

    /// The first leaves.
    #[inline]
    pub fn pop(&mut self) {
        self.left = self.left.wrapping_add(1);
    }
}

/// Flows looked at in turn, in a ring: the last is before the first. One may leave from anywhere.
#[derive(Debug)]
pub struct Rotation {
    links: Table<Link>,
    /// Whose turn it is; [`NONE`] if nobody's.
    head: u32,
}

impl Default for Rotation {
    fn default() -> Self {
        Self {
            links: Table::new(Link::default()),
            head: NONE,
        }
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
    pub fn turn(&mut self) {
        self.head = self.links[self.head as usize].next.into();
    }

    /// Appends a flow that does not stand in it.
    #[inline]
    pub fn push(&mut self, place: usize) {
        let (links, own) = (&mut self.links, place as u16);
        if self.head == NONE {
            (links[place].previous, links[place].next) = (own, own);
            self.head = own.into();
            return;
        }
        let tail = std::mem::replace(&mut links[self.head as usize].previous, own);
        links[tail.into()].next = own;
        (links[place].previous, links[place].next) = (tail, self.head as u16);
    }

    /// Takes out a flow that stands in it.
    #[inline]
    pub fn remove(&mut self, place: usize) {
        let Link { previous, next } = self.links[place];
        self.links[previous.into()].next = next;
        self.links[next.into()].previous = previous;
        if self.head == place as u32 {
            let next = u32::from(next);
            self.head = if next == self.head { NONE } else { next };
        }
    }
}

const _: () = assert!(size_of::<Flow>() == 64, "a flow fills one cache line");
