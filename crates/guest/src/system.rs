//! What the first process of a system has to do: mount the file systems, and end the system when its work is done.

use std::error::Error;
use std::{fs, io};

use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::unistd::sync;

use crate::write;

/// The working directory of the process that is this system's kernel.
pub const FOLDER: &str = "/o";
/// The host's files.
pub const HOST: &str = "/h";

/// Runs `work` in a system that is ready for it, and powers the system off.
pub fn start(work: fn() -> Result<(), Box<dyn Error>>) {
    let done = prepare().map_err(Box::from).and_then(|()| work());
    if let Err(why) = done {
        // If this fails too, the host finds neither an outcome nor a reason, and shows what the kernel printed.
        let _ = write::text("error", &why.to_string());
    }
    sync();
    // It returns only if it fails. Then this process ends, at which the kernel stops.
    let _ = reboot(RebootMode::RB_POWER_OFF);
}

fn prepare() -> io::Result<()> {
    let usual = MsFlags::empty();
    let mounts = [
        ("/proc", "proc", usual, None),
        ("/sys", "sysfs", usual, None),
        ("/dev", "devtmpfs", usual, None),
        ("/tmp", "tmpfs", usual, None),
        (FOLDER, "hostfs", usual, Some("/proc/self/cwd")),
        (HOST, "hostfs", MsFlags::MS_RDONLY, Some("/")),
    ];
    for (target, kind, flags, options) in mounts {
        fs::create_dir_all(target)?;
        mount(Some("none"), target, Some(kind), flags, options)?;
    }
    Ok(())
}
