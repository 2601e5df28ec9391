//! A rate that varies, and what is read of it.

use bloatlab_units::{Interrupt, Nanos, Rate, Rng};

use crate::{Carrier, LoadedRate, Reading};

/// The varying rate of a transmitter. All of its changes are known ahead, so a change is not an event.
pub struct VaryingRate {
    carrier: Carrier,
    /// Instant and reading at the end of the warm-up.
    since: (Nanos, Reading),
    /// Instant and reading at the last sample.
    sampled: (Nanos, Reading),
}

impl VaryingRate {
    /// Starts to vary around `nominal`. Nothing is sent after `end`; `interrupt` ends a search through the changes early.
    pub fn new(
        vary: &LoadedRate,
        nominal: Rate,
        rng: &Rng,
        end: Nanos,
        interrupt: &Interrupt,
    ) -> Self {
        Self {
            carrier: vary.carrier(nominal, rng, end).interrupted_by(interrupt),
            since: (0, Reading::default()),
            sampled: (0, Reading::default()),
        }
    }

    /// Sends a packet of this many bytes from now on. Returns when the last bit is sent.
    pub fn transmit(&mut self, now: Nanos, bytes: u64) -> Nanos {
        self.carrier.transmit(now, bytes)
    }

    /// Notes that no packet follows.
    pub fn rest(&mut self) {
        self.carrier.rest();
    }

    /// Ends the warm-up.
    pub fn reset(&mut self, now: Nanos) {
        self.since = (now, self.carrier.read(now));
    }

    /// Returns the mean rate (bit/s) and the utilization since the last sample. There is no utilization if nothing could be sent.
    pub fn sample(&mut self, now: Nanos) -> (f64, Option<f64>) {
        let reading = self.carrier.read(now);
        let (at, before) = std::mem::replace(&mut self.sampled, (now, reading));
        (reading.rate(before, now - at), reading.utilization(before))
    }

    /// Returns the mean rate (bit/s) and the utilization from the warm-up to the last sample.
    pub fn whole(&self) -> (f64, Option<f64>) {
        let ((from, before), (to, reading)) = (self.since, self.sampled);
        (reading.rate(before, to - from), reading.utilization(before))
    }
}
