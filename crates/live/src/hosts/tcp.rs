//! The connections of a TCP flow, one after the other.

use std::io;
use std::net::SocketAddrV4;

use bloatlab_sim::{Order, Report};
use bloatlab_units::Nanos;
use nix::sys::epoll::EpollFlags;
use socket2::{Protocol, Socket, Type};

use super::failure::{failed_to, is_of_connection, unsuitable};
use super::observe::{Asked, ObservedEnd, Repeats, TcpInfo, observation};
use crate::raw_socket::set_option;

use super::reactor::{Reactor, Token, ZEROS, address};
use super::{Calls, End, Manner};

/// A TCP flow.
pub(super) struct TcpFlow {
    index: usize,
    cca: String,
    calls: Calls,
    ends: [End; 2],
    port: u16,
    dscp: u8,
    listeners: [Option<Socket>; 2],
    connection: Option<Connection>,
    sides: [Side; 2],
}

/// The connection that was opened last and has not ended.
struct Connection {
    number: u64,
    /// The end that opened it.
    opener: usize,
    /// The port of that end, by which the other end recognises it.
    port: u16,
}

/// An end of the connection. It can have bytes to write before there is a connection.
#[derive(Default)]
struct Side {
    socket: Option<Socket>,
    /// What the socket is watched for; `None`: it is not watched.
    interest: Option<EpollFlags>,
    /// What was sent again until the handshake was complete; `None`: it is not complete.
    handshake: Option<Repeats>,
    /// Bytes to write; `u64::MAX` never ends.
    pending: u64,
    /// No write follows the pending bytes.
    is_last: bool,
    /// A FIN follows the bytes that were written.
    is_shut: bool,
    /// The FIN of the other end was read.
    is_at_end: bool,
}

impl TcpFlow {
    pub fn new(
        index: usize,
        (cca, calls): (String, Calls),
        ends: [End; 2],
        port: u16,
        dscp: u8,
    ) -> Self {
        Self {
            index,
            cca,
            calls,
            ends,
            port,
            dscp,
            listeners: [None, None],
            connection: None,
            sides: [Side::default(), Side::default()],
        }
    }

    /// Carries out an order. Bytes that the kernel has taken still leave after `Stop` and `Forget`.
    pub fn carry_out(&mut self, order: Order, reactor: &mut Reactor) -> io::Result<()> {
        match order {
            Order::Open {
                connection, from, ..
            } => self.connect(connection, from, reactor),
            Order::Write { bytes, last, .. } => {
                self.sides[0].pending = self.sides[0].pending.saturating_add(bytes);
                self.sides[0].is_last |= last;
                self.write(0, reactor)
            }
            Order::Request { bytes, .. } => {
                self.sides[1].pending = self.sides[1].pending.saturating_add(bytes);
                self.write(1, reactor)
            }
            Order::Stop { .. } => {
                self.sides[0].pending = 0;
                self.sides[0].is_last = self.connection.is_some();
                self.write(0, reactor)
            }
            Order::Forget { .. } => self.end(reactor),
            order => Err(unsuitable(order)),
        }
    }

    /// Opens a connection from this end. One that has not ended is forgotten.
    fn connect(&mut self, number: u64, from: usize, reactor: &mut Reactor) -> io::Result<()> {
        if self.connection.is_some() {
            self.end(reactor)?;
        }
        let listening = 1 - from;
        if self.listeners[listening].is_none() {
            let listener =
                self.open(listening, self.port, reactor)
                    .map_err(failed_to(format_args!(
                        "open {}:{}",
                        self.ends[listening].address, self.port
                    )))?;
            listener.listen(i32::from(i16::MAX))?;
            let token = Token::Listener(self.index, listening);
            reactor.watch(&listener, token, EpollFlags::EPOLLIN)?;
            self.listeners[listening] = Some(listener);
        }
        let socket = self.open(from, 0, reactor)?;
        let peer = address(self.ends[listening].address, self.port);
        let result = socket.connect(&peer);
        self.connection = Some(Connection {
            number,
            opener: from,
            port: port_of(&socket.local_addr()?),
        });
        match result {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => {
                self.sides[from].socket = Some(socket);
                self.fail(from, error, reactor)
            }
            _ => {
                let interest = EpollFlags::EPOLLOUT;
                reactor.watch(&socket, Token::End(self.index, from), interest)?;
                let side = &mut self.sides[from];
                side.interest = Some(interest);
                side.socket = Some(socket);
                Ok(())
            }
        }
    }

    /// Opens a socket at an end.
    fn open(&self, end: usize, port: u16, reactor: &mut Reactor) -> io::Result<Socket> {
        let socket = reactor.open(
            &self.ends[end],
            (Type::STREAM, Protocol::TCP),
            port,
            self.dscp,
        )?;
        socket.set_tcp_nodelay(true)?;
        if end == 0 {
            socket
                .set_tcp_congestion(self.cca.as_bytes())
                .map_err(failed_to(format_args!(
                    "use the congestion control `{}` of Linux",
                    self.cca
                )))?;
        } else if self.calls.read_size > 0 {
            // It counts as readable when this much waits, or when no more comes. An accepted socket has this from the one that listens.
            set_option(
                &socket,
                (libc::SOL_SOCKET, libc::SO_RCVLOWAT),
                &[self.calls.read_size as libc::c_int],
            )?;
        }
        Ok(socket)
    }

    fn is_sparing(&self) -> bool {
        self.calls.manner != Manner::Prompt
    }

    /// Accepts connections at this end. Only the flow's newest connection is kept.
    pub fn accept(&mut self, end: usize, reactor: &mut Reactor) -> io::Result<()> {
        while let Some(listener) = &self.listeners[end] {
            let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            let (socket, peer) = match listener.accept4(flags) {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The peer reset the connection while it waited.
                Err(error) if is_of_connection(&error) => continue,
                Err(error) => return Err(failed_to("accept a connection")(error)),
            };
            let side = &mut self.sides[end];
            let is_newest = self.connection.as_ref().is_some_and(|connection| {
                connection.opener != end && connection.port == port_of(&peer)
            });
            if is_newest && side.socket.is_none() {
                side.handshake = Some(TcpInfo::of(&socket)?.repeats());
                let interest = EpollFlags::EPOLLIN;
                reactor.watch(&socket, Token::End(self.index, end), interest)?;
                side.interest = Some(interest);
                side.socket = Some(socket);
                self.write(end, reactor)?;
            }
        }
        Ok(())
    }

    /// The socket at this end can be read or written, or failed.
    pub fn on_ready(
        &mut self,
        end: usize,
        flags: EpollFlags,
        reactor: &mut Reactor,
    ) -> io::Result<()> {
        let side = &mut self.sides[end];
        let Some(socket) = &side.socket else {
            // An event of a socket that was closed after it happened.
            return Ok(());
        };
        if side.handshake.is_none() {
            if let Some(error) = socket.take_error()? {
                return self.fail(end, error, reactor);
            }
            let info = TcpInfo::of(socket)?;
            if info.is_connecting() {
                // An event of an earlier socket.
                return Ok(());
            }
            side.handshake = Some(info.repeats());
        }
        if flags != EpollFlags::EPOLLOUT {
            self.read(end, reactor)?;
        }
        self.write(end, reactor)
    }

    /// Reads once. Reports what was read.
    fn read(&mut self, end: usize, reactor: &mut Reactor) -> io::Result<()> {
        let (side, Some(connection)) = (&mut self.sides[end], &self.connection) else {
            return Ok(());
        };
        let Some(socket) = &side.socket else {
            return Ok(());
        };
        match socket.recv_with_flags(reactor.discarded.spare_capacity_mut(), libc::MSG_TRUNC) {
            Ok(0) => {
                side.is_at_end = true;
                side.pending = 0;
                side.is_last = true;
            }
            Ok(_) if end == 1 && self.is_sparing() => {}
            Ok(bytes) => reactor.reports.push(Report::Read {
                flow: self.index,
                connection: connection.number,
                end,
                at: reactor.clock.now(),
                bytes: bytes as u64,
            }),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return self.fail(end, error, reactor),
        }
        Ok(())
    }

    /// Writes once, as far as there is something to write, and closes if nothing follows.
    fn write(&mut self, end: usize, reactor: &mut Reactor) -> io::Result<()> {
        let (is_sparing, most) = (self.is_sparing(), self.calls.write_size);
        let side = &mut self.sides[end];
        let (Some(socket), Some(_)) = (&side.socket, side.handshake) else {
            return Ok(());
        };
        if side.is_writing() {
            let size = side.pending.min(most.min(ZEROS.len()) as u64);
            // A partial segment does not leave alone if more follows.
            let more = if side.pending > size {
                libc::MSG_MORE
            } else {
                0
            };
            let sent = if is_sparing {
                // Sparing senders never stop, so the end of a piece never leaves alone.
                reactor.send_zeros(socket, most)
            } else {
                socket.send_with_flags(&ZEROS[..size as usize], more | libc::MSG_NOSIGNAL)
            };
            match sent {
                Ok(bytes) if side.pending == u64::MAX => reactor.reports.push(Report::Written {
                    flow: self.index,
                    at: reactor.clock.now(),
                    bytes: bytes as u64,
                }),
                Ok(bytes) => side.pending -= bytes as u64,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return self.fail(end, error, reactor),
            }
        }
        if side.pending == 0 && side.is_last && !side.is_shut {
            side.is_shut = true;
            // If the connection is gone, the next read says so.
            match socket.shutdown(std::net::Shutdown::Write) {
                Err(error) if error.kind() != io::ErrorKind::NotConnected => return Err(error),
                _ => {}
            }
        }
        self.await_next(end, reactor)
    }

    /// Watches the socket for what is next. Ends the connection if both ends have read all.
    fn await_next(&mut self, end: usize, reactor: &mut Reactor) -> io::Result<()> {
        if self.sides.iter().all(|side| side.is_at_end) {
            return self.end(reactor);
        }
        let side = &mut self.sides[end];
        let mut flags = EpollFlags::EPOLLIN;
        flags.set(EpollFlags::EPOLLOUT, side.is_writing());
        // An end that has read all has also closed. The kernel would report such a socket again and again.
        let interest = (!side.is_at_end).then_some(flags);
        let previous = std::mem::replace(&mut side.interest, interest);
        match &side.socket {
            Some(socket) if interest != previous => match interest {
                Some(flags) => reactor.watch_for(socket, Token::End(self.index, end), flags),
                None => reactor.unwatch(socket),
            },
            _ => Ok(()),
        }
    }

    /// A call at this end failed. If that is the connection's failure, the connection ends, else the run.
    fn fail(&mut self, end: usize, error: io::Error, reactor: &mut Reactor) -> io::Result<()> {
        if !is_of_connection(&error) {
            return Err(error);
        }
        let was_complete = self.sides[1 - end].is_at_end;
        let number = self.connection.as_ref().map(|open| open.number);
        self.end(reactor)?;
        if let Some(connection) = number.filter(|_| !was_complete) {
            reactor.reports.push(Report::Failed {
                flow: self.index,
                connection,
            });
        }
        Ok(())
    }

    /// Observes the connection for the last time and closes both ends.
    fn end(&mut self, reactor: &mut Reactor) -> io::Result<()> {
        self.observe(reactor.clock.now(), None, reactor)?;
        self.connection = None;
        self.sides = [Side::default(), Side::default()];
        Ok(())
    }

    /// The socket of a sparing sender. Its receiver, which sends no data, is not asked for its part.
    pub fn asked(&self) -> Option<Asked<'_>> {
        let connection = self.connection.as_ref()?;
        let is_connected = self.sides[0].handshake.is_some();
        if !self.is_sparing() || !is_connected {
            return None;
        }
        let port = |end| match end == connection.opener {
            true => connection.port,
            false => self.port,
        };
        let address = |end: usize| SocketAddrV4::new(self.ends[end].address, port(end));
        Some(Asked {
            end: &self.ends[0],
            addresses: [address(0), address(1)],
        })
    }

    /// Reports the state of the connection as that of this instant. `info` is what the sender was found to say; `None`: it is asked.
    pub fn observe(
        &mut self,
        at: Nanos,
        info: Option<TcpInfo>,
        reactor: &mut Reactor,
    ) -> io::Result<()> {
        let Some(connection) = &self.connection else {
            return Ok(());
        };
        let [sender, receiver] = &self.sides;
        let receiver = match self.calls.manner {
            Manner::Prompt => receiver.observe(None)?,
            Manner::Sparing => None,
        };
        reactor.reports.push(Report::Observed {
            flow: self.index,
            connection: connection.number,
            at,
            state: observation(&[sender.observe(info)?, receiver], connection.opener),
        });
        Ok(())
    }
}

impl Side {
    /// Whether it has bytes that the kernel has not taken. What is written after the last byte is ignored.
    fn is_writing(&self) -> bool {
        self.pending > 0 && !self.is_shut
    }

    fn observe(&self, info: Option<TcpInfo>) -> io::Result<Option<ObservedEnd>> {
        let Some(socket) = &self.socket else {
            return Ok(None);
        };
        Ok(Some(ObservedEnd {
            info: info.map_or_else(|| TcpInfo::of(socket), Ok)?,
            handshake: self.handshake,
            has_read_fin: self.is_at_end,
        }))
    }
}

/// The port of an address of TCP.
fn port_of(address: &socket2::SockAddr) -> u16 {
    address.as_socket_ipv4().map_or(0, |address| address.port())
}
