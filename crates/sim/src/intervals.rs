//! Intervals that vary at random.

use bloatlab_units::{Nanos, Rng};

/// Draws intervals uniformly around a mean.
pub(crate) struct Intervals {
    mean: Nanos,
    /// By how much an interval may be longer or shorter.
    spread: Nanos,
    rng: Rng,
}

impl Intervals {
    /// `spread` is a share of the mean.
    pub(crate) fn new(mean: Nanos, spread: f64, rng: Rng) -> Self {
        Self {
            mean,
            spread: (mean as f64 * spread) as Nanos,
            rng,
        }
    }

    /// The next interval.
    pub(crate) fn next(&mut self) -> Nanos {
        match self.spread {
            0 => self.mean,
            spread => self.mean - spread + self.rng.below(2 * spread + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_units::Streams;

    #[test]
    fn intervals_are_within_their_spread() {
        let intervals = |spread| {
            let mut intervals = Intervals::new(1000, spread, Streams::new(1).stream("intervals"));
            (0..1000).map(|_| intervals.next()).collect::<Vec<_>>()
        };
        assert!(intervals(0.0).iter().all(|&interval| interval == 1000));
        let drawn = intervals(0.1);
        assert!(drawn.iter().all(|interval| (900..=1100).contains(interval)));
        assert!(drawn.iter().min() < Some(&910) && drawn.iter().max() > Some(&1090));
    }
}
