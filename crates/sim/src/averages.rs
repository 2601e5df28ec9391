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
    /// sample on.
    #[inline(always)]
    pub fn set(&mut self, now: Nanos, [in_flight, cwnd, srtt]: [u64; 3]) {
        self.in_flight.set(now, in_flight);
        self.cwnd.set(now, cwnd);
        if self.srtt.value() > 0 {
            self.srtt.set(now, srtt);
        } else if srtt > 0 {
            self.srtt = TimeMean::start(now, srtt);
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
