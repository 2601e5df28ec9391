//! The numbers that a receiver waits for, and the pieces it has of them.

use std::collections::VecDeque;

use super::{Framing, Pdu};

/// No piece.
const NONE: u32 = u32::MAX;

/// A piece that has arrived. The pieces of a number are linked in order.
#[derive(Clone, Copy, Debug)]
struct Node<T> {
    item: T,
    start: u32,
    end: u32,
    begins: bool,
    ends: bool,
    next: u32,
}

/// What has arrived of one number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    chain: u32,
    received: u32,
    /// The byte after the last one that has arrived.
    end: u32,
    /// Total number of bytes, once the last one has arrived.
    total: Option<u32>,
    pub complete: bool,
}

impl Slot {
    const EMPTY: Self = Self {
        chain: NONE,
        received: 0,
        end: 0,
        total: None,
        complete: false,
    };

    /// Whether nothing has arrived.
    pub(crate) fn is_empty(&self) -> bool {
        self.received == 0 && !self.complete
    }

    /// Whether a byte before the last one that has arrived is missing.
    pub(crate) fn has_gap(&self) -> bool {
        self.received < self.end
    }
}

/// The effect of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// It contained nothing new.
    Nothing,
    /// Something is still missing.
    Part,
    /// It completed its number.
    Complete,
}

/// The numbers from `base` on.
#[derive(Debug)]
pub(crate) struct Reassembly<T> {
    framing: Framing,
    base: u64,
    slots: VecDeque<Slot>,
    nodes: Vec<Node<T>>,
    free: u32,
    /// Whether nothing is missing since the start of an SDU. Only the lena framing spreads an SDU over several numbers.
    open: bool,
}

impl<T: Copy> Reassembly<T> {
    pub(crate) fn new(framing: Framing) -> Self {
        Self {
            framing,
            base: 0,
            slots: VecDeque::new(),
            nodes: Vec::new(),
            free: NONE,
            open: false,
        }
    }

    /// The lowest number that may still be completed.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// What has arrived of a number, which must be at least `base`.
    pub(crate) fn slot(&self, sn: u64) -> Slot {
        let index = sn - self.base;
        let slot = self.slots.get(index as usize);
        slot.copied().unwrap_or(Slot::EMPTY)
    }

    /// The first number from this one on that is not complete.
    pub(crate) fn incomplete_from(&self, sn: u64) -> u64 {
        let sn = sn.max(self.base);
        let from = (sn - self.base) as usize;
        let row = self.slots.iter().skip(from).take_while(|s| s.complete);
        sn + row.count() as u64
    }

    /// Stores a piece of a number, which must be at least `base`.
    pub(crate) fn store(&mut self, pdu: &Pdu<T>) -> Stored {
        let index = (pdu.sn - self.base) as usize;
        while self.slots.len() <= index {
            self.slots.push_back(Slot::EMPTY);
        }
        let mut slot = self.slots[index];
        if slot.complete {
            return Stored::Nothing;
        }
        let whole = slot.is_empty() && pdu.offset == 0 && pdu.last;
        if self.framing == Framing::Nr && whole {
            slot.complete = true;
            self.slots[index] = slot;
            return Stored::Complete;
        }
        let new = self.insert(&mut slot.chain, pdu);
        slot.received += new;
        slot.end = slot.end.max(pdu.offset + pdu.length);
        if pdu.last {
            slot.total = Some(pdu.offset + pdu.length);
        }
        slot.complete = slot.total == Some(slot.received);
        if slot.complete && self.framing == Framing::Nr {
            self.release(&mut slot.chain);
        }
        self.slots[index] = slot;
        match (new, slot.complete) {
            (0, _) => Stored::Nothing,
            (_, false) => Stored::Part,
            (_, true) => Stored::Complete,
        }
    }

    /// Inserts the new parts of a piece. Returns their number of bytes.
    fn insert(&mut self, chain: &mut u32, pdu: &Pdu<T>) -> u32 {
        let (mut at, end) = (pdu.offset, pdu.offset + pdu.length);
        let (mut before, mut next, mut new) = (NONE, *chain, 0);
        while at < end {
            let behind = (next != NONE).then(|| self.nodes[next as usize]);
            if let Some(node) = behind.filter(|node| node.end <= at) {
                (before, next) = (next, node.next);
                continue;
            }
            let gap = behind.map_or(end, |node| node.start.min(end));
            if at < gap {
                let place = self.place(Node {
                    item: pdu.item,
                    start: at,
                    end: gap,
                    begins: pdu.begins && at == pdu.offset,
                    ends: pdu.ends && gap == end,
                    next,
                });
                match before {
                    NONE => *chain = place,
                    before => self.nodes[before as usize].next = place,
                }
                before = place;
                new += gap - at;
            }
            at = behind.map_or(end, |node| node.end);
        }
        new
    }

    fn place(&mut self, node: Node<T>) -> u32 {
        if self.free == NONE {
            self.nodes.push(node);
            return self.nodes.len() as u32 - 1;
        }
        let place = self.free;
        self.free = self.nodes[place as usize].next;
        self.nodes[place as usize] = node;
        place
    }

    fn release(&mut self, chain: &mut u32) {
        while *chain != NONE {
            let place = *chain;
            *chain = self.nodes[place as usize].next;
            self.nodes[place as usize].next = self.free;
            self.free = place;
        }
    }

    /// Advances the lowest number. In the lena framing, complete SDUs from the numbers below it are delivered, in order. Returns how many of these
    /// numbers were not complete.
    pub(crate) fn advance(&mut self, to: u64, up: &mut Vec<T>) -> u64 {
        let mut given_up = 0;
        while self.base < to {
            let Some(mut slot) = self.slots.pop_front() else {
                given_up += to - self.base;
                self.base = to;
                self.open = false;
                break;
            };
            self.base += 1;
            given_up += u64::from(!slot.complete);
            if self.framing == Framing::Lena {
                self.assemble(&slot, up);
            }
            self.release(&mut slot.chain);
        }
        given_up
    }

    fn assemble(&mut self, slot: &Slot, up: &mut Vec<T>) {
        // A PDU has arrived completely or not at all, because the data of one transport block is lost together.
        if !slot.complete {
            self.open = false;
            return;
        }
        let mut at = slot.chain;
        while at != NONE {
            let node = self.nodes[at as usize];
            self.open |= node.begins;
            if node.ends && self.open {
                up.push(node.item);
            }
            at = node.next;
        }
    }

    /// The gaps in what has arrived of a number, each as its first byte and the byte after its last. The last gap ends at `to_end` if the end is
    /// unknown.
    pub(crate) fn gaps(&self, sn: u64, to_end: u32, mut give: impl FnMut(u32, u32)) {
        let slot = self.slot(sn);
        let (mut at, mut next) = (0, slot.chain);
        while next != NONE {
            let node = self.nodes[next as usize];
            if at < node.start {
                give(at, node.start);
            }
            (at, next) = (node.end, node.next);
        }
        if slot.total.is_none() {
            give(at, to_end);
        }
    }

    /// Discards everything and restarts from 0.
    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.nodes.clear();
        self.free = NONE;
        self.base = 0;
        self.open = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes `start..end` of number 0, whose SDUs end at the bytes in `cuts`; one piece per SDU.
    fn pieces(cuts: &[u32], start: u32, end: u32) -> Vec<Pdu<usize>> {
        let mut from = 0;
        let mut pieces = Vec::new();
        for (item, &to) in cuts.iter().enumerate() {
            let (offset, until) = (start.max(from), end.min(to));
            if offset < until {
                pieces.push(Pdu {
                    item,
                    sn: 0,
                    offset,
                    length: until - offset,
                    bytes: 0,
                    begins: offset == from,
                    ends: until == to,
                    last: until == cuts[cuts.len() - 1],
                    poll: false,
                    again: false,
                    era: 0,
                });
            }
            from = to;
        }
        pieces
    }

    /// The end of an SDU whose middle is missing must not be taken for the end of an earlier SDU.
    #[test]
    fn a_jump_of_the_window_discards_incomplete_sdus() {
        let mut store = Reassembly::new(Framing::Lena);
        let mut up = Vec::new();
        let mut pdu = pieces(&[10], 0, 10)[0];
        (pdu.ends, pdu.sn) = (false, 0);
        store.store(&pdu);
        assert_eq!(store.advance(1, &mut up), 0);
        assert_eq!(store.advance(3, &mut up), 2);
        (pdu.begins, pdu.ends, pdu.sn) = (false, true, 3);
        store.store(&pdu);
        assert_eq!(store.advance(4, &mut up), 0);
        assert_eq!(up, [0; 0]);
    }

    proptest! {
        /// Retransmissions may be cut anywhere and overlap what has arrived.
        #[test]
        fn any_cover_of_a_number_completes_it_once(
            lengths in proptest::collection::vec(1_u32..8, 1..6),
            spans in proptest::collection::vec((0_u32..40, 1_u32..12), 0..30),
        ) {
            let mut end = 0;
            let cuts: Vec<u32> = lengths.iter().map(|length| { end += length; end }).collect();
            let mut store = Reassembly::new(Framing::Lena);
            let (mut had, mut completed, mut nodes) = (vec![false; end as usize], 0, 0);
            let spans = spans.into_iter().map(|(at, length)| (at % end, (at % end + length).min(end)));
            for (from, to) in spans.chain([(0, end)]) {
                for pdu in pieces(&cuts, from, to) {
                    let bytes = &mut had[pdu.offset as usize..(pdu.offset + pdu.length) as usize];
                    let new = bytes.iter().any(|had| !had);
                    bytes.fill(true);
                    let stored = store.store(&pdu);
                    prop_assert_eq!(stored == Stored::Nothing, !new);
                    completed += usize::from(stored == Stored::Complete);
                    let mut gaps = vec![true; end as usize];
                    store.gaps(0, end, |from, to| gaps[from as usize..to as usize].fill(false));
                    let whole = store.slot(0).complete;
                    prop_assert_eq!(whole, had.iter().all(|had| *had));
                    prop_assert!(whole || gaps == had);
                    nodes = nodes.max(store.nodes.len());
                }
            }
            prop_assert_eq!(completed, 1);
            let mut up = Vec::new();
            prop_assert_eq!(store.advance(1, &mut up), 0);
            prop_assert_eq!(up, (0..cuts.len()).collect::<Vec<_>>());
            // The places are reused.
            for mut pdu in pieces(&cuts, 0, end) {
                pdu.sn = 1;
                store.store(&pdu);
            }
            prop_assert_eq!(store.nodes.len(), nodes.max(cuts.len()));
        }
    }
}
