//! Programs that the hosts of a run start.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigHandler, SigSet, Signal, signal};
use nix::unistd::{getpid, tcsetpgrp};

/// Signals of a terminal that end programs. This process ignores them while a program has the terminal.
const OF_TERMINALS: [Signal; 2] = [Signal::SIGINT, Signal::SIGQUIT];

/// Variables that are replaced in words. All others may be meant for a shell that the program is.
const IN_WORDS: [&str; 3] = ["BLOATLAB_SERVER", "BLOATLAB_SECONDS", "BLOATLAB_PYTHON"];

/// Where the output of a program goes.
#[derive(Clone, Copy)]
pub(crate) enum Output<'a> {
    /// All standard streams are those of this process, and the program is in its process group.
    Inherited,
    /// All standard streams are those of this process, and the program has a process group that may use the terminal, as shells want it.
    Terminal,
    /// Standard output and error go to a file.
    File(&'a Path),
    /// Standard output is read by this process.
    Pipe,
}

/// A command that runs a program in the network namespace of the calling thread. The kernel kills the program when this thread ends.
///
/// The variables `$BLOATLAB_SERVER`, `$BLOATLAB_SECONDS` and `$BLOATLAB_PYTHON` in a word are replaced by their values.
///
/// # Errors
/// There are no words, or the file cannot be written.
pub(crate) fn command(
    words: &[String],
    variables: &[(String, String)],
    output: Output<'_>,
) -> io::Result<Command> {
    let mut words = words.iter().map(|word| with_values(word, variables));
    let Some(program) = words.next() else {
        let message = "its command is empty";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    };
    let mut command = Command::new(program);
    command.args(words).envs(variables.iter().cloned());
    match output {
        Output::Inherited => {}
        Output::Terminal => {
            command.process_group(0);
        }
        Output::File(path) => {
            let file = File::create(path).map_err(|error| {
                let message = format!("cannot write `{}`: {error}", path.display());
                io::Error::new(error.kind(), message)
            })?;
            command.stdin(Stdio::null()).process_group(0);
            command.stdout(file.try_clone()?).stderr(file);
        }
        Output::Pipe => {
            command.stdin(Stdio::null()).process_group(0);
            command.stdout(Stdio::piped()).stderr(Stdio::null());
        }
    }
    let takes_terminal = matches!(output, Output::Terminal);
    // SAFETY: between fork and exec the closure makes system calls, and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            set_pdeathsig(Signal::SIGKILL)?;
            if takes_terminal {
                take_terminal()?;
            }
            for one in OF_TERMINALS {
                signal(one, SigHandler::SigDfl)?;
            }
            Ok(())
        })
    };
    Ok(command)
}

/// A word with the values of its variables.
fn with_values(word: &str, variables: &[(String, String)]) -> String {
    let known = variables
        .iter()
        .filter(|(name, _)| IN_WORDS.contains(&&**name));
    known.fold(word.to_owned(), |word, (name, value)| {
        word.replace(&format!("${name}"), value)
    })
}

/// Makes the process group of this process the one that may use the terminal.
fn take_terminal() -> io::Result<()> {
    let before = SigSet::thread_get_mask()?;
    // The kernel sends this signal to a process in the background that wants the terminal.
    SigSet::from(Signal::SIGTTOU).thread_block()?;
    // Without a terminal there is nothing to take.
    let _ = tcsetpgrp(io::stdin(), getpid());
    before.thread_set_mask()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_in_words_are_replaced() {
        let server = ("BLOATLAB_SERVER".to_owned(), "10.64.0.1".to_owned());
        let word = with_values("http://$BLOATLAB_SERVER/$HOME", &[server]);
        assert_eq!(word, "http://10.64.0.1/$HOME");
    }

    #[test]
    fn a_command_needs_a_program() {
        assert!(command(&[], &[], Output::Inherited).is_err());
    }
}
