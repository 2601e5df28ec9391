//! A packet socket on one network device: whole frames with a virtio header, so that frames of several segments pass in one piece.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use bloatlab_units::{Nanos, SECOND};

use crate::namespace::check;
use crate::raw_socket::RawSocket;

/// Bytes of the longest frame with its headers.
const LONGEST: usize = 66 * 1024;
/// Frames that are received at once.
const BATCH: usize = 64;
/// Memory for frames that wait to be read. The kernel gives what it allows.
const RECEIVE_BUFFER: libc::c_int = 256 << 20;
/// Bytes of a control message with a time stamp.
const CONTROL: usize = 64;

/// A packet socket that is bound to a device of the namespace in which it was opened.
pub(crate) struct PacketSocket {
    raw: RawSocket,
}

/// A received frame, with its virtio header.
pub(crate) struct Received {
    /// Its time on the realtime clock, ns; 0: unknown.
    pub at: Nanos,
    /// Index of the socket.
    pub from: usize,
    pub bytes: Vec<u8>,
}

impl PacketSocket {
    /// Opens a socket on the device with this index. What it sends passes the device's queue by.
    pub fn open(device: u32) -> io::Result<Self> {
        let this = Self::open_to_queue(device)?;
        this.raw
            .set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)?;
        Ok(this)
    }

    /// Opens a socket on the device with this index. What it sends enters the device's queue.
    pub fn open_to_queue(device: u32) -> io::Result<Self> {
        let raw = RawSocket::new()?;
        raw.set(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;
        raw.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        for (forced, allowed) in [
            (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
            (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
        ] {
            // Without privileges in the first user namespace there is a limit.
            raw.set(libc::SOL_SOCKET, forced, RECEIVE_BUFFER)
                .or_else(|_| raw.set(libc::SOL_SOCKET, allowed, RECEIVE_BUFFER))?;
        }
        raw.bind(libc::ETH_P_ALL, device)?;
        Ok(Self { raw })
    }

    /// Sends a frame in parts, with its virtio header. Returns false if the device has no room.
    pub fn send(&self, parts: [&[u8]; 2]) -> io::Result<bool> {
        let mut vector = parts.map(|part| libc::iovec {
            iov_base: part.as_ptr().cast_mut().cast(),
            iov_len: part.len(),
        });
        // SAFETY: all fields of the header are integers and pointers, so zeroes are valid.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = vector.as_mut_ptr();
        message.msg_iovlen = vector.len();
        // SAFETY: the message points to the two parts, which live until the call returns and are only read.
        let sent = unsafe { libc::sendmsg(self.raw.as_fd().as_raw_fd(), &message, 0) };
        if sent >= 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::ENOBUFS) => Ok(false),
            _ => Err(error),
        }
    }

    /// Number of frames that the kernel dropped because the socket's buffer was full.
    pub fn drops(&mut self) -> io::Result<u64> {
        self.raw.drops()
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.as_fd()
    }
}

const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// Memory for the frames of one call.
pub(crate) struct Batch {
    buffers: Vec<Vec<u8>>,
    /// Buffers of long frames that were given back.
    spare: Vec<Vec<u8>>,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            buffers: (0..BATCH).map(|_| vec![0; LONGEST]).collect(),
            spare: Vec::new(),
        }
    }
}

impl Batch {
    /// Appends the frames that wait in a socket, up to [`BATCH`]. Returns whether more may wait.
    pub fn receive(
        &mut self,
        (from, socket): (usize, &PacketSocket),
        frames: &mut Vec<Received>,
    ) -> io::Result<bool> {
        let mut vectors: [libc::iovec; BATCH] = std::array::from_fn(|i| libc::iovec {
            iov_base: self.buffers[i].as_mut_ptr().cast(),
            iov_len: LONGEST,
        });
        let mut controls = [[0_u64; CONTROL / 8]; BATCH];
        let mut messages: [libc::mmsghdr; BATCH] = std::array::from_fn(|i| {
            // SAFETY: all fields of the header are integers and pointers, so zeroes are valid.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_iov = &raw mut vectors[i];
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_control = controls[i].as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = CONTROL;
            message
        });
        let (descriptor, list) = (socket.as_fd().as_raw_fd(), messages.as_mut_ptr());
        // SAFETY: each message points to a buffer and to control memory of the stated sizes, which live until the call returns.
        let count =
            unsafe { libc::recvmmsg(descriptor, list, BATCH as u32, 0, std::ptr::null_mut()) };
        let count = match check(count) {
            Ok(count) => count as usize,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        for (index, message) in messages[..count].iter().enumerate() {
            let length = message.msg_len as usize;
            let at = time_stamp(&message.msg_hdr);
            let bytes = self.take(index, length);
            frames.push(Received { at, from, bytes });
        }
        Ok(count == BATCH)
    }

    /// The frame in a buffer. A short one is copied, a long one takes the buffer along.
    fn take(&mut self, index: usize, length: usize) -> Vec<u8> {
        const SHORT: usize = 4096;
        let buffer = &mut self.buffers[index];
        if length <= SHORT {
            return buffer[..length].to_vec();
        }
        let mut next = self.spare.pop().unwrap_or_default();
        next.resize(LONGEST, 0);
        let mut frame = std::mem::replace(buffer, next);
        frame.truncate(length);
        frame
    }

    /// Takes back the memory of a frame.
    pub fn give_back(&mut self, frame: Vec<u8>) {
        if frame.capacity() >= LONGEST && self.spare.len() < BATCH {
            self.spare.push(frame);
        }
    }
}

/// The kernel's time stamp of a message, ns; 0 if there is none.
fn time_stamp(message: &libc::msghdr) -> Nanos {
    // SAFETY: the kernel filled the control memory, and the macros stay within its length.
    let mut control = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !control.is_null() {
        // SAFETY: the header is within the control memory.
        let header = unsafe { &*control };
        if header.cmsg_level == libc::SOL_SOCKET && header.cmsg_type == libc::SCM_TIMESTAMPNS {
            // SAFETY: this kind of message carries a timespec, which may not be aligned.
            let time: libc::timespec = unsafe {
                libc::CMSG_DATA(control)
                    .cast::<libc::timespec>()
                    .read_unaligned()
            };
            return time.tv_sec as Nanos * SECOND + time.tv_nsec as Nanos;
        }
        // SAFETY: as above.
        control = unsafe { libc::CMSG_NXTHDR(message, control) };
    }
    0
}
