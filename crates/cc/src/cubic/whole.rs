//! CUBIC's growth as Linux computes it: windows and targets are whole segments, and a number of acknowledged segments adds one. Time passes in jiffies,
//! and the cubic counts in 1/1024 s.

use bloatlab_units::{MILLISECOND, Nanos};

use crate::growth::Growth;
use crate::jiffies::jiffies;

/// A jiffy of Linux with HZ=1000.
const JIFFY: Nanos = MILLISECOND;
/// Jiffies per second.
const HZ: u64 = 1000;
/// Linux recomputes the target once per jiffy at most: when the window has changed, or after 1/32 s.
const LOOK_AGAIN: u64 = HZ / 32;
/// The cubic's constant and its time are in parts of this: C * 1024 per second cubed, which is 1024 cubed of its units.
const UNIT: u32 = 10;
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
    /// The window and the jiffy of the last computation.
    seen: u64,
    seen_at: u64,
    /// C in 1/1024, and the time from the start of the epoch to the turning point in 1/1024 s.
    c: u64,
    k: u64,
    /// The estimate of Reno's window, and the bytes acknowledged towards its next segment.
    pub reno: u64,
    reno_acked: u64,
}

impl Whole {
    /// Starts an epoch with this window, which is `missing` segments below the turning point.
    pub fn start(&mut self, cwnd: u64, missing: u64, c: f64) {
        self.reno = cwnd;
        self.reno_acked = 0;
        self.price = 0;
        self.c = libm::round(c * f64::from(1 << UNIT)).max(1.0) as u64;
        self.k = cube_root(((1u64 << (4 * UNIT)) / self.c).saturating_mul(missing));
    }

    /// Drops the bytes counted so far. Called at congestion.
    pub fn forget(&mut self) {
        self.credit.forget();
    }

    /// Counts the bytes that an ACK acknowledged.
    pub fn acknowledge(&mut self, acked: u64) {
        self.reno_acked += acked;
    }

    /// Whether the price must be computed again.
    pub fn due(&self, now: Nanos, cwnd: u64) -> bool {
        self.price == 0 || self.seen != cwnd || now / JIFFY - self.seen_at > LOOK_AGAIN
    }

    /// Whether the target was computed in this jiffy.
    pub fn is_fresh(&self, now: Nanos) -> bool {
        self.price > 0 && now / JIFFY == self.seen_at
    }

    /// The window that the cubic has one smallest RTT from now, in segments, if its turning point is at `origin`.
    pub fn target(&self, origin: u64, epoch: Nanos, now: Nanos, min_rtt: Nanos) -> u64 {
        let passed = now / JIFFY - epoch / JIFFY + jiffies(min_rtt, JIFFY);
        let t = (passed << UNIT) / HZ;
        let away = u128::from(t.abs_diff(self.k));
        let distance = (u128::from(self.c) * away * away * away) >> (4 * UNIT);
        let distance = u64::try_from(distance).unwrap_or(u64::MAX);
        if t < self.k {
            origin.saturating_sub(distance)
        } else {
            origin.saturating_add(distance)
        }
    }

    /// Sets how many acknowledged segments add one, from the cubic's target. `first` means that no loss has occurred yet.
    pub fn look(&mut self, now: Nanos, cwnd: u64, target: u64, first: bool) {
        self.seen = cwnd;
        self.seen_at = now / JIFFY;
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

/// The cube root, rounded down.
fn cube_root(number: u64) -> u64 {
    let cube = |root: u64| u128::from(root).pow(3);
    let near = libm::cbrt(number as f64) as u64;
    let number = u128::from(number);
    if cube(near + 1) <= number {
        near + 1
    } else {
        near - u64::from(cube(near) > number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_towards_the_window_before_the_loss() {
        let mut whole = Whole::default();
        // 410 / 1024 * K^3 = 4 segments at K = 2.153 s.
        whole.start(10, 4, 0.4);
        assert_eq!(whole.k, 2205);
        let target = |milliseconds: u64| whole.target(14, 0, milliseconds * MILLISECOND, 0);
        // 0.4 * 1.34^3 = 0.96 and 0.4 * 1.37^3 = 1.03, on both sides of the turning point.
        assert_eq!(
            [target(0), target(2153 - 1370), target(2153 - 1340)],
            [11, 13, 14]
        );
        assert_eq!(
            [target(2153), target(2153 + 1340), target(2153 + 1370)],
            [14, 14, 15]
        );
        // Jiffies that have begun do not count, but one of the RTT does.
        assert_eq!(
            whole.target(14, MILLISECOND - 1, (2153 + 1370) * MILLISECOND, 0),
            15
        );
        assert_eq!(
            whole.target(14, 0, (2153 + 1340) * MILLISECOND, 29_001_000),
            15
        );
    }

    #[test]
    fn the_cube_root_is_rounded_down() {
        for root in [1, 2, 9, 100, 1_000_003] {
            let cube = root * root * root;
            assert_eq!((cube_root(cube), cube_root(cube + 1)), (root, root));
            assert_eq!(cube_root((root + 1) * (root + 1) * (root + 1) - 1), root);
        }
        assert_eq!(cube_root(u64::MAX), 2_642_245);
    }

    #[test]
    fn a_flat_cubic_has_a_place_for_the_largest_window() {
        let mut whole = Whole::default();
        whole.start(2, u64::MAX, 0.0);
        assert_eq!(whole.k, 2_642_245);
    }

    #[test]
    fn a_segment_costs_what_the_target_is_away() {
        let mut whole = Whole::default();
        whole.start(10, 0, 0.4);
        assert!(whole.due(0, 10));
        whole.look(0, 10, 13, false);
        let [last, next] = [LOOK_AGAIN + 1, LOOK_AGAIN + 2].map(|jiffies| jiffies * JIFFY);
        assert!(!whole.due(last - 1, 10) && whole.due(next - 1, 10) && whole.due(0, 11));
        assert!(whole.is_fresh(JIFFY - 1) && !whole.is_fresh(JIFFY));
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
        whole.start(8, 0, 0.4);
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
            whole.start(cwnd, 0, 0.4);
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
            whole.start(cwnd, 0, 0.4);
            whole.acknowledge(acked);
            whole.befriend(cwnd, 0.9 / 1.7, 1);
            assert_eq!((whole.reno, whole.reno_acked), (reno, left));
        }
    }
}
