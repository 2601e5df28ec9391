//! The smallest value of the last so many nanoseconds: a base RTT, or an RTT without the jitter of ACKs.

use std::collections::VecDeque;

use bloatlab_units::Nanos;

/// Values closer together than this part of the window are one.
const PARTS: u64 = 64;

/// A minimum over a window of time that may change; constant space, so exact to a 64th of the window.
#[derive(Clone, Debug)]
pub struct RecentMin {
    /// Instants and values, both rising.
    samples: VecDeque<(Nanos, u64)>,
}

impl Default for RecentMin {
    fn default() -> Self {
        Self {
            samples: VecDeque::with_capacity(PARTS as usize + 2),
        }
    }
}

impl RecentMin {
    /// Takes a value in and forgets those older than the window.
    pub fn update(&mut self, now: Nanos, window: Nanos, value: u64) {
        while self.samples.back().is_some_and(|&(_, v)| v >= value) {
            self.samples.pop_back();
        }
        let close = |&(at, _): &(Nanos, u64)| now - at < window / PARTS;
        if !self.samples.back().is_some_and(close) {
            self.samples.push_back((now, value));
        }
        while self.samples.len() > 1 && now - self.samples[0].0 > window {
            self.samples.pop_front();
        }
    }

    /// The smallest value of the window; `None` before the first.
    pub fn get(&self) -> Option<u64> {
        self.samples.front().map(|&(_, value)| value)
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
    fn stays_small() {
        let mut min = RecentMin::default();
        for now in 0..100_000 {
            min.update(now, 6400, now);
            assert!(min.samples.len() <= PARTS as usize + 2);
            let exact = now.saturating_sub(6400);
            assert!(min.get().unwrap().abs_diff(exact) <= 6400 / PARTS);
        }
    }
}
