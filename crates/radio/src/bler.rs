//! The error probability of a transport block: effective SINR, code blocks, transport blocks, and the gain of retransmissions.

use crate::{McsTable, Scheme, TransportBlock};

/// How far above Shannon's bound half of the code blocks fail, in dB, by the efficiency of the scheme: QPSK, 16QAM, 64QAM, 256QAM.
///
/// Derived from the SNR at which 10 % of 5G-LENA's blocks of 12 symbols and 133 resource blocks fail, and interpolated linearly. For 256QAM, a mean.
const GAP: [&[(f64, f64)]; 4] = [
    &[
        (0.2344, 6.084),
        (0.3770, 5.111),
        (0.6016, 4.569),
        (0.8770, 4.054),
        (1.1758, 3.624),
    ],
    &[(1.4766, 4.225), (1.9141, 3.892), (2.4062, 3.746)],
    &[
        (2.7305, 4.524),
        (3.3223, 4.296),
        (3.9023, 4.105),
        (4.5234, 4.128),
        (5.1152, 4.250),
        (5.5547, 6.800),
    ],
    &[(5.3320, 4.2)],
];

/// The scale of the exponent in the effective SINR (EESM), by efficiency: Lagen et al. 2020 (arXiv 2001.10309), table for MCS table 1, from memory.
/// 256QAM uses the last value.
const BETA: [&[(f64, f64)]; 4] = [
    &[(0.2344, 1.6), (0.8770, 1.73), (1.3262, 1.82)],
    &[(1.3281, 3.97), (1.9141, 5.16), (2.5703, 6.5)],
    &[
        (2.5664, 9.95),
        (3.3223, 14.96),
        (4.5234, 24.51),
        (5.5547, 34.28),
    ],
    &[(5.3320, 34.28)],
];

/// The value at an efficiency: interpolated linearly between the points, and constant beyond them.
fn interpolate(curves: &[&[(f64, f64)]; 4], scheme: Scheme) -> f64 {
    let points = curves[(scheme.modulation_order / 2 - 1) as usize];
    let efficiency = scheme.efficiency();
    let next = points.partition_point(|point| point.0 < efficiency);
    if next == 0 || next == points.len() {
        return points[next.min(points.len() - 1)].1;
    }
    let ((x0, y0), (x1, y1)) = (points[next - 1], points[next]);
    y0 + (y1 - y0) * (efficiency - x0) / (x1 - x0)
}

/// Converts a ratio to dB.
pub fn decibel(ratio: f64) -> f64 {
    10.0 * libm::log10(ratio)
}

/// Converts dB to a ratio.
pub fn ratio(decibel: f64) -> f64 {
    libm::pow(10.0, decibel / 10.0)
}

/// The tail of the normal distribution: the probability that a standard normal value is above `x`.
fn tail(x: f64) -> f64 {
    0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2)
}

/// The probability that a code block of `bits` bits fails at this effective SINR.
pub fn code_block_error(scheme: Scheme, sinr_db: f64, bits: f64) -> f64 {
    let shannon = decibel(libm::exp2(scheme.efficiency()) - 1.0);
    let half = shannon + interpolate(&GAP, scheme);
    let deviation = 13.0 / libm::sqrt(bits.max(24.0));
    tail((sinr_db - half) / deviation)
}

/// The probability that a transport block fails at this effective SINR when sent once. It succeeds only if all of its code blocks, which have equal
/// size, succeed.
pub fn block_error(scheme: Scheme, sinr_db: f64, block: TransportBlock) -> f64 {
    let blocks = f64::from(block.code_blocks.max(1));
    let bits = f64::from(block.bytes * 8) / blocks;
    let one = code_block_error(scheme, sinr_db, bits);
    -libm::expm1(blocks * libm::log1p(-one))
}

/// Incremental redundancy: what a receiver has of a transport block after several transmissions, each with the same number of coded bits.
///
/// The effective SINR is that of the mean exponential over all transmissions (EESM), and the code rate falls with their number. The error probability
/// is that of the lowest scheme with the same modulation whose rate is not below this code rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Combined {
    /// Sum of exp(-SINR/beta).
    exponentials: f64,
    transmissions: u32,
}

impl Combined {
    /// Adds a transmission that was received at this SINR.
    pub fn add(&mut self, scheme: Scheme, sinr_db: f64) {
        self.exponentials += libm::exp(-ratio(sinr_db) / interpolate(&BETA, scheme));
        self.transmissions += 1;
    }

    /// Number of transmissions so far.
    pub fn transmissions(&self) -> u32 {
        self.transmissions
    }

    /// Effective SINR, dB. Without a transmission, the lowest possible value.
    pub fn sinr_db(&self, scheme: Scheme) -> f64 {
        if self.transmissions == 0 {
            return f64::NEG_INFINITY;
        }
        // At high SINR the exponentials underflow. The result is far above what any scheme needs.
        let mean = (self.exponentials / f64::from(self.transmissions)).max(f64::MIN_POSITIVE);
        decibel(-interpolate(&BETA, scheme) * libm::log(mean))
    }

    /// The probability that the block, always sent with this MCS, is still in error.
    pub fn error(&self, table: McsTable, mcs: usize, block: TransportBlock) -> f64 {
        if self.transmissions == 0 {
            return 1.0;
        }
        let sent = table.scheme(mcs);
        let same = |scheme: &&Scheme| {
            scheme.modulation_order == sent.modulation_order
                && scheme.rate_2048 * self.transmissions >= sent.rate_2048
        };
        let effective = table.schemes().iter().find(same).copied();
        block_error(effective.unwrap_or(sent), self.sinr_db(sent), block)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Rule, Shape};

    fn block(mcs: usize) -> TransportBlock {
        Shape::new(Rule::Lena, 133).transport_block(McsTable::One.scheme(mcs), 12)
    }

    fn once(mcs: usize, sinr_db: f64) -> f64 {
        block_error(McsTable::One.scheme(mcs), sinr_db, block(mcs))
    }

    #[test]
    fn a_code_block_fails_half_the_time_at_its_point_and_less_by_its_slope() {
        // MCS 13: efficiency 1.9141, 10 log10(2^1.9141 - 1) = 4.424 dB, 3.892 dB above.
        let scheme = McsTable::One.scheme(13);
        let half = 4.424 + 3.892;
        assert!((code_block_error(scheme, half, 8192.0) - 0.5).abs() < 0.01);
        // 13/sqrt(8192) = 0.1436 dB: two of them above, Q(2) = 0.02275.
        let two = code_block_error(scheme, half + 2.0 * 0.143_63, 8192.0);
        assert!((two - 0.022_75).abs() < 5e-4, "{two}");
        // Twelve blocks: 1 - (1 - Q(2))^12 = 0.2413.
        let block = TransportBlock {
            bytes: 12 * 1024,
            code_blocks: 12,
        };
        let all = block_error(scheme, half + 2.0 * 0.143_63, block);
        assert!((all - 0.2413).abs() < 5e-3, "{all}");
    }

    #[test]
    fn a_second_transmission_halves_the_rate() {
        // MCS 28 (948) sent twice: 474, so the error is that of MCS 19 (517), which needs much less.
        let scheme = McsTable::One.scheme(28);
        let mut combined = Combined::default();
        assert_eq!(combined.error(McsTable::One, 28, block(28)), 1.0);
        combined.add(scheme, 20.0);
        assert!(combined.error(McsTable::One, 28, block(28)) > 0.999);
        assert!((combined.sinr_db(scheme) - 20.0).abs() < 1e-9);
        combined.add(scheme, 20.0);
        let twice = combined.error(McsTable::One, 28, block(28));
        let lower = block_error(McsTable::One.scheme(19), 20.0, block(28));
        assert!((twice - lower).abs() < 1e-12 && twice < 1e-6, "{twice}");
    }

    #[test]
    fn the_effective_sinr_of_unequal_ones_is_nearer_to_the_worse() {
        // beta 1.6: -1.6 ln((exp(-1/1.6) + exp(-4/1.6))/2) = -1.6 ln((0.53526 + 0.08208)/2) = 1.8810 = 2.744 dB.
        let scheme = McsTable::One.scheme(0);
        let mut combined = Combined::default();
        combined.add(scheme, 0.0);
        combined.add(scheme, decibel(4.0));
        assert!((combined.sinr_db(scheme) - 2.744).abs() < 1e-3);
    }

    #[test]
    fn very_high_sinr_never_fails() {
        let mut combined = Combined::default();
        combined.add(McsTable::One.scheme(0), 89.0);
        assert_eq!(combined.error(McsTable::One, 0, block(0)), 0.0);
    }

    proptest! {
        #[test]
        fn more_signal_or_another_transmission_never_hurts(mcs in 0_usize..29, sinr in -15.0_f64..40.0, more in 0.0_f64..10.0) {
            prop_assert!(once(mcs, sinr + more) <= once(mcs, sinr));
            let scheme = McsTable::One.scheme(mcs);
            let mut combined = Combined::default();
            let mut last = 1.0;
            for _ in 0..4 {
                combined.add(scheme, sinr);
                let error = combined.error(McsTable::One, mcs, block(mcs));
                prop_assert!((0.0..=last + 1e-9).contains(&error));
                last = error;
            }
        }
    }
}
