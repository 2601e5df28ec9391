//! Round-trip time and retransmission timeout (RFC 6298).

use bloatlab_units::{Nanos, SECOND};

use crate::TcpConfig;

/// RFC 6298 section 2.5: a maximum of at least 60 s; Linux's is 120 s.
const MAX_RTO: Nanos = 120 * SECOND;

/// The estimator of one connection.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    /// Smoothed RTT, ns; 0 before the first sample.
    pub srtt: Nanos,
    /// Mean deviation, ns.
    pub rttvar: Nanos,
    /// The last sample, ns.
    pub latest: Nanos,
    /// The smallest sample, ns; `u64::MAX` before the first.
    pub min: Nanos,
    base: Nanos,
    floor: Nanos,
    backoff: u32,
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
        }
    }

    #[inline]
    pub(crate) fn sample(&mut self, rtt: Nanos) {
        self.latest = rtt;
        self.min = self.min.min(rtt);
        if self.srtt == 0 {
            self.srtt = rtt.max(1);
            self.rttvar = rtt / 2;
        } else {
            // RFC 6298 section 2.3: beta = 1/4, alpha = 1/8.
            let deviation = self.srtt.abs_diff(rtt);
            self.rttvar = (3 * self.rttvar + deviation) >> 2;
            self.srtt = (7 * self.srtt + rtt) >> 3;
        }
        self.base = (self.srtt + (4 * self.rttvar).max(1)).clamp(self.floor, MAX_RTO);
    }

    /// The timeout in force, back-off included.
    #[inline]
    pub fn rto(&self) -> Nanos {
        (self.base << self.backoff).min(MAX_RTO)
    }

    /// RFC 6298 section 5.5: double on expiry.
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(12);
    }

    /// New data was acknowledged: the back-off ends (RFC 6298 section 5.7).
    #[inline]
    pub(crate) fn reset_back_off(&mut self) {
        self.backoff = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_units::MILLISECOND;

    #[test]
    fn follows_rfc_6298() {
        let mut rtt = RttEstimator::new(&TcpConfig::default());
        assert_eq!(rtt.rto(), SECOND);
        rtt.sample(100 * MILLISECOND);
        assert_eq!(
            (rtt.srtt, rtt.rttvar),
            (100 * MILLISECOND, 50 * MILLISECOND)
        );
        assert_eq!(rtt.rto(), 300 * MILLISECOND);
        rtt.sample(180 * MILLISECOND);
        assert_eq!(rtt.rttvar, (150 + 80) * MILLISECOND / 4);
        assert_eq!(rtt.srtt, 110 * MILLISECOND);
        rtt.back_off();
        assert_eq!(rtt.rto(), 2 * (110 + 230) * MILLISECOND);
        rtt.reset_back_off();
        for _ in 0..100 {
            rtt.sample(20 * MILLISECOND);
        }
        assert_eq!(rtt.rto(), 200 * MILLISECOND, "the floor holds");
    }
}
