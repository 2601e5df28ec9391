//! A log-linear histogram in the manner of HDR: every value is counted, within 1/64 of its size.

const SUB_BITS: u32 = 6;
const SUB: u64 = 1 << SUB_BITS;

/// Number of bins in an octave, which is the range from one power of two to the next.
const OCTAVE: usize = SUB as usize;
/// Length of the table of octaves: 59 exist, and a power of two saves a bounds check.
const OCTAVES: usize = 64;
/// Marks an octave without a block.
const ABSENT: u8 = u8::MAX;
/// Bits of a weight that are stored apart from the rest, since few weights are larger.
const LOW_BITS: u32 = 16;

/// Counts (or weights) of non-negative integers; mean, minimum and maximum are exact.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// The block that holds the bins of each octave. An octave gets a block when the first value in it is counted.
    blocks: [u8; OCTAVES],
    /// The low 16 bits of each bin's weight, block by block.
    weights: Vec<u16>,
    /// The other 48 bits. Empty until a weight needs them.
    high: Vec<u64>,
    sum: u128,
    /// The smallest value, and the largest minus the smallest.
    min: u64,
    span: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// One bin: values in `[lower, upper)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Smallest value of the bin.
    pub lower: u64,
    /// First value beyond it.
    pub upper: u64,
    /// What was counted in it.
    pub weight: u64,
}

#[inline]
fn bin_of(value: u64) -> usize {
    if value < SUB {
        return value as usize;
    }
    let shift = 63 - value.leading_zeros() - SUB_BITS;
    (u64::from(shift) * SUB + (value >> shift)) as usize
}

fn lower_edge(bin: usize) -> u64 {
    let bin = bin as u64;
    if bin < 2 * SUB {
        return bin;
    }
    let shift = bin / SUB - 1;
    (bin - shift * SUB) << shift
}

impl Histogram {
    /// A histogram in which nothing was counted.
    pub const EMPTY: Self = Self {
        blocks: [ABSENT; OCTAVES],
        weights: Vec::new(),
        high: Vec::new(),
        sum: 0,
        min: u64::MAX,
        span: 0,
    };

    /// Counts a value once.
    #[inline(always)]
    pub fn record(&mut self, value: u64) {
        self.add(value, 1);
    }

    /// Counts a value once in two histograms, and computes its bin only once.
    #[inline(always)]
    pub fn record_in_both(&mut self, other: &mut Self, value: u64) {
        let bin = bin_of(value);
        self.add_to(bin, value, 1);
        other.add_to(bin, value, 1);
    }

    /// Counts a value with a weight (a length of time, for a queue's length).
    #[inline(always)]
    pub fn add(&mut self, value: u64, weight: u64) {
        self.add_to(bin_of(value), value, weight);
    }

    /// Adds a weight to a known bin.
    #[inline(always)]
    fn add_to(&mut self, bin: usize, value: u64, weight: u64) {
        if value.wrapping_sub(self.min) > self.span {
            self.stretch(value);
        }
        self.sum += u128::from(value) * u128::from(weight);
        let place = self.place(bin);
        let Some(counted) = self.weights.get_mut(place) else {
            return self.add_beyond(bin, weight);
        };
        let (low, carries) = counted.overflowing_add(weight as u16);
        *counted = low;
        let high = weight >> LOW_BITS;
        if carries || high > 0 {
            self.add_high(place, high + u64::from(carries));
        }
    }

    /// Updates minimum and maximum.
    #[inline(never)]
    fn stretch(&mut self, value: u64) {
        let max = self.max().unwrap_or(value).max(value);
        self.min = self.min.min(value);
        self.span = max - self.min;
    }

    /// The index of a bin's weight. It lies beyond the end if the octave has no block.
    #[inline(always)]
    fn place(&self, bin: usize) -> usize {
        usize::from(self.blocks[bin / OCTAVE % OCTAVES]) * OCTAVE + bin % OCTAVE
    }

    /// Slow path of `add_to`: adds a block for the octave, without spare capacity.
    #[cold]
    fn add_beyond(&mut self, bin: usize, weight: u64) {
        let kept = self.weights.len();
        self.blocks[bin / OCTAVE % OCTAVES] = (kept / OCTAVE) as u8;
        self.weights.reserve_exact(OCTAVE);
        self.weights.resize(kept + OCTAVE, 0);
        if !self.high.is_empty() {
            self.high.resize(kept + OCTAVE, 0);
        }
        let place = self.place(bin);
        self.weights[place] = weight as u16;
        if weight >> LOW_BITS > 0 {
            self.add_high(place, weight >> LOW_BITS);
        }
    }

    #[cold]
    fn add_high(&mut self, place: usize, weight: u64) {
        if self.high.is_empty() {
            self.high = vec![0; self.weights.len()];
        }
        self.high[place] += weight;
    }

    /// The weight at an index.
    fn weight(&self, place: usize) -> u64 {
        let high = self.high.get(place).copied().unwrap_or(0);
        high << LOW_BITS | u64::from(self.weights[place])
    }

    /// Sum of all weights, computed at each call.
    pub fn total(&self) -> u64 {
        (0..self.weights.len())
            .map(|place| self.weight(place))
            .sum()
    }

    /// The exact sum of the values, each times its weight.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The exact mean; None when nothing was counted.
    pub fn mean(&self) -> Option<f64> {
        let total = self.total();
        (total > 0).then(|| self.sum as f64 / total as f64)
    }

    /// The exact maximum; None when nothing was counted.
    pub fn max(&self) -> Option<u64> {
        (!self.weights.is_empty()).then(|| self.min + self.span)
    }

    /// The value below which this fraction lies, interpolated within its bin.
    pub fn quantile(&self, fraction: f64) -> Option<f64> {
        self.quantiles([fraction])[0]
    }

    /// Several quantiles in one pass over the bins; the fractions must ascend.
    pub fn quantiles<const N: usize>(&self, fractions: [f64; N]) -> [Option<f64>; N] {
        debug_assert!(fractions.is_sorted());
        let (total, max) = (self.total() as f64, self.min.wrapping_add(self.span));
        let mut found = [None; N];
        let (mut next, mut below) = (0, 0.0);
        for bin in self.bins() {
            let weight = bin.weight as f64;
            while next < N && below + weight >= fractions[next] * total {
                // Values are integers: a bin of width one holds its lower edge.
                let width = (bin.upper - bin.lower - 1) as f64;
                let within = ((fractions[next] * total - below) / weight).max(0.0);
                found[next] = Some((bin.lower as f64 + width * within).min(max as f64));
                next += 1;
            }
            below += weight;
        }
        found
    }

    /// The bins that are not empty, in ascending order; the first starts at the minimum, the last ends at the maximum.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + '_ {
        let end = self.max().map_or(0, |max| max.saturating_add(1));
        let octaves = (0..OCTAVES).filter(|&octave| self.blocks[octave] != ABSENT);
        octaves
            .flat_map(|octave| octave * OCTAVE..(octave + 1) * OCTAVE)
            .map(|bin| (bin, self.weight(self.place(bin))))
            .filter(|&(_, weight)| weight > 0)
            .map(move |(bin, weight)| Bin {
                lower: lower_edge(bin).max(self.min),
                upper: lower_edge(bin + 1).min(end),
                weight,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bins_tile_the_integers(value in any::<u64>().prop_map(|v| v >> (v % 60))) {
            let bin = bin_of(value);
            prop_assert!(lower_edge(bin) <= value);
            prop_assert!(value < lower_edge(bin + 1) || lower_edge(bin + 1) <= lower_edge(bin));
        }

        #[test]
        fn every_weight_is_kept(added in proptest::collection::vec((0_u64..200, prop_oneof![1_u64..3, 1_u64 << 30..1 << 34]), 1..200)) {
            let (mut h, mut model) = (Histogram::default(), std::collections::BTreeMap::new());
            for &(value, weight) in &added {
                h.add(value, weight);
                *model.entry(bin_of(value)).or_insert(0) += weight;
            }
            let weights: Vec<u64> = h.bins().map(|bin| bin.weight).collect();
            prop_assert_eq!(h.total(), weights.iter().sum::<u64>());
            prop_assert_eq!(weights, model.into_values().collect::<Vec<_>>());
        }

        #[test]
        fn quantiles_are_within_a_bin(mut values in proptest::collection::vec(0_u64..10_000_000, 1..500), percent in 1_u32..100) {
            let mut h = Histogram::default();
            values.iter().for_each(|&v| h.record(v));
            values.sort_unstable();
            let rank = ((f64::from(percent) / 100.0 * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1;
            let exact = values[rank] as f64;
            let estimate = h.quantile(f64::from(percent) / 100.0).unwrap();
            prop_assert!((estimate - exact).abs() <= exact / 60.0 + 1.0, "{estimate} for {exact}");
            prop_assert_eq!(h.max(), values.last().copied());
        }
    }
}
