//! The minimum over a sliding window of time, such as a base RTT or an RTT without the jitter of ACKs.

use bloatlab_units::Nanos;

/// Samples that are closer together than the window divided by this are merged.
const PARTS: u64 = 64;
/// Capacity: the merged samples of one window and the one before it. A power of two, so that an index is computed with a mask.
const PLACES: usize = 128;

/// A minimum over a window of time whose length may change. It uses constant space, so it is exact to 1/64 of the window.
#[derive(Clone, Debug)]
pub struct RecentMin {
    /// Ring of (instant, value). Both increase from `first` to `end`. The indexes keep counting and are taken modulo the capacity.
    samples: Box<[(Nanos, u64); PLACES]>,
    first: usize,
    end: usize,
    /// Copies of the first and the last sample, because every new value is compared with them.
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
    /// Records a value, removes those older than the window, and returns the smallest that remains.
    #[inline]
    pub fn update(&mut self, now: Nanos, window: Nanos, value: u64) -> u64 {
        if value <= self.newest.1 {
            self.withdraw(value);
        }
        // If the window grows again and again, the ring may be full. Then the value is merged with the last one, too.
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

    /// Removes dominated values: those that are not smaller than the new one.
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
    fn the_state_stays_small() {
        let mut min = RecentMin::default();
        for now in 0..100_000 {
            let least = min.update(now, 6400, now);
            assert!(min.end - min.first <= PARTS as usize + 2);
            let exact = now.saturating_sub(6400);
            assert!(least.abs_diff(exact) <= 6400 / PARTS);
        }
    }
}
