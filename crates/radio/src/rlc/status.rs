//! Status reports (TS 38.322 section 6.2.2.5, TS 36.322 section 6.2.1.6).

use super::Framing;

/// The end of a part that extends to the end of the data that the number covers (SOend of all ones).
pub(crate) const TO_END: u32 = u32::MAX;

/// Something that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    /// The first number.
    pub sn: u64,
    /// Number of consecutive numbers of which nothing arrived; 1 if only a part is missing.
    pub count: u32,
    /// First missing byte and the byte after the last one; `None` if everything is missing.
    pub part: Option<(u32, u32)>,
}

/// A status report: all numbers below `ack_sn` have arrived, except for those named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The first number that the report does not cover.
    pub ack_sn: u64,
    /// What is missing, in order.
    pub nacks: Vec<Nack>,
    /// Bytes of the transport block that it takes, including its MAC subheader.
    pub bytes: u32,
    /// Number of re-establishments of its sender. A transmitter ignores reports from before its own latest one.
    pub era: u32,
}

/// The size of a report while it is built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    framing: Framing,
    nack: u32,
    bits: u32,
}

impl Size {
    pub(crate) fn new(framing: Framing, sn_bits: u8) -> Self {
        let sn = u32::from(sn_bits);
        match framing {
            // D/C, CPT, ACK_SN and E1 in whole bytes; also NACK_SN and E1 to E3.
            Framing::Nr => Self {
                framing,
                nack: 8 * (sn + 3).div_ceil(8),
                bits: 24,
            },
            // TS 36.322 section 6.2.1.6: not aligned; NACK_SN with E1 and E2.
            Framing::Lena => Self {
                framing,
                nack: sn + 2,
                bits: 4 + sn + 1,
            },
        }
    }

    /// The most consecutive numbers that one NACK can name: an 8-bit range in 5G, one in LTE.
    pub(crate) fn longest_row(self) -> u32 {
        match self.framing {
            Framing::Nr => 255,
            Framing::Lena => 1,
        }
    }

    /// The size with one more NACK.
    pub(crate) fn with(mut self, nack: &Nack) -> Self {
        let part = match self.framing {
            Framing::Nr => 32,
            Framing::Lena => 30,
        };
        self.bits += self.nack;
        self.bits += if nack.part.is_some() { part } else { 0 };
        self.bits += if nack.count > 1 { 8 } else { 0 };
        self
    }

    /// Bytes on the wire.
    pub(crate) fn wire(self) -> u32 {
        self.framing.wire(self.bits.div_ceil(8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_standards() {
        let nack = |count, part| Nack { sn: 0, count, part };
        let wire = |framing, bits, nacks: &[Nack]| {
            let size = nacks
                .iter()
                .fold(Size::new(framing, bits), |size, n| size.with(n));
            size.wire()
        };
        let (one, row, part) = (nack(1, None), nack(9, None), nack(1, Some((5, TO_END))));
        // 3 bytes plus 2 of MAC; NACKs of 2 or 3 bytes; 4 for a part, 1 for a range.
        assert_eq!(wire(Framing::Nr, 12, &[]), 5);
        assert_eq!(wire(Framing::Nr, 12, &[one, row, part]), 5 + 2 + 3 + 6);
        assert_eq!(wire(Framing::Nr, 18, &[one, row, part]), 5 + 3 + 4 + 7);
        // 15 bits, 12 for a NACK, 30 for a part.
        assert_eq!(wire(Framing::Lena, 10, &[]), 4);
        assert_eq!(wire(Framing::Lena, 10, &[one, part]), 2 + 9);
    }
}
