//! The smallest value of the last so many nanoseconds: a base RTT, or an RTT without the jitter of ACKs.

use bloatlab_units::Nanos;

/// Values closer together than this part of the window are one.
const PARTS: u64 = 64;
/// Places for them, and for the one before the window; a power of two, so that a place is a mask away.
const PLACES: usize = 128;

/// A minimum over a window of time that may change; constant space, so exact to a 64th of the window.
#[derive(Clone, Debug)]
pub struct RecentMin {
    /// Instants and values, both rising from the first place to the end; places are counted on and taken modulo their number.
    samples: Box<[(Nanos, u64); PLACES]>,
    first: usize,
    end: usize,
    /// Copies of the first and the last, which every value is compared with.
    oldest: (Nanos, u64),
    newest: (Nanos, u64),
}

impl Default for RecentMin {
    fn default() -> Self {
        Self {
            samples: Box::new([(0, 0); PLACES]),
            first: 0,
            end: 0,
            oldest: (0, u64::MAX),
            newest: (0, u64::MAX),
        }
    }
}

impl RecentMin {
    /// Takes a value in and forgets those older than the window.
    #[inline]
    pub fn update(&mut self, now: Nanos, window: Nanos, value: u64) {
        if value <= self.newest.1 {
            self.withdraw(value);
        }
        // A window that grows again and again may leave no place: then the value is one with the last, too.
        let held = self.end - self.first;
        if held == 0 || (now - self.newest.0 >= window / PARTS && held < PLACES) {
            self.append((now, value));
        }
        while now - self.oldest.0 > window && self.end - self.first > 1 {
            self.first += 1;
            self.oldest = self.at(self.first);
        }
    }

    /// Takes out the values that a smaller one makes vain.
    fn withdraw(&mut self, value: u64) {
        while self.end > self.first && self.newest.1 >= value {
            self.end -= 1;
            self.newest = self.at(self.end.wrapping_sub(1));
        }
    }

    fn append(&mut self, sample: (Nanos, u64)) {
        self.samples[self.end % PLACES] = sample;
        self.newest = sample;
        if self.end == self.first {
            self.oldest = sample;
        }
        self.end += 1;
    }

    #[inline]
    fn at(&self, place: usize) -> (Nanos, u64) {
        self.samples[place % PLACES]
    }

    /// The smallest value of the window; `None` before the first.
    #[inline]
    pub fn get(&self) -> Option<u64> {
        (self.end > self.first).then_some(self.oldest.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_after_its_window_and_not_before() {
        let mut min = RecentMin::default();
        assert_eq!(min.get(), None);
        min.update(0, 640, 5);
        min.update(100, 640, 7);
        min.update(200, 640, 6);
        min.update(640, 640, 9);
        assert_eq!(min.get(), Some(5));
        min.update(641, 640, 9);
        assert_eq!(min.get(), Some(6));
        min.update(642, 640, 1);
        assert_eq!(min.get(), Some(1));
        min.update(9999, 640, 8);
        assert_eq!(min.get(), Some(8), "the newest counts, however old");
    }

    #[test]
    fn holds_its_bounds_while_the_window_grows() {
        let mut min = RecentMin::default();
        let (mut now, mut window) = (0, 64);
        while window < 1 << 40 {
            for _ in 0..70 {
                now += window / 64;
                min.update(now, window, now);
                assert!(min.end - min.first <= PLACES && min.get().unwrap() <= now);
            }
            window *= 8;
        }
    }

    #[test]
    fn stays_small() {
        let mut min = RecentMin::default();
        for now in 0..100_000 {
            min.update(now, 6400, now);
            assert!(min.end - min.first <= PARTS as usize + 2);
            let exact = now.saturating_sub(6400);
            assert!(min.get().unwrap().abs_diff(exact) <= 6400 / PARTS);
        }
    }
}
