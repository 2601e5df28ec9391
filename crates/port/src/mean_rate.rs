//! The mean rate of a link whose rate may be set during the run, and how much of it was used.

use bloatlab_outcome::TimeMean;
use bloatlab_units::{Nanos, Rate};

/// The mean rate of a link whose rate may be set during the run, and how much of it was used.
pub struct MeanRate {
    /// Since the warm-up.
    whole: Part,
    /// Since the last sample.
    interval: Part,
    /// Busy time since the warm-up, up to the last change or sample.
    busy: Nanos,
}

/// A part of the run.
struct Part {
    rate: TimeMean,
    /// The rate times the busy time.
    used: f64,
}

impl Part {
    fn start(now: Nanos, rate: u64) -> Self {
        Self {
            rate: TimeMean::start(now, rate),
            used: 0.0,
        }
    }

    /// Returns the mean rate (bit/s) and the utilization of this part, which takes `span` ns.
    fn read(&self, span: Nanos) -> Option<(f64, f64)> {
        let mean = self.rate.mean()?;
        let capacity = mean * span as f64;
        Some((
            mean,
            if capacity > 0.0 {
                self.used / capacity
            } else {
                0.0
            },
        ))
    }
}

impl MeanRate {
    /// A rate at the start of the run.
    pub fn start(rate: Rate) -> Self {
        Self {
            whole: Part::start(0, rate.0),
            interval: Part::start(0, rate.0),
            busy: 0,
        }
    }

    /// Counts the time up to now. `busy` is the busy time since the warm-up.
    pub fn advance(&mut self, now: Nanos, busy: Nanos) {
        let spent = (busy - std::mem::replace(&mut self.busy, busy)) as f64;
        for part in [&mut self.whole, &mut self.interval] {
            part.rate.advance(now);
            part.used += part.rate.value() as f64 * spent;
        }
    }

    /// The rate from now on.
    pub fn set(&mut self, now: Nanos, rate: Rate, busy: Nanos) {
        self.advance(now, busy);
        self.whole.rate.set(now, rate.0);
        self.interval.rate.set(now, rate.0);
    }

    /// Mean rate (bit/s) and utilization in the `span` ns since the warm-up.
    pub fn whole(&self, span: Nanos) -> Option<(f64, f64)> {
        self.whole.read(span)
    }

    /// Mean rate (bit/s) and utilization in the `span` ns since the last sample.
    pub fn sample(&mut self, now: Nanos, span: Nanos, busy: Nanos) -> Option<(f64, f64)> {
        self.advance(now, busy);
        let read = self.interval.read(span);
        self.interval = Part::start(now, self.interval.rate.value());
        read
    }

    /// The warm-up is over, and the busy time is counted from 0 again.
    pub fn reset(&mut self, now: Nanos, busy: Nanos) {
        self.advance(now, busy);
        self.whole = Part::start(now, self.whole.rate.value());
        self.busy = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utilization_is_relative_to_what_the_rates_could_have_carried() {
        let mut rate = MeanRate::start(Rate(10));
        // Busy for 40 of 100 ns at 10 bit/s, then for 50 of 100 ns at 30 bit/s.
        rate.set(100, Rate(30), 40);
        assert_eq!(rate.sample(200, 200, 90), Some((20.0, 1900.0 / 4000.0)));
        assert_eq!(rate.whole(200), Some((20.0, 1900.0 / 4000.0)));
        // The warm-up ends in the middle of an interval.
        rate.reset(250, 140);
        rate.advance(300, 25);
        assert_eq!(rate.whole(50), Some((30.0, 0.5)));
        assert_eq!(rate.sample(300, 100, 25), Some((30.0, 0.75)));
    }

    #[test]
    fn a_link_without_a_rate_has_no_utilization() {
        let mut rate = MeanRate::start(Rate(0));
        assert_eq!(rate.sample(100, 100, 0), Some((0.0, 0.0)));
    }
}
