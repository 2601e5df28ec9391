//! Base delay and current delay as LEDBAT keeps them: the minimum over the last minutes and over the last samples.

use bloatlab_units::{Duration, NEVER, Nanos, SECOND};

/// RFC 6817 section 2.4.2: start a new minimum every minute.
const MINUTE: Nanos = 60 * SECOND;

/// The delays of one connection.
#[derive(Clone, Debug)]
pub struct BaseDelay {
    /// The smallest delay of each of the last minutes; `minute` is the index of the current one. `NEVER` for a minute without a sample.
    minutes: Box<[Nanos]>,
    minute: usize,
    minute_start: Nanos,
    base: Nanos,
    /// The last delays, as a ring buffer. `NEVER` in slots that are not used yet.
    recent: Box<[Nanos]>,
    next: usize,
}

impl BaseDelay {
    /// Creates a base delay over `history` (rounded up to whole minutes, at least one) and a current delay over the last `filter` samples.
    pub fn new(history: Duration, filter: u32) -> Self {
        let minutes = history.0.div_ceil(MINUTE).max(1) as usize;
        Self {
            minutes: vec![NEVER; minutes].into(),
            minute: 0,
            minute_start: 0,
            base: NEVER,
            recent: vec![NEVER; filter.max(1) as usize].into(),
            next: 0,
        }
    }

    /// Records a delay sample.
    pub fn observe(&mut self, now: Nanos, delay: Nanos) {
        if now >= self.minute_start + MINUTE {
            // RFC 6817 section 2.4.2: update_base_delay. Minutes without a sample have no minimum.
            for _ in 0..((now - self.minute_start) / MINUTE).min(self.minutes.len() as u64) {
                self.minute = (self.minute + 1) % self.minutes.len();
                self.minutes[self.minute] = NEVER;
            }
            self.minute_start = now - (now - self.minute_start) % MINUTE;
            self.base = self.minutes.iter().copied().fold(NEVER, Nanos::min);
        }
        let smallest = &mut self.minutes[self.minute];
        *smallest = delay.min(*smallest);
        self.base = self.base.min(delay);
        self.recent[self.next] = delay;
        self.next = (self.next + 1) % self.recent.len();
    }

    /// The smallest delay of the history; `NEVER` before the first sample.
    pub fn base(&self) -> Nanos {
        self.base
    }

    /// The queueing delay: current delay minus base delay; 0 before the first sample. The current delay is the smallest of the last samples (FILTER
    /// in RFC 6817 section 2.4.2).
    pub fn queueing(&self) -> Nanos {
        let current = self.recent.iter().copied().fold(NEVER, Nanos::min);
        if current == NEVER {
            return 0;
        }
        current.saturating_sub(self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_minutes_and_filters_samples() {
        let mut delays = BaseDelay::new(Duration(2 * MINUTE), 3);
        assert_eq!(delays.queueing(), 0);
        for (now, delay, queueing) in [
            (0, 50, 0),
            (1, 80, 0),
            (2, 90, 0),
            // The sample of 50 has left the filter but is still the base delay.
            (3, 70, 20),
            (MINUTE, 75, 20),
            (MINUTE + 1, 79, 20),
            (MINUTE + 2, 81, 25),
            // The sample of two minutes ago is forgotten. The smallest of the minute before is 75.
            (2 * MINUTE + 1, 81, 4),
            // A silence longer than the history forgets everything.
            (9 * MINUTE, 60, 0),
        ] {
            delays.observe(now, delay);
            assert_eq!(delays.queueing(), queueing, "at {now}");
        }
        assert_eq!(delays.base(), 60);
    }
}
