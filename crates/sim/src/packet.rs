//! A packet, carried by value in one cache line.

use bloatlab_aqm::{Ecn, PureAck};
use bloatlab_outcome::Protocol;
use bloatlab_port::Framed;
use bloatlab_tcp::{Segment, segment};
use bloatlab_units::Nanos;

/// One packet. `segment` is TCP's header; datagrams and echoes use its sequence number and timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Packet {
    enqueued_at: Nanos,
    /// Flow index in bits 0-17, differentiated services code point in bits 18-23, connection count of the flow in bits 24-31.
    owner: u32,
    /// Bytes in bits 0-16 (an IP packet of 65,535 and a link layer's header of up to 255), ECN in bits 17-18, direction in bit 19, protocol in bits
    /// 20-21, damage in bit 22, whether it follows in bit 23, boxes crossed so far in bits 24-31.
    head: u32,
    /// The header.
    pub segment: Segment,
}

/// Most flows a packet can name.
pub(crate) const MAX_FLOWS: usize = 1 << 18;

const SIZE: u32 = (1 << 17) - 1;
const ECN_SHIFT: u32 = 17;
const DIRECTION_SHIFT: u32 = 19;
const PROTOCOL_SHIFT: u32 = 20;
const DAMAGED: u32 = 1 << 22;
const FOLLOWS: u32 = 1 << 23;
const HOP_SHIFT: u32 = 24;
/// Direction and protocol.
const KIND: u32 = 0b111 << DIRECTION_SHIFT;
/// The largest IP packet (RFC 791 section 3.1: total length).
const LARGEST: u32 = 65_535;
const FLOW: u32 = MAX_FLOWS as u32 - 1;
const DSCP_SHIFT: u32 = 18;
const DSCP: u32 = 0x3f << DSCP_SHIFT;

/// Flow index and direction of an identifier that [`flow`](bloatlab_aqm::Packet::flow) returned.
pub(crate) fn flow_of(id: u64) -> (usize, usize) {
    ((id >> 1) as usize & FLOW as usize, id as usize & 1)
}

impl Packet {
    #[inline]
    pub(crate) fn new(flow: u32, connection: u8, direction: u8, protocol: Protocol) -> Self {
        Self {
            enqueued_at: 0,
            owner: flow | u32::from(connection) << 24,
            head: u32::from(direction) << DIRECTION_SHIFT | (protocol as u32) << PROTOCOL_SHIFT,
            segment: Segment::default(),
        }
    }

    /// Sets the bytes of the IP packet.
    #[inline]
    pub(crate) fn set_length(&mut self, bytes: u32) {
        debug_assert!(bytes <= LARGEST);
        self.head = self.head & !SIZE | bytes;
    }

    /// Index of the flow.
    #[inline]
    pub fn flow_index(&self) -> usize {
        (self.owner & FLOW) as usize
    }

    /// Which of the flow's connections, counted modulo 256.
    #[inline]
    pub fn connection(&self) -> u8 {
        (self.owner >> 24) as u8
    }

    /// 0 from the data sender to the receiver, 1 back.
    #[inline]
    pub fn direction(&self) -> usize {
        (self.head >> DIRECTION_SHIFT & 1) as usize
    }

    /// What it carries.
    #[inline]
    pub fn protocol(&self) -> Protocol {
        match self.head >> PROTOCOL_SHIFT & 3 {
            0 => Protocol::Tcp,
            1 => Protocol::Udp,
            _ => Protocol::Echo,
        }
    }

    /// Bytes of the IP packet; in a queue, with the link layer's header.
    #[inline]
    pub fn length(&self) -> u32 {
        self.head & SIZE
    }

    /// Boxes crossed so far.
    #[inline]
    pub(crate) fn hop(&self) -> usize {
        (self.head >> HOP_SHIFT) as usize
    }

    /// Counts a box that the packet has crossed.
    #[inline]
    pub(crate) fn cross(&mut self) {
        self.head += 1 << HOP_SHIFT;
    }

    /// Makes it a new packet of `bytes` bytes that leaves the host. `follows`: it leaves together with the segment that directly precedes it.
    #[inline]
    pub(crate) fn set_out(&mut self, bytes: u32, ecn: Ecn, follows: bool) {
        debug_assert!(bytes <= LARGEST);
        let follows = if follows { FOLLOWS } else { 0 };
        self.head = self.head & KIND | bytes | (ecn as u32) << ECN_SHIFT | follows;
    }

    /// Makes it the next packet of its train.
    #[inline]
    pub(crate) fn follow(&mut self) {
        self.segment.seq = self.segment.seq.wrapping_add(self.segment.length.into());
        self.head |= FOLLOWS;
    }

    /// Damages the packet.
    pub(crate) fn damage(&mut self) {
        self.head |= DAMAGED;
    }

    /// Whether its checksum is wrong.
    pub fn is_damaged(&self) -> bool {
        self.head & DAMAGED != 0
    }

    #[inline]
    pub(crate) fn set_dscp(&mut self, dscp: u8) {
        self.owner = self.owner & !DSCP | u32::from(dscp) << DSCP_SHIFT;
    }

    /// Stamps the departure of a datagram or echo.
    pub(crate) fn stamp(&mut self, now: Nanos) {
        self.segment.tsval = now as u32;
        self.segment.tsecr = (now >> 32) as u32;
    }

    /// The departure stamped by [`stamp`](Self::stamp).
    pub(crate) fn stamped(&self) -> Nanos {
        u64::from(self.segment.tsval) | u64::from(self.segment.tsecr) << 32
    }
}

impl bloatlab_aqm::Packet for Packet {
    #[inline]
    fn size(&self) -> u32 {
        self.length()
    }

    #[inline]
    fn flow(&self) -> u64 {
        u64::from(self.owner & !DSCP) << 1 | u64::from(self.head >> DIRECTION_SHIFT & 1)
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        match self.head >> ECN_SHIFT & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    #[inline]
    fn set_ce(&mut self) {
        self.head |= 3 << ECN_SHIFT;
    }

    #[inline]
    fn enqueued_at(&self) -> Nanos {
        self.enqueued_at
    }

    #[inline]
    fn set_enqueued_at(&mut self, now: Nanos) {
        self.enqueued_at = now;
    }

    #[inline]
    fn dscp(&self) -> u8 {
        ((self.owner & DSCP) >> DSCP_SHIFT) as u8
    }

    #[inline]
    fn set_dscp(&mut self, dscp: u8) {
        Packet::set_dscp(self, dscp);
    }

    #[inline]
    fn follows(&self) -> bool {
        self.head & FOLLOWS != 0
    }

    #[inline]
    fn has_more(&self) -> bool {
        self.segment.flags & segment::MORE != 0
    }

    fn pure_ack(&self) -> Option<PureAck> {
        let s = &self.segment;
        let pure = self.protocol() == Protocol::Tcp
            && s.length == 0
            && s.has(segment::ACK)
            && s.flags & (segment::SYN | segment::FIN) == 0;
        pure.then(|| {
            let mut sack = [(0, 0); 3];
            sack[..s.sack_blocks().len()].copy_from_slice(s.sack_blocks());
            PureAck {
                number: s.ack,
                sack,
                ecn_flags: s.flags & (segment::ECE | segment::CWR | segment::AE),
                tsval: s.tsval,
                tsecr: s.tsecr,
            }
        })
    }
}

impl Framed for Packet {
    #[inline]
    fn lengthen(&mut self, header: u32) {
        self.head += header;
    }

    #[inline]
    fn shorten(&mut self, header: u32) {
        self.head -= header;
    }
}

const _: () = assert!(size_of::<Packet>() == 64, "a packet fills one cache line");

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_aqm::Packet as _;

    #[test]
    fn fields_do_not_overlap() {
        let mut p = Packet::new(12_345, 200, 1, Protocol::Udp);
        p.set_out(1500, Ecn::Ect0, false);
        assert_eq!(
            (p.flow_index(), p.connection(), p.direction()),
            (12_345, 200, 1)
        );
        assert_eq!(
            (p.protocol(), p.length(), p.ecn()),
            (Protocol::Udp, 1500, Ecn::Ect0)
        );
        p.set_ce();
        assert_eq!(p.ecn(), Ecn::Ce);
        let flow = p.flow();
        p.set_dscp(63);
        assert_eq!(
            (p.dscp(), p.flow_index(), p.connection()),
            (63, 12_345, 200)
        );
        assert!(!p.is_damaged() && !p.follows());
        p.damage();
        assert!(p.is_damaged() && !p.follows());
        p.set_out(1500, Ecn::Ce, true);
        assert!(!p.is_damaged() && p.follows());
        assert_eq!(p.ecn(), Ecn::Ce);
        assert_eq!((p.flow(), flow_of(flow)), (flow, (12_345, 1)));
        assert_eq!((p.direction(), p.protocol()), (1, Protocol::Udp));
        // The largest packet, the largest header and the longest path.
        p.set_out(LARGEST, Ecn::Ect1, false);
        p.lengthen(255);
        (0..255).for_each(|_| p.cross());
        assert_eq!((p.size(), p.hop(), p.ecn()), (65_790, 255, Ecn::Ect1));
        assert_eq!((p.direction(), p.protocol()), (1, Protocol::Udp));
        p.shorten(255);
        assert_eq!((p.length(), p.hop(), p.is_damaged()), (LARGEST, 255, false));
        p.stamp(u64::MAX - 5);
        assert_eq!(p.stamped(), u64::MAX - 5);
    }
}
