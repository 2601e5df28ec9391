//! What the application writes: how much the send buffer takes, and where PSH goes.

use bloatlab_units::Nanos;

use crate::offload::BUFFER_OVERHEAD;
use crate::send_buffer::LEAST_WINDOW;
use crate::sender::Sender;

/// Segments of a write that can have segments with PSH before its end.
const LONG_WRITE: u64 = 16;

impl Sender {
    /// Number of bytes that the application can write now, or all writes that it can make.
    #[inline(always)]
    pub(crate) fn writable(&mut self, now: Nanos) -> u64 {
        if self.send_buffer.memory.is_some() {
            return self.writable_by_memory(now);
        }
        let size = self.send_buffer.size;
        let room = size.saturating_sub(self.unacknowledged());
        match self.send_buffer.write_size {
            0 => room,
            write => whole_writes(room.checked_sub(size / 3), room, write),
        }
    }

    /// Payload bytes written and not acknowledged.
    #[inline]
    pub(crate) fn unacknowledged(&self) -> u64 {
        self.limit - self.una.max(1).min(self.limit)
    }

    /// An offload buffer has left up to `next`.
    #[inline]
    pub(crate) fn note_buffer_sent(&mut self) {
        if self.offload.segments {
            self.board.end_buffer();
            if let Some(memory) = &mut self.send_buffer.memory {
                memory.sent.push_back(self.next);
            }
        }
    }

    /// As [`writable`](Self::writable) for a buffer that grows. What is written waits in buffers, and the last one may exceed the size.
    #[inline(never)]
    fn writable_by_memory(&mut self, now: Nanos) -> u64 {
        if self.edge == 0 {
            // The handshake gives the size of waiting buffers.
            return 0;
        }
        self.grow_send_buffer(now);
        let used = self.memory_used();
        let size = self.send_buffer.memory.as_ref().map_or(0, |m| m.size);
        let usual = 2 * size / 3;
        if used > usual {
            return 0;
        }
        let room = self.fill(used, size);
        match self.send_buffer.write_size {
            0 => room,
            write => whole_writes(Some(self.fill(used, usual)), room, write),
        }
    }

    /// The buffer grows to the memory of two windows (BBR: three) if the window has room for more than the next offload buffer.
    fn grow_send_buffer(&mut self, now: Nanos) {
        let (mss, waits) = (self.window.mss, self.limit - self.next);
        let next = if waits > 0 && self.offload.is_on() {
            self.next_buffer(now, 0)
        } else {
            waits.min(mss)
        };
        let has_room = self.in_window() + next + mss <= self.window.cwnd;
        let most = self.send_buffer.size;
        if let Some(memory) = &mut self.send_buffer.memory
            && has_room
        {
            let segments = (self.window.cwnd / mss).max(LEAST_WINDOW);
            let wanted = segments.saturating_mul(memory.per_segment).min(most);
            memory.size = memory.size.max(wanted);
        }
    }

    /// Memory of what is written and not acknowledged.
    fn memory_used(&mut self) -> u64 {
        let sent = match &mut self.send_buffer.memory {
            Some(memory) if self.offload.segments => memory.buffers_above(self.una),
            _ => self.board.len() as u64,
        };
        let unsent = self.limit - self.next;
        let first = self.rest_of_buffer().min(unsent);
        let waiting = u64::from(first > 0) + (unsent - first).div_ceil(self.waiting_buffer());
        self.unacknowledged() + BUFFER_OVERHEAD * (sent + waiting)
    }

    /// Payload bytes that bring the memory from `used` to `size` or above it, in whole buffers.
    fn fill(&self, used: u64, size: u64) -> u64 {
        let whole = self.waiting_buffer();
        // The rest of the last buffer, if it has not left.
        let last = match (self.limit - 1) % whole {
            part if part > 0 && self.limit > self.next => whole - part,
            _ => 0,
        };
        let missing = size.saturating_sub(used + last);
        last + whole * missing.div_ceil(whole + BUFFER_OVERHEAD)
    }

    /// The application writes this many bytes.
    #[inline]
    pub(crate) fn write(&mut self, bytes: u64) {
        let from = self.limit;
        self.limit += bytes;
        self.place_pushes(from);
    }

    /// Finds the places of PSH in what was written from `from` on. Before the handshake, the other end's window is not known; it is done then.
    #[inline]
    pub(crate) fn place_pushes(&mut self, from: u64) {
        let (end, mss) = (self.limit, self.window.mss);
        if end == from {
            return;
        }
        if end - from < LONG_WRITE * mss {
            self.push
                .write_little(end, self.send_buffer.is_written_in_pieces());
        } else if self.edge > 0 {
            let window = self.edge.saturating_sub(self.una);
            let buffer = self.waiting_buffer();
            self.push.write_much(from, end, buffer, window);
        }
    }
}

/// Bytes of the writes that fit into `room`. As in Linux, the application is woken when a third of the buffer is free; `more` is what it can write
/// while that is so.
fn whole_writes(more: Option<u64>, room: u64, write: u64) -> u64 {
    more.map_or(0, |more| ((more / write + 1) * write).min(room))
}
