//! Network namespaces without names: each lives as long as something has it open, and vanishes with the process.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// The namespace of the calling thread. `/proc/self` would be that of the process's first thread.
const OWN: &str = "/proc/thread-self/ns/net";

/// A network namespace.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// The namespace of the calling thread.
    ///
    /// # Errors
    /// `/proc` is not mounted.
    pub fn current() -> io::Result<Self> {
        File::open(OWN).map(Self)
    }

    /// Makes an empty namespace. The calling thread stays where it is.
    ///
    /// # Errors
    /// The process may not make namespaces, or there are too many.
    pub fn new() -> io::Result<Self> {
        let own = Self::current()?;
        // SAFETY: the call takes no pointers, and changes the network namespace of this thread alone.
        check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
        let made = Self::current();
        own.join()?;
        made
    }

    /// Calls `work` inside this namespace. Sockets that it opens belong to the namespace for good.
    ///
    /// # Errors
    /// The thread cannot enter the namespace, or `work` fails.
    pub fn within<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let own = Self::current()?;
        self.join()?;
        let result = work();
        own.join()?;
        result
    }

    /// Moves the calling thread into this namespace.
    ///
    /// # Errors
    /// The thread may not enter it.
    pub fn join(&self) -> io::Result<()> {
        // SAFETY: the descriptor is open, and the call changes the network namespace of this thread alone.
        check(unsafe { libc::setns(self.0.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The result of a system call that returns -1 if it fails.
///
/// # Errors
/// The error of the call.
pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}
