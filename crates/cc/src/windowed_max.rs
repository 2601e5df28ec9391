//! The maximum over the last rounds. BBR estimates the bottleneck's rate with it.

use bloatlab_units::larger;

/// An exact maximum over a window of rounds. An update takes constant time; a new round scans the window once.
#[derive(Clone, Debug)]
pub struct WindowedMax {
    /// The largest value of each finished round, at index `round % len`.
    slots: Box<[f64]>,
    round: u64,
    /// Index of the current round's slot.
    at: usize,
    /// The largest value of the current round. It is written to its slot when the round ends.
    newest: f64,
    max: f64,
}

impl WindowedMax {
    /// Creates a filter over `rounds` rounds.
    pub fn new(rounds: usize) -> Self {
        Self {
            slots: vec![0.0; rounds.max(1)].into(),
            round: 0,
            at: 0,
            newest: 0.0,
            max: 0.0,
        }
    }

    /// Records a value of a round. Rounds without a value expire old values only when the next value comes.
    pub fn update(&mut self, round: u64, value: f64) {
        if round > self.round {
            self.advance(round);
        }
        if value > self.newest {
            self.newest = value;
            self.max = larger(self.max, value);
        }
    }

    #[cold]
    fn advance(&mut self, round: u64) {
        self.slots[self.at] = self.newest;
        self.newest = 0.0;
        let len = self.slots.len() as u64;
        for stale in (self.round + 1..=round).rev().take(len as usize) {
            self.slots[(stale % len) as usize] = 0.0;
        }
        self.round = round;
        self.at = (round % len) as usize;
        self.max = self.slots.iter().fold(0.0, |a, &b| a.max(b));
    }

    /// The largest value in the window; 0 before the first value.
    pub fn get(&self) -> f64 {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_after_its_window_and_not_before() {
        let mut max = WindowedMax::new(3);
        max.update(1, 9.0);
        max.update(2, 5.0);
        max.update(3, 4.0);
        assert_eq!(max.get(), 9.0);
        max.update(4, 1.0);
        assert_eq!(max.get(), 5.0);
        max.update(100, 2.0);
        assert_eq!(max.get(), 2.0);
    }
}
