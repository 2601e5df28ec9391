//! Sees every IP packet that comes by a device of the namespace, with its instant, in memory that the kernel shares. So no packet costs a system call.
//!
//! The memory is a ring of frames of `PACKET_RX_RING`, version 2 (Linux, `Documentation/networking/packet_mmap.rst`).

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU32, Ordering};

use bloatlab_units::{Nanos, SECOND};

use crate::frame::VNET;
use crate::raw_socket::{RawSocket, set_option};

/// Bytes of a place in the ring: the kernel's header, and the headers of a packet.
const PLACE: usize = 192;
/// Places in a block. A block is a multiple of a page.
const PLACES_IN_BLOCK: usize = 64;
const BLOCK: usize = PLACE * PLACES_IN_BLOCK;

const PACKET_RX_RING: libc::c_int = 5;
const PACKET_VERSION: libc::c_int = 10;
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
    raw: RawSocket,
    ring: *mut u8,
    /// Number of places.
    places: usize,
    next: usize,
}

impl Tap {
    /// Sees all packets of the calling thread's namespace from now on. It holds at least this many until they are handed over.
    ///
    /// # Errors
    /// The kernel has no packet sockets, or too little memory.
    pub fn open(held: usize) -> io::Result<Self> {
        let blocks = held.div_ceil(PLACES_IN_BLOCK);
        let places = blocks * PLACES_IN_BLOCK;
        let raw = RawSocket::new()?;
        raw.set(libc::SOL_PACKET, PACKET_VERSION, TPACKET_V2)?;
        // struct tpacket_req: block size and number, frame size and number.
        let request = [BLOCK, blocks, PLACE, places].map(|value| value as libc::c_int);
        set_option(&raw, (libc::SOL_PACKET, PACKET_RX_RING), &request)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let (null, length) = (std::ptr::null_mut(), places * PLACE);
        // SAFETY: the kernel chooses the address, and the length is that of the ring.
        let ring = unsafe {
            libc::mmap(
                null,
                length,
                access,
                libc::MAP_SHARED,
                raw.as_fd().as_raw_fd(),
                0,
            )
        };
        if ring == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let this = Self {
            raw,
            ring: ring.cast(),
            places,
            next: 0,
        };
        this.raw.bind(libc::ETH_P_IP, 0)?;
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
        self.raw.drops()
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        // SAFETY: the address and the length are those of the mapping, to which nothing refers any more.
        unsafe { libc::munmap(self.ring.cast(), self.places * PLACE) };
    }
}
