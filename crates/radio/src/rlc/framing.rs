//! The size of a PDU on the wire: headers of RLC and MAC, and how much of an SDU fits into a given space.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How SDUs are packed into transport blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// As in 5G: one SDU, or one segment of an SDU, per MAC subPDU.
    #[default]
    Nr,
    /// As in ns-3's LTE entities, which 5G-LENA uses: one PDU per transport block, with as many SDUs as fit.
    Lena,
}

/// Bytes that an opportunity reserves for the MAC subheader in the lena framing, whatever the size of the subheader.
const LENA_RESERVE: u32 = 3;

impl Framing {
    /// The longest PDU whose length MAC writes with 8 bits: TS 38.321 section 6.1.2. 5G-LENA changes at 127, as LTE does.
    #[inline]
    fn short(self) -> u32 {
        match self {
            Self::Nr => 255,
            Self::Lena => 127,
        }
    }

    /// Bytes of a PDU including its MAC subheader.
    #[inline]
    pub fn wire(self, pdu: u32) -> u32 {
        pdu + if pdu <= self.short() { 2 } else { 3 }
    }

    /// Bytes of a PDU, from the bytes that include its MAC subheader.
    pub fn pdu(self, wire: u32) -> u32 {
        wire.saturating_sub(if wire <= self.short() + 2 { 2 } else { 3 })
    }

    /// The largest PDU that fits into this space.
    pub fn largest(self, room: u32) -> u32 {
        match self {
            Self::Nr if room >= 256 + 3 => room - 3,
            Self::Nr => room.saturating_sub(2).min(255),
            Self::Lena => room.saturating_sub(LENA_RESERVE),
        }
    }

    /// Bytes needed to mark the end of the previous piece, for the piece with this index in a PDU.
    pub(crate) fn indicator(self, index: u32) -> u32 {
        match (self, index) {
            (Self::Nr, _) | (_, 0) => 0,
            // TS 36.322 section 6.2.1.3: 12 bits each, and the PDU's header is a whole number of bytes.
            (Self::Lena, index) => 1 + index % 2,
        }
    }
}

/// Header sizes of PDUs in unacknowledged mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UmHeader {
    /// Bytes of a header with a sequence number.
    pub numbered: u32,
}

impl UmHeader {
    /// TS 38.322 section 6.2.2.3: a complete SDU has no number.
    pub(crate) const COMPLETE: u32 = 1;

    pub(crate) fn new(sn_bits: u8) -> Self {
        Self {
            numbered: if sn_bits <= 6 { 1 } else { 2 },
        }
    }

    /// Header bytes of a segment that starts at this byte of its SDU.
    pub(crate) fn segment(self, offset: u32) -> u32 {
        self.numbered + segment_offset(offset)
    }
}

/// TS 38.322 section 6.2.3.5: 16 bits in every segment except the first.
pub(crate) fn segment_offset(offset: u32) -> u32 {
    if offset > 0 { 2 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subheaders_grow_with_the_pdu() {
        let wire = |framing: Framing| [1, 127, 128, 255, 256].map(|pdu| framing.wire(pdu));
        assert_eq!(wire(Framing::Nr), [3, 129, 130, 257, 259]);
        assert_eq!(wire(Framing::Lena), [3, 129, 131, 258, 259]);
    }

    #[test]
    fn a_pdu_is_what_its_subheader_leaves() {
        for framing in [Framing::Nr, Framing::Lena] {
            assert!((1..1000).all(|pdu| framing.pdu(framing.wire(pdu)) == pdu));
            assert_eq!(framing.pdu(0), 0);
        }
    }

    #[test]
    fn the_largest_pdu_fits_and_one_more_byte_does_not() {
        for room in 3..1000 {
            let pdu = Framing::Nr.largest(room);
            assert!(Framing::Nr.wire(pdu) <= room, "{room}");
            assert!(Framing::Nr.wire(pdu + 1) > room, "{room}");
        }
        assert_eq!([0, 1, 2].map(|room| Framing::Nr.largest(room)), [0; 3]);
        assert_eq!(Framing::Lena.largest(12_212), 12_209);
    }

    #[test]
    fn length_indicators_cost_two_and_one_bytes_in_turn() {
        let costs = [0, 1, 2, 3, 4].map(|index| Framing::Lena.indicator(index));
        assert_eq!(costs, [0, 2, 1, 2, 1]);
    }
}
