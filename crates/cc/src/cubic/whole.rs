//! CUBIC's growth as Linux computes it: windows and targets are whole segments, and a number of acknowledged segments adds one.

use bloatlab_units::{MILLISECOND, Nanos};

use crate::growth::Growth;

/// Linux recomputes the target when the window has changed, or after 1/32 s.
const LOOK_AGAIN: Nanos = 1000 * MILLISECOND / 32;
/// Where the cubic is flat, the window grows by one segment per this many windows.
const FLAT: u64 = 100;
/// Before the first loss, 20 acknowledged segments or fewer add one: growth of at least 5 % per round trip.
const FIRST_PRICE: u64 = 20;
/// The window grows at most half as fast as in slow start.
const LEAST_PRICE: u64 = 2;

/// The counters of an epoch. Windows are in segments, acknowledged data in bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Whole {
    /// Acknowledged segments that add one segment, and the bytes acknowledged towards the next one.
    price: u64,
    credit: Growth,
    /// The window and the instant of the last computation.
    seen: u64,
    seen_at: Nanos,
    /// The estimate of Reno's window, and the bytes acknowledged towards its next segment.
    pub reno: u64,
    reno_acked: u64,
}

impl Whole {
    /// Starts an epoch with this window.
    pub fn start(&mut self, cwnd: u64) {
        self.reno = cwnd;
        self.reno_acked = 0;
        self.price = 0;
    }

    /// Drops the bytes counted so far. Called at congestion.
    pub fn forget(&mut self) {
        self.credit.forget();
    }

    /// Counts the bytes that an ACK acknowledged.
    pub fn acknowledge(&mut self, acked: u64) {
        self.reno_acked += acked;
    }

    /// Whether the target must be computed again.
    pub fn due(&self, now: Nanos, cwnd: u64) -> bool {
        self.price == 0 || self.seen != cwnd || now - self.seen_at > LOOK_AGAIN
    }

    /// Sets how many acknowledged segments add one, from the cubic's target. `first` means that no loss has occurred yet.
    pub fn look(&mut self, now: Nanos, cwnd: u64, target: u64, first: bool) {
        self.seen = cwnd;
        self.seen_at = now;
        self.price = match target.checked_sub(cwnd) {
            Some(missing) if missing > 0 => cwnd / missing,
            _ => FLAT * cwnd,
        };
        if first {
            self.price = self.price.min(FIRST_PRICE);
        }
    }

    /// Grows the estimate of Reno's window by one segment per `1 / alpha` windows acknowledged, and follows it where it is ahead.
    pub fn befriend(&mut self, cwnd: u64, alpha: f64, mss: u64) {
        // Linux counts windows in eighths.
        let windows = (8.0 / alpha) as u64;
        // For a window of one or two segments the step could be less than one segment. One acknowledged segment never adds more than one.
        let step = ((cwnd * windows) >> 3).max(1) * mss;
        if self.reno_acked > step {
            // All steps except the last. At least one byte of it is kept.
            let steps = (self.reno_acked - 1) / step;
            self.reno_acked -= steps * step;
            self.reno += steps;
        }
        if self.reno > cwnd {
            self.price = self.price.min(cwnd / (self.reno - cwnd));
        }
    }

    /// Counts acknowledged bytes. Returns the bytes by which the window grows, a multiple of the segment size.
    pub fn earn(&mut self, acked: u64, mss: u64) -> u64 {
        self.price = self.price.max(LEAST_PRICE);
        self.credit.earn(acked, self.price.max(1) * mss, mss)
    }
}

/// The cubic, `t` seconds from its turning point at `origin`, in whole segments. Linux rounds the distance from the turning point down.
pub(super) fn target(origin: u64, c: f64, t: f64) -> u64 {
    let distance = (c * t * t * t).abs() as u64;
    if t < 0.0 {
        origin.saturating_sub(distance)
    } else {
        origin + distance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_towards_the_window_before_the_loss() {
        // 0.4 * 1.3^3 = 0.88, 0.4 * 1.4^3 = 1.10.
        assert_eq!(target(3, 0.4, -1.3), 3);
        assert_eq!(target(3, 0.4, -1.4), 2);
        assert_eq!(target(3, 0.4, 1.3), 3);
        assert_eq!(target(3, 0.4, 1.4), 4);
    }

    #[test]
    fn a_segment_costs_what_the_target_is_away() {
        let mut whole = Whole::default();
        whole.start(10);
        assert!(whole.due(0, 10));
        whole.look(0, 10, 13, false);
        assert!(!whole.due(LOOK_AGAIN, 10) && whole.due(LOOK_AGAIN + 1, 10) && whole.due(0, 11));
        // 10 / 3 = 3: two segments for seven, one is kept.
        assert_eq!(whole.earn(7, 1), 2);
        assert_eq!(whole.earn(2, 1), 1);
        whole.look(0, 10, 10, false);
        assert_eq!(whole.earn(999, 1), 0, "flat: one for a hundred windows");
        whole.look(0, 10, 10, true);
        assert_eq!(
            whole.earn(1, 1),
            1,
            "saved at a higher price, it buys one only"
        );
        whole.look(0, 10, 1000, false);
        assert_eq!(whole.earn(3, 1), 2, "a price of two at least");
    }

    #[test]
    fn renos_window_grows_by_alpha() {
        let mut whole = Whole::default();
        whole.start(8);
        whole.look(0, 8, 8, false);
        // With alpha 0.529 a step is 15 eighths of a window: 15 segments for a window of 8.
        for acked in 1..=16 {
            whole.acknowledge(1);
            whole.befriend(8, 0.9 / 1.7, 1);
            assert_eq!(whole.reno, 8 + u64::from(acked > 15));
        }
        assert_eq!(whole.price, 8);
    }

    #[test]
    fn renos_window_grows_by_a_segment_for_a_segment_at_most() {
        // With beta 0.15, alpha is 2.217 and a step is 3 eighths of a window, which is less than one segment for a window of two.
        let alpha = 3.0 * 0.85 / 1.15;
        for cwnd in 1..=2 {
            let mut whole = Whole::default();
            whole.start(cwnd);
            whole.look(0, cwnd, cwnd, false);
            whole.acknowledge(1000);
            whole.befriend(cwnd, alpha, 1);
            assert_eq!((whole.reno, whole.reno_acked), (cwnd + 999, 1));
        }
    }

    #[test]
    fn many_steps_at_once_are_as_many_as_one_by_one() {
        for (cwnd, acked) in [
            (1, 10),
            (8, 1),
            (8, 15),
            (8, 16),
            (8, 30),
            (8, 31),
            (100, 12_345),
        ] {
            let (mut reno, mut left, step) = (cwnd, acked, cwnd * 15 / 8);
            while left > step {
                (reno, left) = (reno + 1, left - step);
            }
            let mut whole = Whole::default();
            whole.start(cwnd);
            whole.acknowledge(acked);
            whole.befriend(cwnd, 0.9 / 1.7, 1);
            assert_eq!((whole.reno, whole.reno_acked), (reno, left));
        }
    }
}
