//! The shaper: a virtual clock that tells when the next packet may leave. It has no bucket and therefore no bursts.

use bloatlab_units::{Nanos, Rate};

/// A virtual clock: every byte advances it by the time of the byte at a rate. Remainders are carried over.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    rate: Rate,
    /// When everything sent so far will have been sent at the rate.
    pub at: Nanos,
    remainder: u64,
}

impl Clock {
    /// Creates a clock of this rate at time 0.
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            at: 0,
            remainder: 0,
        }
    }

    /// Advances by the time of `bytes`.
    #[inline]
    fn charge(&mut self, bytes: u64) {
        let (time, remainder) = self.rate.transmit(bytes, self.remainder);
        self.at += time;
        self.remainder = remainder;
    }

    /// Skips the time in which there was nothing to send.
    #[inline]
    fn skip_to(&mut self, now: Nanos) {
        if self.at < now {
            self.at = now;
            self.remainder = 0;
        }
    }
}

/// The threshold of a tin. The tin has priority while its clock is not ahead of time.
#[derive(Clone, Copy, Debug)]
pub struct Threshold(Clock);

impl Threshold {
    /// Creates a threshold at this rate.
    pub fn new(rate: Rate) -> Self {
        Self(Clock::new(rate))
    }

    /// When the tin has priority again.
    #[inline]
    pub fn at(&self) -> Nanos {
        self.0.at
    }

    /// Records that the tin was empty until now.
    #[inline]
    pub fn wake(&mut self, now: Nanos) {
        self.0.skip_to(now);
    }

    /// Records that the tin sent `bytes`.
    #[inline]
    pub fn charge(&mut self, bytes: u64, now: Nanos) {
        let before = self.0.at;
        if before < now {
            self.0.charge(bytes);
            return;
        }
        // Traffic beyond the threshold is not charged later, so the clock is ahead by at most this packet.
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
    /// Counts only what was sent, at two thirds of the rate. If drops count too, they can therefore take at most a third of the rate.
    failsafe: Clock,
}

impl Shaper {
    /// Creates a shaper at this rate.
    pub fn new(rate: Rate) -> Self {
        Self {
            clock: Clock::new(rate),
            failsafe: Clock::new(Rate((rate.0 * 2 / 3).max(1))),
        }
    }

    /// Records that the queue was empty until now.
    #[inline]
    pub fn wake(&mut self, now: Nanos) {
        if self.clock.at < now {
            self.clock.skip_to(now);
            self.failsafe.at = now;
            self.failsafe.remainder = 0;
        }
    }

    /// Until when nothing may leave, if that is in the future.
    #[inline]
    pub fn blocked_until(&self, now: Nanos) -> Option<Nanos> {
        let at = self.clock.at.min(self.failsafe.at);
        (at > now).then_some(at)
    }

    /// Records that a packet of `bytes` was sent.
    #[inline]
    pub fn sent(&mut self, bytes: u64) {
        self.clock.charge(bytes);
        self.failsafe.charge(bytes);
    }

    /// Records that a packet of `bytes` was dropped which had already crossed the bottleneck.
    #[inline]
    pub fn dropped(&mut self, bytes: u64) {
        self.clock.charge(bytes);
    }
}
