//! A transmitter whose rate changes while it sends.

use bloatlab_units::{Interrupt, Nanos};

use crate::Trajectory;
use crate::carrier::{Supply, WORK};

/// Sends at the rate of a trajectory, bit by bit. A change in the middle of a packet applies to the bits after it.
pub(crate) struct Fluid {
    trajectory: Trajectory,
    /// Its value in bit/s, rounded.
    rate: u64,
    at: Nanos,
    /// Bits that could have been sent so far, times 10^9, without those of packets that were sent at a constant rate.
    offered: u128,
    /// Work of the last packet that was left at its end, because the end is a whole nanosecond. It is less than `rate`, and is carried on while the
    /// transmitter is busy.
    debt: u64,
    /// The packet size and rate of the last division, its quotient in nanoseconds, and its remainder. Dividing for every packet would be slow.
    divided: (u64, u64),
    time: Nanos,
    rest: u64,
}

impl Fluid {
    pub fn new(mut trajectory: Trajectory) -> Self {
        trajectory.at(0);
        Self {
            rate: whole(&trajectory),
            trajectory,
            at: 0,
            offered: 0,
            debt: 0,
            divided: (0, 0),
            time: 0,
            rest: 0,
        }
    }

    /// Fast path of `send`: returns when these bytes have been sent, or `None` if the rate changes before that.
    #[inline]
    fn send_at_once(&mut self, bytes: u64) -> Option<Nanos> {
        if self.divided != (bytes, self.rate) {
            let work = bytes * WORK as u64;
            self.time = work.checked_div(self.rate)?;
            self.rest = work % self.rate;
            self.divided = (bytes, self.rate);
        }
        let debt = self.debt + self.rest;
        let carries = debt >= self.rate;
        let time = self.time + u64::from(carries);
        if time >= self.trajectory.until() - self.at {
            return None;
        }
        self.debt = if carries { debt - self.rate } else { debt };
        self.at += time;
        Some(self.at)
    }

    /// Slow path of `send`: the rate may change while these bytes are sent.
    #[inline(never)]
    fn send_through(&mut self, bytes: u64, horizon: Nanos) -> Option<Nanos> {
        let mut work = bytes * WORK as u64 + self.debt;
        loop {
            let until = self.trajectory.until();
            // The end is a whole nanosecond: the packet ends before `until` exactly if its work is less than what is possible until then.
            if let Some(time) = work.checked_div(self.rate)
                && time < until - self.at
            {
                self.debt = work % self.rate;
                self.at += time;
                return Some(self.at);
            }
            if until > horizon {
                return None;
            }
            work -= self.rate * (until - self.at);
            self.go(until);
            if work == 0 {
                self.debt = 0;
                return Some(self.at);
            }
        }
    }

    /// Advances to this instant. No change may precede it.
    fn go(&mut self, at: Nanos) {
        self.offered += u128::from(self.rate) * u128::from(at - self.at);
        self.at = at;
        if at == self.trajectory.until() {
            self.trajectory.step();
            self.rate = whole(&self.trajectory);
        }
    }
}

/// The current rate in bit/s, from 0 to 10^13.
fn whole(trajectory: &Trajectory) -> u64 {
    trajectory.value().round() as u64
}

impl Supply for Fluid {
    fn skip(&mut self, now: Nanos) -> u128 {
        let before = self.offered + u128::from(std::mem::take(&mut self.debt));
        self.watch(now);
        self.offered.saturating_sub(before)
    }

    fn watch(&mut self, now: Nanos) {
        while self.trajectory.until() <= now {
            self.go(self.trajectory.until());
        }
        self.go(now.max(self.at));
    }

    fn send(&mut self, now: Nanos, bytes: u64, horizon: Nanos) -> Option<Nanos> {
        debug_assert_eq!(now, self.at);
        let end = self.send_at_once(bytes);
        end.or_else(|| self.send_through(bytes, horizon))
    }

    fn offered(&self) -> u128 {
        self.offered
    }

    fn heed(&mut self, interrupt: &Interrupt) {
        self.trajectory.heed(interrupt);
    }
}
