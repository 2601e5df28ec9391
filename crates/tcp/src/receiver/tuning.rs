//! How the receive buffer follows the rate of the sender, as with Linux's `tcp_moderate_rcvbuf`.

use bloatlab_units::{MICROSECOND, Nanos};

use crate::segment::{Segment, time_stamp};

/// Linux's first receive buffer (`tcp_rmem`).
pub(crate) const FIRST_BUFFER: u64 = 131_072;

/// Dynamic right-sizing (Fisk and Feng 2001): each round trip, the buffer grows to what a sender that doubles its rate will need.
#[derive(Clone, Debug)]
pub(super) struct Tuning {
    /// What was in order when the present round trip began, and when that was.
    from: u64,
    since: Nanos,
    /// The most that was received in a round trip.
    space: u64,
    /// The smoothed time from an ACK to the data that echoes its timestamp, and the echo that was seen last.
    rtt: Nanos,
    echo: u32,
}

impl Tuning {
    /// At first, one initial window of `first` bytes is expected in a round trip.
    pub(super) fn new(first: u64) -> Self {
        Self {
            from: 1,
            since: 0,
            space: first.max(1),
            rtt: 0,
            echo: 0,
        }
    }

    /// Measures the round trip that ends with this segment.
    pub(super) fn measure(&mut self, now: Nanos, segment: &Segment) {
        if segment.tsecr == self.echo {
            return;
        }
        self.echo = segment.tsecr;
        let sample = u64::from(time_stamp(now).wrapping_sub(segment.tsecr)) * MICROSECOND;
        self.rtt = if self.rtt == 0 {
            sample
        } else {
            sample.min(self.rtt - self.rtt / 8 + sample / 8)
        };
    }

    /// The window to allow from now on, if a round trip is over that brought more than any before. `next` is the next byte expected, and `held` the
    /// number of bytes up to the end of what lies beyond holes.
    pub(super) fn window(&mut self, now: Nanos, next: u64, held: u64) -> Option<u64> {
        if self.rtt == 0 || now - self.since < self.rtt {
            return None;
        }
        let received = next.saturating_sub(self.from);
        (self.from, self.since) = (next, now);
        if received <= self.space {
            return None;
        }
        let growth = 2 * received * (received - self.space) / self.space;
        self.space = received;
        Some(2 * received + 2 * growth + held)
    }
}

#[cfg(test)]
mod tests {
    use bloatlab_units::MILLISECOND;

    use super::*;

    fn echo(at: Nanos) -> Segment {
        Segment {
            tsecr: time_stamp(at),
            ..Segment::default()
        }
    }

    #[test]
    fn the_window_follows_what_a_round_trip_brings() {
        let mut tuning = Tuning::new(10_000);
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
        // The same echo again tells nothing new.
        tuning.measure(at(900), &echo(at(200)));
        assert_eq!(tuning.rtt, at(50));
    }
}
