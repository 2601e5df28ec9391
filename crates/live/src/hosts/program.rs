//! A program at end 1 that talks to end 0.

use std::io::{self, Read};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, ExitStatus};

use bloatlab_sim::Report;
use bloatlab_units::Nanos;
use nix::sys::epoll::EpollFlags;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::End;
use super::failure::failed_to;
use super::reactor::{Reactor, Token};
use crate::command::{Output, command};
use crate::namespace::check;

/// What a flow runs at end 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Variables of its environment.
    pub variables: Vec<(String, String)>,
    /// Where its input comes from, and its output goes to.
    pub streams: Streams,
}

/// The standard streams of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Streams {
    /// Those of this process. The program is in the process group of this process.
    Inherited,
    /// Those of this process, which are a terminal. The program has a process group that may use it.
    Terminal,
    /// It reads nothing. Its output goes to a file.
    File(PathBuf),
    /// It reads nothing, and prints a line per fetched page: the time that it took in seconds, or a word if it failed.
    Fetches,
}

/// A flow that is a program.
pub(super) struct ProgramFlow {
    index: usize,
    program: Program,
    ends: [End; 2],
    running: Option<Running>,
    /// The engine stopped it, so its exit code says nothing.
    is_stopped: bool,
}

/// A program that was started. Dropping it kills it.
struct Running {
    child: Child,
    /// Readable when the child has ended.
    process: OwnedFd,
    has_group: bool,
    /// Its output, if that is read here, and the line that is not complete.
    output: Option<(ChildStdout, Vec<u8>)>,
}

impl ProgramFlow {
    pub fn new(index: usize, program: Program, ends: [End; 2]) -> Self {
        Self {
            index,
            program,
            ends,
            running: None,
            is_stopped: false,
        }
    }

    /// Starts the program in the namespace of end 1. The kernel kills it when this thread ends.
    pub fn start(&mut self, reactor: &mut Reactor) -> io::Result<()> {
        reactor.enter(&self.ends[1])?;
        let Program {
            words,
            variables,
            streams,
        } = &self.program;
        let output = match streams {
            Streams::Inherited => Output::Inherited,
            Streams::Terminal => Output::Terminal,
            Streams::File(path) => Output::File(path),
            Streams::Fetches => Output::Pipe,
        };
        let mut child = command(words, variables, output)?
            .spawn()
            .map_err(failed_to(format_args!("start `{}`", words[0])))?;
        let output = child.stdout.take().map(|output| (output, Vec::new()));
        let running = Running {
            process: process_of(&child)?,
            child,
            has_group: *streams != Streams::Inherited,
            output,
        };
        reactor.watch(
            &running.process,
            Token::End(self.index, 0),
            EpollFlags::EPOLLIN,
        )?;
        if let Some((output, _)) = &running.output {
            reactor.watch(output, Token::End(self.index, 1), EpollFlags::EPOLLIN)?;
        }
        self.running = Some(running);
        Ok(())
    }

    /// Asks the program and its children to end.
    pub fn stop(&mut self) -> io::Result<()> {
        self.is_stopped = true;
        match &self.running {
            Some(running) => running.signal(Signal::SIGTERM),
            None => Ok(()),
        }
    }

    /// The program has ended (end 0), or has printed something (end 1).
    pub fn on_ready(&mut self, end: usize, reactor: &mut Reactor) -> io::Result<()> {
        let Some(running) = &mut self.running else {
            return Ok(());
        };
        let at = reactor.clock.now();
        if end == 1 {
            let flow = self.index;
            for took in running.fetches(reactor)? {
                reactor.reports.push(Report::Fetched { flow, at, took });
            }
            return Ok(());
        }
        let Some(status) = running.child.try_wait()? else {
            return Ok(());
        };
        reactor.unwatch(&running.process)?;
        if !self.is_stopped {
            reactor.reports.push(Report::Ended {
                flow: self.index,
                at,
                code: exit_code(status),
            });
        }
        Ok(())
    }
}

impl Running {
    /// Reads what the program has printed. Returns what the complete lines say.
    fn fetches(&mut self, reactor: &Reactor) -> io::Result<Vec<Option<Nanos>>> {
        let Some((output, line)) = &mut self.output else {
            return Ok(Vec::new());
        };
        let mut read = [0; 4096];
        // It is readable, so the call does not wait.
        let count = output.read(&mut read)?;
        if count == 0 {
            reactor.unwatch(&*output)?;
            self.output = None;
            return Ok(Vec::new());
        }
        line.extend_from_slice(&read[..count]);
        let mut found = Vec::new();
        while let Some(end) = line.iter().position(|&byte| byte == b'\n') {
            found.push(fetch(&line[..end]));
            line.drain(..=end);
        }
        Ok(found)
    }

    /// Sends a signal to the program; to its children too, if it leads a process group.
    fn signal(&self, signal: Signal) -> io::Result<()> {
        let process = Pid::from_raw(self.child.id().cast_signed());
        let sent = match self.has_group {
            true => killpg(process, signal),
            false => kill(process, signal),
        };
        match sent {
            Err(nix::Error::ESRCH) | Ok(()) => Ok(()),
            Err(error) => Err(failed_to("end the program")(error.into())),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A process that was waited for may have given its number to another one.
        if let Ok(None) = self.child.try_wait() {
            drop(self.signal(Signal::SIGKILL));
            drop(self.child.wait());
        }
    }
}

/// A descriptor of a child that has not been waited for. It is readable when the child has ended.
fn process_of(child: &Child) -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers.
    let opened = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
    let opened = check(opened as libc::c_int)?;
    // SAFETY: the kernel just opened it, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(opened) })
}

/// The time that a line of a client says, ns. `None`: the fetch failed.
fn fetch(line: &[u8]) -> Option<Nanos> {
    let seconds: f64 = std::str::from_utf8(line).ok()?.trim().parse().ok()?;
    (0.0..1e9)
        .contains(&seconds)
        .then(|| (seconds * 1e9).round() as Nanos)
}

/// The exit code of a process, as shells show it.
fn exit_code(status: ExitStatus) -> i32 {
    let of_signal = || status.signal().map_or(1, |signal| 128 + signal);
    status.code().unwrap_or_else(of_signal)
}
