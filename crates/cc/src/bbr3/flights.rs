//! Bytes in flight and bytes lost at the time when data that are delivered now were sent.

use std::collections::VecDeque;

use crate::Ack;

/// State of the connection when a segment was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Departure {
    /// Bytes delivered before it. An ACK's rate sample reports the same value.
    delivered: u64,
    /// Bytes in flight, including the segment itself.
    pub in_flight: u64,
    /// Bytes lost before it.
    lost: u64,
}

/// The departures of about one round trip. Only the last one is kept for each value of `delivered`.
#[derive(Debug, Default)]
pub(super) struct Flights {
    departures: VecDeque<Departure>,
    /// The last departure. It is appended to the list as soon as more data are delivered.
    latest: Departure,
    delivered: u64,
    lost: u64,
}

impl Flights {
    /// Records that a segment is sent.
    pub fn on_send(&mut self, in_flight: u64) {
        self.latest = Departure {
            delivered: self.delivered,
            in_flight,
            lost: self.lost,
        };
    }

    /// Returns the bytes in flight when the newest segment delivered by this ACK was sent, and the bytes lost since. Returns zeros if unknown.
    pub fn on_ack(&mut self, ack: &Ack) -> (u64, u64) {
        if ack.delivered != self.delivered && self.latest.delivered == self.delivered {
            self.departures.push_back(self.latest);
        }
        (self.delivered, self.lost) = (ack.delivered, ack.lost);
        if ack.rate.interval == 0 {
            return (0, 0);
        }
        let prior = ack.rate.prior_delivered;
        while self.departures.len() > 1 && self.departures[0].delivered < prior {
            self.departures.pop_front();
        }
        self.departures
            .front()
            .map_or((0, 0), |d| (d.in_flight, ack.lost - d.lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RateSample;

    #[test]
    fn finds_the_data_in_flight_when_the_newest_segment_was_sent() {
        let mut flights = Flights::default();
        let ack = |delivered, lost, prior_delivered| Ack {
            delivered,
            lost,
            rate: RateSample {
                interval: 1,
                prior_delivered,
                ..RateSample::default()
            },
            ..Ack::default()
        };
        flights.on_send(10);
        flights.on_send(20);
        assert_eq!(flights.on_ack(&ack(10, 0, 0)), (20, 0));
        flights.on_send(30);
        assert_eq!(flights.on_ack(&ack(20, 5, 0)), (20, 5));
        flights.on_send(40);
        assert_eq!(flights.on_ack(&ack(30, 8, 10)), (30, 8));
        assert_eq!(flights.on_ack(&ack(40, 9, 20)), (40, 4));
        assert_eq!(flights.departures.len(), 1);
    }
}
