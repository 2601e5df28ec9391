//! netem, which delays, loses and duplicates packets.

use bloatlab_link::gilbert_elliott;
use bloatlab_link::jitter::{self, Distribution};
use bloatlab_units::Nanos;
use statrs::distribution::{ContinuousCDF, Normal, Pareto};

use super::attributes::{nested, word};

const TCA_NETEM_DELAY_DIST: u16 = 2;
const TCA_NETEM_LOSS: u16 = 5;
const TCA_NETEM_RATE64: u16 = 8;
const TCA_NETEM_LATENCY64: u16 = 10;
const TCA_NETEM_JITTER64: u16 = 11;
const TCA_NETEM_PRNG_SEED: u16 = 14;
const NETEM_LOSS_GE: u16 = 2;

/// The value 1 in a table of jitter.
const UNIT: f64 = 8192.0;
/// Equally likely values of a distribution in its table: a table holds the square of it, so that two distributions can be combined.
const QUANTILES: usize = 128;
/// At this rate, bytes per second, a packet takes a nanosecond or two.
const IN_ORDER: u64 = 1_000_000_000_000;
/// The largest jitter that netem knows, ns.
pub const MOST_JITTER: Nanos = i32::MAX as Nanos;

/// Options of netem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Netem {
    /// Every packet stays for this time.
    pub delay: Nanos,
    /// At most this many packets.
    pub limit: u32,
    /// How the time differs from packet to packet.
    pub jitter: Option<jitter::Params>,
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Losses in bursts, in place of a probability.
    pub bursts: Option<gilbert_elliott::Params>,
    /// Probability that a packet is duplicated.
    pub duplicate: f64,
    /// Seed of everything random, if there is something.
    pub seed: Option<u64>,
}

impl Netem {
    /// As the kernel takes them.
    pub(super) fn bytes(&self) -> Vec<u8> {
        // struct tc_netem_qopt: latency in ticks, limit, loss, gap, duplicates, jitter.
        let values = [
            0,
            self.limit,
            probability(self.loss),
            0,
            probability(self.duplicate),
            0,
        ];
        let mut bytes = values.map(u32::to_ne_bytes).concat();
        bytes.extend(nested(TCA_NETEM_LATENCY64, &self.delay.to_ne_bytes()));
        if let Some(jitter) = &self.jitter {
            bytes.extend(nested(
                TCA_NETEM_JITTER64,
                &jitter.size.0.min(MOST_JITTER).to_ne_bytes(),
            ));
            if let Some(table) = table(jitter.distribution) {
                let values: Vec<u8> = table.into_iter().flat_map(i16::to_ne_bytes).collect();
                bytes.extend(nested(TCA_NETEM_DELAY_DIST, &values));
            }
            if !jitter.reorder {
                // With a rate, no packet leaves before the one before it.
                bytes.extend(nested(TCA_NETEM_RATE64, &IN_ORDER.to_ne_bytes()));
            }
        }
        if let Some(bursts) = &self.bursts {
            // struct tc_netem_gemodel: to the bad state, back, surviving the bad state, lost in the good one.
            let values = [bursts.p, bursts.back(), bursts.h, 1.0 - bursts.k];
            let values = values.map(|value| probability(value).to_ne_bytes());
            bytes.extend(nested(
                TCA_NETEM_LOSS,
                &nested(NETEM_LOSS_GE, &values.concat()),
            ));
        }
        if let Some(seed) = self.seed {
            bytes.extend(nested(TCA_NETEM_PRNG_SEED, &seed.to_ne_bytes()));
        }
        bytes
    }

    /// Whether the kernel's options have the values of these.
    pub(super) fn agree(&self, options: &[u8]) -> bool {
        let kept = [4, 8, 16].map(|offset| word(options, offset));
        let given = [
            self.limit,
            probability(self.loss),
            probability(self.duplicate),
        ];
        kept == given.map(Some)
    }
}

/// A probability in parts of 2^32 - 1.
fn probability(value: f64) -> u32 {
    (value * f64::from(u32::MAX)).round() as u32
}

/// The values of a distribution, equally likely each. netem has no larger ones than four times the jitter. `None`: uniform, which needs no table.
fn table(distribution: Distribution) -> Option<Vec<i16>> {
    let normal = Normal::standard();
    let pareto = Pareto::new(1.0, 3.0).expect("scale and shape are above 0");
    let normal = |share| normal.inverse_cdf(share);
    // Mean 0, variance 1.
    let pareto = |share| (pareto.inverse_cdf(share) - 1.5) / 0.75_f64.sqrt();
    let value: Box<dyn Fn(f64, f64, f64) -> f64> = match distribution {
        Distribution::Uniform => return None,
        Distribution::Normal => Box::new(|share, _, _| normal(share)),
        Distribution::Pareto => Box::new(|share, _, _| pareto(share)),
        Distribution::Paretonormal => {
            Box::new(|_, first, second| 0.25 * normal(first) + 0.75 * pareto(second))
        }
    };
    let middle = |index: usize, of: usize| (index as f64 + 0.5) / of as f64;
    let all = QUANTILES * QUANTILES;
    let values = (0..all).map(|index| {
        let (first, second) = (index / QUANTILES, index % QUANTILES);
        value(
            middle(index, all),
            middle(first, QUANTILES),
            middle(second, QUANTILES),
        )
    });
    // A float outside the range becomes the nearest value in it.
    Some(values.map(|value| (value * UNIT).round() as i16).collect())
}

#[cfg(test)]
mod tests {
    use super::super::attributes::attribute;
    use super::*;
    use bloatlab_units::{Duration, MILLISECOND};

    #[test]
    fn a_delay_keeps_its_limit_and_its_nanoseconds() {
        let options = Netem {
            delay: 12_345_678,
            limit: 1000,
            ..Netem::default()
        };
        let bytes = options.bytes();
        assert!(options.agree(&bytes));
        let latency = attribute(&bytes[24..], TCA_NETEM_LATENCY64);
        assert_eq!(latency, Some(12_345_678_u64.to_ne_bytes().to_vec()));
        assert_eq!(attribute(&bytes[24..], TCA_NETEM_RATE64), None);
    }

    #[test]
    fn a_probability_is_a_share_of_all_words() {
        assert_eq!(probability(0.0), 0);
        assert_eq!(probability(0.5), 1 << 31);
        assert_eq!(probability(1.0), u32::MAX);
        let lossy = Netem {
            loss: 0.01,
            ..Netem::default()
        };
        assert!(lossy.agree(&lossy.bytes()));
        assert!(!Netem::default().agree(&lossy.bytes()));
    }

    #[test]
    fn packets_keep_their_order_unless_jitter_reorders_them() {
        for reorder in [false, true] {
            let jitter = jitter::Params {
                size: Duration(MILLISECOND),
                distribution: Distribution::Normal,
                reorder,
            };
            let options = Netem {
                jitter: Some(jitter),
                ..Netem::default()
            };
            let rate = attribute(&options.bytes()[24..], TCA_NETEM_RATE64);
            assert_eq!(rate.is_none(), reorder);
        }
    }

    #[test]
    fn tables_have_the_mean_and_the_deviation_of_their_distributions() {
        assert_eq!(table(Distribution::Uniform), None);
        for (distribution, tail) in [
            (Distribution::Normal, 0.001),
            // Where netem's tables end, at four, the tail of these has 1.2 percent of its mean and a third of its variance.
            (Distribution::Pareto, 0.06),
            (Distribution::Paretonormal, 0.06),
        ] {
            let values = table(distribution).expect("it has a table");
            let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>();
            let mean = mean / values.len() as f64 / UNIT;
            assert!(mean.abs() < tail, "{distribution:?}: {mean}");
            assert!(values.iter().max() > Some(&29_000), "{distribution:?}");
        }
    }
}
