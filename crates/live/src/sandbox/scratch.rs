//! Work in namespaces that vanish right after it, for finding out what the kernel can do.

use std::fs::File;
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::process::{exit, exit_status, fork, pipe};
use super::{loopback, private_mounts, unshare};
use crate::namespace::check;

/// What the child's first byte says.
const DONE: u8 = 0;
const REFUSED: u8 = 1;

/// Calls `work` in a child process, in new network and mount namespaces with a new user namespace if privileges are missing, and returns its answer. The
/// calling process may have several threads. `work` must use nothing that another thread may hold, such as a lock.
///
/// # Errors
/// The kernel refuses the namespaces, or the child ended without an answer.
pub fn scratch(work: impl FnOnce() -> Vec<u8>) -> io::Result<Vec<u8>> {
    let (reading, writing) = pipe()?;
    let Some(child) = fork()? else {
        drop(reading);
        let answer = catch_unwind(AssertUnwindSafe(|| answer(work)));
        let sent = answer.is_ok_and(|answer| File::from(writing).write_all(&answer).is_ok());
        exit(i32::from(!sent));
    };
    drop(writing);
    let mut answer = Vec::new();
    let read = File::from(reading).read_to_end(&mut answer);
    let mut status = 0;
    // SAFETY: the pointer is to a number, and the child is ours.
    check(unsafe { libc::waitpid(child, &mut status, 0) })?;
    read?;
    match answer.split_first() {
        Some((&DONE, answer)) => Ok(answer.to_vec()),
        Some((&REFUSED, why)) => Err(refusal(why)),
        _ => Err(io::Error::other(format!(
            "a process in a scratch namespace ended with status {}",
            exit_status(status)
        ))),
    }
}

fn answer(work: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
    let entered = unshare(libc::CLONE_NEWNET | libc::CLONE_NEWNS)
        .and_then(|()| private_mounts())
        .and_then(|()| loopback());
    match entered {
        Ok(()) => [vec![DONE], work()].concat(),
        Err(error) => [vec![REFUSED], error.to_string().into_bytes()].concat(),
    }
}

fn refusal(why: &[u8]) -> io::Error {
    let why = String::from_utf8_lossy(why).into_owned();
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}
