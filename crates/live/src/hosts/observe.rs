//! What Linux's `TCP_INFO` says of a connection.

use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddrV4;
use std::os::fd::AsRawFd;

use bloatlab_sim::Observation;
use bloatlab_units::{MICROSECOND, Nanos};
use socket2::Socket;

use super::End;
use crate::namespace::check;

/// The kernel's `TCP_INFINITE_SSTHRESH`.
const NO_SSTHRESH: u32 = 0x7fff_ffff;

// States of a connection, as in the kernel's enumeration.
const SYN_SENT: u8 = 2;
const CLOSE_WAIT: u8 = 8;
const LAST_ACK: u8 = 9;
const CLOSING: u8 = 11;

/// A socket to ask for, by its own address and its peer's.
pub(super) struct Asked<'a> {
    pub end: &'a End,
    pub addresses: [SocketAddrV4; 2],
}

/// The `TCP_INFO` of a socket. What the kernel does not know is 0.
pub(super) struct TcpInfo(libc::tcp_info);

impl TcpInfo {
    /// Asks the kernel.
    pub fn of(socket: &Socket) -> io::Result<Self> {
        let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
        let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes, which is the size of the struct.
        check(unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.as_mut_ptr().cast(),
                &mut length,
            )
        })?;
        // SAFETY: the struct consists of integers, for which zeros and all that the kernel writes are valid.
        Ok(Self(unsafe { info.assume_init() }))
    }

    /// Reads what the kernel wrote. It may be shorter or longer than what we know.
    pub fn read(bytes: &[u8]) -> Self {
        let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
        let length = bytes.len().min(size_of::<libc::tcp_info>());
        // SAFETY: at most as many bytes as the struct has are copied into it.
        unsafe {
            info.as_mut_ptr()
                .cast::<u8>()
                .copy_from(bytes.as_ptr(), length)
        };
        // SAFETY: the struct consists of integers, for which all bytes are valid.
        Self(unsafe { info.assume_init() })
    }

    /// Whether the handshake of the opening end has not been answered.
    pub fn is_connecting(&self) -> bool {
        self.0.tcpi_state == SYN_SENT
    }

    /// Segments sent again, and timeouts.
    pub fn repeats(&self) -> Repeats {
        Repeats {
            segments: u64::from(self.0.tcpi_total_retrans),
            timeouts: u64::from(self.0.tcpi_total_rto),
        }
    }

    /// Payload bytes that arrived in order. The kernel counts a FIN as a byte.
    fn arrived(&self, has_read_fin: bool) -> u64 {
        let has_fin = has_read_fin || matches!(self.0.tcpi_state, CLOSE_WAIT | LAST_ACK | CLOSING);
        self.0
            .tcpi_bytes_received
            .saturating_sub(u64::from(has_fin))
    }
}

/// Segments that an end sent again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Repeats {
    /// Segments, SYNs included.
    pub segments: u64,
    /// Timeouts, those of SYNs included.
    pub timeouts: u64,
}

/// An end of a connection.
pub(super) struct ObservedEnd {
    /// What the kernel says of it.
    pub info: TcpInfo,
    /// What it sent again until the handshake was complete; `None`: it is not complete.
    pub handshake: Option<Repeats>,
    /// It has read the FIN of the other end.
    pub has_read_fin: bool,
}

impl ObservedEnd {
    /// SYNs sent again.
    fn syn_repeats(&self) -> u64 {
        self.handshake
            .unwrap_or_else(|| self.info.repeats())
            .segments
    }

    /// What it sent again after the handshake.
    fn repeats(&self) -> Repeats {
        let all = self.info.repeats();
        let handshake = self.handshake.unwrap_or(all);
        Repeats {
            segments: all.segments.saturating_sub(handshake.segments),
            timeouts: all.timeouts.saturating_sub(handshake.timeouts),
        }
    }
}

/// The state of a connection. An end without a socket counts as zeros. `opener` is the end that opened the connection.
pub(super) fn observation(ends: &[Option<ObservedEnd>; 2], opener: usize) -> Observation {
    let mut state = Observation {
        rtos: ends
            .iter()
            .flatten()
            .map(|end| end.repeats().timeouts)
            .sum(),
        syn_repeats: ends[opener].as_ref().map_or(0, ObservedEnd::syn_repeats),
        arrived: ends[1]
            .as_ref()
            .map_or(0, |end| end.info.arrived(end.has_read_fin)),
        ..Observation::default()
    };
    if let Some(sender) = &ends[0] {
        let info = &sender.info.0;
        state.cwnd = info.tcpi_snd_cwnd;
        state.ssthresh = match info.tcpi_snd_ssthresh {
            NO_SSTHRESH.. => u32::MAX,
            segments => segments,
        };
        state.in_flight = (info.tcpi_unacked + info.tcpi_retrans)
            .saturating_sub(info.tcpi_sacked + info.tcpi_lost);
        state.srtt = Nanos::from(info.tcpi_rtt) * MICROSECOND;
        state.min_rtt = match info.tcpi_min_rtt {
            u32::MAX => 0,
            microseconds => Nanos::from(microseconds) * MICROSECOND,
        };
        state.delivery_rate = info.tcpi_delivery_rate;
        state.pacing_rate = info.tcpi_pacing_rate;
        state.bytes_sent = info.tcpi_bytes_sent;
        state.segments = u64::from(info.tcpi_data_segs_out);
        state.retransmissions = sender.repeats().segments;
    }
    state
}
