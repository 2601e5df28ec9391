//! Asks for the `TCP_INFO` of many sockets by few system calls: requests to the socket monitor of each network namespace (`sock_diag(7)`).

use std::io::{self, IoSliceMut};
use std::net::SocketAddrV4;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use bloatlab_units::Nanos;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_SOCK_DIAG};
use nix::sys::socket::{MsgFlags, MultiHeaders, recvmmsg};

use super::End;
use super::flow::Flow;
use super::observe::TcpInfo;
use super::reactor::Reactor;
use crate::Namespace;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
/// The attribute with `struct tcp_info`.
const INET_DIAG_INFO: u16 = 2;
/// Bytes of a request: `struct nlmsghdr` and `struct inet_diag_req_v2`.
const REQUEST: usize = 16 + 56;
/// Bytes before the attributes of an answer: `struct nlmsghdr` and `struct inet_diag_msg`.
const ANSWER: usize = 16 + 72;
/// Where an answer has the state of its socket, and the state of one that listens.
const STATE: usize = 17;
const LISTEN: u8 = 10;
/// Bytes of an answer, at most.
const LONGEST: usize = 2048;
/// Requests that are sent at once. Their answers fit into the socket's receive buffer.
const BATCH: usize = 64;
/// With fewer sockets, asking each of them takes no more calls.
const FEWEST: usize = 4;

/// The socket monitors of namespaces.
#[derive(Default)]
pub(super) struct Survey {
    monitors: Vec<Monitor>,
}

struct Monitor {
    namespace: Arc<Namespace>,
    socket: Socket,
    /// The flows of this round, and the requests for their sockets.
    flows: Vec<usize>,
    requests: Vec<u8>,
    buffers: Vec<[u8; LONGEST]>,
}

impl Survey {
    /// Observes all flows as they are at this instant.
    pub fn observe(
        &mut self,
        at: Nanos,
        flows: &mut [Flow],
        reactor: &mut Reactor,
    ) -> io::Result<()> {
        for (index, flow) in flows.iter_mut().enumerate() {
            match flow.asked() {
                Some(asked) => self
                    .monitor(asked.end, reactor)?
                    .add(index, asked.addresses),
                None => flow.observe(at, None, reactor)?,
            }
        }
        for monitor in &mut self.monitors {
            for (index, info) in monitor.ask()? {
                flows[index].observe(at, info, reactor)?;
            }
        }
        Ok(())
    }

    fn monitor(&mut self, end: &End, reactor: &mut Reactor) -> io::Result<&mut Monitor> {
        let mut monitors = self.monitors.iter();
        let known = monitors.position(|known| Arc::ptr_eq(&known.namespace, &end.namespace));
        let index = known.unwrap_or(self.monitors.len());
        if known.is_none() {
            reactor.enter(end)?;
            self.monitors
                .push(Monitor::open(Arc::clone(&end.namespace))?);
        }
        Ok(&mut self.monitors[index])
    }
}

impl Monitor {
    /// The monitor of the calling thread's namespace.
    fn open(namespace: Arc<Namespace>) -> io::Result<Self> {
        let socket = Socket::new(NETLINK_SOCK_DIAG)?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self {
            namespace,
            socket,
            flows: Vec::new(),
            requests: Vec::new(),
            buffers: vec![[0; LONGEST]; BATCH],
        })
    }

    fn add(&mut self, flow: usize, addresses: [SocketAddrV4; 2]) {
        self.requests
            .extend(request(self.flows.len() as u32, addresses));
        self.flows.push(flow);
    }

    /// The flows of this round, each with what the kernel says of its socket. Flows for which that takes as many calls, and those whose socket has gone
    /// or has ended its connection, have no answer.
    fn ask(&mut self) -> io::Result<Vec<(usize, Option<TcpInfo>)>> {
        let flows = self.flows.drain(..);
        let mut answers: Vec<(usize, Option<TcpInfo>)> = flows.map(|flow| (flow, None)).collect();
        if answers.len() >= FEWEST {
            for requests in self.requests.chunks(BATCH * REQUEST) {
                self.socket.send(requests, 0)?;
                let count = requests.len() / REQUEST;
                let mut headers = MultiHeaders::<()>::preallocate(count, None);
                let buffers = self.buffers[..count].iter_mut();
                let mut slices: Vec<[IoSliceMut<'_>; 1]> =
                    buffers.map(|buffer| [IoSliceMut::new(buffer)]).collect();
                // The kernel has answered before the call above returned.
                let received = recvmmsg(
                    self.socket.as_raw_fd(),
                    &mut headers,
                    slices.iter_mut(),
                    MsgFlags::MSG_DONTWAIT,
                    None,
                )?;
                for message in received {
                    let bytes = message.iovs().next().unwrap_or_default();
                    if let Some((number, info)) = answer(bytes)
                        && let Some(known) = answers.get_mut(number)
                    {
                        known.1 = Some(info);
                    }
                }
            }
        }
        self.requests.clear();
        Ok(answers)
    }
}

/// The request for a socket.
fn request(number: u32, [own, peer]: [SocketAddrV4; 2]) -> [u8; REQUEST] {
    let mut bytes = [0; REQUEST];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, &(REQUEST as u32).to_ne_bytes());
    put(4, &SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    put(6, &NLM_F_REQUEST.to_ne_bytes());
    put(8, &number.to_ne_bytes());
    put(
        16,
        &[
            libc::AF_INET as u8,
            libc::IPPROTO_TCP as u8,
            1 << (INET_DIAG_INFO - 1),
        ],
    );
    // Sockets in any state.
    put(20, &u32::MAX.to_ne_bytes());
    put(24, &own.port().to_be_bytes());
    put(26, &peer.port().to_be_bytes());
    put(28, &own.ip().octets());
    put(44, &peer.ip().octets());
    // Any cookie.
    put(64, &[0xff; 8]);
    bytes
}

/// The number of a request and what its answer says.
fn answer(bytes: &[u8]) -> Option<(usize, TcpInfo)> {
    let kind = u16::from_ne_bytes([*bytes.get(4)?, *bytes.get(5)?]);
    // For a connection that has gone, the kernel finds the socket that listens.
    if kind != SOCK_DIAG_BY_FAMILY || *bytes.get(STATE)? == LISTEN {
        return None;
    }
    let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let number = u32::from_ne_bytes(bytes.get(8..12)?.try_into().ok()?) as usize;
    let mut rest = bytes.get(ANSWER..length)?;
    while let [a, b, c, d, ..] = *rest {
        let length = usize::from(u16::from_ne_bytes([a, b]));
        if u16::from_ne_bytes([c, d]) == INET_DIAG_INFO {
            return Some((number, TcpInfo::read(rest.get(4..length)?)));
        }
        rest = rest.get(length.max(4).next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::observe::{ObservedEnd, observation};
    use std::io::Write;
    use std::net::{SocketAddr, TcpListener, TcpStream};

    fn bytes_sent(info: TcpInfo) -> u64 {
        let end = ObservedEnd {
            info,
            handshake: None,
            has_read_fin: false,
        };
        observation(&[Some(end), None], 0).bytes_sent
    }

    fn v4(address: SocketAddr) -> SocketAddrV4 {
        match address {
            SocketAddr::V4(address) => address,
            SocketAddr::V6(_) => unreachable!("the listener has an address of IPv4"),
        }
    }

    #[test]
    fn every_flow_gets_the_answer_for_its_socket() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let namespace = Arc::new(Namespace::current().unwrap());
        let mut monitor = Monitor::open(namespace).unwrap();
        let mut streams = Vec::new();
        for flow in 0..=BATCH {
            let mut stream = TcpStream::connect(to).unwrap();
            stream.write_all(&vec![0; flow]).unwrap();
            monitor.add(flow, [v4(stream.local_addr().unwrap()), v4(to)]);
            // The other end takes it, so that the queue of the listener stays empty.
            streams.push((stream, listener.accept().unwrap()));
        }
        // There is no such connection, but a socket that listens.
        monitor.add(BATCH + 1, [v4(to), v4(to)]);
        let answers = monitor.ask().unwrap();
        if answers.iter().all(|(_, info)| info.is_none()) {
            eprintln!("skipped: this kernel has no socket monitor of TCP");
            return;
        }
        let sent = answers
            .into_iter()
            .map(|(flow, info)| (flow, info.map(bytes_sent)));
        let expected = (0..=BATCH).map(|flow| (flow, Some(flow as u64)));
        assert!(sent.eq(expected.chain([(BATCH + 1, None)])));
        assert!(monitor.ask().unwrap().is_empty(), "each round begins anew");
    }
}
