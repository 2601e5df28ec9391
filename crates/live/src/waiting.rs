//! Waits for descriptors or for an instant, and the scheduling of the thread that does.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use bloatlab_units::{Nanos, SECOND};

use crate::namespace::check;

/// Waits until one of the descriptors is readable, or until this much time has passed.
pub(crate) fn wait(descriptors: &[BorrowedFd<'_>], longest: Nanos) -> io::Result<()> {
    let mut list: Vec<libc::pollfd> = descriptors
        .iter()
        .map(|descriptor| libc::pollfd {
            fd: descriptor.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    let time = libc::timespec {
        tv_sec: (longest / SECOND) as libc::time_t,
        tv_nsec: (longest % SECOND) as libc::c_long,
    };
    let (pointer, count) = (list.as_mut_ptr(), list.len() as libc::nfds_t);
    // SAFETY: the pointers are to the list, of which the length is given, and to the time.
    match check(unsafe { libc::ppoll(pointer, count, &time, std::ptr::null()) }) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// While it lives, this thread wakes up in time: it has real-time scheduling where that is allowed, and the smallest timer slack.
pub(crate) struct Hurry(bool);

impl Hurry {
    /// The thread is in a hurry from now on.
    pub fn now() -> Self {
        const PRIORITY: libc::c_int = 20;
        // SAFETY: the call changes this thread alone, and takes no pointers.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        // Without the right to it, the thread stays as it is.
        Self(schedule(libc::SCHED_FIFO, PRIORITY))
    }

    /// Whether the thread has real-time scheduling.
    pub fn is_real_time(&self) -> bool {
        self.0
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        schedule(libc::SCHED_OTHER, 0);
    }
}

/// Sets the scheduling policy of this thread, if that is allowed. Returns whether it was.
fn schedule(policy: libc::c_int, priority: libc::c_int) -> bool {
    // SAFETY: all fields of the parameters are integers, so zeroes are valid.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the pointer is to the parameters; 0 means this thread.
    unsafe { libc::sched_setscheduler(0, policy, &parameters) == 0 }
}
