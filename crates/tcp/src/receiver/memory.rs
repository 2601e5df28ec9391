//! How much payload a receive buffer holds: Linux counts the memory of what arrives, headers included.

use crate::offload::BUFFER_OVERHEAD;

/// Number of received buffers that Linux joins to one, which saves the overhead of the others (`MAX_SKB_FRAGS`).
const JOINED: u64 = 17;

/// The share of payload in the memory of the offload buffer that brought the largest segment.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// Length of the segments that change nothing, and of shorter ones; 0 while a buffer is being measured.
    ignored: u16,
    /// Payload of that buffer; 0 before the first.
    unit: u64,
    /// Bytes and the largest segment of the buffer that is being measured.
    measured: (u64, u16),
}

impl Memory {
    /// Without any segment.
    pub(super) fn empty() -> Self {
        Self {
            ignored: 0,
            unit: 0,
            measured: (0, 0),
        }
    }

    /// Of a receiver whose window does not depend on memory.
    pub(super) fn irrelevant() -> Self {
        Self {
            ignored: u16::MAX,
            ..Self::empty()
        }
    }

    /// Whether a segment of this length changes nothing.
    #[inline(always)]
    pub(super) fn ignores(&self, length: u16) -> bool {
        length <= self.ignored
    }

    /// Whether no segment was noted yet.
    pub(super) fn is_empty(&self) -> bool {
        self.unit == 0 && self.measured.0 == 0
    }

    /// Notes a segment that changes something; `more` if the rest of its buffer follows. Returns whether the share changes.
    #[cold]
    pub(super) fn note(&mut self, length: u16, more: bool) -> bool {
        let (bytes, largest) = self.measured;
        let (bytes, largest) = (bytes + u64::from(length), largest.max(length));
        if more {
            (self.measured, self.ignored) = ((bytes, largest), 0);
        } else {
            (self.measured, self.ignored, self.unit) = ((0, 0), largest, bytes);
        }
        !more
    }

    /// The payload that fits into `buffer` besides these amounts of payload, each of which lies together.
    pub(super) fn holds(&self, buffer: u64, besides: [u64; 2]) -> u64 {
        let taken: u64 = besides.iter().map(|&payload| self.of(payload)).sum();
        buffer.saturating_sub(taken) * self.share() / 256
    }

    /// How often the share of payload must be halved until that of a single buffer with this much payload is not below it.
    pub(super) fn halvings(&self, payload: u64) -> u32 {
        let mut usual = (payload + BUFFER_OVERHEAD) * self.share() / 256;
        let mut halvings = 0;
        while usual > payload {
            usual /= 2;
            halvings += 1;
        }
        halvings
    }

    /// The memory of this much payload that lies together.
    fn of(&self, payload: u64) -> u64 {
        let buffers = payload.div_ceil(JOINED * self.unit.max(1));
        payload + BUFFER_OVERHEAD * buffers
    }

    /// The buffer that holds this much payload.
    pub(super) fn for_payload(&self, payload: u64) -> u64 {
        payload * 256 / self.share()
    }

    /// The share of payload, 256ths.
    fn share(&self) -> u64 {
        (256 * self.unit / (self.unit + BUFFER_OVERHEAD)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_that_of_the_buffer_with_the_largest_segment() {
        let mut memory = Memory::empty();
        assert!(memory.note(1448, false));
        assert_eq!(memory.share(), 256 * 1448 / (1448 + 960));
        assert!(memory.ignores(1448) && !memory.ignores(1449));
        // Two segments in one buffer share its headers.
        let mut memory = Memory::empty();
        assert!(!memory.note(1448, true));
        assert!(
            !memory.ignores(1448),
            "the end of the buffer is still to come"
        );
        assert!(memory.note(1448, false));
        assert_eq!(memory.share(), 256 * 2896 / (2896 + 960));
        assert!(memory.ignores(1448), "no larger segment");
    }
}
