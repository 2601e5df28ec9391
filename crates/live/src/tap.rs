//! Sees every IP packet that comes by a device of the namespace, with its instant, in memory that the kernel shares. So no packet costs a system call.
//!
//! The memory is a ring of frames of `PACKET_RX_RING`, version 2 (Linux, `Documentation/networking/packet_mmap.rst`).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use bloatlab_units::{Nanos, SECOND};

use crate::frame::VNET;
use crate::namespace::check;

/// Bytes of a place in the ring: the kernel's header, and the headers of a packet.
const PLACE: usize = 192;
/// Places in a block. A block is a multiple of a page.
const PLACES_IN_BLOCK: usize = 64;
const BLOCK: usize = PLACE * PLACES_IN_BLOCK;

const PACKET_RX_RING: libc::c_int = 5;
const PACKET_VERSION: libc::c_int = 10;
const PACKET_VNET_HDR: libc::c_int = 15;
const TPACKET_V2: libc::c_int = 1;
/// Owner of a place: the kernel, or the reader.
const STATUS_KERNEL: u32 = 0;
const STATUS_USER: u32 = 1;
/// Bytes of `struct tpacket2_hdr`. A `struct sockaddr_ll` follows.
const HEADER: usize = 32;

/// A packet that came by a device.
pub(crate) struct Seen<'a> {
    /// Its instant on the realtime clock, ns.
    pub at: Nanos,
    /// Index of the device.
    pub device: u32,
    /// The virtio header and the start of the frame.
    pub bytes: &'a [u8],
}

/// The socket and its ring.
pub(crate) struct Tap {
    socket: OwnedFd,
    ring: *mut u8,
    /// Number of places.
    places: usize,
    next: usize,
    missed: u64,
}

impl Tap {
    /// Sees all packets of the calling thread's namespace from now on. It holds at least this many until they are handed over.
    ///
    /// # Errors
    /// The kernel has no packet sockets, or too little memory.
    pub fn open(held: usize) -> io::Result<Self> {
        let blocks = held.div_ceil(PLACES_IN_BLOCK);
        let places = blocks * PLACES_IN_BLOCK;
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // The socket receives nothing until it has a protocol.
        // SAFETY: the call takes no pointers.
        let socket = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: the descriptor was just opened and has no other owner.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        set(&socket, PACKET_VERSION, &TPACKET_V2)?;
        set(&socket, PACKET_VNET_HDR, &1)?;
        // struct tpacket_req: block size and number, frame size and number.
        let request = [BLOCK, blocks, PLACE, places].map(|value| value as u32);
        set(&socket, PACKET_RX_RING, &request)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let (null, length) = (std::ptr::null_mut(), places * PLACE);
        // SAFETY: the kernel chooses the address, and the length is that of the ring.
        let ring = unsafe {
            libc::mmap(
                null,
                length,
                access,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        if ring == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let this = Self {
            socket,
            ring: ring.cast(),
            places,
            next: 0,
            missed: 0,
        };
        // SAFETY: all fields of the address are integers, so zeroes are valid.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_IP as u16).to_be();
        let size = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the pointer and the size are those of the address.
        check(unsafe { libc::bind(this.socket.as_raw_fd(), (&raw const address).cast(), size) })?;
        Ok(this)
    }

    /// Hands over every packet that has come since the last call, in their order.
    pub fn drain(&mut self, mut each: impl FnMut(Seen<'_>)) {
        loop {
            // SAFETY: the index is below the number of places, so the place is within the ring, which is mapped as long as `self` lives. The place
            // begins with its status, which is aligned, and which the kernel and this thread change atomically.
            let place = unsafe { self.ring.add(self.next * PLACE) };
            // SAFETY: as above.
            let status = unsafe { AtomicU32::from_ptr(place.cast()) };
            if status.load(Ordering::Acquire) & STATUS_USER == 0 {
                return;
            }
            // SAFETY: the kernel does not touch the place until its status is set back.
            let bytes = unsafe { std::slice::from_raw_parts(place, PLACE) };
            let word = |at: usize| {
                u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
            };
            let start = usize::from(u16::from_ne_bytes([bytes[12], bytes[13]]));
            let end = (start + word(8) as usize).min(PLACE);
            each(Seen {
                at: Nanos::from(word(16)) * SECOND + Nanos::from(word(20)),
                device: word(HEADER + 4),
                bytes: &bytes[start.saturating_sub(VNET)..end],
            });
            status.store(STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.places;
        }
    }

    /// Number of packets that found no place in the ring so far.
    ///
    /// # Errors
    /// The socket is gone.
    pub fn missed(&mut self) -> io::Result<u64> {
        const PACKET_STATISTICS: libc::c_int = 6;
        let mut statistics = [0_u32; 2];
        let mut size = size_of_val(&statistics) as libc::socklen_t;
        let (socket, pointer) = (self.socket.as_raw_fd(), statistics.as_mut_ptr().cast());
        // SAFETY: the pointer and the size are those of the statistics.
        check(unsafe {
            libc::getsockopt(
                socket,
                libc::SOL_PACKET,
                PACKET_STATISTICS,
                pointer,
                &mut size,
            )
        })?;
        // Reading sets the kernel's counters to 0.
        self.missed += u64::from(statistics[1]);
        Ok(self.missed)
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        // SAFETY: the address and the length are those of the mapping, to which nothing refers any more.
        unsafe { libc::munmap(self.ring.cast(), self.places * PLACE) };
    }
}

/// Sets an option of a packet socket.
fn set<T>(socket: &OwnedFd, name: libc::c_int, value: &T) -> io::Result<()> {
    let (pointer, size) = (
        (&raw const *value).cast(),
        size_of::<T>() as libc::socklen_t,
    );
    // SAFETY: the pointer and the size are those of the value, which the kernel reads.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, name, pointer, size) })
        .map(drop)
}
