//! A token bucket in integer arithmetic. It limits what a shaper may send or a policer may let pass.

use bloatlab_units::{NEVER, Nanos, Rate};

/// Tokens of one byte. Tokens are counted in bit/s times ns, so that no rate leaves a remainder.
const BYTE: i64 = 8_000_000_000;

/// A bucket that fills at a rate up to its depth and is full at the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    rate: u64,
    depth: i64,
    level: i64,
    /// The time at which `level` was computed.
    at: Nanos,
}

impl TokenBucket {
    /// Creates a bucket with a depth of `depth` bytes (at most 1 GB).
    pub fn new(rate: Rate, depth: u64) -> Self {
        let depth = Self::cost(depth);
        Self {
            rate: rate.0,
            depth,
            level: depth,
            at: 0,
        }
    }

    /// The tokens that a packet of this size takes.
    #[inline]
    pub fn cost(bytes: u64) -> i64 {
        bytes as i64 * BYTE
    }

    /// Fills the bucket up to this time.
    #[inline]
    pub fn advance(&mut self, now: Nanos) {
        let gained = self.rate.saturating_mul(now.saturating_sub(self.at));
        let gained = i64::try_from(gained).unwrap_or(i64::MAX);
        self.level = self.level.saturating_add(gained).min(self.depth);
        self.at = self.at.max(now);
    }

    /// Fills at this rate from the time of the last [`advance`](Self::advance).
    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = rate.0;
    }

    /// Takes tokens. The level becomes negative if there are too few.
    #[inline]
    pub fn take(&mut self, cost: i64) {
        self.level -= cost;
    }

    /// Whether it holds at least this many tokens.
    #[inline]
    pub fn holds(&self, tokens: i64) -> bool {
        self.level >= tokens
    }

    /// The first nanosecond at which it holds this many tokens.
    #[inline]
    pub fn ready_at(&self, tokens: i64) -> Nanos {
        if self.level >= tokens {
            return self.at;
        }
        if tokens > self.depth {
            return NEVER;
        }
        let missing = tokens.abs_diff(self.level);
        self.at.saturating_add(missing.div_ceil(self.rate))
    }

    /// Its level as the time that filling it takes, ns, as tc shows it; negative for a debt.
    pub fn nanoseconds(&self) -> f64 {
        self.level as f64 / self.rate as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn odd_rates_leave_no_remainder() {
        // 7 bit/s: a byte takes 8/7 s = 1 142 857 142.857 ns; seven of them exactly 8 s.
        let mut bucket = TokenBucket::new(Rate(7), 1);
        bucket.take(TokenBucket::cost(1));
        let cost = TokenBucket::cost(1);
        let times: Vec<Nanos> = (0..7)
            .map(|_| {
                let at = bucket.ready_at(cost);
                bucket.advance(at);
                bucket.take(cost);
                at
            })
            .collect();
        // Each wait ends at the first whole nanosecond. The fraction is kept, except where the bucket, one byte deep, was full.
        assert_eq!(times[0], 1_142_857_143);
        let mut deep = TokenBucket::new(Rate(7), 2);
        deep.take(TokenBucket::cost(2));
        let last = (0..7)
            .map(|_| {
                let at = deep.ready_at(cost);
                deep.advance(at);
                deep.take(cost);
                at
            })
            .last();
        assert_eq!(last, Some(8_000_000_000));
    }

    #[test]
    fn more_than_its_capacity_is_never_available() {
        let bucket = TokenBucket::new(Rate(1_000), 100);
        assert_eq!(bucket.ready_at(TokenBucket::cost(100)), 0);
        assert_eq!(bucket.ready_at(TokenBucket::cost(101)), NEVER);
    }

    proptest! {
        #[test]
        fn it_is_ready_at_the_first_nanosecond_that_suffices(
            rate in 1_u64..1 << 40, depth in 1_u64..1_000_000_000, size in 1_u64..65_536, debt in 0_u64..65_536, wait in 0_u64..1 << 40,
        ) {
            let mut bucket = TokenBucket::new(Rate(rate), depth.max(size));
            bucket.take(TokenBucket::cost(depth.max(size) + debt));
            let at = bucket.ready_at(TokenBucket::cost(size));
            let exact = (u128::from(size + debt) * 8_000_000_000).div_ceil(u128::from(rate));
            prop_assert_eq!(u128::from(at), exact);
            // Advancing in between changes nothing.
            let mut other = bucket;
            other.advance(wait.min(at));
            prop_assert_eq!(other.ready_at(TokenBucket::cost(size)), at);
            other.advance(at);
            prop_assert!(other.holds(TokenBucket::cost(size)));
        }
    }
}
