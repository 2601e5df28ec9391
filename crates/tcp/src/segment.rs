//! The header of a TCP segment, small enough to be passed by value.

use bloatlab_units::{MICROSECOND, Nanos};

/// Synchronise: opens a connection.
pub const SYN: u8 = 0x02;
/// Finish: no more data.
pub const FIN: u8 = 0x01;
/// The acknowledgment number is valid.
pub const ACK: u8 = 0x10;

/// ECN echo (RFC 3168). ECE, CWR and AE are the ACE field (RFC 9768 section 3.2), which is stored here in the top three bits. On the wire, ECE and
/// CWR are one bit higher, in the place of URG here, which is never sent.
pub const ECE: u8 = 1 << ACE_SHIFT;
/// Congestion window reduced (RFC 3168).
pub const CWR: u8 = 2 << ACE_SHIFT;
/// Accurate ECN (RFC 9768), the bit that RFC 3168 left reserved. On the wire it is next to the header length.
pub const AE: u8 = 4 << ACE_SHIFT;
const ACE_SHIFT: u32 = 5;

/// PSH, on a segment with payload: its last byte ends what the application wrote at once.
pub const PUSH: u8 = 0x08;
/// The AccECN option is present, on a segment without payload. It is stored in the place of PSH.
pub const COUNTERS: u8 = PUSH;

/// Another segment of the same buffer follows directly. Stored in the place of RST, which is never sent.
pub const MORE: u8 = 0x04;

/// Bytes of the IPv4 and TCP headers with the timestamps option (RFC 7323), padded: 20 + 20 + 12.
pub const HEADER: u32 = 52;
/// Bytes of the headers of a SYN, which carries MSS, SACK-permitted, timestamps and window scale.
pub const SYN_HEADER: u32 = 60;
/// Bytes of an AccECN option with two counters (RFC 9768 section 3.2.3).
pub const COUNTERS_SIZE: u32 = 8;
/// Largest number of SACK blocks that leaves space for an AccECN option besides the timestamps.
pub const COUNTERS_BLOCKS: u8 = 2;

/// A half-open range of sequence numbers on the wire.
pub type Block = (u32, u32);

/// A TCP segment without the bytes of its payload. Sequence numbers wrap at 2^32 as on the wire; each end unwraps them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Segment {
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Next sequence number expected from the other end.
    pub ack: u32,
    /// Receive window in bytes (already scaled).
    pub window: u32,
    /// Timestamp value, microseconds.
    pub tsval: u32,
    /// Timestamp echo, microseconds.
    pub tsecr: u32,
    /// Payload bytes.
    pub length: u16,
    /// SYN, FIN, ACK, ECE, CWR, AE, PUSH or COUNTERS, MORE.
    pub flags: u8,
    /// Number of SACK blocks (RFC 2018; at most 3 besides timestamps). The first one may report a duplicate (RFC 2883).
    pub blocks: u8,
    /// The SACK blocks. With `COUNTERS`, the third element holds the counters.
    pub sack: [Block; 3],
}

/// The AccECN option (RFC 9768 section 3.2.3): payload bytes received, modulo 2^24.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes in ECN-capable packets without a mark: ECT(1) packets if `l4s`, otherwise ECT(0) packets.
    pub unmarked: u32,
    /// Bytes in marked packets.
    pub marked: u32,
    /// The option has kind 174, whose first counter is for ECT(1), instead of 172.
    pub l4s: bool,
}

impl Segment {
    /// Whether a flag is set.
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Bytes of the IP packet: headers, options and payload.
    pub fn wire_size(&self) -> u32 {
        let usual = HEADER + u32::from(self.length);
        if self.blocks == 0 && self.flags & (SYN | COUNTERS) == 0 {
            return usual;
        }
        let syn = if self.has(SYN) {
            SYN_HEADER - HEADER
        } else {
            0
        };
        let sack = if self.blocks > 0 {
            4 + 8 * u32::from(self.blocks)
        } else {
            0
        };
        let counters = if self.has_counters() {
            COUNTERS_SIZE
        } else {
            0
        };
        usual + syn + sack + counters
    }

    /// The ACE field (RFC 9768 section 3.2): AE, CWR and ECE as a number.
    #[inline]
    pub fn ace(&self) -> u8 {
        self.flags >> ACE_SHIFT
    }

    /// Writes the ACE field.
    #[inline]
    pub fn set_ace(&mut self, number: u8) {
        self.flags = self.flags & !(AE | CWR | ECE) | number << ACE_SHIFT;
    }

    /// The AccECN option, if there is one.
    #[inline]
    pub fn counters(&self) -> Option<Counters> {
        let (first, marked) = self.sack[2];
        self.has_counters().then_some(Counters {
            unmarked: first & 0xff_ffff,
            marked,
            l4s: first >> 24 != 0,
        })
    }

    #[inline]
    fn has_counters(&self) -> bool {
        self.length == 0 && self.has(COUNTERS)
    }

    /// Adds the AccECN option. There must be at most [`COUNTERS_BLOCKS`] SACK blocks.
    pub(crate) fn set_counters(&mut self, counters: Counters) {
        debug_assert!(self.blocks <= COUNTERS_BLOCKS);
        self.flags |= COUNTERS;
        self.sack[2] = (
            counters.unmarked & 0xff_ffff | u32::from(counters.l4s) << 24,
            counters.marked & 0xff_ffff,
        );
    }

    /// The SACK blocks that are present.
    pub fn sack_blocks(&self) -> &[Block] {
        &self.sack[..usize::from(self.blocks.min(3))]
    }
}

/// RFC 7323's clock in microseconds, as in Linux.
#[inline]
pub(crate) fn time_stamp(now: Nanos) -> u32 {
    (now / MICROSECOND) as u32
}

/// The 64-bit sequence number near `reference` whose lower 32 bits are `wire`.
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

    #[test]
    fn the_counters_and_the_ace_field_leave_the_rest_alone() {
        let mut segment = Segment {
            flags: ACK | SYN,
            blocks: 2,
            sack: [(1, 2), (3, 4), (0, 0)],
            ..Default::default()
        };
        assert_eq!(segment.counters(), None);
        for number in 0..8 {
            segment.set_ace(number);
            assert_eq!(
                (segment.ace(), segment.flags & (ACK | SYN)),
                (number, ACK | SYN)
            );
        }
        segment.set_ace(0);
        segment.flags = ACK;
        let counters = Counters {
            unmarked: 0xff_fffe,
            marked: 7,
            l4s: true,
        };
        segment.set_counters(counters);
        assert_eq!(segment.counters(), Some(counters));
        assert_eq!(segment.sack_blocks(), [(1, 2), (3, 4)]);
        // 52 bytes of headers, 20 of SACK and 8 of the option: a TCP header of 60 bytes, which is the maximum.
        assert_eq!(segment.wire_size(), 80);
    }
}
