//! The pacing clock: when the next segment may leave, in bursts as with segmentation offload.

use bloatlab_cc::Window;
use bloatlab_units::{Nanos, SECOND};

use crate::{Pacing, TcpConfig};

/// Linux's pacing ratios: twice the window per round trip in slow start, 1.2 times after it.
const SLOW_START_RATIO: (u64, u64) = (2, 1);
const AVOIDANCE_RATIO: (u64, u64) = (6, 5);

/// The state of a sender's pacing: what has left, and when the next segment may leave.
pub(crate) struct PacingClock {
    pacing: Pacing,
    /// The largest burst in bytes, whatever the congestion control says.
    most: u64,
    /// When what was sent would have left at the pacing rate, and how many more bytes may leave before that time.
    clock: Nanos,
    rest: u64,
    /// How much later than allowed the burst started, less what was made up for.
    late: Nanos,
    /// Size of the last burst, or one segment, in bytes.
    pub burst: u64,
    /// Bytes and rate of the last computation, and the resulting time. This saves a division per segment.
    computed_for: (u64, u64),
    time: Nanos,
    /// When the next segment may leave.
    pub next_send: Nanos,
}

impl PacingClock {
    pub fn new(config: &TcpConfig) -> Self {
        let mss = u64::from(config.mss);
        Self {
            pacing: config.pacing,
            most: u64::from(config.gso_max_segs) * mss,
            clock: 0,
            rest: 0,
            late: 0,
            burst: mss,
            computed_for: (0, 0),
            time: 0,
            next_send: 0,
        }
    }

    /// Advances the clock by the time that these bytes take at this rate. A burst may leave earlier than the clock, and the next burst starts when
    /// the clock has been reached. As in Linux, half of the time of a burst may make up for its late start. Returns whether this burst is over.
    #[inline]
    pub fn advance(&mut self, now: Nanos, bytes: u64, rate: u64, window: &Window) -> bool {
        if now >= self.clock {
            self.late = if self.clock > 0 { now - self.clock } else { 0 };
            self.clock = now;
            self.rest = quantum(rate, window).min(self.most);
            self.burst = self.rest.max(window.mss);
        }
        if (bytes, rate) != self.computed_for {
            self.computed_for = (bytes, rate);
            self.time = bytes * SECOND / rate;
        }
        let made_up = self.late.min(self.time / 2);
        self.late -= made_up;
        self.clock += self.time - made_up;
        self.rest = self.rest.saturating_sub(bytes);
        let over = self.rest < window.mss;
        if over {
            self.next_send = self.clock;
        }
        over
    }

    /// Resets the clock.
    pub fn restart(&mut self, now: Nanos) {
        self.next_send = now;
        self.clock = now;
    }

    /// Pacing rate in bytes per second; 0 if segments leave back to back.
    #[inline]
    pub fn rate(&self, window: &Window, srtt: Nanos) -> u64 {
        match self.pacing {
            Pacing::Auto => window.pacing,
            Pacing::Off => 0,
            Pacing::On if window.pacing > 0 || srtt == 0 => window.pacing,
            Pacing::On => window_rate(window, srtt),
        }
    }

    /// Linux's pacing rate in bytes per second, which it computes even for segments that leave back to back.
    pub fn output_rate(&self, window: &Window, srtt: Nanos) -> u64 {
        match window.pacing {
            0 => window_rate(window, srtt.max(1)),
            rate => rate,
        }
    }

    /// Bytes of a burst: that of the congestion control, or as in Linux what leaves in a millisecond at its pacing rate.
    pub fn burst_of(window: &Window, srtt: Nanos) -> u64 {
        match window.pacing {
            0 => quantum(window_rate(window, srtt.max(1)), window),
            rate => quantum(rate, window),
        }
    }
}

/// Linux's pacing rate if the congestion control sets none: a multiple of the window per round trip.
#[inline]
fn window_rate(window: &Window, srtt: Nanos) -> u64 {
    let (up, down) = if window.in_slow_start() {
        SLOW_START_RATIO
    } else {
        AVOIDANCE_RATIO
    };
    let bytes = u128::from(window.cwnd.saturating_mul(up) / down) * u128::from(SECOND);
    (bytes / u128::from(srtt)).clamp(1, u128::from(u64::MAX >> 1)) as u64
}

/// Size of a burst in bytes at this pacing rate: that of the congestion control, or Linux's, which takes a millisecond (2^-10 s) and has at least two
/// segments.
#[inline]
fn quantum(rate: u64, window: &Window) -> u64 {
    if window.pacing > 0 {
        window.quantum
    } else {
        (rate >> 10).max(2 * window.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_units::{MICROSECOND, MILLISECOND};

    #[test]
    fn a_late_start_is_made_up_for_by_half_of_a_burst_at_most() {
        let config = TcpConfig {
            gso_max_segs: 1,
            ..TcpConfig::default()
        };
        let mut window = Window::new(u64::from(config.mss), 10);
        // A segment takes a millisecond.
        let mss = window.mss;
        window.pacing = 1000 * mss;
        window.quantum = mss;
        let mut clock = PacingClock::new(&config);
        let mut next = |at: u64| {
            assert!(clock.advance(at * MICROSECOND, mss, window.pacing, &window));
            clock.next_send / MICROSECOND
        };
        assert_eq!(next(10_000), 11_000);
        assert_eq!(next(11_000), 12_000);
        assert_eq!(next(12_300), 13_000);
        assert_eq!(next(13_900), 14_400);
        assert_eq!(next(14_400), 15_400);
    }

    #[test]
    fn the_rate_of_a_window_is_never_too_large_to_count_with() {
        let mut window = Window::new(1000, 10);
        assert_eq!(window_rate(&window, 20 * MILLISECOND), 1_000_000);
        window.ssthresh = window.cwnd;
        assert_eq!(window_rate(&window, 20 * MILLISECOND), 600_000);
        // If only rare losses reduce the window, a congestion control may grow it without bound.
        window.cwnd = u64::MAX - 1;
        assert_eq!(window_rate(&window, 1), u64::MAX >> 1);
    }
}
