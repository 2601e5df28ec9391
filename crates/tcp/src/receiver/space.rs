//! The space of a receive buffer: what it offers to the sender, and what waits in it until the application reads.

use bloatlab_units::{MICROSECOND, Nanos};

use super::memory::Memory;
use crate::{ReceiveWindow, TcpConfig};

/// Linux's first receive buffer (`tcp_rmem`).
pub(crate) const FIRST_RECEIVE_BUFFER: u64 = 131_072;

/// The most that a SYN, whose window is not scaled, can advertise.
const MOST_UNSCALED: u64 = 65_535;
/// Payload bytes of the smallest offload buffer that lets the window grow (Linux).
const LEAST_TO_GROW: u64 = 128;

/// A waiting application runs this long after the data that wakes it. A kernel takes about that long at best. It first receives what else its device
/// hands over, so a burst is read as a whole.
const WAKING: Nanos = MICROSECOND;

/// What an application reads when data arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Nothing: it waits for more.
    Nothing,
    /// All that is there.
    All,
    /// All that is there at this instant, before which no ACK is needed.
    Later(Nanos),
    /// All that is there, which opens a window that was nearly closed.
    Opens,
}

/// A receive buffer.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// Bytes of memory, and the most that they may become.
    buffer: u64,
    largest: u64,
    mss: u64,
    memory: Memory,
    /// Payload bytes that are offered, and the most that will be.
    offer: u64,
    most: u64,
    /// Payload of the offload buffer that is arriving.
    arriving: u64,
    /// Payload in order that the application has not read, and the least that it reads.
    unread: u64,
    read_size: u64,
    /// The instant of the last [`Reading::Later`].
    reads_at: Option<Nanos>,
}

impl Space {
    /// An empty buffer.
    pub(super) fn new(config: &TcpConfig) -> Self {
        let mss = u64::from(config.mss);
        let largest = config.receive_buffer.0.min(1 << 30);
        let buffer = match config.receive_window {
            ReceiveWindow::Autotuned => largest.min(FIRST_RECEIVE_BUFFER),
            ReceiveWindow::Full | ReceiveWindow::Growing => largest,
        };
        let (offer, most, memory) = match config.receive_window {
            ReceiveWindow::Full => (buffer, buffer, Memory::irrelevant()),
            ReceiveWindow::Growing | ReceiveWindow::Autotuned => {
                let first = first_window(buffer, mss);
                (first.min(MOST_UNSCALED), first, Memory::empty())
            }
        };
        Self {
            buffer,
            largest,
            mss,
            memory,
            offer,
            most,
            arriving: 0,
            unread: 0,
            // As in Linux, so that the window never closes before the application reads.
            read_size: config.read_size.0.min(largest / 2),
            reads_at: None,
        }
    }

    /// RFC 7323 section 2.3: with this shift, 16 bits can represent the buffer.
    pub(super) fn scale(&self) -> u32 {
        (0..14).find(|s| self.largest >> s <= 65_535).unwrap_or(14)
    }

    /// Bytes of memory.
    pub(super) fn buffer(&self) -> u64 {
        self.buffer
    }

    /// Whether a segment of this length does not show the payload's share of the memory.
    #[inline(always)]
    pub(super) fn ignores(&self, length: u16) -> bool {
        self.memory.ignores(length)
    }

    /// Whether all is offered and everything is read at once, so that only data beyond holes changes the window.
    pub(super) fn is_open(&self) -> bool {
        self.offer >= self.most && self.read_size == 0
    }

    /// Notes a segment, beyond a hole and not appended to others if it `is_alone`; `more` if the rest of its offload buffer follows. `held` bytes wait
    /// beyond holes. Returns whether more is offered because of it.
    pub(super) fn note(&mut self, length: u16, is_alone: bool, more: bool, held: u64) -> bool {
        if !self.memory.ignores(length) {
            self.measure(length, more);
        }
        self.arriving += u64::from(length);
        if more {
            return false;
        }
        let bytes = std::mem::take(&mut self.arriving);
        let may_grow = self.offer < self.most && bytes >= LEAST_TO_GROW;
        may_grow && !(is_alone && self.is_wasteful(bytes)) && self.grow(bytes, held)
    }

    /// As in Linux: a buffer whose payload has a smaller share of its memory than usual lets the window grow only up to half of the largest one, or up
    /// to a quarter if twice its share is smaller, too, and so on. This is not asked of data that was appended to a buffer: it adds no headers.
    fn is_wasteful(&self, bytes: u64) -> bool {
        let halvings = self.memory.halvings(bytes);
        halvings > 0 && self.offer > self.memory.holds(self.largest, [0, 0]) >> halvings
    }

    /// As in Linux since 6.9: half of the buffer can be payload, until a segment shows the payload's share of its memory.
    #[cold]
    fn measure(&mut self, length: u16, more: bool) {
        if self.memory.is_empty() {
            self.offer = first_window(self.buffer, self.mss);
        }
        if self.memory.note(length, more) {
            self.update_most();
            self.offer = self.offer.min(self.most);
        }
    }

    /// What fits besides one segment. At least one, so that a window never stays closed.
    fn update_most(&mut self) {
        let least = self.mss.min(self.buffer);
        self.most = self.memory.holds(self.buffer, [self.mss, 0]).max(least);
    }

    /// Offers more after an offload buffer of this many bytes. As in Linux: as fast as a sender in slow start can need, up to what is free besides that
    /// buffer.
    fn grow(&mut self, bytes: u64, held: u64) -> bool {
        let free = self.memory.holds(self.buffer, [self.unread + bytes, held]);
        let room = free.saturating_sub(self.offer);
        self.offer += room.min(2 * bytes.max(self.mss));
        room > 0
    }

    /// Payload became available in order while `held` bytes wait beyond holes. `offered` is the window of the last ACK. Tells what the application
    /// does.
    pub(super) fn deliver(&mut self, now: Nanos, bytes: u64, held: u64, offered: u64) -> Reading {
        self.unread += bytes;
        if self.read_size == 0 {
            self.unread = 0;
            return Reading::All;
        }
        if self.unread >= self.read_size || self.reads_at.is_some_and(|at| now <= at) {
            return self.read(now, held, offered);
        }
        // As in Linux: an application that waits is woken before the window closes.
        if self.window(held) < self.mss {
            self.unread = 0;
            return Reading::Opens;
        }
        Reading::Nothing
    }

    /// The application is woken. As in Linux: if the window is smaller than the last ACK said, no ACK is sent before the application has read.
    fn read(&mut self, now: Nanos, held: u64, offered: u64) -> Reading {
        let scale = self.scale();
        let is_smaller = self.window(held) >> scale << scale < offered;
        self.unread = 0;
        match self.reads_at {
            Some(at) if now <= at => Reading::Later(at),
            _ if is_smaller => {
                let at = now + WAKING;
                self.reads_at = Some(at);
                Reading::Later(at)
            }
            _ => Reading::All,
        }
    }

    /// Makes the buffer large enough for this much payload, if that is allowed and it is not.
    pub(super) fn enlarge(&mut self, payload: u64) {
        let buffer = self.memory.for_payload(payload).min(self.largest);
        if buffer > self.buffer {
            self.buffer = buffer;
            self.update_most();
        }
    }

    /// The window while `held` bytes wait beyond holes.
    #[inline]
    pub(super) fn window(&self, held: u64) -> u64 {
        if self.unread + held == 0 {
            return self.most.min(self.offer);
        }
        let free = match self.memory.is_empty() {
            true => self.most.saturating_sub(self.unread + held),
            false => self
                .memory
                .holds(self.buffer, [self.unread + self.mss, held]),
        };
        free.min(self.offer)
    }
}

/// The first window of a buffer in bytes: half of it, less room for one segment (Linux's `tcp_app_win`).
fn first_window(buffer: u64, mss: u64) -> u64 {
    let half = buffer / 2;
    if half <= 2 * mss {
        return half;
    }
    (half - mss).max(2 * mss)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_units::Bytes;

    fn space(window: ReceiveWindow, buffer: u64, read_size: u64) -> Space {
        Space::new(&TcpConfig {
            receive_buffer: Bytes(buffer),
            receive_window: window,
            read_size: Bytes(read_size),
            ..TcpConfig::default()
        })
    }

    /// How often the window grew in 100 segments, and how large it is.
    fn after_a_hundred(mut space: Space) -> (usize, u64) {
        let grown = (0..100).filter(|_| {
            let grows = space.note(1448, false, false, 0);
            space.deliver(0, 1448, 0, 0);
            grows
        });
        (grown.count(), space.window(0))
    }

    #[test]
    fn what_is_not_read_takes_space() {
        let mut space = space(ReceiveWindow::Full, 100_000, 5_000);
        assert_eq!(space.deliver(0, 3_000, 0, 0), Reading::Nothing);
        assert_eq!(space.window(10_000), 100_000 - 13_000);
        assert_eq!(space.deliver(0, 2_000, 0, 0), Reading::All);
        assert_eq!(space.window(0), 100_000);
    }

    #[test]
    fn a_window_grows_to_what_is_free_when_everything_was_read() {
        // The first window is 198,552 bytes, and the last one 153/256 of 400,000 less a segment's 2408: 38 segments' growth.
        let last = (400_000 - 2_408) * 153 / 256;
        let at_once = space(ReceiveWindow::Growing, 400_000, 0);
        assert_eq!(after_a_hundred(at_once), (14, last));
        // If the application waits for 30 segments, the last steps come after it has read.
        let pieces = space(ReceiveWindow::Growing, 400_000, 30 * 1448);
        let (grown, window) = after_a_hundred(pieces);
        assert!(grown > 14, "{grown}");
        // Ten segments wait, which lie together.
        let waiting = 10 * 1448 + 1448 + 960;
        assert_eq!(window, (400_000 - waiting) * 153 / 256);
    }

    #[test]
    fn a_single_segment_leaves_more_space_than_a_pair() {
        let mut space = space(ReceiveWindow::Growing, 100_000, 0);
        let pair = |space: &mut Space| {
            !space.note(1448, false, true, 0) && space.note(1448, false, false, 0)
        };
        while pair(&mut space) {}
        let pairs = space.offer;
        assert!(space.note(1448, false, false, 0), "one segment leaves more");
        assert_eq!(space.offer - pairs, 1448 * 192 / 256);
        assert!(!space.note(1448, false, false, 0));
    }

    #[test]
    fn beyond_a_hole_a_wasteful_buffer_grows_no_large_window() {
        // Pairs have 192/256 of payload, and a single segment 154/256. So one that lies alone lets the window grow up to half of the largest one.
        let mut space = space(ReceiveWindow::Growing, 1_000_000, 0);
        let half = 1_000_000 * 192 / 256 / 2;
        let pair = |space: &mut Space| {
            space.note(1448, true, true, 0);
            space.note(1448, true, false, 0)
        };
        assert!(pair(&mut space));
        space.offer = half;
        assert!(space.note(1448, true, false, 0));
        assert!(!space.note(1448, true, false, 0), "more than half");
        assert!(space.note(1448, false, false, 0), "appended to others");
        assert!(pair(&mut space));
    }

    #[test]
    fn an_application_reads_before_the_window_closes() {
        let mut space = space(ReceiveWindow::Full, 10_000, 1 << 20);
        assert_eq!(space.deliver(0, 4_999, 0, 0), Reading::Nothing);
        assert_eq!(
            space.deliver(0, 1, 0, 0),
            Reading::All,
            "half of the buffer"
        );
        assert_eq!(space.deliver(0, 1_000, 0, 0), Reading::Nothing);
        assert_eq!(space.deliver(0, 1_000, 7_000, 0), Reading::Opens);
        assert_eq!(space.window(7_000), 3_000);
    }

    #[test]
    fn an_application_that_wakes_reads_the_whole_burst() {
        let mut space = space(ReceiveWindow::Full, 60_000, 3_000);
        let later = Reading::Later(1_001);
        assert_eq!(space.deliver(1, 3_000, 0, 60_000), later);
        assert_eq!(space.deliver(1_001, 1_000, 0, 60_000), later);
        assert_eq!(space.window(0), 60_000);
        assert_eq!(space.deliver(1_002, 1_000, 0, 60_000), Reading::Nothing);
        let same_window = space.deliver(9_000, 2_000, 0, 57_000);
        assert_eq!(same_window, Reading::All, "an ACK is sent at once");
    }
}
