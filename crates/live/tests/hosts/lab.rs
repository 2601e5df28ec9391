//! Two hosts with flows between them, and what they report.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bloatlab_live::{Calls, Clock, End, FlowKind, FlowSpec, Hosts, Manner, Namespace};
use bloatlab_sim::{Observation, Report};
use bloatlab_units::MILLISECOND;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// A test that waits longer than this fails.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The time between two observations.
const POLL: u64 = 20 * MILLISECOND;

/// Runs a program in the namespace of this thread. Returns what it printed.
fn output(command: &str) -> io::Result<String> {
    let mut words = command.split(' ');
    let output = Command::new(words.next().unwrap()).args(words).output()?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(io::Error::other(format!("`{command}`: {error}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Two namespaces joined by a veth pair.
fn joined() -> io::Result<[End; 2]> {
    let namespaces = [Namespace::new()?, Namespace::new()?].map(Arc::new);
    let other = namespaces[1].as_fd().as_raw_fd();
    let path = format!("/proc/{}/fd/{other}", std::process::id());
    namespaces[0].within(|| {
        output(&format!(
            "ip link add host type veth peer name host netns {path}"
        ))
    })?;
    let mut ends = Vec::new();
    for (namespace, last) in namespaces.into_iter().zip(1..) {
        let address = Ipv4Addr::new(10, 64, 0, last);
        namespace.within(|| {
            output(&format!("ip address add {address}/8 dev host"))?;
            output("ip link set host up")
        })?;
        ends.push(End { namespace, address });
    }
    Ok(ends.try_into().unwrap())
}

pub fn spec(name: &str, kind: FlowKind, ends: &[End; 2], port: u16) -> FlowSpec {
    FlowSpec {
        name: name.into(),
        kind,
        ends: ends.clone(),
        port,
        dscp: 10,
    }
}

/// Ends that read what is there and report each read.
pub const PROMPT: Calls = Calls {
    manner: Manner::Prompt,
    read_size: 0,
    write_size: usize::MAX,
};

pub fn reno() -> FlowKind {
    FlowKind::Tcp {
        cca: "reno".into(),
        calls: PROMPT,
    }
}

/// Hosts with one flow, and all reports so far.
pub struct Lab {
    pub hosts: Hosts,
    pub ends: [End; 2],
    pub reports: Vec<Report>,
}

impl Lab {
    /// `None`: this machine does not allow the namespaces.
    pub fn new(kind: FlowKind) -> Option<Self> {
        match joined() {
            Ok(ends) => {
                let flow = spec("a", kind, &ends, 10_000);
                let hosts = Hosts::start(Clock::starting_in(0), vec![flow], POLL, 0).unwrap();
                Some(Self {
                    hosts,
                    ends,
                    reports: Vec::new(),
                })
            }
            Err(error) => {
                eprintln!("skipped: cannot join two namespaces: {error}");
                None
            }
        }
    }

    /// Waits until the reports meet a condition.
    pub fn until(&mut self, what: &str, condition: impl Fn(&Reports) -> bool) {
        let start = Instant::now();
        while !condition(&Reports(&self.reports)) {
            assert!(start.elapsed() < PATIENCE, "gave up waiting until {what}");
            self.receive().unwrap();
        }
    }

    /// Waits a short time for reports.
    pub fn receive(&mut self) -> io::Result<()> {
        let mut ready = [PollFd::new(self.hosts.as_fd(), PollFlags::POLLIN)];
        poll(&mut ready, PollTimeout::from(100u16))?;
        self.hosts.receive(&mut self.reports)
    }

    /// What a program prints in the namespace of an end.
    pub fn output(&self, end: usize, command: &str) -> String {
        let namespace = &self.ends[end].namespace;
        namespace.within(|| output(command)).unwrap()
    }
}

/// Reports, and what follows from them.
pub struct Reports<'a>(pub &'a [Report]);

impl Reports<'_> {
    /// Bytes that an end read of a connection.
    pub fn read(&self, of: u64, at: usize) -> u64 {
        let bytes = self.0.iter().map(|report| match *report {
            Report::Read {
                connection,
                end,
                bytes,
                ..
            } if (connection, end) == (of, at) => bytes,
            _ => 0,
        });
        bytes.sum()
    }

    pub fn written(&self) -> u64 {
        let bytes = self.0.iter().map(|report| match *report {
            Report::Written { bytes, .. } => bytes,
            _ => 0,
        });
        bytes.sum()
    }

    /// The newest state of a connection.
    pub fn state(&self, of: u64) -> Option<Observation> {
        self.0.iter().rev().find_map(|report| match *report {
            Report::Observed {
                connection, state, ..
            } if connection == of => Some(state),
            _ => None,
        })
    }

    /// Whether the newest state says that this number of bytes arrived.
    pub fn arrived(&self, of: u64, bytes: u64) -> bool {
        self.state(of).is_some_and(|state| state.arrived == bytes)
    }

    pub fn has_failed(&self) -> bool {
        let mut reports = self.0.iter();
        reports.any(|report| matches!(report, Report::Failed { .. }))
    }
}
