//! Round-trip time and retransmission timeout (RFC 6298).

use std::hint::select_unpredictable;

use bloatlab_units::{Nanos, SECOND};

use crate::{TcpConfig, Timeout};

/// RFC 6298 section 2.5: a maximum of at least 60 s. Linux's is 120 s.
const MAX_RTO: Nanos = 120 * SECOND;

/// The RTT estimator of one connection.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    /// Smoothed RTT, ns; 0 before the first sample.
    pub srtt: Nanos,
    /// The deviation whose fourfold is part of the timeout, ns.
    pub rttvar: Nanos,
    /// The last sample, ns.
    pub latest: Nanos,
    /// The smallest sample, ns; `u64::MAX` before the first.
    pub min: Nanos,
    base: Nanos,
    floor: Nanos,
    backoff: u32,
    rule: Timeout,
    /// Mean deviation, its largest value in this round trip, and the stream offset that ends the round trip. Only used by `Timeout::Linux`.
    deviation: Nanos,
    peak: Nanos,
    round_end: u64,
}

impl RttEstimator {
    pub(crate) fn new(config: &TcpConfig) -> Self {
        Self {
            srtt: 0,
            rttvar: 0,
            latest: 0,
            min: u64::MAX,
            base: config.initial_rto.0,
            floor: config.min_rto.0,
            backoff: 0,
            rule: config.timeout,
            deviation: 0,
            peak: 0,
            round_end: 0,
        }
    }

    /// Records a sample. `una` and `next` are stream offsets that separate round trips.
    #[inline(always)]
    pub(crate) fn sample(&mut self, rtt: Nanos, una: u64, next: u64) {
        self.latest = rtt;
        self.min = self.min.min(rtt);
        if self.srtt == 0 {
            self.srtt = rtt.max(1);
            self.deviation = rtt / 2;
            self.rttvar = match self.rule {
                Timeout::Linux => self.deviation.max(self.floor / 4),
                Timeout::Rfc6298 => self.deviation,
            };
            self.peak = self.rttvar;
            self.round_end = next;
        } else {
            match self.rule {
                Timeout::Linux => self.deviate(rtt, una, next),
                // RFC 6298 section 2.3: beta = 1/4.
                Timeout::Rfc6298 => self.rttvar = (3 * self.rttvar + distance(self.srtt, rtt)) >> 2,
            }
            // RFC 6298 section 2.3: alpha = 1/8.
            self.srtt = (7 * self.srtt + rtt) >> 3;
        }
        self.base = self.srtt + (4 * self.rttvar).max(1);
        if self.rule == Timeout::Rfc6298 {
            self.base = self.base.max(self.floor);
        }
        self.base = self.base.min(MAX_RTO);
    }

    /// Sarolahti and Kuznetsov 2002, section 4: with a sample per ACK, the mean deviation forgets within a fraction of a round trip. So its largest
    /// value per round trip is used; it rises at once and falls by a quarter per round trip.
    #[inline]
    fn deviate(&mut self, rtt: Nanos, una: u64, next: u64) {
        let error = distance(self.srtt, rtt);
        let falls = error <= self.deviation;
        let change = distance(error, self.deviation);
        // An RTT that falls suddenly must not make the timeout longer.
        let change = select_unpredictable(falls | (rtt > self.srtt), change / 4, change / 32);
        self.deviation = select_unpredictable(
            falls,
            self.deviation.wrapping_sub(change),
            self.deviation + change,
        );
        self.peak = self.peak.max(self.deviation);
        self.rttvar = self.rttvar.max(self.peak);
        if una > self.round_end {
            self.rttvar -= (self.rttvar - self.peak) / 4;
            self.round_end = next;
            self.peak = self.floor / 4;
        }
    }

    /// The current timeout, including back-off.
    #[inline]
    pub fn rto(&self) -> Nanos {
        (self.base << self.backoff).min(MAX_RTO)
    }

    /// Whether no new data was acknowledged since the timeout expired last.
    pub(crate) fn is_backed_off(&self) -> bool {
        self.backoff > 0
    }

    /// RFC 6298 section 5.5: doubles the timeout when it expires.
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(12);
    }

    /// RFC 6298 section 5.7: ends the back-off, because new data was acknowledged.
    #[inline]
    pub(crate) fn reset_back_off(&mut self) {
        self.backoff = 0;
    }
}

/// The absolute difference of two times, without a branch, because samples lie on both sides of their mean.
#[inline]
fn distance(a: Nanos, b: Nanos) -> Nanos {
    select_unpredictable(a < b, b.wrapping_sub(a), a.wrapping_sub(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_units::MILLISECOND;

    #[test]
    fn follows_rfc_6298() {
        let mut rtt = RttEstimator::new(&TcpConfig {
            timeout: Timeout::Rfc6298,
            ..TcpConfig::default()
        });
        assert_eq!(rtt.rto(), SECOND);
        rtt.sample(100 * MILLISECOND, 1, 1);
        assert_eq!(
            (rtt.srtt, rtt.rttvar),
            (100 * MILLISECOND, 50 * MILLISECOND)
        );
        assert_eq!(rtt.rto(), 300 * MILLISECOND);
        rtt.sample(180 * MILLISECOND, 1, 1);
        assert_eq!(rtt.rttvar, (150 + 80) * MILLISECOND / 4);
        assert_eq!(rtt.srtt, 110 * MILLISECOND);
        rtt.back_off();
        assert_eq!(rtt.rto(), 2 * (110 + 230) * MILLISECOND);
        rtt.reset_back_off();
        for _ in 0..100 {
            rtt.sample(20 * MILLISECOND, 1, 1);
        }
        assert_eq!(rtt.rto(), 200 * MILLISECOND, "the floor holds");
    }

    #[test]
    fn linux_waits_for_the_largest_deviation_of_a_round_trip() {
        let mut rtt = RttEstimator::new(&TcpConfig::default());
        rtt.sample(800 * MILLISECOND, 1, 1);
        assert_eq!(rtt.rto(), 2400 * MILLISECOND);
        // The second sample ends the first round trip, whose largest deviation was the initial one.
        rtt.sample(800 * MILLISECOND, 2, 1000);
        assert_eq!(rtt.rttvar, 400 * MILLISECOND);
        // In a round trip of many equal samples, the mean deviation falls from 300 ms to zero. Its largest value, after the first sample, is 225 ms,
        // and the deviation in use moves a quarter of the way towards it.
        for una in 3..=1001 {
            rtt.sample(800 * MILLISECOND, una, una + 1000);
        }
        assert_eq!(rtt.rttvar, (400 - (400 - 225) / 4) * MILLISECOND - 750_000);
        for round in 2..100 {
            rtt.sample(800 * MILLISECOND, 1000 * round + 2, 1000 * (round + 1) + 2);
        }
        assert_eq!(rtt.rto() / MILLISECOND, 1000, "the floor is on top of sRTT");
        // 80 ms above sRTT raises the mean deviation to a quarter of that, below the minimum. 400 ms above sRTT (by then 810 ms) counts at once.
        rtt.sample(880 * MILLISECOND, 0, 0);
        assert!(rtt.rttvar - 50 * MILLISECOND < MILLISECOND);
        rtt.sample(1210 * MILLISECOND, 0, 0);
        let deviation = 20 + (400 - 20) / 4;
        assert_eq!(rtt.rttvar / MILLISECOND, deviation);
        // 500 ms below sRTT counts an eighth of what it would count above.
        let before = rtt.deviation;
        let below = rtt.srtt - 500 * MILLISECOND;
        rtt.sample(below, 0, 0);
        assert_eq!(rtt.deviation, before + (500 * MILLISECOND - before) / 32);
        assert_eq!(rtt.rttvar, rtt.deviation);
    }
}
