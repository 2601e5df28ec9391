//! What the tables of links read from a link, a bearer and a gate.

use bloatlab_aqm::Slot;
use bloatlab_port::Backlog;
use bloatlab_units::{Nanos, Rate};

use crate::link::{Link, plan_wake};
use crate::packet::Packet;
use crate::schedule::Schedule;

/// A box with a queue.
pub(crate) trait Station {
    /// The queue and its statistics.
    fn backlog(&self) -> &Backlog<Packet>;

    fn backlog_mut(&mut self) -> &mut Backlog<Packet>;

    /// Visits the packets in the queue, as [`Qdisc::contents`](bloatlab_aqm::Qdisc::contents).
    fn contents(&self, visit: &mut dyn FnMut(Slot, &Packet)) {
        self.backlog().queue.contents(visit);
    }

    /// Packets inside.
    fn held(&self) -> u64;

    /// Returns the utilization and, if the rate changes, the mean rate (bit/s) since the last sample, which was `span` ns ago.
    fn sample(&mut self, now: Nanos, span: Nanos) -> (f64, f64);

    /// Returns the mean rate (bit/s) and the utilization of the measured time.
    fn whole(&self, span: Nanos) -> (f64, Option<f64>);

    /// Ends the warm-up.
    fn reset(&mut self, now: Nanos);

    /// Ends the run.
    fn end(&mut self, end: Nanos);
}

impl Link {
    /// The share of its capacity that a busy transmitter means. A shaper's burst is no more than all of it.
    fn share(&self, busy: f64) -> f64 {
        if self.shaping == 1.0 {
            busy
        } else {
            (busy * self.shaping).min(1.0)
        }
    }
}

impl Station for Link {
    fn backlog(&self) -> &Backlog<Packet> {
        &self.port.backlog
    }

    fn backlog_mut(&mut self) -> &mut Backlog<Packet> {
        &mut self.port.backlog
    }

    fn contents(&self, visit: &mut dyn FnMut(Slot, &Packet)) {
        if self.tail_drop.is_some() {
            let waiting = self.flight.waiting();
            waiting.for_each(|packet| visit(Slot::default(), packet));
        } else {
            self.port.backlog.queue.contents(visit);
        }
    }

    fn held(&self) -> u64 {
        self.port.held() + self.flight.len() as u64
    }

    fn sample(&mut self, now: Nanos, span: Nanos) -> (f64, f64) {
        let (utilization, rate) = self.port.sample(now, span);
        (self.share(utilization), rate / self.shaping)
    }

    fn whole(&self, span: Nanos) -> (f64, Option<f64>) {
        let (rate, utilization) = self.port.whole(span);
        let utilization = utilization.map(|busy| self.share(busy));
        (rate / self.shaping, utilization)
    }

    fn reset(&mut self, now: Nanos) {
        self.port.reset(now);
    }

    fn end(&mut self, end: Nanos) {
        self.port.end(end);
        self.put_back(end);
    }
}

/// A queue of the radio cell, from which the cell or a gate takes packets.
pub(crate) struct RadioQueue {
    /// The highest rate at which it can be served.
    pub rate: Rate,
    pub backlog: Backlog<Packet>,
    /// Packets that the cell has taken and not delivered.
    pub taken: u64,
    /// What the cell sends from it; `None` for a gate, which has no transmitter.
    pub air: Option<AirTime>,
}

/// The time for which a bearer is on air. A transmission takes its share of every instant of its slot.
pub(crate) struct AirTime {
    slot: Nanos,
    /// End of the slot of the last transmission.
    until: Nanos,
    /// Busy time of all transmissions in that slot.
    busy: Nanos,
}

impl AirTime {
    /// Nothing has been sent yet.
    pub fn new(slot: Nanos) -> Self {
        Self {
            slot,
            until: 0,
            busy: 0,
        }
    }

    /// Counts a transmission in the slot that begins now, which takes this share of it. Returns its busy time.
    pub fn send(&mut self, now: Nanos, share: f64) -> Nanos {
        let end = now + self.slot;
        if self.until != end {
            (self.until, self.busy) = (end, 0);
        }
        let busy = (share * self.slot as f64) as Nanos;
        self.busy += busy;
        busy
    }

    /// The busy time that is left of the current slot.
    fn ahead(&self, now: Nanos) -> Nanos {
        let left = self.until.saturating_sub(now);
        (u128::from(self.busy) * u128::from(left) / u128::from(self.slot)) as Nanos
    }
}

impl RadioQueue {
    fn ahead(&self, now: Nanos) -> Nanos {
        self.air.as_ref().map_or(0, |air| air.ahead(now))
    }

    /// Wakes the queue discipline, if this is the wake-up that is due.
    pub fn on_wake(&mut self, schedule: &mut Schedule) {
        if self.backlog.is_wake_due(schedule.now) {
            self.backlog.wake(schedule.now);
            plan_wake(schedule, &mut self.backlog);
        }
    }
}

impl Station for RadioQueue {
    fn backlog(&self) -> &Backlog<Packet> {
        &self.backlog
    }

    fn backlog_mut(&mut self) -> &mut Backlog<Packet> {
        &mut self.backlog
    }

    fn held(&self) -> u64 {
        self.backlog.packets + self.taken
    }

    fn sample(&mut self, now: Nanos, span: Nanos) -> (f64, f64) {
        let busy = self.backlog.stats.take_busy(self.ahead(now));
        let utilization = self.air.as_ref().map(|_| busy as f64 / span as f64);
        (utilization.unwrap_or(f64::NAN), f64::NAN)
    }

    fn whole(&self, span: Nanos) -> (f64, Option<f64>) {
        let busy = self.backlog.stats.busy as f64 / span as f64;
        (self.rate.0 as f64, self.air.as_ref().map(|_| busy))
    }

    fn reset(&mut self, now: Nanos) {
        self.backlog.reset(now, self.ahead(now));
    }

    fn end(&mut self, end: Nanos) {
        self.backlog.finish(end, self.ahead(end));
    }
}
