//! The flows of a tin in their lists: sparse flows are served first, then bulk flows. Empty flows wait until their state has decayed.

use super::table::Table;
use crate::cobalt::CobaltState;
use crate::slab::{Chain, NONE};

/// The state of a flow, which determines its list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Set {
    /// Idle: nothing is queued and its state has decayed.
    #[default]
    Out,
    /// New: it has not used up a turn yet.
    Sparse,
    /// It used up its turn, but nothing is queued. It is in the list of bulk flows, but still counts as sparse.
    SparseWait,
    /// It used up a turn and had more to send.
    Bulk,
    /// Nothing is queued, but its COBALT state has not decayed yet.
    Decaying,
}

/// The queue of one flow. It occupies one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Flow {
    /// The queued packets.
    pub chain: Chain,
    /// Bytes that it may still send in its turn.
    pub deficit: i32,
    /// Backlog in bytes.
    pub backlog: u32,
    /// The places of its hosts.
    pub hosts: [u16; 2],
    /// COBALT's state.
    pub state: CobaltState,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            chain: Chain::default(),
            deficit: 0,
            backlog: 0,
            hosts: [0, 0],
            state: CobaltState::at_once(),
        }
    }
}

/// The neighbours of a flow in its ring. They are stored apart from the flows, so that adding or removing a flow does not touch the cache lines of
/// its neighbours.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    next: u16,
    previous: u16,
}

/// A FIFO of flows that wait for their turn. No flow is in it twice, so there is space for all.
#[derive(Debug)]
pub struct Line {
    places: Table<u16>,
    /// Number of flows removed and added so far; both wrap.
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
    /// The flow to serve.
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

    /// Removes the first flow.
    #[inline]
    pub fn pop(&mut self) {
        self.left = self.left.wrapping_add(1);
    }
}

/// A ring of flows that are visited in turn. A flow can be removed from any position.
#[derive(Debug)]
pub struct Rotation {
    links: Table<Link>,
    /// The flow to visit; [`NONE`] if the ring is empty.
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
    /// The flow to visit.
    #[inline]
    pub fn first(&self) -> Option<usize> {
        (self.head != NONE).then_some(self.head as usize)
    }

    /// Moves to the next flow.
    #[inline]
    pub fn turn(&mut self) {
        self.head = self.links[self.head as usize].next.into();
    }

    /// Appends a flow that is not in the ring.
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

    /// Removes a flow that is in the ring.
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
