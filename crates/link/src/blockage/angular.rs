//! Model A: screens at angles around the receiver (TR 38.901 section 7.6.4.1). Angles are in degrees.

use bloatlab_units::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{between, edge, loss};

/// Number of blockers around a receiver, without its holder's body.
const BLOCKERS: usize = 4;
/// Loss of the holder's body, dB.
const BODY: f64 = 30.0;

/// A screen that blocks a range of angles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AngularScreen {
    /// Azimuth of its centre.
    pub azimuth: f64,
    /// Zenith of its centre.
    pub zenith: f64,
    /// Angular width.
    pub width: f64,
    /// Angular height.
    pub height: f64,
    /// Its distance, m.
    pub distance: f64,
}

impl AngularScreen {
    /// Its loss in dB for a ray that arrives from this direction.
    pub fn loss(&self, wavelength: f64, azimuth: f64, zenith: f64) -> f64 {
        let across = turn(azimuth - self.azimuth);
        let above = zenith - self.zenith;
        // TR 38.901 section 7.6.4.1: there is no loss farther from the centre than the whole width or height.
        if across.abs() >= self.width || above.abs() >= self.height {
            return 0.0;
        }
        let share = |angle: f64| {
            let cos = libm::cos(angle.to_radians());
            edge(self.distance * (1.0 / cos - 1.0), wavelength)
        };
        let pair = |offset: f64, size: f64| {
            let half = size / 2.0;
            between(
                [share(offset - half), share(offset + half)],
                offset.abs() <= half,
            )
        };
        loss(pair(above, self.height), pair(across, self.width))
    }
}

/// An angle between -180 and 180.
fn turn(angle: f64) -> f64 {
    angle - 360.0 * libm::floor((angle + 180.0) / 360.0)
}

/// How the receiver is held, which says where its holder's body is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Orientation {
    /// Nobody holds it.
    #[default]
    Free,
    /// Upright.
    Portrait,
    /// Lying.
    Landscape,
}

impl Orientation {
    /// Loss of the holder's body in dB for a ray that arrives from this direction (TR 38.901 section 7.6.4.1).
    pub fn loss(self, azimuth: f64, zenith: f64) -> f64 {
        let (centre, width, middle, height) = match self {
            Self::Free => return 0.0,
            Self::Portrait => (260.0, 120.0, 100.0, 80.0),
            Self::Landscape => (40.0, 160.0, 110.0, 75.0),
        };
        let behind = turn(azimuth - centre).abs() < width / 2.0;
        if behind && f64::abs(zenith - middle) < height / 2.0 {
            BODY
        } else {
            0.0
        }
    }
}

/// Where a receiver is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Surroundings {
    /// Outdoors (UMi, UMa, RMa).
    #[default]
    Outdoor,
    /// Indoors (InH).
    Indoor,
}

/// A normally distributed value whose correlation decays over time.
#[derive(Clone, Debug)]
struct Drift(f64);

impl Drift {
    fn new(rng: &mut Rng) -> Self {
        Self(rng.normal(1.0))
    }

    /// Draws the next value, whose correlation with the present one is this.
    fn step(&mut self, kept: f64, rng: &mut Rng) {
        self.0 = kept * self.0 + rng.normal(libm::sqrt(1.0 - kept * kept));
    }

    /// The value mapped to a uniform distribution between two bounds.
    fn uniform(&self, low: f64, high: f64) -> f64 {
        low + (high - low) * 0.5 * libm::erfc(-self.0 / std::f64::consts::SQRT_2)
    }
}

/// The four blockers around a receiver. Their places and sizes drift with the correlation of TR 38.901 section 7.6.4.1, and are uniform at any
/// instant.
#[derive(Clone, Debug)]
pub struct AngularBlockers {
    surroundings: Surroundings,
    /// Speed of receiver or blockers, m/s.
    speed: f64,
    /// Azimuth, width and height of each.
    drifts: [[Drift; 3]; BLOCKERS],
    at: Nanos,
    rng: Rng,
}

impl AngularBlockers {
    /// Blockers that move relative to the receiver at this speed in m/s.
    pub fn new(surroundings: Surroundings, speed: f64, mut rng: Rng) -> Self {
        let drifts = std::array::from_fn(|_| std::array::from_fn(|_| Drift::new(&mut rng)));
        Self {
            surroundings,
            speed,
            drifts,
            at: 0,
            rng,
        }
    }

    /// Advances to an instant, which must not precede the last one.
    pub fn go(&mut self, now: Nanos) {
        let correlation = match self.surroundings {
            Surroundings::Outdoor => 10.0,
            Surroundings::Indoor => 5.0,
        };
        // TR 38.901 section 7.6.4.1: exp(-t v / d).
        let moved = (now - self.at) as f64 * 1e-9 * self.speed;
        self.at = now;
        let kept = libm::exp(-moved / correlation);
        for drift in self.drifts.iter_mut().flatten() {
            drift.step(kept, &mut self.rng);
        }
    }

    /// The screens at this instant (TR 38.901 section 7.6.4.1).
    pub fn screens(&self) -> [AngularScreen; BLOCKERS] {
        std::array::from_fn(|place| {
            let [azimuth, width, height] = &self.drifts[place];
            let (widths, heights, distance) = match self.surroundings {
                Surroundings::Outdoor => ((5.0, 15.0), (5.0, 5.0), 10.0),
                Surroundings::Indoor => ((15.0, 45.0), (5.0, 15.0), 2.0),
            };
            AngularScreen {
                azimuth: azimuth.uniform(0.0, 360.0),
                zenith: 90.0,
                width: width.uniform(widths.0, widths.1),
                height: height.uniform(heights.0, heights.1),
                distance,
            }
        })
    }

    /// The sum of their losses in dB for a ray that arrives from this direction.
    pub fn loss(&self, wavelength: f64, azimuth: f64, zenith: f64) -> f64 {
        let screens = self.screens();
        screens
            .iter()
            .map(|screen| screen.loss(wavelength, azimuth, zenith))
            .sum()
    }
}
