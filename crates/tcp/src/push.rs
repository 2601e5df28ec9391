//! Which segments carry PSH: the ends of what the application wrote, and as in Linux places within long writes.

use std::collections::VecDeque;

/// No place.
const NOWHERE: u64 = u64::MAX;

/// Where segments with PSH end.
#[derive(Debug)]
pub(crate) struct Push {
    /// The next place.
    next: u64,
    /// The places of the writes that were not sent yet, in order.
    writes: VecDeque<Places>,
}

/// The places of a write: from the first one in steps, and its end.
#[derive(Debug)]
struct Places {
    next: u64,
    step: u64,
    end: u64,
}

impl Default for Push {
    fn default() -> Self {
        Self {
            next: NOWHERE,
            writes: VecDeque::new(),
        }
    }
}

impl Push {
    /// The application writes little, up to `end`. If it writes in pieces, `end` is a place. Otherwise no place is noted, and an older write keeps only
    /// its next one.
    #[inline]
    pub fn write_little(&mut self, end: u64, in_pieces: bool) {
        if in_pieces {
            self.add(end, 0, end);
        } else {
            self.writes.clear();
        }
    }

    /// The application writes much, from `from` to `end`. It waits in buffers of `buffer` bytes while the other end offers `window` bytes. As in
    /// Linux, the first buffer that ends more than half of a window behind the last place has the next one.
    pub fn write_much(&mut self, from: u64, end: u64, buffer: u64, window: u64) {
        let step = (window / 2 / buffer + 1) * buffer;
        let first = 1 + ((from - 1 + window / 2) / buffer + 1) * buffer;
        self.add(first.min(end), step, end);
    }

    fn add(&mut self, next: u64, step: u64, end: u64) {
        self.next = self.next.min(next);
        self.writes.push_back(Places { next, step, end });
    }

    /// The next place in data that was written up to `limit`, whose last byte is one, too.
    #[inline(always)]
    pub fn place(&self, limit: u64) -> u64 {
        self.next.min(limit)
    }

    /// Data left up to `end`, which is such a place or behind it.
    pub fn pass(&mut self, end: u64) {
        if end < self.next {
            return;
        }
        while let Some(write) = self.writes.front_mut() {
            if write.end <= end {
                self.writes.pop_front();
            } else {
                if write.next <= end {
                    write.next = (end + write.step).min(write.end);
                }
                break;
            }
        }
        self.next = self.writes.front().map_or(NOWHERE, |write| write.next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    /// The segments that carry PSH if all full segments up to `end` leave, and the last one.
    fn pushed(push: &mut Push, end: u64) -> Vec<u64> {
        let mut places = Vec::new();
        while places.last() != Some(&end) {
            let place = push.place(end);
            push.pass(place);
            places.push(place);
        }
        places.iter().map(|place| (place - 2) / MSS).collect()
    }

    #[test]
    fn a_long_write_has_a_place_behind_each_half_of_the_window() {
        // A page of 123 segments at a window of 64,088 bytes: every 23rd segment of Linux 7.2.12 carries PSH, and the last one.
        let mut push = Push::default();
        let end = 1 + 122 * MSS + 1013;
        push.write_much(1, end, MSS, 64_088);
        assert_eq!(pushed(&mut push, end), [22, 45, 68, 91, 114, 122]);
    }

    #[test]
    fn each_piece_ends_with_a_place() {
        // The page of a Linux 7.2.12 whose send buffer grows: pieces of 37, 18, 28, 37 and 3 segments while the window grows to 53 segments.
        let mut push = Push::default();
        let mut from = 1;
        let mut write = |segments: u64, window: u64| {
            let end = from + segments * MSS;
            push.write_much(from, end, MSS, window * MSS);
            from = end;
            end
        };
        let pieces = [(37, 45), (18, 53), (28, 53), (37, 53), (3, 53)];
        let end = pieces.map(|(segments, window)| write(segments, window))[4];
        assert_eq!(pushed(&mut push, end), [22, 36, 54, 81, 82, 109, 119, 122]);
    }

    #[test]
    fn of_a_buffer_that_is_always_full_the_last_byte_alone_is_a_place() {
        let mut push = Push::default();
        push.write_much(1, 100_001, MSS, 64_000);
        push.write_little(102_897, false);
        push.pass(push.place(102_897));
        assert_eq!(push.place(102_897), 102_897);
    }

    #[test]
    fn short_writes_have_their_ends_alone() {
        let mut push = Push::default();
        push.write_little(5_001, false);
        assert_eq!(push.place(5_001), 5_001);
        push.pass(5_001);
        push.write_little(5_101, false);
        assert_eq!(push.place(5_101), 5_101);
        push.write_little(5_201, true);
        push.write_little(9_001, true);
        assert_eq!(push.place(9_001), 5_201);
    }
}
