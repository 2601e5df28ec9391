//! A monitor interval: what was sent at one rate, and what was acknowledged or lost of it.

use bloatlab_units::{Nanos, float};

/// The purpose of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The rate doubles from one interval to the next.
    Starting,
    /// Slightly above, or below, the base rate.
    Up,
    Down,
    /// The base rate, used until the results of a pair are known.
    Waiting,
}

/// One monitor interval.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    pub role: Role,
    /// The pacing rate, bytes per second.
    pub rate: f64,
    /// The connection's delivered bytes at its start. Segments sent in it carry this value or a larger one.
    pub from: u64,
    pub began: Nanos,
    pub ended: Nanos,
    /// Bytes that were sent, acknowledged and lost.
    pub sent: u64,
    pub acked: u64,
    pub lost: u64,
    /// Sums over the RTT samples, to compute their slope: times since the first sample and RTTs above the first RTT, both in ms.
    samples: f64,
    first: (Nanos, Nanos),
    t: f64,
    tt: f64,
    r: f64,
    tr: f64,
}

impl Interval {
    pub fn new(role: Role, rate: f64, from: u64, now: Nanos) -> Self {
        Self {
            role,
            rate,
            from,
            began: now,
            ended: now,
            sent: 0,
            acked: 0,
            lost: 0,
            samples: 0.0,
            first: (0, 0),
            t: 0.0,
            tt: 0.0,
            r: 0.0,
            tr: 0.0,
        }
    }

    /// Records an RTT sample.
    pub fn sample(&mut self, now: Nanos, rtt: Nanos) {
        if self.samples == 0.0 {
            self.first = (now, rtt);
        }
        let t = float(now - self.first.0) * 1e-6;
        let r = (float(rtt) - float(self.first.1)) * 1e-6;
        self.samples += 1.0;
        self.t += t;
        self.tt += t * t;
        self.r += r;
        self.tr += t * r;
    }

    /// The slope of the RTT over time, by least squares; 0 if it cannot be computed.
    pub fn slope(&self) -> f64 {
        let spread = self.samples * self.tt - self.t * self.t;
        if spread > 0.0 {
            (self.samples * self.tr - self.t * self.r) / spread
        } else {
            0.0
        }
    }

    /// Share of the acknowledged and lost bytes that was lost.
    pub fn loss(&self) -> f64 {
        let known = self.acked + self.lost;
        if known > 0 {
            self.lost as f64 / known as f64
        } else {
            0.0
        }
    }

    /// The rate at which it was actually sent, Mbit/s.
    pub fn sent_rate(&self) -> f64 {
        match self.ended - self.began {
            0 => 0.0,
            time => self.sent as f64 * 8e3 / time as f64,
        }
    }
}

/// Capacity: more intervals than can be in flight. A power of two, so that an index is computed with a mask.
const PLACES: usize = 16;

/// The intervals that are not fully accounted for, oldest first. The last one is being sent.
pub(super) struct Intervals {
    places: Box<[Interval; PLACES]>,
    /// These indexes keep counting and are taken modulo the capacity.
    first: usize,
    end: usize,
    /// Delivered bytes at the start of the second oldest interval, or `u64::MAX` without one. A segment sent with this value or more does not belong
    /// to the oldest.
    until: u64,
}

impl Intervals {
    pub fn new() -> Self {
        Self {
            places: Box::new(std::array::from_fn(|_| {
                Interval::new(Role::Waiting, 0.0, 0, 0)
            })),
            first: 0,
            end: 0,
            until: u64::MAX,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.first == self.end
    }

    pub fn is_full(&self) -> bool {
        self.end - self.first == PLACES
    }

    pub fn clear(&mut self) {
        self.first = self.end;
        self.until = u64::MAX;
    }

    /// Appends an interval. There must be room.
    pub fn push(&mut self, interval: Interval) {
        self.places[self.end % PLACES] = interval;
        self.end += 1;
        self.look_ahead();
    }

    /// Removes and returns the oldest interval. There must be one.
    pub fn pop(&mut self) -> Interval {
        self.first += 1;
        self.look_ahead();
        self.places[(self.first - 1) % PLACES].clone()
    }

    fn look_ahead(&mut self) {
        self.until = if self.end - self.first > 1 {
            self.places[(self.first + 1) % PLACES].from
        } else {
            u64::MAX
        };
    }

    /// The oldest interval. There must be one.
    #[inline]
    pub fn oldest(&mut self) -> &mut Interval {
        &mut self.places[self.first % PLACES]
    }

    /// Whether the oldest interval was over when a segment was sent with `prior` bytes delivered.
    #[inline]
    pub fn is_over(&self, prior: u64) -> bool {
        self.until <= prior
    }

    /// The interval that is being sent.
    pub fn latest(&mut self) -> Option<&mut Interval> {
        (self.first < self.end).then(|| &mut self.places[(self.end - 1) % PLACES])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_units::MILLISECOND;

    #[test]
    fn measures_rate_slope_and_loss() {
        let mut interval = Interval::new(Role::Up, 1e6, 0, 0);
        assert_eq!(
            (interval.slope(), interval.loss(), interval.sent_rate()),
            (0.0, 0.0, 0.0)
        );
        // The RTT grows by 2 ms in every 10.
        for i in 0..5 {
            interval.sample(i * 10 * MILLISECOND, (100 + 2 * i) * MILLISECOND);
        }
        assert!((interval.slope() - 0.2).abs() < 1e-12);
        (interval.acked, interval.lost) = (9_000, 1_000);
        assert_eq!(interval.loss(), 0.1);
        // 125 000 bytes in 100 ms are 10 Mbit/s.
        (interval.sent, interval.ended) = (125_000, 100 * MILLISECOND);
        assert!((interval.sent_rate() - 10.0).abs() < 1e-12);
    }
}
