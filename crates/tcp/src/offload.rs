//! The state of segmentation offload, and the sizes of buffers.

use bloatlab_units::{MICROSECOND, Nanos};

use crate::{SegmentationOffload, TcpConfig};

/// Largest size of a buffer in bytes (Linux's `gso_max_size`).
pub(crate) const LARGEST_BUFFER: u64 = 64 * 1024;
/// Bytes of memory that a buffer takes besides its payload in Linux: on x86-64, 704 for headers and `skb_shared_info`, and 256 for `sk_buff`.
pub(crate) const BUFFER_OVERHEAD: u64 = 960;

/// The offload state of a sender.
pub(crate) struct Offload {
    /// The sender itself combines segments into buffers.
    pub segments: bool,
    /// The sender marks segments that leave together, because queues and the other end use this.
    pub sets_more: bool,
    /// Bytes of the current buffer that have not left yet, and whether it holds several segments.
    pub rest: u64,
    pub is_long: bool,
    /// Bytes of the current buffer of retransmissions.
    pub again: u64,
    /// Largest size of a buffer in bytes: `gso_max_segs` and [`LARGEST_BUFFER`].
    pub most: u64,
    /// Each step of this size in the RTT halves the extra size of a buffer for hosts that are close.
    near: Nanos,
}

impl Offload {
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            segments: config.segmentation_offload != SegmentationOffload::Off,
            sets_more: config.segmentation_offload == SegmentationOffload::On
                || config.receive_offload,
            rest: 0,
            is_long: false,
            again: 0,
            most: (u64::from(config.gso_max_segs) * u64::from(config.mss)).min(LARGEST_BUFFER),
            near: MICROSECOND << config.tso_rtt_log,
        }
    }

    /// Whether buffers may hold more than one segment.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.segments | self.sets_more
    }

    /// What hosts add to a buffer in Linux if their smallest RTT is this: 64 KiB, halved per `2^tso_rtt_log` us.
    pub fn near(&self, min_rtt: Nanos) -> u64 {
        let halvings = (min_rtt / self.near).min(64);
        LARGEST_BUFFER.checked_shr(halvings as u32).unwrap_or(0)
    }

    /// Size of the buffers in which the application's data waits, in bytes: the largest ones, at most half of the other end's `window` (Linux's
    /// `size_goal`).
    pub fn waiting_buffer(&self, mss: u64, window: u64) -> u64 {
        let most = self.most.min(window / 2);
        (most - most % mss).max(mss)
    }
}
