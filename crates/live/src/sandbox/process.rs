//! Processes and signals of the sandbox.

use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use crate::namespace::check;

/// Signals that the outer processes wait for instead of being interrupted.
const WAITED: [libc::c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGCHLD];

/// The signals that were blocked before.
pub(super) struct Signals(libc::sigset_t);

impl Signals {
    /// Blocks the signals that are waited for.
    pub(super) fn block() -> io::Result<Self> {
        // A process whose parent ignored SIGCHLD could not wait for its children.
        // SAFETY: the default action is a valid one.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        let waited = waited();
        // SAFETY: zeros are a valid set of signals.
        let mut before: libc::sigset_t = unsafe { zeroed() };
        // SAFETY: both pointers are to sets of signals.
        check(unsafe { libc::sigprocmask(libc::SIG_BLOCK, &waited, &mut before) })?;
        Ok(Self(before))
    }

    /// Blocks the signals that were blocked before, and no others.
    pub(super) fn restore(self) -> io::Result<()> {
        // SAFETY: the pointer is to a set of signals, and null is allowed where the old set is not wanted.
        check(unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.0, ptr::null_mut()) }).map(drop)
    }
}

fn waited() -> libc::sigset_t {
    // SAFETY: zeros are a valid set of signals.
    let mut set: libc::sigset_t = unsafe { zeroed() };
    for signal in WAITED {
        // SAFETY: the pointer is to a set of signals, and the signal exists.
        unsafe { libc::sigaddset(&mut set, signal) };
    }
    set
}

/// Lets the kernel kill this process when the thread that started it ends.
pub(super) fn die_with_parent() -> io::Result<()> {
    // SAFETY: this option takes a signal and no pointers.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }).map(drop)
}

/// The id of the parent process.
pub(super) fn parent_id() -> u32 {
    std::os::unix::process::parent_id()
}

/// Forks. Returns the child's id in the parent, and nothing in the child.
pub(super) fn fork() -> io::Result<Option<libc::pid_t>> {
    // SAFETY: the child of a process with several threads uses only memory of the thread that forks, and the allocator, whose locks the C library
    // releases in the child.
    let child = check(unsafe { libc::fork() })?;
    Ok((child != 0).then_some(child))
}

/// Ends the process at once.
pub(super) fn exit(status: libc::c_int) -> ! {
    // SAFETY: the call takes a number and does not return.
    unsafe { libc::_exit(status) }
}

/// A pipe: its reading and its writing end. Programs that the process starts do not inherit it.
pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the pointer is to two numbers.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: the kernel just opened both, and nothing else owns them.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// Whether nobody has the writing end of a pipe open any more.
pub(super) fn has_hung_up(reading: &OwnedFd) -> io::Result<bool> {
    let mut wanted = libc::pollfd {
        fd: reading.as_raw_fd(),
        events: 0,
        revents: 0,
    };
    // SAFETY: the pointer is to one such structure.
    check(unsafe { libc::poll(&mut wanted, 1, 0) })?;
    Ok(wanted.revents & libc::POLLHUP != 0)
}

/// Waits for a child while passing signals on to it, then exits with its status. Reaps all other children meanwhile.
pub(super) fn pass_on_and_wait(child: libc::pid_t) -> ! {
    let waited = waited();
    loop {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: the pointers are to a set of signals and to memory for the answer.
        let signal = unsafe { libc::sigwaitinfo(&waited, info.as_mut_ptr()) };
        // SAFETY: zeros are a valid answer, so the memory holds one in any case.
        let info = unsafe { info.assume_init() };
        match signal {
            libc::SIGCHLD => reap(child),
            // The terminal sends its signals to the worker, too. A process that sends one chooses its receiver.
            libc::SIGTERM | libc::SIGINT if info.si_code <= 0 => {
                // SAFETY: the call takes numbers. The child has not been waited for, so its id is still its own.
                unsafe { libc::kill(child, signal) };
            }
            _ => {}
        }
    }
}

/// Collects the children that have ended, and exits if `child` is one of them.
fn reap(child: libc::pid_t) {
    loop {
        let mut status = 0;
        // SAFETY: the pointer is to a number.
        let ended = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) };
        if ended <= 0 {
            return;
        }
        if ended == child {
            exit(exit_status(status));
        }
    }
}

/// The status with which a process exits in place of one that ended with this status of `waitpid`: as in a shell, 128 and the signal if one ended it.
pub(super) fn exit_status(status: libc::c_int) -> libc::c_int {
    if libc::WIFSIGNALED(status) {
        128 + libc::WTERMSIG(status)
    } else {
        libc::WEXITSTATUS(status)
    }
}
