//! Reno's growth in whole segments, as Linux counts it: a part that laws build on.

use crate::slow_start::Starter;
use crate::{Ack, Window};

/// What was acknowledged towards the next segment of the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growth {
    /// Bytes acknowledged since the window last grew.
    paid: u64,
}

impl Growth {
    /// Reno's answer to an ACK: slow start up to the threshold, then one segment a window.
    #[inline]
    pub fn reno(&mut self, window: &mut Window, starter: &mut Starter, ack: &Ack) {
        // RFC 7661: a window that was not used says nothing about the path.
        if !ack.cwnd_limited {
            return;
        }
        let left = slow_start(window, starter, ack);
        self.avoid(window, window.cwnd, left);
    }

    /// Congestion avoidance: `price` acknowledged bytes buy a segment.
    #[inline]
    pub fn avoid(&mut self, window: &mut Window, price: u64, acked: u64) {
        // RFC 3465 section 2.1: bytes are counted, not ACKs. What was saved at a higher price buys one segment, not several.
        if self.paid >= price {
            self.paid = 0;
            window.cwnd += window.mss;
        }
        self.paid += acked;
        let bought = self.paid / price;
        self.paid -= bought * price;
        window.cwnd += bought * window.mss;
    }

    /// Congestion: what was paid is lost.
    pub fn forget(&mut self) {
        self.paid = 0;
    }
}

/// Slow start, if the window is in it and limits the sender; gives the acknowledged bytes that are left for congestion avoidance.
#[inline]
pub fn slow_start(window: &mut Window, starter: &mut Starter, ack: &Ack) -> u64 {
    // What SACKs delivered before this ACK opened no window then and must not now.
    let acked = ack.acked.min(ack.delivered_now);
    if window.in_slow_start() {
        starter.observe(window, ack);
    }
    if !window.in_slow_start() {
        return acked;
    }
    let increase = starter.increase(window, acked);
    let used = increase.min(window.ssthresh - window.cwnd);
    window.cwnd += used;
    increase - used
}

/// The window in whole segments.
#[inline]
pub fn segments(window: &Window) -> u64 {
    window.cwnd / window.mss
}

/// Half the window, in whole segments, at least two: RFC 5681 equation (4) as Linux rounds it.
pub fn half(window: &Window) -> u64 {
    (segments(window) / 2).max(2) * window.mss
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slow_start::SlowStart;

    #[test]
    fn savings_buy_one_segment_when_the_price_falls() {
        let mut window = Window::new(1, 10);
        let mut growth = Growth::default();
        growth.avoid(&mut window, 10, 9);
        assert_eq!(window.cwnd, 10);
        growth.avoid(&mut window, 3, 2);
        assert_eq!(window.cwnd, 11, "nine were three prices, and bought one");
        growth.avoid(&mut window, 3, 5);
        assert_eq!(window.cwnd, 13, "two and five are two prices");
        growth.forget();
        growth.avoid(&mut window, 3, 2);
        assert_eq!(window.cwnd, 13);
    }

    #[test]
    fn slow_start_leaves_what_passes_the_threshold() {
        let mut window = Window::new(1, 10);
        window.ssthresh = 13;
        let mut starter = Starter::new(SlowStart::Standard);
        let ack = Ack {
            acked: 5,
            delivered_now: 5,
            ..Ack::default()
        };
        assert_eq!(slow_start(&mut window, &mut starter, &ack), 2);
        assert_eq!(window.cwnd, 13);
        assert_eq!(slow_start(&mut window, &mut starter, &ack), 5);
        assert_eq!(half(&window), 6);
    }
}
