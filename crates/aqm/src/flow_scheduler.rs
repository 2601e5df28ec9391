//! Deficit round robin that serves new flows first, without the queues: the scheduler of RFC 8290 section 4.

use std::hint::select_unpredictable;

use crate::list::{Linked, List};
use crate::slab::NONE;

/// What the scheduler keeps of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// The next flow in its list.
    next: u32,
    /// Bytes that the flow may still send in its turn.
    pub deficit: i32,
}

impl Turn {
    /// A flow that is in no list and may send this many bytes in its first turn.
    pub fn new(deficit: i32) -> Self {
        Self {
            next: NONE,
            deficit,
        }
    }
}

/// A flow that the scheduler serves.
pub trait ScheduledFlow {
    /// What the scheduler keeps of it.
    fn turn(&mut self) -> &mut Turn;
}

impl<T: ScheduledFlow> Linked for T {
    #[inline]
    fn next(&mut self) -> &mut u32 {
        &mut self.turn().next
    }
}

/// The lists of active flows: new flows are served before old ones.
#[derive(Clone, Copy, Debug)]
pub struct FlowScheduler {
    new: List,
    old: List,
    quantum: i32,
    /// The flow whose offload buffer is being sent; [`NONE`] if there is none.
    sending: u32,
}

impl FlowScheduler {
    /// Creates a scheduler without flows, with a quantum in bytes.
    pub fn new(quantum: i32) -> Self {
        Self {
            new: List::default(),
            old: List::default(),
            quantum,
            sending: NONE,
        }
    }

    /// The quantum, bytes.
    #[inline]
    pub fn quantum(&self) -> i32 {
        self.quantum
    }

    /// Number of new flows.
    pub fn new_len(&self) -> u32 {
        self.new.len()
    }

    /// Number of old flows.
    pub fn old_len(&self) -> u32 {
        self.old.len()
    }

    /// RFC 8290 section 4.1: adds a flow that was idle to the new flows.
    #[inline]
    pub fn begin<T: Linked>(&mut self, flows: &mut [T], place: u32) {
        self.new.push(flows, place);
    }

    /// Adds a flow that was taken out to the end of the old flows.
    #[inline]
    pub fn resume<T: Linked>(&mut self, flows: &mut [T], place: u32) {
        self.old.push(flows, place);
    }

    /// The flow to serve. It reads both lists, and `take_out` writes both, so that no access waits until it is known which of them is served.
    #[inline]
    fn first(&self) -> Option<u32> {
        let (new, old) = (self.new.first(), self.old.first());
        select_unpredictable(new.is_some(), new, old)
    }

    /// Records that `current` sends a packet. If its offload buffer has more packets, [`continued`](Self::continued) returns the flow next. The
    /// deficit may then fall far below zero, as in Linux.
    #[inline]
    pub fn sent(&mut self, current: u32, has_more: bool) {
        self.sending = select_unpredictable(has_more, current, NONE);
    }

    /// The flow whose offload buffer is being sent. The caller must check that its next packet belongs to the buffer.
    #[inline]
    pub fn continued(&mut self) -> Option<u32> {
        let sending = std::mem::replace(&mut self.sending, NONE);
        (sending != NONE).then_some(sending)
    }

    /// The flow to serve. RFC 8290 section 4.2: a flow whose deficit is used up gets another quantum and moves behind the old flows.
    #[inline]
    pub fn current<T: ScheduledFlow>(&mut self, flows: &mut [T]) -> Option<u32> {
        loop {
            let current = self.first()?;
            let turn = flows[current as usize].turn();
            if turn.deficit > 0 {
                return Some(current);
            }
            turn.deficit += self.quantum;
            self.take_out(flows, current);
            self.old.push(flows, current);
        }
    }

    /// Takes `current`, the flow that is being served, out of its list.
    #[inline]
    pub fn take_out<T: Linked>(&mut self, flows: &mut [T], current: u32) {
        let is_new = !self.new.is_empty();
        let second = *flows[current as usize].next();
        self.new.advance_if(second, is_new);
        self.old.advance_if(second, !is_new);
    }

    /// Handles that `current`, the flow being served, has nothing to send. Returns whether it leaves the lists. RFC 8290 section 4.2: a new flow
    /// first moves to the old flows, otherwise sparse flows could starve the old ones.
    #[inline]
    pub fn is_over<T: Linked>(&mut self, flows: &mut [T], current: u32) -> bool {
        let is_new = !self.new.is_empty();
        self.take_out(flows, current);
        if is_new {
            self.old.push(flows, current);
        }
        !is_new
    }
}
