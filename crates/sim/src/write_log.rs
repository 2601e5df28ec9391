//! When each byte of a stream was written.

use bloatlab_units::{Nanos, Ring, float};

/// When each byte of a stream was written, so that the reader knows its delay.
#[derive(Default)]
pub(crate) struct WriteLog {
    /// The write that is being read: its end offset and its instant.
    front: (u64, Nanos),
    /// The later writes, in order.
    writes: Ring<Write>,
    /// The instant of the last write.
    last: Nanos,
    written: u64,
    read: u64,
}

/// A write, in 6 bytes. A write that does not fit takes several entries.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Write {
    /// Time since the previous write, ns.
    later: u32,
    bytes: u16,
}

/// Limits of one entry: the longest time, and the most bytes.
const LONGEST: Nanos = u32::MAX as Nanos;
const LARGEST: u64 = u16::MAX as u64;

impl WriteLog {
    #[inline]
    pub fn write(&mut self, now: Nanos, bytes: u64) {
        let later = now - self.last;
        if later <= LONGEST && bytes <= LARGEST {
            let (later, bytes) = (later as u32, bytes as u16);
            self.writes.push_back(Write { later, bytes });
        } else {
            self.write_in_parts(later, bytes);
        }
        self.last = now;
        self.written += bytes;
    }

    #[cold]
    fn write_in_parts(&mut self, mut later: Nanos, mut bytes: u64) {
        if self.written == 0 {
            // The first write may fill the whole send buffer.
            self.front = (bytes, later);
            return;
        }
        while later > LONGEST {
            self.writes.push_back(Write {
                later: u32::MAX,
                bytes: 0,
            });
            later -= LONGEST;
        }
        while bytes > 0 {
            let part = bytes.min(LARGEST);
            self.writes.push_back(Write {
                later: later as u32,
                bytes: part as u16,
            });
            (bytes, later) = (bytes - part, 0);
        }
    }

    /// The reader read this many bytes. Returns the sum over the bytes of the time since each was written.
    #[inline(always)]
    pub fn read(&mut self, now: Nanos, bytes: u64) -> f64 {
        let until = self.read + bytes;
        if until <= self.front.0 {
            self.read = until;
            return float(bytes) * float(now - self.front.1);
        }
        let mut sum = 0.0;
        while self.read < until {
            if self.read >= self.front.0 {
                let Some(Write { bytes, later }) = self.writes.pop_front() else {
                    self.read = until;
                    break;
                };
                self.front.0 += u64::from(bytes);
                self.front.1 += u64::from(later);
                continue;
            }
            let (end, at) = self.front;
            let part = end.min(until) - self.read;
            sum += float(part) * float(now - at);
            self.read += part;
        }
        sum
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_units::SECOND;

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

    #[test]
    fn long_pauses_and_large_writes_count_like_others() {
        let mut log = WriteLog::default();
        let (later, much) = (10 * SECOND, 200_000_000);
        log.write(0, 10);
        log.write(later, 10);
        log.write(later + 1, much);
        log.write(later + 2, 10);
        let now = 2 * later;
        assert_eq!(log.read(now, 10), 10.0 * float(now));
        assert_eq!(log.read(now, 5), 5.0 * float(later));
        assert_eq!(log.read(now, 5), 5.0 * float(later));
        let (first, second) = (much / 3, much - much / 3);
        let each = |bytes| float(bytes) * float(later - 1);
        assert!((log.read(now, first) / each(first) - 1.0).abs() < 1e-12);
        assert!((log.read(now, second) / each(second) - 1.0).abs() < 1e-12);
        assert_eq!(log.read(now, 10), 10.0 * float(later - 2));
        assert_eq!(log.written(), log.read);
    }
}
