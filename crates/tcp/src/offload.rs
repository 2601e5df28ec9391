//! The state of segmentation offload.

use crate::{SegmentationOffload, TcpConfig};

/// Largest size of a buffer in bytes (Linux's `gso_max_size`).
pub(crate) const LARGEST_BUFFER: u64 = 64 * 1024;

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
        }
    }

    /// Whether buffers may hold more than one segment.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.segments | self.sets_more
    }
}
