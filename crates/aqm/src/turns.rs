//! Flows take turns by bytes, those that have just begun first: the scheduler of RFC 8290 section 4, apart from what each queue is under.

use std::hint::select_unpredictable;

use crate::list::{Linked, List};

/// A flow that takes turns.
pub trait TakesTurns: Linked {
    /// Whether it has used up its turn.
    fn is_spent(&self) -> bool;
    /// Gives it the bytes of another one.
    fn refill(&mut self, quantum: i64);
}

/// The flows that wait for a turn: the new ones, then the old ones.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    new: List,
    old: List,
    quantum: i64,
}

impl Turns {
    /// No flow yet; each turn is so many bytes.
    pub fn new(quantum: i64) -> Self {
        Self {
            new: List::default(),
            old: List::default(),
            quantum,
        }
    }

    /// Bytes of a turn.
    #[inline]
    pub fn quantum(&self) -> i64 {
        self.quantum
    }

    /// New flows that wait.
    pub fn new_len(&self) -> u32 {
        self.new.len()
    }

    /// Old flows that wait.
    pub fn old_len(&self) -> u32 {
        self.old.len()
    }

    /// A flow that was idle has something to send (RFC 8290 section 4.1).
    #[inline]
    pub fn begin<T: Linked>(&mut self, flows: &mut [T], place: u32) {
        self.new.push(flows, place);
    }

    /// A flow that was taken out takes part again, behind the old ones.
    #[inline]
    pub fn resume<T: Linked>(&mut self, flows: &mut [T], place: u32) {
        self.old.push(flows, place);
    }

    /// The flow that has the turn. Both lists are read, and in `take_out` written, so that no access waits until it is known which one is served.
    #[inline]
    fn first(&self) -> Option<u32> {
        let (new, old) = (self.new.first(), self.old.first());
        select_unpredictable(new.is_some(), new, old)
    }

    /// Whose turn it is. RFC 8290 section 4.2: a flow that has used up its turn gets another one, behind the old flows.
    #[inline]
    pub fn current<T: TakesTurns>(&mut self, flows: &mut [T]) -> Option<u32> {
        loop {
            let current = self.first()?;
            let flow = &mut flows[current as usize];
            if !flow.is_spent() {
                return Some(current);
            }
            flow.refill(self.quantum);
            self.take_out(flows, current);
            self.old.push(flows, current);
        }
    }

    /// Takes out the flow whose turn it is, `current`.
    #[inline]
    pub fn take_out<T: Linked>(&mut self, flows: &mut [T], current: u32) {
        let is_new = !self.new.is_empty();
        let second = *flows[current as usize].next();
        self.new.advance_if(second, is_new);
        self.old.advance_if(second, !is_new);
    }

    /// The flow whose turn it is, `current`, has nothing to send; says whether that ends its part. RFC 8290 section 4.2: a new flow passes
    /// through the old ones first, or sparse flows could starve them.
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
