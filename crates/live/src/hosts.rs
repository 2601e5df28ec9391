//! The hosts of a run: real senders and receivers. One thread serves the sockets of all namespaces.

mod echo;
mod failure;
mod flow;
mod mailbox;
mod observe;
mod program;
mod reactor;
mod stamp;
mod survey;
mod tcp;
mod thread;
mod udp;

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use bloatlab_sim::{Order, Report};
use bloatlab_units::Nanos;

use crate::{Clock, Namespace};
use mailbox::Mailbox;
use thread::{Command, Server};

pub use program::{Program, Streams};

/// Where an end of a flow is.
#[derive(Clone, Debug)]
pub struct End {
    /// The namespace of its host.
    pub namespace: Arc<Namespace>,
    /// The address of its host.
    pub address: Ipv4Addr,
}

/// What a flow consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowKind {
    /// TCP connections, one after the other.
    Tcp {
        /// Linux's name of the congestion control of end 0.
        cca: String,
        /// How its ends use the kernel.
        calls: Calls,
    },
    /// Datagrams from end 0 to end 1.
    Udp,
    /// ICMP echo requests of end 0. The kernel of end 1 answers.
    Echo,
    /// A program at end 1.
    Program(Program),
}

/// The system calls of the ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calls {
    /// Whether they read and report at once, or save system calls.
    pub manner: Manner,
    /// Bytes that wait before the receiver reads them; 0: it reads what is there.
    pub read_size: u32,
    /// Bytes that the sender writes at a time, if it can.
    pub write_size: usize,
}

/// How the ends of a connection use the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// The receiver reports each read.
    Prompt,
    /// With few system calls. The receiver reports nothing: who sees the packets knows what it can read. The sender never stops writing, and what it
    /// writes is not copied.
    Sparing,
}

/// A flow of the plan, as its hosts need to know it.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Its name in messages of errors.
    pub name: String,
    /// What it consists of.
    pub kind: FlowKind,
    /// The sender of data and its receiver.
    pub ends: [End; 2],
    /// The TCP or UDP port of the end that listens.
    pub port: u16,
    /// Differentiated services code point of its packets.
    pub dscp: u8,
}

/// The hosts of a run. Dropping them closes all sockets and kills all programs.
///
/// A flow is named by its index: its position in the list given to [`start`](Self::start), or the next number if it was added later.
#[derive(Debug)]
pub struct Hosts {
    commands: Arc<Mailbox<Command>>,
    reports: Arc<Mailbox<io::Result<Report>>>,
    /// Reports on their way to the caller; empty between calls.
    received: Vec<io::Result<Report>>,
    thread: Option<JoinHandle<()>>,
}

impl Hosts {
    /// Opens the sockets of datagrams and echo requests, and starts the thread. TCP sockets open with their first connection.
    ///
    /// Every connection is observed at the instants `k * poll - poll_phase` of the run, where `k` is an integer, and once when it ends.
    ///
    /// # Errors
    /// A socket cannot be opened or configured. The message names its flow.
    pub fn start(
        clock: Clock,
        flows: Vec<FlowSpec>,
        poll: Nanos,
        poll_phase: Nanos,
    ) -> io::Result<Self> {
        let commands = Arc::new(Mailbox::new()?);
        let reports = Arc::new(Mailbox::new()?);
        let (opened, wait) = mpsc::channel();
        let (inbox, outbox) = (Arc::clone(&commands), Arc::clone(&reports));
        let thread = std::thread::Builder::new()
            .name("hosts".into())
            .spawn(move || {
                let mut server = match Server::new(clock, flows, (poll, poll_phase), inbox) {
                    Ok(server) => server,
                    // The receiver waits for this message, so it is still there.
                    Err(error) => return drop(opened.send(Err(error))),
                };
                drop(opened.send(Ok(())));
                if let Err(error) = server.run(&outbox) {
                    outbox.put([Err(error)], |_| true);
                }
            })?;
        let mut hosts = Self {
            commands,
            reports,
            received: Vec::new(),
            thread: Some(thread),
        };
        let result = wait
            .recv()
            .unwrap_or_else(|_| Err(io::Error::other("the thread of the hosts panicked")));
        if result.is_err() {
            hosts.join();
        }
        result.map(|()| hosts)
    }

    /// Gives orders to the hosts. It does not wait until they are carried out.
    pub fn send(&self, orders: &[Order]) {
        let orders = orders.iter().map(|&order| Command::CarryOut(order));
        self.commands.put(orders, |_| true);
    }

    /// Adds a flow. Orders to it may follow at once.
    pub fn add_flow(&self, flow: FlowSpec) {
        self.commands.put([Command::Add(Box::new(flow))], |_| true);
    }

    /// Appends all reports that have come since the last call. It does not wait for any.
    ///
    /// # Errors
    /// A socket failed for a reason other than its peer or the network. The message names its flow. The hosts have stopped.
    pub fn receive(&mut self, reports: &mut Vec<Report>) -> io::Result<()> {
        self.reports.take(&mut self.received);
        for report in self.received.drain(..) {
            reports.push(report?);
        }
        Ok(())
    }

    /// Ends all connections and programs, and the thread.
    pub fn stop(mut self) {
        self.join();
    }

    fn join(&mut self) {
        self.commands.put([Command::Stop], |_| true);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed. There is nothing left to end.
            drop(thread.join());
        }
    }
}

impl AsFd for Hosts {
    /// A descriptor that is readable while there are reports that applications may answer.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reports.as_fd()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        self.join();
    }
}
