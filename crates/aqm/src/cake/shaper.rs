//! The shaper: a virtual clock that says when the next packet may leave. It has no bucket, so it has no burst.

use bloatlab_units::{Nanos, Rate};

/// A virtual clock: every byte moves it on by the time it takes at a rate; remainders are carried.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    rate: Rate,
    /// When what was sent so far will have been sent at the rate.
    pub at: Nanos,
    remainder: u64,
}

impl Clock {
    /// A clock of this rate, at time 0.
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            at: 0,
            remainder: 0,
        }
    }

    /// Moves on by `bytes`.
    #[inline]
    fn charge(&mut self, bytes: u64) {
        let (time, remainder) = self.rate.transmit(bytes, self.remainder);
        self.at += time;
        self.remainder = remainder;
    }

    /// The time during which nothing was held is not made up for.
    #[inline]
    fn skip_to(&mut self, now: Nanos) {
        if self.at < now {
            self.at = now;
            self.remainder = 0;
        }
    }
}

/// A tin's threshold: the tin has priority while its clock is not ahead of time.
#[derive(Clone, Copy, Debug)]
pub struct Threshold(Clock);

impl Threshold {
    /// A threshold at this rate.
    pub fn new(rate: Rate) -> Self {
        Self(Clock::new(rate))
    }

    /// When the tin has priority again.
    #[inline]
    pub fn at(&self) -> Nanos {
        self.0.at
    }

    /// The tin was empty.
    #[inline]
    pub fn wake(&mut self, now: Nanos) {
        self.0.skip_to(now);
    }

    /// The tin sent `bytes`.
    #[inline]
    pub fn charge(&mut self, bytes: u64, now: Nanos) {
        let before = self.0.at;
        if before < now {
            self.0.charge(bytes);
            return;
        }
        // What a tin sends beyond its threshold is not held against it later: it is at most this packet ahead of time.
        let mut fresh = Clock {
            at: now,
            remainder: 0,
            ..self.0
        };
        fresh.charge(bytes);
        if fresh.at > before {
            self.0 = fresh;
        }
    }
}

/// The shaper of the whole queue.
#[derive(Clone, Copy, Debug)]
pub struct Shaper {
    clock: Clock,
    /// Counts only what was sent, at two thirds of the rate: where drops count too, no more of the rate than that is lost to them.
    failsafe: Clock,
}

impl Shaper {
    /// A shaper at this rate.
    pub fn new(rate: Rate) -> Self {
        Self {
            clock: Clock::new(rate),
            failsafe: Clock::new(Rate((rate.0 * 2 / 3).max(1))),
        }
    }

    /// The queue was empty.
    #[inline]
    pub fn wake(&mut self, now: Nanos) {
        if self.clock.at < now {
            self.clock.skip_to(now);
            self.failsafe.at = now;
            self.failsafe.remainder = 0;
        }
    }

    /// Until when nothing may leave, if that is ahead.
    #[inline]
    pub fn blocked_until(&self, now: Nanos) -> Option<Nanos> {
        let at = self.clock.at.min(self.failsafe.at);
        (at > now).then_some(at)
    }

    /// A packet of `bytes` was sent.
    #[inline]
    pub fn sent(&mut self, bytes: u64) {
        self.clock.charge(bytes);
        self.failsafe.charge(bytes);
    }

    /// A packet of `bytes` was dropped, and had crossed the bottleneck before it came here.
    #[inline]
    pub fn dropped(&mut self, bytes: u64) {
        self.clock.charge(bytes);
    }
}
