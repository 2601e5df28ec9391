//! Averages over time of values that change at instants.

use bloatlab_units::{Nanos, float};

/// The mean over time of a value.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeMean {
    value: u64,
    /// When averaging begins, which may be in the future, and the instant up to which time is included.
    began: Nanos,
    since: Nanos,
    sum: f64,
}

impl TimeMean {
    /// Starts with this value at this instant.
    pub fn start(now: Nanos, value: u64) -> Self {
        Self {
            value,
            began: now,
            since: now,
            sum: 0.0,
        }
    }

    /// Sets the value from now on.
    #[inline]
    pub fn set(&mut self, now: Nanos, value: u64) {
        if value != self.value {
            self.advance(now);
            self.value = value;
        }
    }

    /// Includes the time up to now, and returns the value times that time. Needed before the mean is read, because setting an equal value includes
    /// nothing.
    #[inline]
    pub fn advance(&mut self, now: Nanos) -> f64 {
        if now <= self.since {
            return 0.0;
        }
        let weighted = float(self.value) * float(now - self.since);
        self.sum += weighted;
        self.since = now;
        weighted
    }

    /// The current value.
    pub fn value(&self) -> u64 {
        self.value
    }

    fn time(&self) -> Nanos {
        self.since - self.began
    }

    /// The mean up to the last change or advance; None if no time has passed.
    pub fn mean(&self) -> Option<f64> {
        (self.time() > 0).then(|| self.sum / self.time() as f64)
    }
}

/// The mean over time of a value, and its standard deviation.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeSpread {
    mean: TimeMean,
    /// Time before the first value above 0.
    unused: Nanos,
    squares: f64,
}

impl TimeSpread {
    /// Starts with this value at this instant.
    pub fn start(now: Nanos, value: u64) -> Self {
        Self {
            mean: TimeMean::start(now, value),
            unused: 0,
            squares: 0.0,
        }
    }

    /// Sets the value from now on.
    #[inline]
    pub fn set(&mut self, now: Nanos, value: u64) {
        if value != self.mean.value {
            self.advance(now);
            self.mean.value = value;
            if self.mean.sum == 0.0 {
                self.unused = self.mean.time();
            }
        }
    }

    /// Includes the time up to now.
    #[inline]
    pub fn advance(&mut self, now: Nanos) {
        self.squares += self.mean.advance(now) * float(self.mean.value);
    }

    /// The mean up to the last change or advance; None if no time has passed.
    pub fn mean(&self) -> Option<f64> {
        self.mean.mean()
    }

    /// Coefficient of variation: standard deviation over mean, both from the first value above 0 on.
    pub fn cov(&self) -> Option<f64> {
        let time = (self.mean.time() - self.unused) as f64;
        let mean = self.mean.sum / time;
        let variance = (self.squares / time - mean * mean).max(0.0);
        (mean > 0.0).then(|| libm::sqrt(variance) / mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_means_weigh_by_duration() {
        let mut m = TimeMean::start(0, 2);
        let mut s = TimeSpread::start(0, 2);
        for (now, value) in [(10, 8), (12, 8)] {
            m.set(now, value);
            s.set(now, value);
        }
        m.advance(15);
        s.advance(15);
        assert_eq!((m.mean(), s.mean()), (Some(4.0), Some(4.0)));
        assert!((s.cov().unwrap() - 8.0_f64.sqrt() / 4.0).abs() < 1e-12);
    }

    #[test]
    fn variation_counts_from_the_first_value_above_zero_on() {
        let mut s = TimeSpread::start(0, 0);
        assert_eq!(s.cov(), None);
        s.set(100, 4);
        s.set(110, 0);
        s.advance(120);
        assert_eq!(s.cov(), Some(1.0));
        assert_eq!(s.mean(), Some(40.0 / 120.0));
    }
}
