//! The SDU that is being sent, and where the next one comes from.

use std::collections::VecDeque;

use bloatlab_units::Nanos;

use super::{Framing, Opportunity, Sdu, Upper};

/// A part cut off the SDU in work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut<T> {
    pub sdu: Sdu<T>,
    /// Where it starts in the SDU.
    pub offset: u32,
    pub length: u32,
}

impl<T> Cut<T> {
    pub(crate) fn begins(&self) -> bool {
        self.offset == 0
    }

    pub(crate) fn ends(&self) -> bool {
        self.offset + self.length == self.sdu.bytes
    }
}

/// Hands out SDUs from front to back.
#[derive(Debug)]
pub(crate) struct Feed<T> {
    /// The SDU in work, and how much of it was sent.
    head: Option<(Sdu<T>, u32)>,
    /// To be sent from their first byte again, before anything new.
    again: VecDeque<Sdu<T>>,
}

impl<T> Default for Feed<T> {
    fn default() -> Self {
        Self {
            head: None,
            again: VecDeque::new(),
        }
    }
}

impl<T: Copy> Feed<T> {
    /// Sees to it that an SDU is in work; false if there is none.
    pub(crate) fn fill(&mut self, now: Nanos, upper: &mut dyn Upper<T>) -> bool {
        if self.head.is_none() {
            let sdu = self.again.pop_front().or_else(|| upper.pull(now));
            self.head = sdu.map(|sdu| (sdu, 0));
        }
        self.head.is_some()
    }

    /// The SDU in work, and how much of it was sent.
    pub(crate) fn head(&self) -> Option<(Sdu<T>, u32)> {
        self.head
    }

    /// Cuts up to `most` bytes off the SDU in work, which must be there.
    pub(crate) fn cut(&mut self, most: u32) -> Option<Cut<T>> {
        let (sdu, sent) = self.head.as_mut()?;
        let cut = Cut {
            sdu: *sdu,
            offset: *sent,
            length: most.min(sdu.bytes - *sent),
        };
        *sent += cut.length;
        if cut.ends() {
            self.head = None;
        }
        Some(cut)
    }

    /// What is left of an SDU that was sent in part.
    pub(crate) fn held(&self) -> Option<(u32, Nanos)> {
        self.head
            .map(|(sdu, sent)| (sdu.bytes - sent, sdu.entered_at))
    }

    /// Nothing waits here or above.
    pub(crate) fn is_dry(&self, upper: &dyn Upper<T>) -> bool {
        self.head.is_none() && self.again.is_empty() && upper.packets() == 0
    }

    /// SDUs and bytes that wait here and above, the rest of the one in work among them.
    pub(crate) fn waiting(&self, upper: &dyn Upper<T>) -> (u64, u64) {
        let here = self.again.iter().map(|sdu| sdu.bytes);
        let here = here.chain(self.held().map(|(bytes, _)| bytes));
        here.fold((upper.packets(), upper.bytes()), |(sdus, sum), bytes| {
            (sdus + 1, sum + u64::from(bytes))
        })
    }

    /// Puts the SDU in work aside; the caller sends it anew or gives it up.
    pub(crate) fn drop_head(&mut self) -> Option<Sdu<T>> {
        self.head.take().map(|(sdu, _)| sdu)
    }

    /// Puts these before all else, in their order; `lost` is left empty.
    pub(crate) fn put_back(&mut self, lost: &mut Vec<Sdu<T>>) {
        for sdu in lost.drain(..).rev() {
            self.again.push_front(sdu);
        }
    }

    /// One PDU of the lena framing: SDUs one behind the other after the header; gives each piece with the bytes of its
    /// length indicator.
    pub(crate) fn concatenate(
        &mut self,
        now: Nanos,
        within: Opportunity,
        upper: &mut dyn Upper<T>,
        mut give: impl FnMut(Cut<T>, u32),
    ) {
        let mut left = within.room;
        let mut index = 0;
        while self.fill(now, upper) {
            let indicator = Framing::Lena.indicator(index);
            left -= indicator;
            let Some(cut) = self.cut(left) else { break };
            left -= cut.length;
            give(cut, indicator);
            // ns-3: what is left would hardly hold a length indicator.
            if !cut.ends() || left <= 2 || within.room - left >= within.enough {
                break;
            }
            index += 1;
        }
    }
}
