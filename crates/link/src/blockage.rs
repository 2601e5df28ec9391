//! Blockers in a radio path: the loss in dB by the blockage models A and B of TR 38.901, as functions of geometry, and blockers that move over time.

mod angular;
mod screen;

pub use angular::{AngularBlockers, AngularScreen, Orientation, Surroundings};
pub use screen::{Crossings, Person, Screen};

use std::f64::consts::{FRAC_PI_2, PI};

/// Speed of light, m/s.
pub const LIGHT: f64 = 299_792_458.0;

/// The wavelength in m of a frequency in GHz.
pub fn wavelength(gigahertz: f64) -> f64 {
    LIGHT / (gigahertz * 1e9)
}

/// The share of the field that one edge blocks (TR 38.901 section 7.6.4). `detour` is the extra length of the path over the edge, m.
fn edge(detour: f64, wavelength: f64) -> f64 {
    libm::atan(FRAC_PI_2 * libm::sqrt(PI / wavelength * detour.max(0.0))) / PI
}

/// The loss of a screen in dB, from the shares of its pairs of edges (TR 38.901 section 7.6.4).
fn loss(vertical: f64, horizontal: f64) -> f64 {
    // The shares of two edges sum to less than 1.
    -20.0 * libm::log10(1.0 - vertical * horizontal)
}

/// The share of a pair of edges. If the path runs between them, their shares add up. If it passes beside them, it is the farther edge's minus the
/// nearer's.
fn between(shares: [f64; 2], within: bool) -> f64 {
    let [first, second] = shares;
    if within {
        first + second
    } else {
        (first - second).abs()
    }
}
