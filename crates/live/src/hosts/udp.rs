//! Datagrams from end 0 to end 1. The payload of each begins with its departure.

use std::io::{self, IoSlice};

use bloatlab_sim::Report;
use bloatlab_units::Nanos;
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{setsockopt, sockopt::RcvBufForce};
use socket2::{Protocol, Socket, Type};

use super::End;
use super::failure::failed_to;
use super::reactor::{Reactor, Token, ZEROS, address};
use super::stamp;

/// Bytes of the departure in the payload.
const STAMP: usize = size_of::<Nanos>();

/// Largest payload of a datagram over IPv4.
const LARGEST: usize = 65_507;

/// Memory for datagrams that have arrived and were not read, bytes.
const BUFFER: usize = 4 << 20;

/// A flow of datagrams.
pub(super) struct UdpFlow {
    index: usize,
    sender: Socket,
    receiver: Socket,
}

impl UdpFlow {
    pub fn new(
        index: usize,
        ends: &[End; 2],
        port: u16,
        dscp: u8,
        reactor: &mut Reactor,
    ) -> io::Result<Self> {
        let kind = (Type::DGRAM, Protocol::UDP);
        let at = address(ends[1].address, port);
        let receiver = reactor
            .open(&ends[1], kind, port, dscp)
            .map_err(failed_to(format_args!("open {}:{port}", ends[1].address)))?;
        // Without the privilege, the system's limit holds.
        if setsockopt(&receiver, RcvBufForce, &BUFFER).is_err() {
            receiver.set_recv_buffer_size(BUFFER)?;
        }
        stamp::request(&receiver)?;
        reactor.watch(&receiver, Token::End(index, 1), EpollFlags::EPOLLIN)?;
        let sender = reactor.open(&ends[0], kind, 0, dscp)?;
        sender.connect(&at)?;
        Ok(Self {
            index,
            sender,
            receiver,
        })
    }

    /// Sends a datagram with this number of bytes of payload. If the host has no memory for it, it is lost like one that the network drops.
    pub fn send(&self, size: u32, reactor: &Reactor) -> io::Result<()> {
        let size = size as usize;
        if !(STAMP..=LARGEST).contains(&size) {
            let message =
                format!("a datagram has {STAMP} to {LARGEST} bytes of payload, not {size}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let departure = reactor.clock.now().to_le_bytes();
        let payload = [&departure, &ZEROS[STAMP..size]].map(IoSlice::new);
        match self.sender.send_vectored(&payload) {
            Err(error) if !is_loss(&error) => Err(failed_to("send a datagram")(error)),
            _ => Ok(()),
        }
    }

    /// Receives what has arrived.
    pub fn receive(&self, reactor: &mut Reactor) -> io::Result<()> {
        let mut departure = [0; STAMP];
        for _ in 0..stamp::MOST_AT_ONCE {
            let Some(arrival) = stamp::receive(&self.receiver, &mut departure, reactor.clock)?
            else {
                break;
            };
            let departure = Nanos::from_le_bytes(departure);
            reactor.reports.push(Report::Datagram {
                flow: self.index,
                departure,
                at: arrival.at.max(departure),
                size: arrival.size as u32,
            });
        }
        Ok(())
    }
}

/// Whether an error of a call that sends is a loss: the host has no memory left, or it reports that an earlier datagram was refused.
pub(super) fn is_loss(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EAGAIN | libc::ENOBUFS | libc::ECONNREFUSED | libc::EHOSTUNREACH)
    )
}
