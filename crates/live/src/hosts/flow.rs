//! A flow of any kind: opens its sockets, carries out its orders, and serves its events.

use std::io;

use bloatlab_sim::Order;
use bloatlab_units::Nanos;
use nix::sys::epoll::EpollFlags;

use super::echo::EchoFlow;
use super::failure::unsuitable;
use super::observe::{Asked, TcpInfo};
use super::program::ProgramFlow;
use super::reactor::Reactor;
use super::tcp::TcpFlow;
use super::udp::UdpFlow;
use super::{FlowKind, FlowSpec};

/// A flow.
pub(super) struct Flow {
    name: String,
    kind: Kind,
}

enum Kind {
    Tcp(TcpFlow),
    Udp(UdpFlow),
    Echo(EchoFlow),
    Program(ProgramFlow),
}

impl Flow {
    /// Opens what must be open before the first order. `index` is the number of the flow.
    pub fn new(index: usize, spec: FlowSpec, reactor: &mut Reactor) -> io::Result<Self> {
        let FlowSpec {
            name,
            kind,
            ends,
            port,
            dscp,
        } = spec;
        let kind = match kind {
            FlowKind::Tcp { cca, calls } => {
                let tcp = TcpFlow::new(index, (cca, calls), ends, port, dscp);
                Ok(Kind::Tcp(tcp))
            }
            FlowKind::Udp => UdpFlow::new(index, &ends, port, dscp, reactor).map(Kind::Udp),
            FlowKind::Echo => EchoFlow::new(index, &ends, dscp, reactor).map(Kind::Echo),
            FlowKind::Program(program) => Ok(Kind::Program(ProgramFlow::new(index, program, ends))),
        };
        match kind {
            Ok(kind) => Ok(Self { name, kind }),
            Err(error) => Err(of_flow(&name, &error)),
        }
    }

    /// Carries out an order.
    pub fn carry_out(&mut self, order: Order, reactor: &mut Reactor) -> io::Result<()> {
        let result = match (&mut self.kind, order) {
            (Kind::Tcp(tcp), order) => tcp.carry_out(order, reactor),
            (Kind::Udp(udp), Order::Datagram { size, .. }) => udp.send(size, reactor),
            (Kind::Echo(echo), Order::Echo { size, seq, .. }) => echo.send(size, seq, reactor),
            (Kind::Program(program), Order::Start { .. }) => program.start(reactor),
            (Kind::Program(program), Order::Stop { .. }) => program.stop(),
            // Only the engine sends datagrams and requests. It sends no more.
            (Kind::Udp(_) | Kind::Echo(_), Order::Stop { .. }) => Ok(()),
            (_, order) => Err(unsuitable(order)),
        };
        result.map_err(|error| of_flow(&self.name, &error))
    }

    /// The socket at this end is ready for what the flags say.
    pub fn on_ready(
        &mut self,
        end: usize,
        flags: EpollFlags,
        reactor: &mut Reactor,
    ) -> io::Result<()> {
        match &mut self.kind {
            Kind::Tcp(tcp) => tcp.on_ready(end, flags, reactor),
            Kind::Udp(udp) => udp.receive(reactor),
            Kind::Echo(echo) => echo.receive(reactor),
            Kind::Program(program) => program.on_ready(end, reactor),
        }
        .map_err(|error| of_flow(&self.name, &error))
    }

    /// Somebody connected to the listening socket at this end.
    pub fn on_connection(&mut self, end: usize, reactor: &mut Reactor) -> io::Result<()> {
        match &mut self.kind {
            Kind::Tcp(tcp) => tcp.accept(end, reactor),
            Kind::Udp(_) | Kind::Echo(_) | Kind::Program(_) => Ok(()),
        }
        .map_err(|error| of_flow(&self.name, &error))
    }

    /// The socket whose state the flow reports, if nothing else of the connection is needed.
    pub fn asked(&self) -> Option<Asked<'_>> {
        match &self.kind {
            Kind::Tcp(tcp) => tcp.asked(),
            Kind::Udp(_) | Kind::Echo(_) | Kind::Program(_) => None,
        }
    }

    /// Reports the state of the flow's connection, if it has one, as that of this instant. `info` is what the socket of [`asked`](Self::asked) was found to
    /// say.
    pub fn observe(
        &mut self,
        at: Nanos,
        info: Option<TcpInfo>,
        reactor: &mut Reactor,
    ) -> io::Result<()> {
        match &mut self.kind {
            Kind::Tcp(tcp) => tcp.observe(at, info, reactor),
            Kind::Udp(_) | Kind::Echo(_) | Kind::Program(_) => Ok(()),
        }
        .map_err(|error| of_flow(&self.name, &error))
    }
}

/// An error with the name of its flow.
fn of_flow(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("flow `{name}`: {error}"))
}
