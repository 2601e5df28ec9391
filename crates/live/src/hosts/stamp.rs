//! Receives datagrams with the time at which they arrived at the host.

use std::io::{self, IoSliceMut};
use std::os::fd::AsRawFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bloatlab_units::Nanos;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;
use socket2::Socket;

use crate::Clock;

/// Datagrams that one event receives at most, so that other sockets get their turn.
pub(super) const MOST_AT_ONCE: usize = 64;

/// A datagram that arrived.
pub(super) struct Arrival {
    /// Its size, which can be larger than the buffer.
    pub size: usize,
    /// When it arrived.
    pub at: Nanos,
}

/// Asks the kernel to note when datagrams arrive at this socket.
pub(super) fn request(socket: &Socket) -> io::Result<()> {
    Ok(setsockopt(socket, ReceiveTimestampns, &true)?)
}

/// Receives a datagram into the buffer. `None` if no datagram waits.
pub(super) fn receive(
    socket: &Socket,
    buffer: &mut [u8],
    clock: Clock,
) -> io::Result<Option<Arrival>> {
    let mut control = nix::cmsg_space!(TimeSpec);
    let mut slices = [IoSliceMut::new(buffer)];
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
    let message = match recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut control), flags) {
        Ok(message) => message,
        Err(nix::Error::EAGAIN) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let age = message
        .cmsgs()?
        .find_map(|control| match control {
            ControlMessageOwned::ScmTimestampns(stamp) => Some(age(stamp)),
            _ => None,
        })
        .unwrap_or_default();
    Ok(Some(Arrival {
        size: message.bytes,
        at: clock.now().saturating_sub(age.as_nanos() as Nanos),
    }))
}

/// Time since a stamp of the kernel, which uses the system's time. 0 if that was set back meanwhile.
fn age(stamp: TimeSpec) -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH + Duration::from(stamp))
        .unwrap_or_default()
}
