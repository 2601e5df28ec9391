//! A TCP segment's header, small enough to travel by value.

/// Synchronise: opens a connection.
pub const SYN: u8 = 0x02;
/// Finish: no more data.
pub const FIN: u8 = 0x01;
/// The acknowledgment number is valid.
pub const ACK: u8 = 0x10;
/// ECN echo (RFC 3168).
pub const ECE: u8 = 0x40;
/// Congestion window reduced (RFC 3168).
pub const CWR: u8 = 0x80;

/// IPv4 and TCP headers with the timestamps option (RFC 7323), padded: 20 + 20 + 12 bytes.
pub const HEADER: u32 = 52;
/// The same of a SYN, which carries MSS, SACK-permitted, timestamps and window scale.
pub const SYN_HEADER: u32 = 60;

/// A half-open range of sequence numbers on the wire.
pub type Block = (u32, u32);

/// A TCP segment without its payload's bytes. Sequence numbers wrap at 2^32 as on the wire; each end unwraps them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Segment {
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Next byte expected from the other end.
    pub ack: u32,
    /// Receive window in bytes (already scaled).
    pub window: u32,
    /// Timestamp value, microseconds.
    pub tsval: u32,
    /// Timestamp echo, microseconds.
    pub tsecr: u32,
    /// Payload bytes.
    pub length: u16,
    /// SYN, FIN, ACK, ECE, CWR.
    pub flags: u8,
    /// SACK blocks that follow (RFC 2018; at most 3 beside timestamps). The first may be a duplicate report (RFC 2883).
    pub blocks: u8,
    /// The SACK blocks.
    pub sack: [Block; 3],
}

impl Segment {
    /// Whether this flag is set.
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Bytes of IP packet: headers, options and payload.
    pub fn wire_size(&self) -> u32 {
        let header = if self.has(SYN) { SYN_HEADER } else { HEADER };
        let sack = if self.blocks > 0 {
            4 + 8 * u32::from(self.blocks)
        } else {
            0
        };
        header + sack + u32::from(self.length)
    }

    /// The SACK blocks present.
    pub fn sack_blocks(&self) -> &[Block] {
        &self.sack[..usize::from(self.blocks.min(3))]
    }
}

/// The 64-bit sequence number near `reference` that reads `wire` on the wire.
#[inline]
pub fn unwrap(reference: u64, wire: u32) -> u64 {
    reference.wrapping_add(i64::from(wire.wrapping_sub(reference as u32) as i32) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_unwrap_across_the_wrap() {
        let base = (7_u64 << 32) - 100;
        for offset in [-50_i64, 0, 99, 100, 5000] {
            let value = base.wrapping_add(offset as u64);
            assert_eq!(unwrap(base, value as u32), value);
        }
    }

    #[test]
    fn sizes_follow_the_options() {
        let data = Segment {
            length: 1448,
            flags: ACK,
            ..Default::default()
        };
        assert_eq!(data.wire_size(), 1500);
        assert_eq!(
            Segment {
                flags: SYN,
                ..Default::default()
            }
            .wire_size(),
            60
        );
        assert_eq!(
            Segment {
                flags: ACK,
                blocks: 3,
                ..Default::default()
            }
            .wire_size(),
            80
        );
    }
}
