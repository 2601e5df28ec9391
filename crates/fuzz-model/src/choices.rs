//! Turns raw bytes into choices. Any bytes are a sequence of choices, and missing bytes count as zeros.

use serde_json::{Value, json};

/// Bytes that make choices, in order.
pub struct Choices<'a> {
    bytes: &'a [u8],
}

impl<'a> Choices<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else {
            return 0;
        };
        self.bytes = rest;
        *first
    }

    /// A whole number from the next `bytes` bytes.
    pub fn bits(&mut self, bytes: u32) -> u64 {
        (0..bytes).fold(0, |bits, _| bits << 8 | u64::from(self.byte()))
    }

    /// A whole number below `end`, which is above 0.
    pub fn below(&mut self, end: usize) -> usize {
        let bytes = if end <= 256 { 1 } else { 2 };
        self.bits(bytes) as usize % end
    }

    /// True once in `often` times. False when no bytes are left.
    pub fn once_in(&mut self, often: u8) -> bool {
        self.byte() % often == 1 % often
    }

    /// One of these.
    pub fn one_of<'b, T>(&mut self, all: &'b [T]) -> &'b T {
        &all[self.below(all.len())]
    }

    /// Whether no byte is left.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes that are left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    /// A whole number: a bound, a neighbour of a bound, or a number in between. Every order of magnitude is equally likely.
    pub fn whole(&mut self, low: u64, high: u64) -> u64 {
        let span = high.saturating_sub(low);
        let offset = match self.byte() % 8 {
            0 => 0,
            1 => span,
            2 => 1,
            3 => span.saturating_sub(1),
            _ => {
                let order = self.below(span.checked_ilog2().unwrap_or(0) as usize + 1);
                let within = self.bits(2) << 48 >> 1;
                (1 << order) | (within >> (63 - order))
            }
        };
        low + offset.min(span)
    }

    /// A number: a bound, close to the lower bound, or in between.
    pub fn number(&mut self, low: f64, high: f64) -> f64 {
        let part = match self.byte() % 8 {
            0 => 0.0,
            1 => 1.0,
            2 => f64::EPSILON,
            3 => 1.0 - f64::EPSILON,
            4 | 5 => (self.bits(2) as f64 / 65_535.0).powi(6),
            _ => self.bits(2) as f64 / 65_535.0,
        };
        // Not `low + (high - low) * part`, which may be above `high` by a rounding error.
        (low * (1.0 - part) + high * part).clamp(low, high)
    }

    /// A number as JSON.
    pub fn json_number(&mut self, low: f64, high: f64) -> Value {
        json!(self.number(low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bytes_choose_the_least_and_nothing_that_may_be_absent() {
        let mut none = Choices::new(&[]);
        assert_eq!(
            (none.whole(7, 900), none.number(-1.0, 4.0), none.below(300)),
            (7, -1.0, 0)
        );
        assert!(!none.once_in(2));
    }

    #[test]
    fn both_bounds_and_all_between_are_chosen() {
        let mut seen = [false; 11];
        for seed in 0..4_000_u64 {
            let bytes = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
            seen[Choices::new(&bytes).whole(5, 15) as usize - 5] = true;
            let number = Choices::new(&bytes).number(0.1, 0.7);
            assert!((0.1..=0.7).contains(&number), "{number}");
        }
        assert_eq!(seen, [true; 11]);
        assert_eq!(Choices::new(&[1]).whole(3, u64::MAX), u64::MAX);
    }
}
