//! Averages over time of the state of a TCP sender.

use bloatlab_outcome::{TimeMean, TimeSpread};
use bloatlab_units::Nanos;

/// Averages over the lifetime of a flow, without the warm-up.
#[derive(Clone, Copy, Default)]
pub(crate) struct Averages {
    /// Bytes.
    pub in_flight: TimeSpread,
    /// Bytes.
    pub cwnd: TimeMean,
    srtt: TimeMean,
}

impl Averages {
    /// Starts with this state at this instant.
    pub fn start(now: Nanos, [in_flight, cwnd, srtt]: [u64; 3]) -> Self {
        Self {
            in_flight: TimeSpread::start(now, in_flight),
            cwnd: TimeMean::start(now, cwnd),
            srtt: TimeMean::start(now, srtt),
        }
    }

    /// Sets the state from now on: bytes in flight, congestion window in bytes, and smoothed RTT in ns. The smoothed RTT is averaged from the first
    /// sample on. A new connection has none (0) at first: until its first sample, that of the connection before it remains.
    #[inline(always)]
    pub fn set(&mut self, now: Nanos, [in_flight, cwnd, srtt]: [u64; 3]) {
        self.in_flight.set(now, in_flight);
        self.cwnd.set(now, cwnd);
        if self.srtt.value() == 0 {
            self.srtt = TimeMean::start(now, srtt);
        } else if srtt > 0 {
            self.srtt.set(now, srtt);
        }
    }

    /// Includes the time up to now.
    pub fn advance(&mut self, now: Nanos) {
        self.in_flight.advance(now);
        self.cwnd.advance(now);
        self.srtt.advance(now);
    }

    /// Mean of the smoothed RTT in ns; None if there was no sample.
    pub fn srtt(&self) -> Option<f64> {
        self.srtt.mean().filter(|&mean| mean > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoothed_rtt_is_averaged_over_all_connections_from_the_first_sample_on() {
        let mut averages = Averages::start(0, [0, 10, 0]);
        averages.set(5, [0, 10, 0]);
        averages.advance(8);
        assert_eq!(averages.srtt(), None);
        averages.set(10, [0, 10, 100]);
        // Another connection begins at 20, and has its first sample at 30.
        averages.set(20, [0, 10, 0]);
        averages.set(30, [0, 10, 400]);
        averages.advance(40);
        assert_eq!(averages.srtt(), Some((100.0 * 20.0 + 400.0 * 10.0) / 30.0));
    }
}
