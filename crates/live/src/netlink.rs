//! Netlink: sets up the links, routes and queues of a network namespace, and reads their counters.

mod attributes;
mod htb;
mod links;
mod netem;
mod queue_statistics;
mod routing;
mod tc;

use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

use crate::Namespace;

pub use htb::HtbClass;
pub use links::{LinkCounters, VethEnd};
pub use netem::{MOST_JITTER, Netem};
pub use queue_statistics::{Statistics, statistics_below};
pub use tc::{Fifo, Handle, Htb, Qdisc, QdiscOptions, TrafficCounters};

/// Requests that are sent before their answers are read. Their answers must fit into the socket's receive buffer.
const BATCH: usize = 64;
/// Flags of a request that makes something, which must not exist.
const NEW: u16 = NLM_F_CREATE | NLM_F_EXCL;
/// Flags of a request that makes something, or replaces it if it exists.
const REPLACE: u16 = NLM_F_CREATE | NLM_F_REPLACE;

/// A connection to the kernel's network configuration. It belongs to one network namespace for good.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Connects to the namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel has no netlink, or there are too many open files.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self {
            socket,
            sequence: 0,
        })
    }

    /// Connects to a namespace.
    ///
    /// # Errors
    /// The thread cannot enter it, or as for [`open`](Self::open).
    pub fn open_in(namespace: &Namespace) -> io::Result<Self> {
        namespace.within(Self::open)
    }

    /// Sends a request and waits until the kernel has carried it out.
    fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.requests(std::iter::once(message), flags)
    }

    /// Sends requests and waits until the kernel has carried them out. Returns the first error.
    fn requests(
        &mut self,
        messages: impl IntoIterator<Item = RouteNetlinkMessage>,
        flags: u16,
    ) -> io::Result<()> {
        let mut messages = messages.into_iter().peekable();
        while messages.peek().is_some() {
            let mut bytes = Vec::new();
            let mut count = 0;
            for message in messages.by_ref().take(BATCH) {
                self.append(&mut bytes, message, flags | NLM_F_ACK);
                count += 1;
            }
            self.socket.send(&bytes, 0)?;
            let mut result = Ok(());
            while count > 0 {
                self.receive(|payload| {
                    if let NetlinkPayload::Error(error) = payload {
                        count -= 1;
                        if error.code.is_some() && result.is_ok() {
                            result = Err(error.to_io());
                        }
                    }
                })?;
            }
            result?;
        }
        Ok(())
    }

    /// Asks for one object, or with `NLM_F_DUMP` for all, and returns them.
    fn ask(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> io::Result<Vec<RouteNetlinkMessage>> {
        let mut bytes = Vec::new();
        // A dump ends with a separate message.
        let is_dump = flags & NLM_F_DUMP == NLM_F_DUMP;
        let acknowledge = if is_dump { 0 } else { NLM_F_ACK };
        self.append(&mut bytes, message, flags | acknowledge);
        self.socket.send(&bytes, 0)?;
        let mut found = Vec::new();
        let mut result = Ok(());
        let mut is_done = false;
        while !is_done {
            self.receive(|payload| match payload {
                NetlinkPayload::InnerMessage(message) => found.push(message),
                NetlinkPayload::Error(error) => {
                    is_done = true;
                    if error.code.is_some() {
                        result = Err(error.to_io());
                    }
                }
                NetlinkPayload::Done(_) => is_done = true,
                _ => {}
            })?;
        }
        result.map(|()| found)
    }

    fn append(&mut self, bytes: &mut Vec<u8>, message: RouteNetlinkMessage, flags: u16) {
        self.sequence = self.sequence.wrapping_add(1);
        let mut message = NetlinkMessage::from(message);
        message.header.flags = NLM_F_REQUEST | flags;
        message.header.sequence_number = self.sequence;
        message.finalize();
        let start = bytes.len();
        bytes.resize(start + message.buffer_len().next_multiple_of(4), 0);
        message.serialize(&mut bytes[start..]);
    }

    /// Reads the answers of one datagram.
    fn receive(&self, mut each: impl FnMut(NetlinkPayload<RouteNetlinkMessage>)) -> io::Result<()> {
        let (bytes, _) = self.socket.recv_from_full()?;
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            let length = (message.header.length as usize).next_multiple_of(4);
            each(message.payload);
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(())
    }
}

/// Adds what was tried to an error.
pub(crate) fn doing<T>(what: impl FnOnce() -> String, result: io::Result<T>) -> io::Result<T> {
    result.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", what())))
}
