//! Namespaces of a whole process: nothing that it makes outlives it, and nothing outside them changes.

mod obstacle;
mod process;
mod scratch;

use std::ffi::CString;
use std::fs;
use std::io;
use std::ptr;

use self::process::{
    Signals, die_with_parent, exit, fork, has_hung_up, parent_id, pass_on_and_wait, pipe,
};
use crate::namespace::check;
use crate::netlink::{Netlink, doing};

pub use obstacle::{Obstacle, obstacle};
pub use scratch::scratch;

/// Numbers of the capabilities that namespaces, devices and raw sockets need.
const CAPABILITIES: [u32; 3] = [
    12, // CAP_NET_ADMIN
    13, // CAP_NET_RAW
    21, // CAP_SYS_ADMIN
];

/// Moves the calling process into new network, PID and mount namespaces, and into a new user namespace if it lacks the privileges otherwise.
///
/// The call forks twice and returns in the innermost process, the *worker*. The middle process is the first of the PID namespace: it reaps orphans, and
/// the kernel ends all processes of the namespace with it. The outer process waits. It passes SIGTERM and SIGINT on to the worker, and exits with the
/// worker's status. If the outer process dies, or the thread that started it, then the kernel kills the middle one and with it all others.
///
/// `parent` is the id of the process that started this one. If that process has died before the call, the call fails.
///
/// The process must have a single thread: others would be lost in the worker, and the kernel makes no user namespace for them. The caller flushes
/// buffered output before, because two processes leave without doing so.
///
/// # Errors
/// The kernel refuses the namespaces; [`obstacle`] says why and what to do. The error may be returned in any of the three processes, and the caller must
/// exit then.
pub fn enter(parent: Option<u32>) -> io::Result<()> {
    let driver = parent_id();
    if parent.is_some_and(|parent| parent != driver) {
        return Err(gone());
    }
    unshare(libc::CLONE_NEWNET | libc::CLONE_NEWPID | libc::CLONE_NEWNS)?;
    die_with_parent()?;
    if parent_id() != driver {
        return Err(gone());
    }
    let signals = Signals::block()?;
    let (outer_is_alive, outer_end) = pipe()?;
    if let Some(middle) = fork()? {
        // The end of the pipe stays open as long as this process lives.
        pass_on_and_wait(middle);
    }
    drop(outer_end);
    die_with_parent()?;
    if has_hung_up(&outer_is_alive)? {
        exit(1);
    }
    private_mounts()?;
    if let Some(worker) = fork()? {
        pass_on_and_wait(worker);
    }
    signals.restore()?;
    loopback()
}

/// Shows a file in place of another one, for the processes of the present mount namespace.
///
/// # Errors
/// One of them does not exist, or the kernel refuses it.
pub fn show_instead(file: &str, place: &str) -> io::Result<()> {
    let [from, to] = [CString::new(file)?, CString::new(place)?];
    let (bind, none) = (libc::MS_BIND, ptr::null());
    // SAFETY: the strings end with zeros, and null is allowed where no type and data are needed.
    let mounted = unsafe { libc::mount(from.as_ptr(), to.as_ptr(), none, bind, none.cast()) };
    doing(|| format!("showing {file} as {place}"), check(mounted)).map(drop)
}

fn gone() -> io::Error {
    io::Error::other("the process that started this one has ended")
}

/// Moves the calling process into new namespaces of these kinds, with a new user namespace if it lacks privileges.
fn unshare(kinds: libc::c_int) -> io::Result<()> {
    if has_capabilities()? {
        // SAFETY: the call takes no pointers.
        return check(unsafe { libc::unshare(kinds) }).map(drop);
    }
    // SAFETY: these calls take no arguments and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: the call takes no pointers.
    check(unsafe { libc::unshare(kinds | libc::CLONE_NEWUSER) })?;
    for (file, text) in [
        ("setgroups", String::from("deny")),
        ("uid_map", format!("0 {user} 1")),
        ("gid_map", format!("0 {group} 1")),
    ] {
        let written = fs::write(format!("/proc/self/{file}"), text);
        doing(|| format!("writing {file} of a user namespace"), written)?;
    }
    Ok(())
}

/// Whether the process has the privileges that it needs without a user namespace.
fn has_capabilities() -> io::Result<bool> {
    let status = fs::read_to_string("/proc/self/status")?;
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok())
        .unwrap_or_default();
    let has_all = CAPABILITIES.iter().all(|bit| effective & (1 << bit) != 0);
    // SAFETY: the call takes no arguments and cannot fail.
    Ok(has_all && unsafe { libc::geteuid() } == 0)
}

/// Keeps mounts from reaching other namespaces, and mounts a `/proc` of this PID namespace where the kernel allows it.
///
/// A container may hide parts of `/proc`. Then the kernel forbids a new one, and the old one shows this process as well.
fn private_mounts() -> io::Result<()> {
    let flags = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: the strings end with zeros, and null is allowed where no source, type and data are needed.
    check(unsafe { libc::mount(ptr::null(), c"/".as_ptr(), ptr::null(), flags, ptr::null()) })?;
    let proc = c"proc".as_ptr();
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: as above.
    let mounted = unsafe { libc::mount(proc, c"/proc".as_ptr(), proc, flags, ptr::null()) };
    match check(mounted) {
        Err(error) if error.kind() != io::ErrorKind::PermissionDenied => Err(error),
        _ => Ok(()),
    }
}

/// Puts the loopback device of the calling thread's namespace up.
fn loopback() -> io::Result<()> {
    Netlink::open()?.set_up(Netlink::index_of("lo")?, false)
}
