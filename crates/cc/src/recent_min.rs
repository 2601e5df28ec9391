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
    /// Takes a value in and forgets those older than the window; gives the smallest left.
    #[inline]
    pub fn update(&mut self, now: Nanos, window: Nanos, value: u64) -> u64 {
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
        self.oldest.1
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_after_its_window_and_not_before() {
        let mut min = RecentMin::default();
        let mut after = |now, value| min.update(now, 640, value);
        assert_eq!(after(0, 5), 5);
        assert_eq!(after(100, 7), 5);
        assert_eq!(after(200, 6), 5);
        assert_eq!(after(640, 9), 5);
        assert_eq!(after(641, 9), 6);
        assert_eq!(after(642, 1), 1);
        assert_eq!(after(9999, 8), 8, "the newest counts, however old");
    }

    #[test]
    fn holds_its_bounds_while_the_window_grows() {
        let mut min = RecentMin::default();
        let (mut now, mut window) = (0, 64);
        while window < 1 << 40 {
            for _ in 0..70 {
                now += window / 64;
                assert!(min.update(now, window, now) <= now);
                assert!(min.end - min.first <= PLACES);
            }
            window *= 8;
        }
    }

    #[test]
    fn stays_small() {
        let mut min = RecentMin::default();
        for now in 0..100_000 {
            let least = min.update(now, 6400, now);
            assert!(min.end - min.first <= PARTS as usize + 2);
            let exact = now.saturating_sub(6400);
            assert!(least.abs_diff(exact) <= 6400 / PARTS);
        }
    }
}
