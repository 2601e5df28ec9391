//! The mean rate of a link whose rate may be set during the run.

use bloatlab_outcome::TimeMean;
use bloatlab_units::{Nanos, Rate};

/// The mean rate of a link whose rate may be set during the run.
pub struct MeanRate {
    /// Since the warm-up.
    whole: TimeMean,
    /// Since the last sample.
    interval: TimeMean,
}

impl MeanRate {
    /// The rate in force, where the warm-up and the last sample were at these instants.
    pub fn start(rate: Rate, warmup: Nanos, sampled_at: Nanos) -> Self {
        Self {
            whole: TimeMean::start(warmup, rate.0),
            interval: TimeMean::start(sampled_at, rate.0),
        }
    }

    /// Counts the time up to now.
    pub fn advance(&mut self, now: Nanos) {
        self.whole.advance(now);
        self.interval.advance(now);
    }

    /// The rate from now on.
    pub fn set(&mut self, now: Nanos, rate: Rate) {
        self.whole.set(now, rate.0);
        self.interval.set(now, rate.0);
    }

    /// Mean rate since the warm-up, bit/s.
    pub fn mean(&self) -> Option<f64> {
        self.whole.mean()
    }

    /// Mean rate since the last sample, bit/s.
    pub fn sample(&mut self, now: Nanos) -> Option<f64> {
        self.interval.advance(now);
        let mean = self.interval.mean();
        self.interval = TimeMean::start(now, self.interval.value());
        mean
    }

    /// The warm-up is over.
    pub fn reset(&mut self, now: Nanos) {
        self.whole = TimeMean::start(now, self.whole.value());
    }
}
