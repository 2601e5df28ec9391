//! How the receive buffer follows the rate of the sender, as with Linux's `tcp_moderate_rcvbuf`.

use bloatlab_units::{MILLISECOND, Nanos};

use crate::segment::{Segment, time_stamp};

/// Linux's timestamps count milliseconds, ours microseconds.
const TICK: u32 = 1000;
/// Segments that a sender sends first, by Linux's default.
const FIRST_SEGMENTS: u64 = 10;

/// Dynamic right-sizing (Fisk and Feng 2001): each round trip, the buffer grows to what a sender that doubles its rate will need.
#[derive(Clone, Debug)]
pub(super) struct Tuning {
    /// What was in order when the present round trip began, and when that was.
    from: u64,
    since: Nanos,
    /// The most that was received in a round trip.
    space: u64,
    /// The smoothed time from an ACK to the data that echoes its timestamp, and the echo that was seen last, in milliseconds.
    rtt: Nanos,
    echo: u32,
    /// The edge of a window and when it was advertised: what fills the window takes a round trip or more.
    edge: u64,
    edge_at: Nanos,
}

impl Tuning {
    /// At first, one initial window is expected in a round trip.
    pub(super) fn new(mss: u64) -> Self {
        Self {
            from: 1,
            since: 0,
            space: FIRST_SEGMENTS * mss.max(1),
            rtt: 0,
            echo: 0,
            edge: 0,
            edge_at: 0,
        }
    }

    /// Measures the round trip that ends with this segment, in the milliseconds of Linux's timestamps.
    pub(super) fn measure(&mut self, now: Nanos, segment: &Segment) {
        let before = self.echo;
        self.skip(segment);
        if self.echo == before {
            return;
        }
        let elapsed = time_stamp(now).wrapping_sub(segment.tsecr) + segment.tsecr % TICK;
        let sample = u64::from(elapsed / TICK) * MILLISECOND;
        if sample == 0 {
            return;
        }
        self.rtt = if self.rtt == 0 {
            sample
        } else {
            sample.min(self.rtt - self.rtt / 8 + sample / 8)
        };
    }

    /// Measures the time in which a window was filled, which is too long for a round trip if anything. `next` is the next byte expected, and `edge` the
    /// end of the window.
    pub(super) fn measure_window(&mut self, now: Nanos, next: u64, edge: u64) {
        if next < self.edge {
            return;
        }
        let sample = now - self.edge_at;
        if self.edge > 0 && sample > 0 && (self.rtt == 0 || sample < self.rtt) {
            self.rtt = sample;
        }
        (self.edge, self.edge_at) = (edge, now);
    }

    /// A segment without data has this echo. Data with the same echo left later, so it says nothing about the round trip.
    pub(super) fn skip(&mut self, segment: &Segment) {
        self.echo = segment.tsecr / TICK;
    }

    /// The window to allow from now on, if a round trip is over that brought more than any before, or if something lies beyond a hole. `next` is the next
    /// byte expected, and `held` the number of bytes up to the end of what lies beyond holes.
    pub(super) fn window(&mut self, now: Nanos, next: u64, held: u64) -> Option<u64> {
        let growth = self.growth(now, next);
        (growth > 0 || held > 0).then_some(2 * self.space + growth + held)
    }

    /// How much more a sender whose rate grows as before will need, if a round trip is over that brought more than any before; else 0.
    fn growth(&mut self, now: Nanos, next: u64) -> u64 {
        if self.rtt == 0 || now - self.since < self.rtt {
            return 0;
        }
        let received = next.saturating_sub(self.from);
        (self.from, self.since) = (next, now);
        if received <= self.space {
            return 0;
        }
        let before = std::mem::replace(&mut self.space, received);
        4 * received * (received - before) / before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(at: Nanos) -> Segment {
        Segment {
            tsecr: time_stamp(at),
            ..Segment::default()
        }
    }

    #[test]
    fn the_window_follows_what_a_round_trip_brings() {
        let mut tuning = Tuning::new(1_000);
        let at = |ms: u64| ms * MILLISECOND;
        tuning.measure(at(140), &echo(at(100)));
        assert_eq!(tuning.rtt, at(40));
        assert_eq!(tuning.window(at(140), 1, 0), None, "nothing came");
        assert_eq!(tuning.window(at(150), 5_000, 0), None, "too early");
        assert_eq!(
            tuning.window(at(180), 10_001, 0),
            None,
            "no more than expected"
        );
        // Twice as much: twice what came, and twice that again because it doubles.
        assert_eq!(tuning.window(at(220), 30_001, 0), Some(120_000));
        // The same once more, and 700 bytes beyond a hole.
        assert_eq!(
            tuning.window(at(260), 60_001, 700),
            Some(60_000 + 2 * 30_000 + 700)
        );
    }

    #[test]
    fn the_round_trip_falls_at_once_and_rises_slowly() {
        let mut tuning = Tuning::new(1);
        let at = |ms: u64| ms * MILLISECOND;
        tuning.measure(at(180), &echo(at(100)));
        tuning.measure(at(200), &echo(at(160)));
        assert_eq!(tuning.rtt, at(40));
        tuning.measure(at(320), &echo(at(200)));
        assert_eq!(tuning.rtt, at(50));
        // The same echo again tells nothing new, nor does one of the same millisecond or of a segment without data.
        tuning.measure(at(900), &echo(at(200)));
        tuning.measure(at(900), &echo(at(200) + 999_000));
        tuning.skip(&echo(at(300)));
        tuning.measure(at(900), &echo(at(300)));
        assert_eq!(tuning.rtt, at(50));
    }

    #[test]
    fn round_trips_below_a_millisecond_are_measured_by_the_window() {
        let mut tuning = Tuning::new(1_000);
        let at = |us: u64| us * MILLISECOND / 1000;
        tuning.measure(at(600), &echo(at(100)));
        assert_eq!(tuning.rtt, 0, "both within one millisecond");
        tuning.measure_window(at(600), 1, 5_001);
        tuning.measure_window(at(800), 5_000, 9_000);
        assert_eq!(tuning.rtt, 0, "a byte is missing");
        tuning.measure_window(at(900), 5_001, 9_000);
        assert_eq!(tuning.rtt, at(300));
    }
}
