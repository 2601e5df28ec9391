//! A normal value with exponential decorrelation, for shadowing over distance (Gudmundson 1991) and lines of sight.

use bloatlab_units::Rng;

/// A value with mean 0 and deviation 1, whose correlation decays with distance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Correlated {
    value: f64,
}

impl Correlated {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        Self {
            value: rng.normal(1.0),
        }
    }

    /// Advances by a number of correlation lengths. For 0, no random number is drawn.
    pub(crate) fn advance(&mut self, lengths: f64, rng: &mut Rng) {
        if lengths > 0.0 {
            let kept = libm::exp(-lengths);
            let fresh = libm::sqrt(-libm::expm1(-2.0 * lengths));
            self.value = kept * self.value + rng.normal(fresh);
        }
    }

    pub(crate) fn value(&self) -> f64 {
        self.value
    }

    /// The share of a normal distribution below the value, which is uniform in [0, 1].
    pub(crate) fn uniform(&self) -> f64 {
        0.5 * libm::erfc(-self.value * std::f64::consts::FRAC_1_SQRT_2)
    }
}

#[cfg(test)]
mod tests {
    use bloatlab_units::Streams;

    use super::*;

    #[test]
    fn correlation_falls_exponentially_and_deviation_stays() {
        let mut rng = Streams::new(3).stream("test");
        let n = 100_000;
        let (mut square, mut product) = (0.0, 0.0);
        let mut value = Correlated::new(&mut rng);
        for _ in 0..n {
            let before = value.value();
            value.advance(0.5, &mut rng);
            square += value.value() * value.value();
            product += before * value.value();
        }
        // exp(-0.5) = 0.6065; the sum of n correlated squares has a relative error of about sqrt(2 x 2.2/n).
        assert!((square / f64::from(n) - 1.0).abs() < 0.03);
        assert!((product / f64::from(n) - 0.6065).abs() < 0.03);
        let before = value.value();
        value.advance(0.0, &mut rng);
        assert_eq!(value.value(), before);
    }

    #[test]
    fn half_of_the_values_lie_below_the_mean() {
        assert_eq!(Correlated { value: 0.0 }.uniform(), 0.5);
        assert!((Correlated { value: 2.0 }.uniform() - 0.977_25).abs() < 1e-5);
    }
}
