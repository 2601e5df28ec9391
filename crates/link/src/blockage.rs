//! What stands in a radio path: the blockage models A and B of TR 38.901 as dB of loss, pure functions of geometry, and blockers that move over time.

mod angular;
mod screen;

pub use angular::{AngularBlockers, AngularScreen, Orientation, Surroundings};
pub use screen::{Crossings, Person, Screen};

use std::f64::consts::{FRAC_PI_2, PI};

/// Speed of light, m/s.
pub const LIGHT: f64 = 299_792_458.0;

/// The wavelength of this many GHz, m.
pub fn wavelength(gigahertz: f64) -> f64 {
    LIGHT / (gigahertz * 1e9)
}

/// A knife edge's share of the field: TR 38.901 section 7.6.4, with the detour over the edge in m.
fn edge(detour: f64, wavelength: f64) -> f64 {
    libm::atan(FRAC_PI_2 * libm::sqrt(PI / wavelength * detour.max(0.0))) / PI
}

/// The loss of a screen from the shares of its edges, two by two: TR 38.901 section 7.6.4, dB.
fn loss(vertical: f64, horizontal: f64) -> f64 {
    // Shares of two edges sum to less than 1.
    -20.0 * libm::log10(1.0 - vertical * horizontal)
}

/// The shares of two edges together: of a path between them both count, of one beside them the farther less the nearer.
fn between(shares: [f64; 2], within: bool) -> f64 {
    let [first, second] = shares;
    if within {
        first + second
    } else {
        (first - second).abs()
    }
}
