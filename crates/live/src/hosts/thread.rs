//! The thread of the hosts: waits for events, and gives each to its flow.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use bloatlab_sim::{Order, Report};
use bloatlab_units::Nanos;
use nix::sys::epoll::{EpollEvent, EpollFlags};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use super::FlowSpec;
use super::flow::Flow;
use super::mailbox::Mailbox;
use super::reactor::{Reactor, Token};
use super::survey::Survey;
use crate::{Clock, namespace::check};

/// Events that one call returns at most.
const MOST_EVENTS: usize = 256;

/// Descriptors that a flow has at most: a listening socket and both ends.
const DESCRIPTORS_OF_FLOW: usize = 3;

/// Descriptors that the process has for other things, at most.
const OTHER_DESCRIPTORS: usize = 250;

/// What the thread is to do.
#[derive(Debug)]
pub(super) enum Command {
    /// Carry out an order.
    CarryOut(Order),
    /// Add a flow.
    Add(Box<FlowSpec>),
    /// End.
    Stop,
}

/// All flows, and what they share.
pub(super) struct Server {
    flows: Vec<Flow>,
    commands: Arc<Mailbox<Command>>,
    timer: TimerFd,
    survey: Survey,
    reactor: Reactor,
}

impl Server {
    /// Opens the sockets of the flows. The calling thread enters their namespaces and does not return to its own.
    pub fn new(
        clock: Clock,
        flows: Vec<FlowSpec>,
        (poll, poll_phase): (Nanos, Nanos),
        commands: Arc<Mailbox<Command>>,
    ) -> io::Result<Self> {
        make_room_for(flows.len(), commands.as_fd())?;
        let reactor = Reactor::new(clock)?;
        reactor.watch(&*commands, Token::Commands, EpollFlags::EPOLLIN)?;
        let timer = timer(clock, poll, poll_phase)?;
        reactor.watch(&timer, Token::Observation, EpollFlags::EPOLLIN)?;
        let mut server = Self {
            flows: Vec::new(),
            commands,
            timer,
            survey: Survey::default(),
            reactor,
        };
        for spec in flows {
            server.add(spec)?;
        }
        Ok(server)
    }

    /// Serves events until the command to stop.
    pub fn run(&mut self, reports: &Mailbox<io::Result<Report>>) -> io::Result<()> {
        let mut events = [EpollEvent::empty(); MOST_EVENTS];
        let mut commands = Vec::new();
        loop {
            for event in self.reactor.wait(&mut events)? {
                match Token::of(event) {
                    Token::Commands => {
                        self.commands.take(&mut commands);
                        for command in commands.drain(..) {
                            match command {
                                Command::CarryOut(order) => self.carry_out(order)?,
                                Command::Add(spec) => self.add(*spec)?,
                                Command::Stop => return Ok(()),
                            }
                        }
                    }
                    Token::Observation => {
                        self.timer.wait()?;
                        let at = self.reactor.clock.now();
                        self.survey
                            .observe(at, &mut self.flows, &mut self.reactor)?;
                    }
                    Token::End(flow, end) => {
                        self.flows[flow].on_ready(end, event.events(), &mut self.reactor)?;
                    }
                    Token::Listener(flow, end) => {
                        self.flows[flow].on_connection(end, &mut self.reactor)?;
                    }
                }
            }
            reports.put(self.reactor.reports.drain(..).map(Ok), |report| {
                report.as_ref().map_or(true, Report::may_be_answered)
            });
        }
    }

    fn add(&mut self, spec: FlowSpec) -> io::Result<()> {
        let flow = Flow::new(self.flows.len(), spec, &mut self.reactor)?;
        self.flows.push(flow);
        Ok(())
    }

    fn carry_out(&mut self, order: Order) -> io::Result<()> {
        let index = order.flow();
        let Some(flow) = self.flows.get_mut(index) else {
            let message = format!("an order for flow {index}, which the hosts do not have");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        };
        flow.carry_out(order, &mut self.reactor)
    }
}

/// Lets the process open as many descriptors as the flows may need. The table of a process grows in steps, each of which stops the thread for some
/// milliseconds, so it takes its final size now, by a copy of `any` descriptor with the highest number.
fn make_room_for(flows: usize, any: BorrowedFd) -> io::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    let descriptors = (OTHER_DESCRIPTORS + flows * DESCRIPTORS_OF_FLOW) as u64;
    let last = descriptors.min(hard.saturating_sub(1)) as libc::c_int;
    // SAFETY: the descriptor is open, and the call takes no pointers.
    let copy = check(unsafe { libc::fcntl(any.as_raw_fd(), libc::F_DUPFD_CLOEXEC, last) })?;
    // SAFETY: the descriptor was opened by the call above, and nothing else owns it.
    drop(unsafe { OwnedFd::from_raw_fd(copy) });
    Ok(())
}

/// A timer that fires at the instants `k * interval - phase` of the run.
fn timer(clock: Clock, interval: Nanos, phase: Nanos) -> io::Result<TimerFd> {
    if interval == 0 {
        let message = "the time between two observations is 0";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let timer = TimerFd::new(
        ClockId::CLOCK_MONOTONIC,
        TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK,
    )?;
    let first = clock.monotonic(interval - phase % interval);
    let spec = |time| TimeSpec::from(Duration::from_nanos(time));
    timer.set(
        Expiration::IntervalDelayed(spec(first), spec(interval)),
        TimerSetTimeFlags::TFD_TIMER_ABSTIME,
    )?;
    Ok(timer)
}
