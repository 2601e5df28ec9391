//! Reno's growth in whole segments, as Linux counts it. Several congestion controls use it.

use crate::slow_start::Starter;
use crate::{Ack, Window};

/// Counts acknowledged bytes until they add a segment to the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growth {
    /// Bytes acknowledged since the window last grew.
    paid: u64,
}

impl Growth {
    /// Applies an ACK as Reno does: slow start up to the threshold, then one segment per window acknowledged.
    #[inline]
    pub fn reno(&mut self, window: &mut Window, starter: &mut Starter, ack: &Ack) {
        // RFC 7661: do not grow a window that the sender did not use.
        if !ack.cwnd_limited {
            return;
        }
        let left = starter.open(window, ack);
        self.avoid(window, window.cwnd, left);
    }

    /// Congestion avoidance: every `price` acknowledged bytes add one segment to the window.
    #[inline]
    pub fn avoid(&mut self, window: &mut Window, price: u64, acked: u64) {
        window.cwnd += self.earn(acked, price, window.mss);
    }

    /// Counts acknowledged bytes, of which `price` add one segment. Returns the bytes by which the window grows.
    #[inline]
    pub fn earn(&mut self, acked: u64, price: u64, mss: u64) -> u64 {
        // RFC 3465 section 2.1: count bytes, not ACKs. Bytes counted at a higher price add one segment, not several.
        let saved = u64::from(self.paid >= price);
        if saved > 0 {
            self.paid = 0;
        }
        self.paid += acked;
        if self.paid < price {
            // Nearly every ACK ends here, without a division.
            return saved * mss;
        }
        let bought = self.paid / price;
        self.paid -= bought * price;
        (saved + bought) * mss
    }

    /// Counts acknowledged bytes until they reach `price`. The next ACK then only starts the count again, which is reported by `true` (Linux's Veno).
    pub fn collect(&mut self, acked: u64, price: u64) -> bool {
        let is_paid = self.paid >= price;
        self.paid = if is_paid { 0 } else { self.paid + acked };
        is_paid
    }

    /// Drops the bytes counted so far. Called at congestion.
    pub fn forget(&mut self) {
        self.paid = 0;
    }
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
    fn saved_credit_adds_one_segment_when_the_price_falls() {
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
        assert_eq!(starter.open(&mut window, &ack), 2);
        assert_eq!(window.cwnd, 13);
        assert_eq!(starter.open(&mut window, &ack), 5);
        assert_eq!(half(&window), 6);
    }
}
