//! RED in front of a queue: every arrival is judged and then needs space.

use bloatlab_units::{Nanos, Rng};

use super::{Params, RedController, RedState, Stats};
use crate::ring::Capacity;
use crate::{Context, DropReason, Packet, Sink};

/// What a queue with RED consists of besides its packets.
pub(crate) struct RedAdmission {
    pub(super) controller: RedController,
    pub(super) state: RedState,
    capacity: Capacity,
    stats: Stats,
    pub(crate) rng: Rng,
}

impl RedAdmission {
    /// The admission to a new queue.
    pub(crate) fn new(params: &Params, context: Context) -> Self {
        let controller = RedController::new(params, &context);
        Self {
            state: RedState::new(&controller),
            controller,
            capacity: Capacity::new(params.limit, 1),
            stats: Stats::default(),
            rng: context.rng,
        }
    }

    /// Computes in integers as Linux's `choke`.
    pub(crate) fn in_integers(self) -> Self {
        Self {
            controller: self.controller.in_integers(),
            ..self
        }
    }

    /// Updates the average with the queue that an arrival sees. Returns whether the average is beyond `min`.
    #[inline]
    pub(crate) fn average(&mut self, now: Nanos, packets: u64, bytes: u64) -> bool {
        self.controller
            .average(&mut self.state, now, packets, bytes)
    }

    /// Returns whether an arrival enters the queue; it may be marked. Otherwise it was dropped. The average must be updated before.
    #[inline]
    pub(crate) fn admits<P: Packet>(
        &mut self,
        packets: u64,
        bytes: u64,
        packet: &mut P,
        sink: &mut dyn Sink<P>,
    ) -> bool {
        let size = packet.size();
        let signal = self
            .controller
            .judge(&mut self.state, packets, size, &mut self.rng);
        if !self
            .controller
            .signal(signal, packet, &mut self.stats, sink)
        {
            return false;
        }
        let fits = self.capacity.fits(packets, bytes, size);
        if !fits {
            self.stats.pdrop += 1;
            sink.dropped(packet, DropReason::Overflow);
        }
        fits
    }

    /// Records whether the link found a packet to send. If it did not, it is idle until the next arrival.
    #[inline]
    pub(crate) fn dequeued<P>(&mut self, now: Nanos, packet: Option<P>) -> Option<P> {
        if packet.is_none() {
            self.state.idle(now);
        }
        packet
    }

    /// `avg` is in the unit of the thresholds.
    pub(crate) fn stats(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("avg", self.state.avg()),
            ("prob", self.controller.probability(&self.state)),
            ("early", self.stats.early as f64),
            ("marked", self.stats.marked as f64),
            ("pdrop", self.stats.pdrop as f64),
            ("overlimits", self.stats.overlimits as f64),
        ]
    }
}
