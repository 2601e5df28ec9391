//! Writes a pcap file of a run, as tcpdump does with a short snapshot length: full headers without payload.

use std::fmt;
use std::io::Write;
use std::time::Duration;

use bloatlab_outcome::{Handshake, Outcome, PacketEvent, Protocol, Step};
use bloatlab_tcp::Segment;
use bloatlab_tcp::segment::{ACK, AE, COUNTERS_SIZE, CWR, ECE, FIN, HEADER, PUSH, SYN, SYN_HEADER};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, TsResolution};

/// Errors of a capture.
#[derive(Debug)]
pub enum CaptureError {
    /// The run did not record its packets.
    NotRecorded,
    /// No link of this name.
    NoSuchLink(String),
    /// The file could not be written.
    Write(String),
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRecorded => f.write_str("the run did not record its packets"),
            Self::NoSuchLink(name) => write!(f, "no link named `{name}`"),
            Self::Write(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for CaptureError {}

/// Writes the packets at one point: the transmitter of a named link, the UE of a named bearer of a cell, or without a name the senders of data.
///
/// # Errors
/// If packets were not recorded, the link is unknown, or the file cannot be written.
pub fn write_pcap(
    outcome: &Outcome,
    link: Option<&str>,
    file: impl Write,
) -> Result<(), CaptureError> {
    if outcome.packets.is_empty() {
        return Err(CaptureError::NotRecorded);
    }
    let point = match link {
        None => Point::Senders,
        Some(name) => {
            let known = outcome.links.iter().find(|l| l.name == name);
            let place = place(outcome, name).filter(|_| known.is_some());
            let place = place.ok_or_else(|| CaptureError::NoSuchLink(name.to_owned()))?;
            match known.and_then(|l| l.bearer) {
                None => Point::Transmitter(place),
                Some((ue, _)) => Point::Ue(downward(outcome, ue)),
            }
        }
    };
    let passes = |event: &PacketEvent| match &point {
        Point::Transmitter(number) => event.step == Step::Dequeue && event.place == *number,
        // At end 0, where data packets leave and packets of the reverse path arrive.
        Point::Senders => match event.direction {
            0 => event.step == Step::Send,
            _ => event.step == Step::Receive,
        },
        Point::Ue(down) => match down[event.flow as usize] {
            None => false,
            Some(down) if down == event.direction => event.step == Step::Receive,
            Some(_) => event.step == Step::Send,
        },
    };
    let header = PcapHeader {
        datalink: DataLink::RAW,
        ts_resolution: TsResolution::NanoSecond,
        ..PcapHeader::default()
    };
    let write = |e: pcap_file::PcapError| CaptureError::Write(e.to_string());
    let mut writer = PcapWriter::with_header(file, header).map_err(write)?;
    let mut identification = 0_u16;
    for event in outcome.packets.iter().filter(|e| passes(e)) {
        identification = identification.wrapping_add(1);
        let handshake = outcome.handshakes[event.flow as usize];
        let bytes = headers(event, identification, handshake);
        let packet = PcapPacket::new(Duration::from_nanos(event.at), event.size, &bytes);
        writer.write_packet(&packet).map_err(write)?;
    }
    Ok(())
}

/// Where packets are seen.
enum Point {
    Senders,
    /// The transmitter of the link with this number.
    Transmitter(u32),
    /// A UE. For each flow, the direction that is the downlink of this UE.
    Ue(Vec<Option<u8>>),
}

/// The number of a box in the log.
fn place(outcome: &Outcome, name: &str) -> Option<u32> {
    let at = outcome.counts.iter().position(|(n, _)| n == name)?;
    Some(at as u32)
}

/// For each flow, the direction that is the downlink of this UE. None for flows of other UEs.
fn downward(outcome: &Outcome, ue: u32) -> Vec<Option<u8>> {
    let mut down = vec![None; outcome.flow_names.len()];
    let bearers = outcome.links.iter().filter_map(|link| {
        let (_, is_up) = link.bearer.filter(|(of, _)| *of == ue)?;
        Some((place(outcome, &link.name)?, u8::from(is_up)))
    });
    let bearers: Vec<_> = bearers.collect();
    for event in &outcome.packets {
        if let Some((_, up)) = bearers.iter().find(|(place, _)| *place == event.place) {
            down[event.flow as usize] = Some(event.direction ^ up);
        }
    }
    down
}

/// 10.1.x.y sends data, 10.2.x.y receives it.
fn addresses(packet: &PacketEvent) -> ([u8; 4], [u8; 4]) {
    let [_, a, b, c] = (packet.flow).to_be_bytes();
    let (data, other) = ([10, 1 + 2 * a, b, c], [10, 2 + 2 * a, b, c]);
    if packet.direction == 0 {
        (data, other)
    } else {
        (other, data)
    }
}

fn headers(packet: &PacketEvent, identification: u16, handshake: Handshake) -> Vec<u8> {
    let (source, destination) = addresses(packet);
    let (protocol, body) = match packet.protocol {
        Protocol::Tcp => (6, tcp(packet, handshake)),
        Protocol::Udp => (17, udp(packet)),
        Protocol::Echo => (1, echo(packet)),
    };
    // RFC 2474 section 3 and RFC 3168 section 5: six bits of code point, then two bits of ECN.
    let mut ip = vec![0x45, packet.dscp << 2 | packet.ecn as u8];
    ip.extend((packet.size as u16).to_be_bytes());
    ip.extend(identification.to_be_bytes());
    ip.extend([0x40, 0, 64, protocol, 0, 0]);
    ip.extend(source);
    ip.extend(destination);
    let sum = checksum(0, &ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut body = body;
    let at = match packet.protocol {
        Protocol::Tcp => 16,
        Protocol::Udp => 6,
        Protocol::Echo => 2,
    };
    // RFC 9293 section 3.1: the sum includes the pseudo header. The payload is zeros and adds nothing.
    let pseudo = if protocol == 1 {
        0
    } else {
        let length = packet.size - 20;
        let words = [source, destination].concat();
        words
            .chunks(2)
            .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])))
            .sum::<u32>()
            + u32::from(protocol)
            + length
    };
    let sum = checksum(pseudo, &body);
    body[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    ip.extend(body);
    ip
}

/// The Internet checksum of RFC 1071.
fn checksum(start: u32, bytes: &[u8]) -> u16 {
    let mut sum = start;
    for pair in bytes.chunks(2) {
        sum += u32::from(u16::from_be_bytes([
            pair[0],
            pair.get(1).copied().unwrap_or(0),
        ]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Server port 5001. Client ports start at 40000, with a new port for every connection of a flow.
fn ports(packet: &PacketEvent) -> [u8; 4] {
    let (client, server) = (40_000 + u16::from(packet.connection), 5001_u16);
    let (from, to) = if packet.direction == 0 {
        (client, server)
    } else {
        (server, client)
    };
    let [a, b] = from.to_be_bytes();
    let [c, d] = to.to_be_bytes();
    [a, b, c, d]
}

fn tcp(packet: &PacketEvent, handshake: Handshake) -> Vec<u8> {
    let segment: &Segment = &packet.segment;
    let syn = segment.has(SYN);
    let options = options(segment, handshake);
    let mut bytes = ports(packet).to_vec();
    bytes.extend(segment.seq.to_be_bytes());
    bytes.extend(segment.ack.to_be_bytes());
    bytes.extend(flags(segment, options.len()));
    let window = if syn {
        segment.window
    } else {
        segment.window >> handshake.window_scale
    };
    bytes.extend((window.min(65_535) as u16).to_be_bytes());
    bytes.extend([0, 0, 0, 0]);
    bytes.extend(options);
    bytes
}

/// The length of the header and the flags.
fn flags(segment: &Segment, options: usize) -> [u8; 2] {
    // RFC 9768 section 3.2: AE is the last of the bits that follow the length.
    let length = ((20 + options) as u8 / 4) << 4 | u8::from(segment.has(AE));
    let push = match segment.length {
        0 => 0,
        _ => segment.flags & PUSH,
    };
    // RFC 3168 section 6.1: ECE and CWR are the first two flags. In our segments they are one bit lower.
    let echo = (segment.flags & (ECE | CWR)) << 1;
    [length, segment.flags & (FIN | SYN | ACK) | echo | push]
}

fn options(segment: &Segment, handshake: Handshake) -> Vec<u8> {
    let timestamps = |bytes: &mut Vec<u8>| {
        bytes.extend([8, 10]);
        bytes.extend(segment.tsval.to_be_bytes());
        bytes.extend(segment.tsecr.to_be_bytes());
    };
    let mut bytes = Vec::with_capacity(40);
    if segment.has(SYN) {
        // MSS, SACK permitted, timestamps, NOP, window scale: 20 bytes.
        // RFC 6691 section 2: the MSS option does not include the options of segments.
        let [high, low] = ((handshake.mss + HEADER - 40).min(65_535) as u16).to_be_bytes();
        bytes.extend([2, 4, high, low, 4, 2]);
        timestamps(&mut bytes);
        bytes.extend([1, 3, 3, handshake.window_scale as u8]);
        debug_assert_eq!(bytes.len() as u32 + 40, SYN_HEADER);
        return bytes;
    }
    bytes.extend([1, 1]);
    timestamps(&mut bytes);
    if segment.blocks > 0 {
        bytes.extend([1, 1, 5, 2 + 8 * segment.blocks]);
        for (start, end) in segment.sack_blocks() {
            bytes.extend(start.to_be_bytes());
            bytes.extend(end.to_be_bytes());
        }
    }
    if let Some(counters) = segment.counters() {
        // RFC 9768 section 3.2.3: kind, length, and two of the three counters of 24 bits.
        bytes.extend([if counters.l4s { 174 } else { 172 }, COUNTERS_SIZE as u8]);
        for counter in [counters.unmarked, counters.marked] {
            bytes.extend(&counter.to_be_bytes()[1..]);
        }
    }
    bytes
}

fn udp(packet: &PacketEvent) -> Vec<u8> {
    let mut bytes = ports(packet).to_vec();
    bytes.extend(((packet.size - 20) as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes
}

fn echo(packet: &PacketEvent) -> Vec<u8> {
    let kind = if packet.direction == 0 { 8 } else { 0 };
    let [a, b] = (packet.flow as u16).to_be_bytes();
    let [c, d] = (packet.segment.seq as u16).to_be_bytes();
    vec![kind, 0, 0, 0, a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_scenario::Scenario;
    use bloatlab_sim::{Control, NoPlugins, run};
    use bloatlab_tcp::segment::COUNTERS;
    use pcap_file::pcap::PcapReader;

    /// IP headers of a capture of one second, at the link named or at the senders.
    fn captured(dumbbell: &str, flows: &str, link: Option<&str>) -> Vec<[u8; 20]> {
        let document = format!(
            r#"{{"duration": "1s", "dumbbell": {{"rate": "5Mbit/s", "rtt": "20ms", {dumbbell}}}, "flows": [{flows}]}}"#
        );
        let plan = Scenario::from_json(&document).unwrap().compile().unwrap();
        let outcome = run(plan.into(), 1, true, &NoPlugins, &Control::default()).unwrap();
        let mut file = Vec::new();
        write_pcap(&outcome, link, &mut file).unwrap();
        let mut reader = PcapReader::new(&file[..]).unwrap();
        std::iter::from_fn(|| {
            let packet = reader.next_packet()?.unwrap();
            Some(packet.data[..20].try_into().unwrap())
        })
        .collect()
    }

    /// The second byte of the IP headers of packets that carry this protocol and leave a host of data (1) or of answers (2), each value once.
    fn type_of_service(headers: &[[u8; 20]], protocol: u8, host: u8) -> Vec<u8> {
        let of = headers.iter().filter(|h| h[9] == protocol && h[13] == host);
        let mut values: Vec<u8> = of.map(|h| h[1]).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    #[test]
    fn code_point_and_ecn_share_a_byte_in_both_directions() {
        let flows = r#"{"dscp": "AF41", "tcp": {"ecn": true}}, {"dscp": "EF", "traffic": {"kind": "cbr", "rate": "64kbit/s", "packet": "160B"}},
            {"dscp": 63, "traffic": "ping"}"#;
        let queue = r#""queue": {"kind": "codel", "ecn": true, "target": "1ms"}"#;
        let headers = captured(queue, flows, None);
        // At the senders: SYN without ECN, data with ECT(0); ACKs are not ECN-capable.
        assert_eq!(type_of_service(&headers, 6, 1), [34 << 2, 34 << 2 | 0b10]);
        assert_eq!(type_of_service(&headers, 6, 2), [34 << 2]);
        assert_eq!(type_of_service(&headers, 17, 1), [46 << 2]);
        assert_eq!(type_of_service(&headers, 1, 1), [63 << 2]);
        assert_eq!(type_of_service(&headers, 1, 2), [63 << 2]);
        // The queue marks data: CE beside the code point.
        let headers = captured(queue, flows, Some("bottleneck"));
        assert!(type_of_service(&headers, 6, 1).contains(&(34 << 2 | 0b11)));
        // The checksum of a header includes the byte.
        assert!(headers.iter().all(|header| checksum(0, header) == 0));
    }

    #[test]
    fn a_washed_code_point_is_cleared_behind_the_queue() {
        for (wash, behind) in [(false, 46 << 2), (true, 0)] {
            let queue = format!(r#""queue": {{"kind": "cake", "wash": {wash}}}"#);
            let headers = captured(&queue, r#"{"dscp": "EF"}"#, Some("bottleneck"));
            assert_eq!(type_of_service(&headers, 6, 1), [behind]);
            // The ACK has the code point of the flow, not that of the data.
            let headers = captured(&queue, r#"{"dscp": "EF"}"#, None);
            assert_eq!(type_of_service(&headers, 6, 1), [46 << 2]);
            assert_eq!(type_of_service(&headers, 6, 2), [46 << 2]);
        }
    }

    #[test]
    fn checksum_matches_rfc_1071() {
        // The example of RFC 1071 section 3: the sum is ddf2.
        assert_eq!(
            checksum(0, &[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]),
            !0xddf2
        );
    }

    #[test]
    fn accecn_is_written_as_on_the_wire() {
        // RFC 9768 sections 3.2 and 3.2.3: AE beside the header's length, CWR and ECE among the flags; kind 174 begins with ECT(1)'s bytes.
        let mut segment = Segment {
            flags: 0x10 | COUNTERS,
            sack: [(0, 0), (0, 0), (1 << 24 | 0x01_0203, 0x04_0506)],
            ..Segment::default()
        };
        segment.set_ace(0b101);
        let options = options(&segment, Handshake::default());
        assert_eq!(flags(&segment, options.len()), [10 << 4 | 1, 0x10 | 0x40]);
        segment.set_ace(0b010);
        assert_eq!(flags(&segment, options.len()), [10 << 4, 0x10 | 0x80]);
        assert_eq!(options[12..], [174, 8, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn options_fill_the_length_of_the_header() {
        for (blocks, counters) in [(0, 0), (1, 0), (2, 0), (3, 0), (0, 8), (1, 8), (2, 8)] {
            let segment = Segment {
                blocks,
                flags: 0x10 | counters,
                ..Segment::default()
            };
            assert_eq!(
                options(&segment, Handshake::default()).len() as u32 + 40,
                segment.wire_size()
            );
        }
    }
}
