//! Fast fading: the sum of signals over many paths changes as the user or the surroundings move.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mobility::within;
use super::path_loss::LIGHT;
use crate::bler::{decibel, ratio};

/// Number of paths in the sum.
const PATHS: usize = 16;
/// Power in the deepest fade, so that its dB value is finite.
const FLOOR: f64 = 1e-12;

/// Flat fast fading: a sum of 16 scattered paths with the Doppler spectrum of Clarke and Jakes and a mean power of 1.
///
/// With a direct path it is Rician, without one Rayleigh. Its speed is a separate parameter, so the signal of a static user among moving cars fades,
/// too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fading {
    /// Power of the direct path relative to all scattered paths, dB. If absent, there is no direct path.
    #[schemars(range(min = -40.0, max = 60.0))]
    pub k_db: Option<f64>,
    /// Speed that causes the Doppler shift, m/s.
    #[schemars(range(min = 0.001, max = 300.0))]
    pub speed_mps: f64,
}

impl Default for Fading {
    fn default() -> Self {
        Self {
            // TR 38.901 table 7.5-6, `rma` with a line of sight: mean 7 dB.
            k_db: Some(7.0),
            speed_mps: 3.0 / 3.6,
        }
    }
}

impl Fading {
    /// Checks the ranges of the values.
    ///
    /// # Errors
    /// The first value out of range, as `parameter: reason`.
    pub fn validate(&self) -> Result<(), String> {
        if let Some(k_db) = self.k_db {
            within("k_db", k_db, -40.0, 60.0)?;
        }
        within("speed_mps", self.speed_mps, 0.001, 300.0)
    }
}

/// The paths of one user.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    /// Angular speed, rad/s, and the two phases of each path.
    paths: [(f64, f64, f64); PATHS],
    /// Amplitudes of a scattered path and of the direct path.
    scattered: f64,
    direct: f64,
    direct_speed: f64,
}

impl Paths {
    pub(crate) fn new(fading: &Fading, ghz: f64, rng: &mut Rng) -> Self {
        use std::f64::consts::{PI, TAU};
        let doppler = TAU * fading.speed_mps * ghz * 1e9 / LIGHT;
        let offset = TAU * rng.uniform() - PI;
        let paths = std::array::from_fn(|place| {
            // Angles of arrival are spread evenly over a quarter of the circle and rotated at random (Zheng and Xiao 2003).
            let angle = (TAU * (place + 1) as f64 - PI + offset) / (4 * PATHS) as f64;
            let phases = (TAU * rng.uniform(), TAU * rng.uniform());
            (doppler * libm::cos(angle), phases.0, phases.1)
        });
        let k = fading.k_db.map_or(0.0, ratio);
        let direct_speed = doppler * libm::cos(TAU * rng.uniform());
        Self {
            paths,
            scattered: libm::sqrt(1.0 / (PATHS as f64 * (1.0 + k))),
            direct: libm::sqrt(k / (1.0 + k)),
            direct_speed,
        }
    }

    /// The gain of fading, dB. It depends only on time.
    pub(crate) fn gain_db(&self, now: Nanos) -> f64 {
        let seconds = now as f64 * 1e-9;
        let direct = self.direct_speed * seconds;
        let mut real = self.direct * libm::cos(direct);
        let mut imaginary = self.direct * libm::sin(direct);
        for (speed, first, second) in &self.paths {
            let angle = speed * seconds;
            real += self.scattered * libm::cos(angle + first);
            imaginary += self.scattered * libm::sin(angle + second);
        }
        decibel((real * real + imaginary * imaginary).max(FLOOR))
    }
}

#[cfg(test)]
mod tests {
    use bloatlab_units::{MILLISECOND, Streams};

    use super::*;

    /// Powers of many users, each at many times.
    fn powers(k_db: Option<f64>) -> Vec<f64> {
        let fading = Fading {
            k_db,
            speed_mps: 10.0,
        };
        let mut rng = Streams::new(11).stream("test");
        let users = (0..400).map(|_| Paths::new(&fading, 6.0, &mut rng));
        let instants =
            |paths: Paths| (0..200_u64).map(move |i| ratio(paths.gain_db(i * 7 * MILLISECOND)));
        users.flat_map(instants).collect()
    }

    fn share_below(powers: &[f64], level: f64) -> f64 {
        powers.iter().filter(|power| **power < level).count() as f64 / powers.len() as f64
    }

    #[test]
    fn rayleigh_powers_are_exponential() {
        let powers = powers(None);
        let mean = powers.iter().sum::<f64>() / powers.len() as f64;
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
        // 1 - exp(-0.1) = 0.0952, 1 - exp(-1) = 0.632.
        assert!((share_below(&powers, 0.1) - 0.0952).abs() < 0.01);
        assert!((share_below(&powers, 1.0) - 0.632).abs() < 0.02);
    }

    #[test]
    fn a_direct_path_fades_less() {
        let powers = powers(Some(10.0));
        let mean = powers.iter().sum::<f64>() / powers.len() as f64;
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
        assert!(share_below(&powers, 0.1) < 0.002);
        // Variance of Rice's power: (2K + 1)/(K + 1)^2 = 0.1736.
        let variance =
            powers.iter().map(|p| (p - mean) * (p - mean)).sum::<f64>() / powers.len() as f64;
        assert!((variance - 0.1736).abs() < 0.02, "{variance}");
    }

    #[test]
    fn faster_movement_decorrelates_sooner() {
        // 10 m/s at 6 GHz: 200 Hz. After 1 ms, J0(2 pi 0.2) = 0.642 of the amplitude remains; after 0.05 ms nearly all.
        let fading = Fading {
            k_db: None,
            speed_mps: 10.0,
        };
        let mut rng = Streams::new(2).stream("test");
        let change = |step: Nanos, rng: &mut Rng| {
            let users = (0..500).map(|_| Paths::new(&fading, 6.0, rng));
            users
                .map(|paths| (paths.gain_db(step) - paths.gain_db(0)).abs())
                .sum::<f64>()
                / 500.0
        };
        assert!(change(50_000, &mut rng) < 0.8);
        assert!(change(MILLISECOND, &mut rng) > 3.0);
    }
}
