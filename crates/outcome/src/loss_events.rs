//! Loss events at a link: which of its greedy flows lose packets together, and the time between losses.

use bloatlab_units::{NEVER, Nanos};

/// Congestion signals (drops and marks) of greedy TCP flows, grouped into events, and the drops of all flows.
#[derive(Clone, Default)]
pub struct LossEvents {
    /// Number of events.
    pub events: u64,
    /// Number of signals.
    pub signals: u64,
    /// Sum over the events of the number of flows hit.
    pub flows_hit: u64,
    /// By flow, the number of the last event (from 1) in which it was hit; empty until the first signal.
    last_event: Vec<u64>,
    /// When the current event closes: one base RTT after its first signal, of the flow that was hit first.
    closes: Nanos,
    first_drop: Option<Nanos>,
    last_drop: Nanos,
    drops: u64,
}

impl LossEvents {
    /// A data packet of a greedy TCP flow was dropped or marked.
    pub fn signal(&mut self, now: Nanos, flow: usize, flows: usize, base_rtt: Nanos) {
        if self.last_event.len() <= flow {
            self.last_event.resize(flows, 0);
        }
        // RFC 5348 section 5.2: losses within one RTT of the first belong to one loss event.
        if self.events == 0 || now >= self.closes {
            self.events += 1;
            self.closes = now.saturating_add(base_rtt);
        }
        self.signals += 1;
        if std::mem::replace(&mut self.last_event[flow], self.events) != self.events {
            self.flows_hit += 1;
        }
    }

    /// A packet of any flow was dropped.
    pub fn drop(&mut self, now: Nanos) {
        self.first_drop.get_or_insert(now);
        self.last_drop = now;
        self.drops += 1;
    }

    /// Mean share of `flows` that an event hit.
    pub fn synchronization(&self, flows: u64) -> Option<f64> {
        (self.events > 0 && flows > 0)
            .then(|| self.flows_hit as f64 / (self.events as f64 * flows as f64))
    }

    /// Mean number of signals in an event.
    pub fn mean_size(&self) -> Option<f64> {
        (self.events > 0).then(|| self.signals as f64 / self.events as f64)
    }

    /// Mean time between two drops, ns.
    pub fn mean_interval(&self) -> Option<f64> {
        let first = self.first_drop.filter(|_| self.drops > 1)?;
        Some((self.last_drop - first) as f64 / (self.drops - 1) as f64)
    }
}

/// Base RTT of flows that take no part in loss events.
pub const NOT_GREEDY: Nanos = NEVER;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_within_a_round_trip_are_one_event() {
        let mut losses = LossEvents::default();
        // Event 1 opens at 100 and closes at 150: flows 0 and 2, flow 2 twice.
        losses.signal(100, 0, 4, 50);
        losses.signal(120, 2, 4, 10);
        losses.signal(149, 2, 4, 50);
        // Event 2: flow 2 alone.
        losses.signal(150, 2, 4, 50);
        assert_eq!((losses.events, losses.signals, losses.flows_hit), (2, 4, 3));
        assert_eq!(losses.synchronization(4), Some(3.0 / 8.0));
        assert_eq!(losses.mean_size(), Some(2.0));
    }

    #[test]
    fn nothing_lost_has_no_synchronization() {
        let mut losses = LossEvents::default();
        assert_eq!(losses.synchronization(4), None);
        assert_eq!(losses.mean_interval(), None);
        losses.drop(10);
        assert_eq!(losses.mean_interval(), None);
        losses.drop(20);
        losses.drop(40);
        assert_eq!(losses.mean_interval(), Some(15.0));
    }
}
