//! A program at end 1 that talks to end 0.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::End;
use super::flow::failed_to;
use super::reactor::Reactor;

/// A flow that is a program.
pub(super) struct ProgramFlow {
    command: Vec<String>,
    output: PathBuf,
    ends: [End; 2],
    child: Option<Child>,
}

impl ProgramFlow {
    pub fn new(command: Vec<String>, output: PathBuf, ends: [End; 2]) -> Self {
        Self {
            command,
            output,
            ends,
            child: None,
        }
    }

    /// Starts the program in the namespace of end 1, in a process group of its own. The kernel kills it when this thread ends.
    pub fn start(&mut self, reactor: &mut Reactor) -> io::Result<()> {
        let Some((program, arguments)) = self.command.split_first() else {
            let message = "its command is empty";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        };
        let output = File::create(&self.output)
            .map_err(failed_to(format_args!("write `{}`", self.output.display())))?;
        reactor.enter(&self.ends[1])?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("BLOATLAB_SERVER", self.ends[0].address.to_string())
            .stdin(Stdio::null())
            .stdout(output)
            .process_group(0);
        // SAFETY: between fork and exec the closure makes one system call, and allocates nothing.
        unsafe { command.pre_exec(|| Ok(set_pdeathsig(Signal::SIGKILL)?)) };
        let child = command
            .spawn()
            .map_err(failed_to(format_args!("start `{program}`")))?;
        self.child = Some(child);
        Ok(())
    }

    /// Asks the program and its children to end.
    pub fn stop(&mut self) -> io::Result<()> {
        self.signal(Signal::SIGTERM)
    }

    /// Signals all processes of the program's group, if there are any.
    fn signal(&self, signal: Signal) -> io::Result<()> {
        let Some(child) = &self.child else {
            return Ok(());
        };
        match killpg(Pid::from_raw(child.id().cast_signed()), signal) {
            Err(nix::Error::ESRCH) | Ok(()) => Ok(()),
            Err(error) => Err(failed_to("end the program")(error.into())),
        }
    }
}

impl Drop for ProgramFlow {
    fn drop(&mut self) {
        // The program was not waited for, so its process group is still there.
        drop(self.signal(Signal::SIGKILL));
        if let Some(child) = &mut self.child {
            drop(child.wait());
        }
    }
}
