//! What the flows share: the clock, the reports, and the way to open and watch sockets.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsFd;
use std::sync::Arc;

use bloatlab_sim::Report;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::sendfile::sendfile64;
use nix::sys::socket::{setsockopt, sockopt::IpBindAddressNoPort};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::End;
use crate::{Clock, Namespace};

/// What senders send. It fits into a core's cache, so copying it is cheap.
pub(super) static ZEROS: [u8; 256 * 1024] = [0; 256 * 1024];

/// Most bytes that one call sends without copying them.
const MOST_ZEROS: usize = 16 * 1024 * 1024;

/// Most bytes that one call reads from a connection. The kernel discards them, so no memory is touched.
const LARGEST_READ: usize = 4 * 1024 * 1024;

/// What an event of the poll belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// The mailbox has commands.
    Commands,
    /// It is time to observe the connections.
    Observation,
    /// A socket of the flow at this end.
    End(usize, usize),
    /// The flow's listening socket at this end.
    Listener(usize, usize),
}

impl Token {
    const COMMANDS: u64 = u64::MAX;
    const OBSERVATION: u64 = u64::MAX - 1;

    fn encode(self) -> u64 {
        match self {
            Self::Commands => Self::COMMANDS,
            Self::Observation => Self::OBSERVATION,
            Self::End(flow, end) => (flow * 4 + end) as u64,
            Self::Listener(flow, end) => (flow * 4 + 2 + end) as u64,
        }
    }

    /// The token of an event.
    pub fn of(event: &EpollEvent) -> Self {
        match event.data() {
            Self::COMMANDS => Self::Commands,
            Self::OBSERVATION => Self::Observation,
            data => {
                let (flow, end) = ((data / 4) as usize, (data % 2) as usize);
                if data % 4 < 2 {
                    Self::End(flow, end)
                } else {
                    Self::Listener(flow, end)
                }
            }
        }
    }
}

/// What the flows share.
pub(super) struct Reactor {
    /// The clock of the run.
    pub clock: Clock,
    /// Reports that have not been handed over.
    pub reports: Vec<Report>,
    /// Where the kernel would write what is read from connections, if it were not told to discard it. Always empty.
    pub discarded: Vec<u8>,
    epoll: Epoll,
    /// Zeros that take no memory.
    zeros: File,
    /// The namespace that the thread is in, if it is one of a host.
    here: Option<Arc<Namespace>>,
}

impl Reactor {
    pub fn new(clock: Clock) -> io::Result<Self> {
        let zeros = File::from(memfd_create("zeros", MFdFlags::MFD_CLOEXEC)?);
        zeros.set_len(MOST_ZEROS as u64)?;
        Ok(Self {
            zeros,
            clock,
            reports: Vec::new(),
            discarded: Vec::with_capacity(LARGEST_READ),
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            here: None,
        })
    }

    /// Waits for events and returns those that have come.
    pub fn wait<'a>(&self, events: &'a mut [EpollEvent]) -> io::Result<&'a [EpollEvent]> {
        match self.epoll.wait(events, EpollTimeout::NONE) {
            Ok(count) => Ok(&events[..count]),
            Err(nix::Error::EINTR) => Ok(&[]),
            Err(error) => Err(error.into()),
        }
    }

    /// Moves the thread into the namespace of an end. What it opens there, and the programs it starts, stay there.
    pub fn enter(&mut self, end: &End) -> io::Result<()> {
        if !self
            .here
            .as_ref()
            .is_some_and(|here| Arc::ptr_eq(here, &end.namespace))
        {
            end.namespace.join()?;
            self.here = Some(Arc::clone(&end.namespace));
        }
        Ok(())
    }

    /// Opens a socket at an end that does not block, bound to the end's address. For port 0 the kernel chooses one when the socket is connected.
    pub fn open(
        &mut self,
        end: &End,
        kind: (Type, Protocol),
        port: u16,
        dscp: u8,
    ) -> io::Result<Socket> {
        self.enter(end)?;
        let socket = Socket::new(Domain::IPV4, kind.0.nonblocking(), Some(kind.1))?;
        socket.set_tos_v4(u32::from(dscp) << 2)?;
        if port == 0 {
            // A port is then chosen for the pair of addresses, so there are enough for every flow.
            setsockopt(&socket, IpBindAddressNoPort, &true)?;
        }
        socket.bind(&address(end.address, port))?;
        Ok(socket)
    }

    /// Sends as many zeros as the socket takes, at most this many, without copying them. Returns how many.
    pub fn send_zeros(&self, socket: &Socket, most: usize) -> io::Result<usize> {
        let sent = sendfile64(socket, &self.zeros, Some(&mut 0), most.min(MOST_ZEROS))?;
        Ok(sent)
    }

    /// Watches a descriptor.
    pub fn watch(&self, what: impl AsFd, token: Token, interest: EpollFlags) -> io::Result<()> {
        Ok(self
            .epoll
            .add(what, EpollEvent::new(interest, token.encode()))?)
    }

    /// Changes what a descriptor is watched for.
    pub fn watch_for(&self, what: impl AsFd, token: Token, interest: EpollFlags) -> io::Result<()> {
        let mut event = EpollEvent::new(interest, token.encode());
        Ok(self.epoll.modify(what, &mut event)?)
    }

    /// No longer watches a descriptor.
    pub fn unwatch(&self, what: impl AsFd) -> io::Result<()> {
        Ok(self.epoll.delete(what)?)
    }
}

/// An address of a socket.
pub(super) fn address(host: Ipv4Addr, port: u16) -> SockAddr {
    SocketAddrV4::new(host, port).into()
}
