//! Offloads of a network device.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use crate::namespace::check;

/// An offload that can be on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// Segmentation of TCP's buffers by the device.
    Tso,
    /// Segmentation of buffers just before the device.
    Gso,
    /// Segments that arrive back to back are joined.
    Gro,
}

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

impl Offload {
    /// The commands that read and that set it.
    fn commands(self) -> [u32; 2] {
        match self {
            Self::Tso => [0x1e, 0x1f],
            Self::Gso => [0x23, 0x24],
            Self::Gro => [0x2b, 0x2c],
        }
    }
}

/// Turns an offload of a device on or off. The device is one of the calling thread's namespace.
///
/// # Errors
/// There is no such device, or it did not keep the setting.
pub fn set_offload(device: &str, offload: Offload, on: bool) -> io::Result<()> {
    let [_, set] = offload.commands();
    call(device, set, u32::from(on))?;
    if offload_of(device, offload)? == on {
        return Ok(());
    }
    let state = if on { "on" } else { "off" };
    Err(io::Error::other(format!(
        "{device} did not turn {offload:?} {state}"
    )))
}

/// Whether an offload of a device is on.
///
/// # Errors
/// There is no such device.
pub fn offload_of(device: &str, offload: Offload) -> io::Result<bool> {
    let [read, _] = offload.commands();
    call(device, read, 0).map(|value| value != 0)
}

fn call(device: &str, command: u32, data: u32) -> io::Result<u32> {
    // Any socket does: it says which namespace is meant.
    let socket = UdpSocket::bind((std::net::Ipv4Addr::UNSPECIFIED, 0))?;
    let mut value = Value { command, data };
    // SAFETY: an ifreq is plain numbers, for which zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if device.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from.cast_signed() as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the request names a device and points to a value that outlives the call; the kernel writes only into that value.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) })?;
    Ok(value.data)
}
