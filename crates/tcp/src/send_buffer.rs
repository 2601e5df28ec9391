//! The size of a send buffer. Linux counts its memory and lets it grow with the window (`tcp_wmem` in tcp(7)).

use std::collections::VecDeque;

use crate::TcpConfig;

/// Segments of the smallest window that a growing buffer is made for.
pub(crate) const LEAST_WINDOW: u64 = 10;
/// Bytes that Linux adds to the MSS for TCP's options, all headers and the end of a buffer, before it rounds up to a power of two.
const AROUND_SEGMENT: u64 = 12 + 640;
/// Bytes of `sk_buff`, which are added to that.
const DESCRIPTOR: u64 = 256;

/// The send buffer of a connection.
pub(crate) struct SendBuffer {
    /// Its size in bytes. The largest one if it grows.
    pub size: u64,
    /// What the application writes at a time; 0: as much as fits.
    pub write_size: u64,
    pub memory: Option<Box<Memory>>,
}

/// A send buffer that grows, and counts memory.
pub(crate) struct Memory {
    /// Its present size.
    pub size: u64,
    /// Memory that a segment of the window needs at most.
    pub per_segment: u64,
    /// Ends of the offload buffers that were sent and are not acknowledged yet.
    pub sent: VecDeque<u64>,
}

impl SendBuffer {
    pub fn new(config: &TcpConfig, windows: u64) -> Self {
        let segment = u64::from(config.mss) + AROUND_SEGMENT;
        let per_segment = windows * (segment.next_power_of_two() + DESCRIPTOR);
        let memory = || Memory {
            size: (LEAST_WINDOW * per_segment).min(config.send_buffer.0),
            per_segment,
            sent: VecDeque::new(),
        };
        Self {
            size: config.send_buffer.0,
            write_size: config.write_size.0,
            memory: config.autotuned_send_buffer.then(|| Box::new(memory())),
        }
    }

    /// Whether the application writes when there is much room, as on Linux.
    pub fn is_written_in_pieces(&self) -> bool {
        self.memory.is_some() || self.write_size > 0
    }
}

impl Memory {
    /// Number of offload buffers that end above `una`.
    pub fn buffers_above(&mut self, una: u64) -> u64 {
        while self.sent.front().is_some_and(|&end| end <= una) {
            self.sent.pop_front();
        }
        self.sent.len() as u64
    }
}
