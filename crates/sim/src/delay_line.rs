//! A delay that keeps the order of the packets.

use bloatlab_link::VaryingDelay;
use bloatlab_outcome::Count;
use bloatlab_units::Nanos;

use crate::flight::Flight;
use crate::link::arrival;
use crate::packet::Packet;
use crate::schedule::Schedule;

/// Holds every packet for a time and keeps the order.
pub(crate) struct DelayLine {
    pub delay: Nanos,
    /// A delay that changes, in place of the constant one.
    pub varying: Option<Box<VaryingDelay>>,
    pub flight: Flight,
    pub count: Count,
}

impl DelayLine {
    #[inline]
    pub fn enter(&mut self, schedule: &mut Schedule, packet: &Packet) {
        self.count.arrivals += 1;
        let arrival = arrival(self.delay, &mut self.varying, schedule.now);
        self.flight.push(schedule, arrival, packet);
    }

    /// Sets the delay of the packets that come from now on. None leaves before those inside.
    pub fn set_delay(&mut self, delay: Nanos) {
        let last = self.flight.last_arrival();
        self.delay = delay;
        self.varying = Some(Box::new(VaryingDelay::after(last, delay)));
    }
}
