//! What runs on top of a TCP connection: a bulk sender, a source of messages, or a client that fetches pages.

use bloatlab_units::{Nanos, Ring, float};

use crate::traffic::Source;

/// The application of a TCP flow. Which one it is stands in a byte of its own, since every segment asks.
#[repr(u8)]
pub(crate) enum Application {
    /// Writes whenever there is room.
    Greedy,
    /// Writes this much in all.
    Finite { bytes: u64 },
    /// Writes messages as they come.
    Messages(Source),
    /// Asks for a page, reads it, waits, and asks again.
    Fetch(Fetch),
}

impl Application {
    /// Whether a segment that arrives may make it do something.
    #[inline]
    pub fn answers(&self) -> bool {
        matches!(self, Self::Finite { .. } | Self::Fetch(_))
    }
}

/// A client at the data receiver, a server at the data sender.
pub(crate) struct Fetch {
    pub request: u64,
    pub response: u64,
    pub interval: Nanos,
    pub persistent: bool,
    pub began: Nanos,
    /// Bytes of the request that reached the server, and of the page that reached the client.
    pub asked: u64,
    pub answered: u64,
    pub active: bool,
}

/// When each byte of a stream was written, so that the reader knows how long it was under way.
#[derive(Default)]
pub(crate) struct WriteLog {
    /// The write that is being read: the offset after it, and its instant.
    front: (u64, Nanos),
    /// Those after it, ascending.
    writes: Ring<(u64, Nanos)>,
    written: u64,
    read: u64,
}

impl WriteLog {
    #[inline]
    pub fn write(&mut self, now: Nanos, bytes: u64) {
        self.written += bytes;
        self.writes.push_back((self.written, now));
    }

    /// The reader got this many bytes: returns the sum over them of the time since each was written.
    #[inline(always)]
    pub fn read(&mut self, now: Nanos, bytes: u64) -> f64 {
        let until = self.read + bytes;
        if self.read < self.front.0 && until <= self.front.0 {
            self.read = until;
            return float(bytes) * float(now - self.front.1);
        }
        let mut sum = 0.0;
        while self.read < until {
            if self.read >= self.front.0 {
                let Some(next) = self.writes.pop_front() else {
                    self.read = until;
                    break;
                };
                self.front = next;
            }
            let (end, at) = self.front;
            let part = end.min(until) - self.read;
            sum += float(part) * float(now - at);
            self.read += part;
        }
        sum
    }

    /// Bytes read so far.
    pub fn read_so_far(&self) -> u64 {
        self.read
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_is_from_write_to_read() {
        let mut log = WriteLog::default();
        log.write(10, 100);
        log.write(20, 100);
        assert_eq!(log.read(30, 50), 50.0 * 20.0);
        assert_eq!(log.read(40, 100), 50.0 * 30.0 + 50.0 * 20.0);
        assert_eq!(log.read(50, 50), 50.0 * 30.0);
        assert_eq!(log.written(), 200);
    }
}
