//! ICMP echo requests of end 0, which the kernel of end 1 answers.

use std::collections::HashMap;
use std::io::{self, IoSlice};

use bloatlab_sim::Report;
use bloatlab_units::Nanos;
use nix::sys::epoll::EpollFlags;
use socket2::{Protocol, SockFilter, Socket, Type};

use super::End;
use super::failure::failed_to;
use super::reactor::{Reactor, Token, ZEROS, address};
use super::stamp;
use super::udp::is_loss;

const REQUEST: u8 = 8;
const REPLY: u8 = 0;

/// Bytes of the header of IPv4 without options.
const IP_HEADER: usize = 20;
/// Bytes of the header of an echo request or reply.
const ICMP_HEADER: usize = 8;
/// Most bytes of an IP packet.
const LARGEST: usize = 65_535;

/// A flow of echo requests.
pub(super) struct EchoFlow {
    index: usize,
    identifier: u16,
    socket: Socket,
    /// When the requests that have no reply were sent, by their number on the wire.
    departures: HashMap<u16, Nanos>,
}

impl EchoFlow {
    pub fn new(index: usize, ends: &[End; 2], dscp: u8, reactor: &mut Reactor) -> io::Result<Self> {
        let identifier = u16::try_from(index + 1).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "too many flows to identify")
        })?;
        let socket = reactor
            .open(&ends[0], (Type::RAW, Protocol::ICMPV4), 0, dscp)
            .map_err(failed_to("open a raw socket"))?;
        socket.attach_filter(&replies_to(identifier))?;
        stamp::request(&socket)?;
        socket.connect(&address(ends[1].address, 0))?;
        reactor.watch(&socket, Token::End(index, 0), EpollFlags::EPOLLIN)?;
        Ok(Self {
            index,
            identifier,
            socket,
            departures: HashMap::new(),
        })
    }

    /// Sends the request with this number as an IP packet of this size. Its number on the wire has 16 bits.
    pub fn send(&mut self, size: u32, seq: u32, reactor: &Reactor) -> io::Result<()> {
        let size = size as usize;
        if !(IP_HEADER + ICMP_HEADER..=LARGEST).contains(&size) {
            let message = format!("an echo request has 28 to {LARGEST} bytes, not {size}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let seq = seq as u16;
        let mut header = [0; ICMP_HEADER];
        header[0] = REQUEST;
        header[4..6].copy_from_slice(&self.identifier.to_be_bytes());
        header[6..8].copy_from_slice(&seq.to_be_bytes());
        let checksum = checksum(&header);
        header[2..4].copy_from_slice(&checksum.to_be_bytes());
        self.departures.insert(seq, reactor.clock.now());
        let packet = [&header, &ZEROS[IP_HEADER + ICMP_HEADER..size]].map(IoSlice::new);
        match self.socket.send_vectored(&packet) {
            Err(error) if !is_loss(&error) => Err(failed_to("send an echo request")(error)),
            _ => Ok(()),
        }
    }

    /// Receives the replies that have arrived.
    pub fn receive(&mut self, reactor: &mut Reactor) -> io::Result<()> {
        let mut packet = [0; IP_HEADER + ICMP_HEADER];
        for _ in 0..stamp::MOST_AT_ONCE {
            let arrival = match stamp::receive(&self.socket, &mut packet, reactor.clock) {
                Ok(Some(arrival)) => arrival,
                Ok(None) => break,
                Err(error) if is_loss(&error) => continue,
                Err(error) => return Err(failed_to("receive an echo reply")(error)),
            };
            let seq = u16::from_be_bytes([packet[IP_HEADER + 6], packet[IP_HEADER + 7]]);
            // Of a reply that the network duplicated, the first counts.
            if let Some(departure) = self.departures.remove(&seq) {
                reactor.reports.push(Report::Echo {
                    flow: self.index,
                    departure,
                    at: arrival.at.max(departure),
                });
            }
        }
        Ok(())
    }
}

/// A filter that accepts echo replies with this identifier, in IP packets without options. The kernel gives every ICMP packet to every raw socket.
fn replies_to(identifier: u16) -> [SockFilter; 8] {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_ABS) as u16;
    const JUMP: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let load = |size: u32, offset: usize| SockFilter::new(LOAD | size as u16, 0, 0, offset as u32);
    // Skips this number of instructions if the loaded value differs.
    let expect = |value: u32, skip: u8| SockFilter::new(JUMP, 0, skip, value);
    [
        load(libc::BPF_B, 0),
        expect(0x45, 5),
        load(libc::BPF_B, IP_HEADER),
        expect(REPLY.into(), 3),
        load(libc::BPF_H, IP_HEADER + 4),
        expect(identifier.into(), 1),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
        SockFilter::new(RETURN, 0, 0, 0),
    ]
}

/// The Internet checksum of a header of an even number of bytes, whose own checksum is 0.
fn checksum(header: &[u8]) -> u16 {
    let words = header
        .chunks_exact(2)
        .map(|word| u16::from_be_bytes([word[0], word[1]]));
    let sum: u32 = words.map(u32::from).sum();
    // Adding a carry can produce another one.
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}
