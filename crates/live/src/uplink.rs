//! The way from a server to the world outside. Another process, outside, makes its device and moves its packets.

use std::fs::File;
use std::io::{self, IoSlice};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use nix::sys::socket::{ControlMessage, MsgFlags, recv, sendmsg};

use crate::laid::{HOST_DEVICE, Laid};
use crate::namespace::check;
use crate::netlink::Netlink;
use crate::sysctl;

/// The device that the process outside makes in the server's namespace.
const DEVICE: &str = "tap0";
/// What it says when the device is ready.
const READY: u8 = b'1';

/// A copy of a descriptor, by its number.
///
/// # Errors
/// There is no such descriptor.
pub fn descriptor(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers, and makes a new descriptor or fails.
    let copy = check(unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0) })?;
    // SAFETY: the kernel just made it, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Hands the server's namespace to the process at the other end of a socket, waits until its device is ready, and lets the server forward packets
/// between it and the client. `hosts` are the numbers of the server and the client.
///
/// # Errors
/// The process gives up, or the kernel refuses something.
pub(crate) fn open(socket: &OwnedFd, hosts: &[u32; 2], laid: &mut Laid) -> io::Result<()> {
    let [(server, _), (client, source)] = hosts.map(|host| laid.hosts[host as usize]);
    let users = File::open("/proc/self/ns/user")?;
    let descriptors = [
        laid.namespaces[server].as_fd().as_raw_fd(),
        users.as_raw_fd(),
    ];
    let rights = [ControlMessage::ScmRights(&descriptors)];
    let text = [IoSlice::new(b"0")];
    sendmsg::<()>(socket.as_raw_fd(), &text, &rights, MsgFlags::empty(), None)?;
    let mut answer = [0];
    let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    if (length, answer) != (1, [READY]) {
        return Err(io::Error::other("the world outside could not be connected"));
    }
    laid.namespaces[server].within(|| {
        sysctl::set("net.ipv4.ip_forward", "1")?;
        for device in ["all", DEVICE, HOST_DEVICE] {
            // A reply may come in by another device than a request to its sender would leave by.
            sysctl::set(&format!("net.ipv4.conf.{device}.rp_filter"), "0")?;
        }
        // It answers for the client, whose packets keep their address.
        sysctl::set(&format!("net.ipv4.conf.{DEVICE}.proxy_arp"), "1")
    })?;
    laid.namespaces[client].within(|| {
        let mut netlink = Netlink::open()?;
        let device = Netlink::index_of(HOST_DEVICE)?;
        netlink.add_route(device, Ipv4Addr::UNSPECIFIED, 0, source, None)
    })
}
