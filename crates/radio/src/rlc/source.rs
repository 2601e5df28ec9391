//! The SDU that is being sent, and the source of the next one.

use std::collections::VecDeque;

use bloatlab_units::Nanos;

use super::{Framing, Opportunity, Sdu, Upper};

/// A part that was cut from the current SDU.
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

/// Provides SDUs in order.
#[derive(Debug)]
pub(crate) struct SduSource<T> {
    /// The current SDU, and how many of its bytes have been sent.
    head: Option<(Sdu<T>, u32)>,
    /// SDUs to send again from their first byte, before anything new.
    again: VecDeque<Sdu<T>>,
}

impl<T> Default for SduSource<T> {
    fn default() -> Self {
        Self {
            head: None,
            again: VecDeque::new(),
        }
    }
}

impl<T: Copy> SduSource<T> {
    /// Makes sure that there is a current SDU. Returns false if there is none to take.
    pub(crate) fn fill(&mut self, now: Nanos, upper: &mut dyn Upper<T>) -> bool {
        if self.head.is_none() {
            let sdu = self.again.pop_front().or_else(|| upper.pull(now));
            self.head = sdu.map(|sdu| (sdu, 0));
        }
        self.head.is_some()
    }

    /// The current SDU, and how many of its bytes have been sent.
    pub(crate) fn head(&self) -> Option<(Sdu<T>, u32)> {
        self.head
    }

    /// Cuts up to `most` bytes from the current SDU, which must exist.
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

    /// The rest of an SDU that was sent in part.
    pub(crate) fn held(&self) -> Option<(u32, Nanos)> {
        self.head
            .map(|(sdu, sent)| (sdu.bytes - sent, sdu.entered_at))
    }

    /// Whether nothing waits here or above.
    pub(crate) fn is_dry(&self, upper: &dyn Upper<T>) -> bool {
        self.head.is_none() && self.again.is_empty() && upper.packets() == 0
    }

    /// SDUs and bytes that wait here and above, including the rest of the current SDU.
    pub(crate) fn waiting(&self, upper: &dyn Upper<T>) -> (u64, u64) {
        let here = self.again.iter().map(|sdu| sdu.bytes);
        let here = here.chain(self.held().map(|(bytes, _)| bytes));
        here.fold((upper.packets(), upper.bytes()), |(sdus, sum), bytes| {
            (sdus + 1, sum + u64::from(bytes))
        })
    }

    /// Removes and returns the current SDU. The caller sends it again or gives it up.
    pub(crate) fn drop_head(&mut self) -> Option<Sdu<T>> {
        self.head.take().map(|(sdu, _)| sdu)
    }

    /// Puts these SDUs before all others, in their order. `lost` is left empty.
    pub(crate) fn put_back(&mut self, lost: &mut Vec<Sdu<T>>) {
        for sdu in lost.drain(..).rev() {
            self.again.push_front(sdu);
        }
    }

    /// Builds one PDU of the lena framing: consecutive SDUs after the header. Passes each piece to `give`, with the bytes of its length indicator.
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
            // ns-3: the rest has hardly space for a length indicator.
            if !cut.ends() || left <= 2 || within.room - left >= within.enough {
                break;
            }
            index += 1;
        }
    }
}
