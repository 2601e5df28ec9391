//! A packet socket before anything is done with it: makes, binds and configures it, and counts what it dropped.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::namespace::check;

const PACKET_STATISTICS: libc::c_int = 6;
const PACKET_VNET_HDR: libc::c_int = 15;

/// A packet socket whose frames have a virtio header.
pub(crate) struct RawSocket {
    socket: OwnedFd,
    drops: u64,
}

impl RawSocket {
    /// Makes a socket of the calling thread's namespace. It receives nothing until it is bound.
    pub fn new() -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: the call takes no pointers.
        let socket = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        let this = Self {
            // SAFETY: the descriptor was just opened and has no other owner.
            socket: unsafe { OwnedFd::from_raw_fd(socket) },
            drops: 0,
        };
        this.set(libc::SOL_PACKET, PACKET_VNET_HDR, 1)?;
        Ok(this)
    }

    /// Receives packets of a protocol (`ETH_P_*`) from the device with this index; 0: from all devices of the namespace.
    pub fn bind(&self, protocol: libc::c_int, device: u32) -> io::Result<()> {
        // SAFETY: all fields of the address are integers, so zeroes are valid.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (protocol as u16).to_be();
        address.sll_ifindex = device as i32;
        let size = size_of_val(&address) as libc::socklen_t;
        let socket = self.socket.as_raw_fd();
        // SAFETY: the pointer and the size are those of the address.
        check(unsafe { libc::bind(socket, (&raw const address).cast(), size) }).map(drop)
    }

    /// Sets an option to a number.
    pub fn set(&self, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
        set_option(self, (level, name), &[value])
    }

    /// Number of packets that the kernel dropped so far because nobody had taken the earlier ones.
    pub fn drops(&mut self) -> io::Result<u64> {
        let mut statistics = [0_u32; 2];
        let mut size = size_of_val(&statistics) as libc::socklen_t;
        let socket = self.socket.as_raw_fd();
        let (level, name) = (libc::SOL_PACKET, PACKET_STATISTICS);
        let pointer = (&raw mut statistics).cast();
        // SAFETY: the pointers are to the statistics and to their size.
        check(unsafe { libc::getsockopt(socket, level, name, pointer, &mut size) })?;
        // Reading sets the kernel's counters to 0.
        self.drops += u64::from(statistics[1]);
        Ok(self.drops)
    }
}

impl AsFd for RawSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Sets an option of a socket, given by its level and its name, to one or several numbers.
pub(crate) fn set_option(
    socket: impl AsFd,
    (level, name): (libc::c_int, libc::c_int),
    values: &[libc::c_int],
) -> io::Result<()> {
    let (pointer, size) = (
        values.as_ptr().cast(),
        size_of_val(values) as libc::socklen_t,
    );
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the pointer and the size are those of the numbers, which the kernel reads.
    check(unsafe { libc::setsockopt(socket, level, name, pointer, size) }).map(drop)
}
