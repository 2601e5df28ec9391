//! Notices that simulated time does not move.

use bloatlab_units::Nanos;

/// Number of checks at one instant after which a run counts as stalled, plus one per flow: 2^22 events, and 2^14 for each flow. Flows that all start
/// at once need at most a few thousand events each: the segments of their initial window, at every box that takes no time.
const LOOKS: u64 = 256;

/// Counts checks at the same instant.
pub(crate) struct Watchdog {
    at: Nanos,
    looks: u64,
    limit: u64,
}

impl Watchdog {
    pub fn new(flows: u64) -> Self {
        Self {
            at: 0,
            looks: 0,
            limit: LOOKS + flows,
        }
    }

    /// Records a check at this instant. Returns false if time has not advanced for too long.
    pub fn moves(&mut self, now: Nanos) -> bool {
        if now != self.at {
            (self.at, self.looks) = (now, 0);
        }
        self.looks += 1;
        self.looks <= self.limit
    }

    /// Looks at this instant.
    pub fn looks(&self) -> u64 {
        self.looks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_instant_too_long_is_a_stall() {
        let mut watchdog = Watchdog::new(10);
        for now in 0..10_000 {
            assert!(watchdog.moves(now));
        }
        let moving = (0..).take_while(|_| watchdog.moves(10_000)).count();
        assert_eq!(moving as u64, LOOKS + 10);
        assert_eq!(watchdog.looks(), LOOKS + 11);
        assert!(watchdog.moves(10_001));
    }
}
