//! Frames as a packet socket with `PACKET_VNET_HDR` gives and takes them: what they carry, and how a frame of several segments is cut.

use std::net::Ipv4Addr;

use bloatlab_aqm::Ecn;
use bloatlab_outcome::Protocol;
use bloatlab_tcp::{Segment, segment};

/// Bytes of the virtio header that precedes each frame (virtio 1.2, section 5.1.6).
pub(crate) const VNET: usize = 10;
/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// Where the IP packet begins.
const IP: usize = VNET + ETHERNET;
/// The longest headers: virtio, Ethernet, IPv4 and TCP with options.
const LONGEST: usize = IP + 60 + 60;

const ETHERTYPE_IPV4: u16 = 0x0800;
/// The checksum is the pseudo header's, and the receiver completes it.
const NEEDS_CHECKSUM: u8 = 1;
const GSO_TCP_IPV4: u8 = 1;
const CHECKSUM_START: usize = 6;
const CHECKSUM_OFFSET: usize = 8;

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Sender and receiver.
    pub addresses: [Ipv4Addr; 2],
    /// Ports of sender and receiver. For an ICMP echo, both are its identifier.
    pub ports: [u16; 2],
    pub protocol: Protocol,
    pub ecn: Ecn,
    pub dscp: u8,
    /// Bytes of the IP header and of the one after it.
    ip_header: usize,
    header: usize,
    /// Bytes of payload of the whole frame.
    payload: usize,
    /// Bytes of payload of each segment but the last; 0: the frame is one segment.
    segment_size: usize,
    /// The header of the first segment.
    first: Segment,
}

impl Frame {
    /// Reads a frame behind its virtio header. `None`: it is no TCP, UDP or ICMP echo over IPv4, or it is cut off.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let total = usize::from(u16_at(bytes, IP + 2)?);
        bytes.get(IP..IP + total)?;
        Self::read_headers(bytes)
    }

    /// Reads a frame of which only the headers need to be there.
    pub fn read_headers(bytes: &[u8]) -> Option<Self> {
        let ethertype = u16_at(bytes, IP - 2)?;
        let version = *bytes.get(IP)?;
        if ethertype != ETHERTYPE_IPV4 || version >> 4 != 4 {
            return None;
        }
        let ip_header = usize::from(version & 15) * 4;
        let total = usize::from(u16_at(bytes, IP + 2)?);
        let packet = bytes.get(IP..)?;
        let is_fragment = u16_at(packet, 6)? & 0x3fff != 0;
        let (head, body) = packet.split_at_checked(ip_header)?;
        let address = |at: usize| -> Option<Ipv4Addr> {
            let bytes: [u8; 4] = head.get(at..at + 4)?.try_into().ok()?;
            Some(Ipv4Addr::from(bytes))
        };
        let mut frame = Self {
            addresses: [address(12)?, address(16)?],
            ports: [u16_at(body, 0)?, u16_at(body, 2)?],
            protocol: Protocol::Udp,
            ecn: match head[1] & 3 {
                0 => Ecn::NotEct,
                1 => Ecn::Ect1,
                2 => Ecn::Ect0,
                _ => Ecn::Ce,
            },
            dscp: head[1] >> 2,
            ip_header,
            header: 8,
            payload: 0,
            segment_size: 0,
            first: Segment::default(),
        };
        match head[9] {
            _ if is_fragment => return None,
            TCP => {
                frame.protocol = Protocol::Tcp;
                frame.header = usize::from(*body.get(12)? >> 4) * 4;
                frame.first = tcp_header(body.get(..frame.header)?)?;
            }
            UDP => {}
            ICMP => {
                let identifier = u16_at(body, 4)?;
                frame.protocol = Protocol::Echo;
                frame.ports = [identifier; 2];
                frame.first.seq = u32::from(u16_at(body, 6)?);
            }
            _ => return None,
        }
        frame.payload = total.checked_sub(ip_header + frame.header)?;
        if bytes[1] & 0x7f == GSO_TCP_IPV4 {
            let size = usize::from(u16::from_ne_bytes([bytes[4], bytes[5]]));
            frame.segment_size = if size < frame.payload { size } else { 0 };
        }
        Some(frame)
    }

    /// Number of segments in the frame.
    pub fn segments(&self) -> usize {
        match self.segment_size {
            0 => 1,
            size => self.payload.div_ceil(size),
        }
    }

    /// The payload of some of the segments, as a range of the frame's payload.
    fn payload_of(&self, from: usize, count: usize) -> (usize, usize) {
        match self.segment_size {
            0 => (0, self.payload),
            size => (
                (from * size).min(self.payload),
                ((from + count) * size).min(self.payload),
            ),
        }
    }

    /// Bytes of the IP packet of a segment, and its header.
    pub fn segment(&self, index: usize) -> (u32, Segment) {
        let (from, to) = self.payload_of(index, 1);
        let mut header = self.first;
        header.length = (to - from) as u16;
        if index + 1 < self.segments() || header.length == 0 {
            header.flags &= !segment::PUSH;
        }
        if self.segment_size > 0 {
            header.seq = header.seq.wrapping_add(from as u32);
            if index > 0 {
                header.flags &= !segment::CWR;
            }
            if index + 1 < self.segments() {
                header.flags &= !segment::FIN;
            }
        }
        let size = self.ip_header + self.header + (to - from);
        (size as u32, header)
    }

    /// Headers of a frame with `count` of the segments, from `from` on, and its payload. `frame` are the bytes that were read.
    pub fn cut<'a>(&self, frame: &'a [u8], from: usize, count: usize, is_marked: bool) -> Cut<'a> {
        let length = IP + self.ip_header + self.header;
        let mut head = [0; LONGEST];
        head[..length].copy_from_slice(&frame[..length]);
        let (start, end) = self.payload_of(from, count);
        let payload = &frame[length + start..length + end];
        let is_part = payload.len() < self.payload;
        if is_part {
            self.shorten(&mut head[..length], from, count, payload.len());
        }
        if is_marked {
            head[IP + 1] |= 3;
        }
        if is_part || is_marked {
            let ip = &mut head[IP..IP + self.ip_header];
            ip[10..12].fill(0);
            let sum = !sum_of(ip, 0);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        Cut {
            head,
            length,
            payload,
        }
    }

    /// Turns the headers of the whole frame into those of some of its segments.
    fn shorten(&self, head: &mut [u8], from: usize, count: usize, payload: usize) {
        if count == 1 {
            head[1] = 0;
            head[4..6].fill(0);
        }
        let body = self.header + payload;
        let total = (self.ip_header + body) as u16;
        let ip = &mut head[IP..];
        ip[2..4].copy_from_slice(&total.to_be_bytes());
        let identification = u16::from_be_bytes([ip[4], ip[5]]).wrapping_add(from as u16);
        ip[4..6].copy_from_slice(&identification.to_be_bytes());
        // The pseudo header: addresses, protocol and length.
        let pseudo = sum_of(&ip[12..20], u32::from(TCP) + body as u32);
        let tcp = &mut ip[self.ip_header..];
        let offset = (from * self.segment_size) as u32;
        let seq = self.first.seq.wrapping_add(offset);
        tcp[4..8].copy_from_slice(&seq.to_be_bytes());
        if from > 0 {
            tcp[13] &= !CWR;
        }
        if from + count < self.segments() {
            tcp[13] &= !(FIN | segment::PUSH);
        }
        tcp[16..18].copy_from_slice(&pseudo.to_be_bytes());
        head[0] |= NEEDS_CHECKSUM;
        let start = (ETHERNET + self.ip_header) as u16;
        head[CHECKSUM_START..][..2].copy_from_slice(&start.to_ne_bytes());
        head[CHECKSUM_OFFSET..][..2].copy_from_slice(&16_u16.to_ne_bytes());
    }
}

const FIN: u8 = 0x01;
const CWR: u8 = 0x80;

/// A frame that is ready to be sent.
pub(crate) struct Cut<'a> {
    head: [u8; LONGEST],
    length: usize,
    payload: &'a [u8],
}

impl Cut<'_> {
    /// The parts of the frame, with its virtio header.
    pub fn parts(&self) -> [&[u8]; 2] {
        [&self.head[..self.length], self.payload]
    }

    /// The frame in one piece, without its virtio header, with all checksums complete.
    pub fn completed(&self) -> Vec<u8> {
        let mut bytes = [&self.head[VNET..self.length], self.payload].concat();
        if self.head[0] & NEEDS_CHECKSUM != 0 {
            let field =
                |at: usize| usize::from(u16::from_ne_bytes([self.head[at], self.head[at + 1]]));
            let start = field(CHECKSUM_START);
            let place = start + field(CHECKSUM_OFFSET);
            if place + 2 <= bytes.len() {
                // The field holds the sum of the pseudo header, so that it is included.
                let sum = !sum_of(&bytes[start..], 0);
                bytes[place..place + 2].copy_from_slice(&sum.to_be_bytes());
            }
        }
        bytes
    }

    /// The frame with wrong bits, as a receiver with checksums discards it.
    pub fn damaged(&self) -> Vec<u8> {
        let mut bytes = [&[0; VNET][..], &self.completed()].concat();
        if let Some(last) = bytes.last_mut() {
            *last ^= 0x55;
        }
        bytes
    }
}

/// The sum of 16-bit words in one's complement (RFC 1071).
fn sum_of(bytes: &[u8], start: u32) -> u16 {
    let words = bytes.chunks(2);
    let words = words.map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)));
    let mut sum = words.fold(u64::from(start), |sum, word| sum + u64::from(word));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let word: [u8; 2] = bytes.get(at..at + 2)?.try_into().ok()?;
    Some(u16::from_be_bytes(word))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let word: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_be_bytes(word))
}

/// Reads a TCP header with its options.
fn tcp_header(header: &[u8]) -> Option<Segment> {
    let wire = *header.get(13)?;
    let mut read = Segment {
        seq: u32_at(header, 4)?,
        ack: u32_at(header, 8)?,
        window: u32::from(u16_at(header, 14)?),
        flags: wire & (segment::FIN | segment::SYN | segment::ACK | segment::PUSH),
        ..Segment::default()
    };
    // ECE, CWR and the bit that RFC 3168 left reserved.
    read.set_ace(wire >> 6 | (header[12] & 1) << 2);
    let mut options = header.get(20..)?;
    while let [kind, rest @ ..] = options {
        options = match kind {
            0 => break,
            1 => rest,
            _ => {
                let length = usize::from(*rest.first()?);
                let (option, after) = options.split_at_checked(length.max(2))?;
                read_option(*kind, option, &mut read);
                after
            }
        };
    }
    Some(read)
}

fn read_option(kind: u8, option: &[u8], read: &mut Segment) {
    const SACK: u8 = 5;
    const TIMESTAMPS: u8 = 8;
    match kind {
        TIMESTAMPS => {
            read.tsval = u32_at(option, 2).unwrap_or_default();
            read.tsecr = u32_at(option, 6).unwrap_or_default();
        }
        SACK => {
            let blocks = option[2..].chunks_exact(8).take(read.sack.len());
            read.blocks = blocks.len() as u8;
            for (block, bytes) in read.sack.iter_mut().zip(blocks) {
                let edge = |at| u32_at(bytes, at).unwrap_or_default();
                *block = (edge(0), edge(4));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A TCP frame with this payload and segment size, as the kernel hands it to a packet socket.
    fn tcp(payload: &[u8], segment_size: u16, flags: u8) -> Vec<u8> {
        let mut bytes = vec![0; VNET];
        bytes[0] = NEEDS_CHECKSUM;
        if payload.len() > usize::from(segment_size) {
            bytes[1] = GSO_TCP_IPV4;
            bytes[4..6].copy_from_slice(&segment_size.to_ne_bytes());
        }
        bytes[CHECKSUM_START..][..2].copy_from_slice(&34_u16.to_ne_bytes());
        bytes[CHECKSUM_OFFSET..][..2].copy_from_slice(&16_u16.to_ne_bytes());
        bytes.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 8, 0]);
        let total = (20 + 32 + payload.len()) as u16;
        bytes.extend([0x45, 2]);
        bytes.extend(total.to_be_bytes());
        bytes.extend([0, 7, 0x40, 0, 64, TCP, 0, 0, 10, 64, 0, 1, 10, 64, 0, 2]);
        let sum = !sum_of(&bytes[IP..IP + 20], 0);
        bytes[IP + 10..IP + 12].copy_from_slice(&sum.to_be_bytes());
        bytes.extend([0x13, 0x88, 0x27, 0x10]);
        bytes.extend(1000_u32.to_be_bytes());
        bytes.extend(2000_u32.to_be_bytes());
        bytes.extend([0x80, flags, 1, 0]);
        let pseudo = sum_of(&bytes[IP + 12..IP + 20], 6 + 32 + payload.len() as u32);
        bytes.extend(pseudo.to_be_bytes());
        bytes.extend([0, 0, 1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6]);
        bytes.extend(payload);
        bytes
    }

    /// Whether the checksums of IP and TCP of a frame are right.
    fn is_sound(frame: &[u8]) -> bool {
        let ip = &frame[ETHERNET..];
        let pseudo = sum_of(&ip[12..20], 6 + (ip.len() - 20) as u32);
        sum_of(&ip[..20], 0) == 0xffff && sum_of(&ip[20..], pseudo.into()) == 0xffff
    }

    #[test]
    fn headers_are_enough_to_read_a_frame_that_is_cut_off() {
        let whole = tcp(&[7; 1000], 400, FIN);
        let cut = &whole[..VNET + ETHERNET + 20 + 60];
        assert_eq!(Frame::read(cut), None);
        assert_eq!(Frame::read_headers(cut), Frame::read(&whole));
        assert_eq!(
            Frame::read_headers(cut).map(|frame| frame.segments()),
            Some(3)
        );
    }

    proptest! {
        #[test]
        fn the_segments_of_a_frame_are_sound_and_hold_its_payload(
            length in 1_usize..20_000, size in 200_u16..3000, at in 0_usize..100, count in 1_usize..5,
        ) {
            let payload: Vec<u8> = (0..length).map(|i| (i * 7 % 251) as u8).collect();
            let bytes = tcp(&payload, size, 0x10 | FIN | segment::PUSH | CWR);
            let frame = Frame::read(&bytes).unwrap();
            let segments = frame.segments();
            prop_assert_eq!(segments, length.div_ceil(size.into()).max(1));
            let (from, count) = (at % segments, count.min(segments - at % segments));
            let whole = frame.cut(&bytes, from, count, at % 2 == 0);
            let start = from * usize::from(size);
            let end = (start + count * usize::from(size)).min(length);
            prop_assert_eq!(whole.parts()[1], &payload[start..end]);
            let again = [whole.parts()[0], whole.parts()[1]].concat();
            let again = Frame::read(&again).unwrap();
            prop_assert_eq!(again.segments(), count);
            for index in 0..count {
                prop_assert_eq!(again.segment(index), frame.segment(from + index));
            }
            let one = frame.cut(&bytes, from, 1, true);
            prop_assert!(is_sound(&one.completed()));
            prop_assert!(!is_sound(&one.damaged()[VNET..]));
            let ends = frame.segment(from).1.has(segment::FIN);
            prop_assert_eq!(ends, from + 1 == segments);
            prop_assert_eq!(frame.segment(from).1.has(segment::CWR), from == 0);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = bytes;
            Frame::read(&bytes);
            if bytes.len() > IP {
                bytes[IP - 2..IP].copy_from_slice(&[8, 0]);
                bytes[IP] = 0x45;
                Frame::read(&bytes);
            }
        }
    }

    #[test]
    fn headers_are_read() {
        let frame = Frame::read(&tcp(&[1; 100], 1448, 0xd2)).unwrap();
        assert_eq!(frame.addresses[0], Ipv4Addr::new(10, 64, 0, 1));
        assert_eq!(frame.ports, [5000, 10_000]);
        assert_eq!((frame.ecn, frame.dscp), (Ecn::Ect0, 0));
        let (size, header) = frame.segment(0);
        assert_eq!((size, header.length, header.seq), (152, 100, 1000));
        assert_eq!((header.tsval, header.tsecr, header.ack), (5, 6, 2000));
        assert!(header.has(segment::SYN) && header.has(segment::ECE) && header.has(segment::CWR));
    }
}
