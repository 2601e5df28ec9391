//! Which segments carry PSH: the ends of what the application wrote, and as in Linux places within long writes.

use crate::sender::Sender;

/// Segments of a write that can have segments with PSH before its end.
const LONG_WRITE: u64 = 16;

/// Where the next segment with PSH ends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Push {
    next: u64,
    /// Bytes from one place to the next.
    step: u64,
}

impl Push {
    /// The application writes little: only the last byte is a place.
    #[inline]
    pub fn write_little(&mut self) {
        self.step = 1 << 62;
    }

    /// The application writes much at `from`. It waits in buffers of `buffer` bytes while the other end offers `window` bytes. As in Linux, the first
    /// buffer that ends more than half of a window behind the last place has the next one.
    pub fn write_much(&mut self, from: u64, buffer: u64, window: u64) {
        self.step = (window / 2 / buffer + 1) * buffer;
        if self.next <= from {
            self.next = from + self.step;
        }
    }

    /// The next place in data that was written up to `limit`, whose last byte is one, too.
    #[inline(always)]
    pub fn place(&self, limit: u64) -> u64 {
        match self.next {
            0 => limit,
            next => next.min(limit),
        }
    }

    /// Data left up to `end`, which is such a place or behind it.
    pub fn pass(&mut self, end: u64) {
        if self.next <= end {
            self.next = end + self.step;
        }
    }
}

impl Sender {
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
        if self.limit - from < LONG_WRITE * self.window.mss {
            return self.push.write_little();
        }
        if self.edge > 0 {
            let window = self.edge.saturating_sub(self.una);
            let buffer = self.waiting_buffer();
            self.push.write_much(from, buffer, window);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_write_has_a_place_behind_each_half_of_the_window() {
        // A page of 123 segments at a window of 64,088 bytes: every 23rd segment of Linux 7.2.12 carries PSH, and the last one.
        let mut push = Push::default();
        let end = 1 + 122 * 1448 + 1013;
        push.write_much(1, 1448, 64_088);
        let mut places = Vec::new();
        while places.last() != Some(&end) {
            let place = push.place(end);
            push.pass(place);
            places.push(place);
        }
        let segments: Vec<u64> = places.iter().map(|place| (place - 1) / 1448).collect();
        assert_eq!(segments, [23, 46, 69, 92, 115, 122]);
    }

    #[test]
    fn short_writes_have_their_ends_alone() {
        let mut push = Push::default();
        push.write_little();
        assert_eq!(push.place(5_001), 5_001);
        push.pass(5_001);
        push.write_little();
        assert_eq!(push.place(5_101), 5_101);
    }
}
