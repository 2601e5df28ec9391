//! The programs that run on the servers of flows: they listen before the run starts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::Namespace;
use crate::command::{Output, command};

/// How long a program may take until it listens. One that does not listen for TCP connections is given this time.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The state of a listening socket in `/proc/net/tcp`.
const LISTENS: &str = "0A";

/// Programs under way. Dropping them kills them and their children.
#[derive(Default)]
pub(crate) struct Servers(Vec<Child>);

impl Servers {
    /// Starts a program in a namespace, and waits until it listens. `name` is that of its flow, and `output` gets what it prints.
    ///
    /// # Errors
    /// It cannot be started, or ends at once. The error names the flow.
    pub fn start(
        &mut self,
        name: &str,
        namespace: &Namespace,
        (words, variables): (&[String], &[(String, String)]),
        output: PathBuf,
    ) -> io::Result<()> {
        let Some(program) = words.first() else {
            return Ok(());
        };
        let failed = |why: String| io::Error::other(format!("flow `{name}`: `{program}` {why}"));
        let started = namespace.within(|| {
            let listening = listeners();
            let mut child = command(words, variables, Output::File(&output))?.spawn()?;
            let end = Instant::now() + PATIENCE;
            let mut ended = None;
            while ended.is_none() && listeners() <= listening && Instant::now() < end {
                std::thread::sleep(LOOK_EVERY);
                ended = child.try_wait()?;
            }
            Ok((child, ended))
        });
        let (child, ended) =
            started.map_err(|error| failed(format!("cannot be started: {error}")))?;
        self.0.push(child);
        match ended {
            None => Ok(()),
            Some(status) => Err(failed(format!("ended at once ({status}){}", said(&output)))),
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // A process that was waited for may have given its number to another one.
            if let Ok(None) = child.try_wait() {
                let group = Pid::from_raw(child.id().cast_signed());
                // It may have ended at this moment.
                let _ = killpg(group, Signal::SIGKILL);
                drop(child.wait());
            }
        }
    }
}

/// Number of listening TCP sockets in the namespace of the calling thread.
fn listeners() -> usize {
    let of_table = |name: &str| {
        let table = fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
        let states = table
            .lines()
            .filter_map(|line| line.split_whitespace().nth(3));
        states.filter(|&state| state == LISTENS).count()
    };
    ["tcp", "tcp6"].into_iter().map(of_table).sum()
}

/// The last line that a program has printed, for an error.
fn said(output: &Path) -> String {
    let text = fs::read(output).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    last.map_or_else(String::new, |line| format!(": {}", line.trim()))
}
