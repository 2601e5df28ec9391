//! The pacing clock: when the next segment may leave, in bursts as segmentation offload makes them.

use bloatlab_cc::Window;
use bloatlab_units::{MICROSECOND, Nanos, SECOND};

use crate::offload::LARGEST_BUFFER;
use crate::{Pacing, RttEstimator, TcpConfig};

/// Linux's pacing ratios: twice the window a round trip in slow start, 1.2 times after it.
const SLOW_START_RATIO: (u64, u64) = (2, 1);
const AVOIDANCE_RATIO: (u64, u64) = (6, 5);
/// Each such step of RTT halves what a buffer holds because the other end is near.
const NEAR: Nanos = 512 * MICROSECOND;

/// What a sender's pacing has let go, and when it lets the next segment go.
pub(crate) struct PacingClock {
    pacing: Pacing,
    /// Most bytes that leave together, whatever the law says.
    most: u64,
    /// When what was sent would have left at the pacing rate, and how many bytes more may leave ahead of that.
    clock: Nanos,
    rest: u64,
    /// What leaves together, bytes: the burst that began last, or a segment.
    pub burst: u64,
    /// Bytes and rate whose time was reckoned last, and that time: a division for every segment would be much.
    reckoned: (u64, u64),
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
            burst: mss,
            reckoned: (0, 0),
            time: 0,
            next_send: 0,
        }
    }

    /// These bytes left: the clock moves on by what they take at this rate. A burst may run ahead of it, and the next one begins when it has caught
    /// up; true if this one is over.
    #[inline]
    pub fn advance(&mut self, now: Nanos, bytes: u64, rate: u64, window: &Window) -> bool {
        if now >= self.clock {
            self.clock = now;
            self.rest = quantum(rate, window).min(self.most);
            self.burst = self.rest.max(window.mss);
        }
        if (bytes, rate) != self.reckoned {
            self.reckoned = (bytes, rate);
            self.time = bytes * SECOND / rate;
        }
        self.clock += self.time;
        self.rest = self.rest.saturating_sub(bytes);
        let over = self.rest < window.mss;
        if over {
            self.next_send = self.clock;
        }
        over
    }

    /// Forgets what was sent.
    pub fn restart(&mut self, now: Nanos) {
        self.next_send = now;
        self.clock = now;
    }

    /// Bytes per second; 0 when segments leave back to back.
    #[inline]
    pub fn rate(&self, window: &Window, srtt: Nanos) -> u64 {
        match self.pacing {
            Pacing::Auto => window.pacing,
            Pacing::Off => 0,
            Pacing::On if window.pacing > 0 || srtt == 0 => window.pacing,
            Pacing::On => window_rate(window, srtt),
        }
    }

    /// Bytes that segmentation offload puts into one buffer at most: the law's burst, or as Linux what leaves in a millisecond at its pacing rate, and more
    /// where the other end is near: 64 KiB halved for each 512 us of the smallest RTT (`tcp_tso_rtt_log`).
    pub fn buffer(&self, window: &Window, rtt: &RttEstimator) -> u64 {
        let bytes = if window.pacing > 0 {
            quantum(window.pacing, window)
        } else {
            let near = LARGEST_BUFFER.checked_shr((rtt.min / NEAR).min(64) as u32);
            quantum(window_rate(window, rtt.srtt.max(1)), window) + near.unwrap_or(0)
        };
        let most = self.most.min(LARGEST_BUFFER);
        bytes.max(2 * window.mss).min(most)
    }
}

/// Linux's rate where the law names none: so many windows a round trip.
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

/// Bytes of a burst at this pacing rate: the law's, or Linux's, what takes a millisecond (2^-10 s) and two segments at least.
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
    use bloatlab_units::MILLISECOND;

    #[test]
    fn the_rate_of_a_window_is_never_too_large_to_count_with() {
        let mut window = Window::new(1000, 10);
        assert_eq!(window_rate(&window, 20 * MILLISECOND), 1_000_000);
        window.ssthresh = window.cwnd;
        assert_eq!(window_rate(&window, 20 * MILLISECOND), 600_000);
        // A law may open the window without end where rare losses are all that closes it.
        window.cwnd = u64::MAX - 1;
        assert_eq!(window_rate(&window, 1), u64::MAX >> 1);
    }
}
