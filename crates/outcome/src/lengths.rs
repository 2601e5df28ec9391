//! Measures how long a queue had each length.

use bloatlab_units::Nanos;

use crate::histogram::Histogram;

/// Lengths below this are counted exactly; longer ones go into the histogram. The counts take an eighth of the memory of the packets, at most 8 MB.
const SHORT: u64 = 1 << 20;

/// Time by queue length.
#[derive(Clone, Debug, Default)]
pub struct Lengths {
    short: Vec<Nanos>,
    long: Histogram,
}

impl Lengths {
    /// The queue had this length for this time.
    #[inline(always)]
    pub fn add(&mut self, packets: u64, span: Nanos) {
        match self.short.get_mut(packets as usize) {
            Some(time) => *time += span,
            None => self.widen(packets, span),
        }
    }

    /// Slow path of `add` for a length beyond all previous ones.
    #[cold]
    fn widen(&mut self, packets: u64, span: Nanos) {
        if packets < SHORT {
            self.short
                .resize((packets as usize + 1).next_power_of_two(), 0);
            self.short[packets as usize] = span;
        } else {
            self.long.add(packets, span);
        }
    }

    /// The times of all lengths as a histogram.
    pub fn histogram(&self) -> Histogram {
        let mut all = self.long.clone();
        for (packets, &span) in self.short.iter().enumerate() {
            if span > 0 {
                all.add(packets as u64, span);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn as_if_every_length_went_into_the_histogram(
            stays in proptest::collection::vec((0_u64..2 * SHORT, 1_u64..1_000_000), 0..200),
        ) {
            let (mut lengths, mut histogram) = (Lengths::default(), Histogram::default());
            for (packets, span) in stays {
                lengths.add(packets, span);
                histogram.add(packets, span);
            }
            let gathered = lengths.histogram();
            prop_assert!(gathered.bins().eq(histogram.bins()));
            prop_assert_eq!(gathered.mean(), histogram.mean());
            prop_assert_eq!(gathered.max(), histogram.max());
        }
    }
}
