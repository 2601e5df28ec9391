//! Seeded random streams. Every component has its own, so that adding a component never changes the numbers that another one draws.

use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

/// All random streams of one run.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// The streams of the run with this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The stream of the named component. The same seed and name always give the same numbers.
    pub fn stream(&self, component: &str) -> Rng {
        let name = component
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
        // This mapping is one to one, so that each of the 2^64 seeds gives different streams.
        Rng(Pcg64Mcg::seed_from_u64(
            self.seed ^ (self.seed << 32) ^ name,
        ))
    }
}

/// A random stream (PCG XSL RR 128/64).
#[derive(Clone, Debug)]
pub struct Rng(Pcg64Mcg);

impl Rng {
    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform among 0, 1, ..., bound - 1 (0 when the bound is 0).
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.uniform() < probability
    }

    /// Exponentially distributed with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }

    /// Normally distributed with mean 0 and this standard deviation (Box and Muller 1958).
    pub fn normal(&mut self, deviation: f64) -> f64 {
        let radius = libm::sqrt(self.exponential(2.0));
        deviation * radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_name_and_seed_and_repeat() {
        let draw = |seed, name: &str| Streams::new(seed).stream(name).bits();
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
    }

    #[test]
    fn every_bit_of_a_seed_counts() {
        let mut drawn = std::collections::BTreeMap::new();
        let bits = (0..64).map(|bit| 1_u64 << bit);
        for seed in bits.chain([0, 3 << 31, u64::MAX, u64::MAX >> 32, u64::MAX << 32]) {
            let value = Streams::new(seed).stream("a").bits();
            assert_eq!(drawn.insert(value, seed), None, "seed {seed}");
        }
    }

    #[test]
    fn moments_match_theory() {
        let mut rng = Streams::new(7).stream("test");
        let n = 200_000;
        let uniform: f64 = (0..n).map(|_| rng.uniform()).sum::<f64>() / f64::from(n);
        let exponential: f64 = (0..n).map(|_| rng.exponential(3.0)).sum::<f64>() / f64::from(n);
        assert!((uniform - 0.5).abs() < 4.0 * 0.289 / f64::from(n).sqrt());
        assert!((exponential - 3.0).abs() < 4.0 * 3.0 / f64::from(n).sqrt());
        assert!((0..1000).all(|_| rng.below(7) < 7));
        let normal: Vec<f64> = (0..n).map(|_| rng.normal(2.0)).collect();
        let mean = normal.iter().sum::<f64>() / f64::from(n);
        let square = normal.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        assert!(mean.abs() < 4.0 * 2.0 / f64::from(n).sqrt());
        assert!((square - 4.0).abs() < 4.0 * 4.0 * (2.0 / f64::from(n)).sqrt());
        let within = normal.iter().filter(|x| x.abs() < 2.0).count() as f64 / f64::from(n);
        assert!((within - 0.6827).abs() < 4.0 * 0.466 / f64::from(n).sqrt());
    }
}
