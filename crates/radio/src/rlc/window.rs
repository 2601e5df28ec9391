//! What a transmitter in acknowledged mode has sent and is not acknowledged yet.

use std::collections::VecDeque;

use super::source::Cut;
use super::{Pdu, Sdu};

/// The state of one sequence number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Bytes that the number covers.
    pub length: u32,
    /// Bytes of these that were sent at least once.
    pub sent: u32,
    /// Number of times that it was considered for retransmission.
    pub considered: u32,
    pub acked: bool,
    /// The first of its pieces, counted from the creation of the window.
    first: u64,
}

/// A piece of an SDU with a sequence number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<T> {
    pub sdu: Sdu<T>,
    /// Where it starts in the data that the number covers.
    pub offset: u32,
    pub length: u32,
    pub begins: bool,
    pub ends: bool,
}

/// The sequence numbers from TX_Next_Ack to TX_Next.
#[derive(Debug)]
pub(crate) struct Window<T> {
    /// TX_Next_Ack.
    base: u64,
    entries: VecDeque<Entry>,
    pieces: VecDeque<Piece<T>>,
    /// Number of pieces that were removed.
    gone: u64,
    /// Bytes that were sent and are not acknowledged.
    outstanding: u64,
}

impl<T> Default for Window<T> {
    fn default() -> Self {
        Self {
            base: 0,
            entries: VecDeque::new(),
            pieces: VecDeque::new(),
            gone: 0,
            outstanding: 0,
        }
    }
}

impl<T: Copy> Window<T> {
    /// The oldest unacknowledged number.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// The next number.
    pub(crate) fn next(&self) -> u64 {
        self.base + self.entries.len() as u64
    }

    /// Bytes that were sent and are not acknowledged.
    pub(crate) fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Opens the next number.
    pub(crate) fn open(&mut self) {
        self.entries.push_back(Entry {
            length: 0,
            sent: 0,
            considered: 0,
            acked: false,
            first: self.gone + self.pieces.len() as u64,
        });
    }

    /// Adds a piece to the latest number, of which `sent` bytes are sent now.
    pub(crate) fn add(&mut self, piece: Piece<T>, sent: u32) {
        if let Some(entry) = self.entries.back_mut() {
            entry.length += piece.length;
            self.pieces.push_back(piece);
            self.sent(sent);
        }
    }

    /// Records that more bytes of the latest number are sent.
    pub(crate) fn sent(&mut self, bytes: u32) {
        if let Some(entry) = self.entries.back_mut() {
            entry.sent += bytes;
            self.outstanding += u64::from(bytes);
        }
    }

    /// The state of a number in the window.
    pub(crate) fn entry(&self, sn: u64) -> Option<&Entry> {
        let index = sn.checked_sub(self.base)?;
        self.entries.get(index as usize)
    }

    /// The state of a number in the window, mutable.
    pub(crate) fn entry_mut(&mut self, sn: u64) -> Option<&mut Entry> {
        let index = sn.checked_sub(self.base)?;
        self.entries.get_mut(index as usize)
    }

    /// The pieces of a number.
    pub(crate) fn pieces(&self, sn: u64) -> impl Iterator<Item = &Piece<T>> {
        let from = self
            .entry(sn)
            .map_or(self.pieces.len(), |e| (e.first - self.gone) as usize);
        let to = self
            .entry(sn + 1)
            .map_or(self.pieces.len(), |e| (e.first - self.gone) as usize);
        self.pieces.range(from..to)
    }

    /// The highest unacknowledged number.
    pub(crate) fn latest_unacked(&self) -> Option<u64> {
        let index = self.entries.iter().rposition(|entry| !entry.acked)?;
        Some(self.base + index as u64)
    }

    /// Records that a number has been received completely.
    pub(crate) fn acknowledge(&mut self, sn: u64) {
        if let Some(entry) = self.entry_mut(sn).filter(|entry| !entry.acked) {
            entry.acked = true;
            let sent = entry.sent;
            self.outstanding -= u64::from(sent);
        }
    }

    /// Removes acknowledged numbers up to the first unacknowledged one.
    pub(crate) fn advance(&mut self) {
        while self.entries.front().is_some_and(|entry| entry.acked) {
            self.entries.pop_front();
            self.base += 1;
        }
        let first = self.entries.front().map(|entry| entry.first);
        let leave = first.map_or(self.pieces.len(), |first| (first - self.gone) as usize);
        self.pieces.drain(..leave);
        self.gone += leave as u64;
    }

    /// Empties the window. Appends to `lost`, in order, each SDU of which some sent bytes are not acknowledged.
    pub(crate) fn clear(&mut self, lost: &mut Vec<Sdu<T>>) {
        // An SDU may continue in the next number. If its start has left the window, it was acknowledged up to there.
        let mut missing = false;
        for sn in self.base..self.next() {
            let acked = self.entry(sn).is_some_and(|entry| entry.acked);
            for piece in self.pieces(sn) {
                missing = !acked || (missing && !piece.begins);
                if piece.ends {
                    if missing {
                        lost.push(piece.sdu);
                    }
                    missing = false;
                }
            }
        }
        *self = Self {
            entries: std::mem::take(&mut self.entries),
            pieces: std::mem::take(&mut self.pieces),
            ..Self::default()
        };
        self.entries.clear();
        self.pieces.clear();
    }
}

impl<T> Piece<T> {
    /// A whole SDU with its own number.
    pub(crate) fn whole(sdu: Sdu<T>) -> Self {
        Self {
            offset: 0,
            length: sdu.bytes,
            begins: true,
            ends: true,
            sdu,
        }
    }

    /// A part of an SDU, at this place in the data that the number covers.
    pub(crate) fn part(cut: &Cut<T>, offset: u32) -> Self
    where
        T: Copy,
    {
        Self {
            offset,
            length: cut.length,
            begins: cut.begins(),
            ends: cut.ends(),
            sdu: cut.sdu,
        }
    }

    /// The piece with `length` bytes of its number from `at`, for a retransmission.
    pub(crate) fn again(&self, sn: u64, at: u32, length: u32, bytes: u32) -> Pdu<T>
    where
        T: Copy,
    {
        Pdu {
            item: self.sdu.item,
            sn,
            offset: at,
            length,
            bytes,
            begins: self.begins && at == self.offset,
            ends: self.ends && at + length == self.offset + self.length,
            last: false,
            poll: false,
            again: true,
            era: 0,
        }
    }
}
