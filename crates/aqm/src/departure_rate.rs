//! The rate at which packets leave a queue, from which PIE can compute its delay.

use bloatlab_units::{Nanos, SECOND};

use crate::Packet;

/// RFC 8033 section 5.2: the departure rate, measured while the queue does not run empty.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DepartureRate {
    /// Start of the current measurement, if any, and the bytes departed since.
    measuring: Option<(Nanos, u64)>,
    /// Bytes of the offload buffer that is leaving, which departs as a whole.
    leaving: u64,
    /// Mean rate in bytes per second; 0 before the first measurement.
    mean: f64,
}

/// RFC 8033 section 5.2: 2^14 bytes.
const DQ_THRESHOLD: u64 = 1 << 14;

impl DepartureRate {
    /// The mean rate in bytes per second; 0 before the first measurement.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The time in seconds that `backlog` bytes take to depart; 0 before the first measurement.
    pub fn delay(&self, backlog: u64) -> f64 {
        if self.mean == 0.0 {
            return 0.0;
        }
        backlog as f64 / self.mean
    }

    /// Records a departure that leaves this backlog.
    pub fn departed<P: Packet>(&mut self, now: Nanos, packet: &P, backlog: u64) {
        self.leaving += u64::from(packet.size());
        if packet.has_more() {
            return;
        }
        let size = std::mem::take(&mut self.leaving);
        let is_long = backlog >= DQ_THRESHOLD;
        let Some((start, bytes)) = &mut self.measuring else {
            // RFC 8033 section 5.2: the departure that starts a measurement counts, too.
            self.measuring = is_long.then_some((now, size));
            return;
        };
        *bytes += size;
        // Departures at the same time have no rate.
        if *bytes >= DQ_THRESHOLD && now > *start {
            let rate = *bytes as f64 * SECOND as f64 / (now - *start) as f64;
            self.mean = if self.mean == 0.0 {
                rate
            } else {
                // As in Linux. RFC 8033 section 5.2 averages times, with weight 1/4.
                self.mean + (rate - self.mean) / 8.0
            };
            // In Linux, the next measurement follows at once.
            self.measuring = is_long.then_some((now, 0));
        }
    }
}
