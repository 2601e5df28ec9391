//! What a screen takes from a wave that bends round its edges.

/// Speed of light, m/s.
const LIGHT: f64 = 299_792_458.0;

/// Wavelength in m of a carrier in GHz.
pub fn wavelength(ghz: f64) -> f64 {
    LIGHT / (ghz * 1e9)
}

/// Share of the field that a knife edge takes: positive if the straight line passes through the screen, seen from this edge. `detour` in m: by how
/// much the way over the edge is longer than the straight one.
fn edge(detour: f64, wavelength: f64, covered: bool) -> f64 {
    use std::f64::consts::{FRAC_PI_2, PI};
    let share = libm::atan(FRAC_PI_2 * libm::sqrt(PI / wavelength * detour.max(0.0))) / PI;
    if covered { share } else { -share }
}

/// dB that a screen takes, of whose edges each pair takes these shares.
fn screen_db(across: f64, upright: f64) -> f64 {
    // A screen without end takes everything: 1 - 1 is held above 0.
    -20.0 * libm::log10((1.0 - across * upright).max(1e-6))
}

/// One region of model A: TR 38.901 equations 7.6-22 to 7.6-27.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// Angle from the middle of the region to the path, degrees.
    pub azimuth: f64,
    /// Width of the region, degrees.
    pub width: f64,
    /// Angle from the middle of the region to the path, upwards or downwards, degrees.
    pub zenith: f64,
    /// Height of the region, degrees.
    pub height: f64,
    /// Distance of the blocker, m.
    pub distance: f64,
}

impl Region {
    /// dB that it takes at this wavelength in m.
    pub fn loss_db(&self, wavelength: f64) -> f64 {
        // Beyond its own width beside the middle a blocker is not seen.
        if self.azimuth.abs() >= self.width || self.zenith.abs() >= self.height {
            return 0.0;
        }
        let pair = |angle: f64, size: f64| {
            let one = |beyond: f64| {
                let detour = self.distance * (1.0 / libm::cos(beyond.to_radians()) - 1.0);
                edge(detour, wavelength, beyond > 0.0)
            };
            one(size / 2.0 - angle) + one(size / 2.0 + angle)
        };
        screen_db(
            pair(self.azimuth, self.width),
            pair(self.zenith, self.height),
        )
    }
}

/// Two antennas, seen from the user: model B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Distance over ground, m.
    pub distance: f64,
    /// Height of the user's antenna, m.
    pub ue_height: f64,
    /// Height of the base station's antenna, m.
    pub gnb_height: f64,
}

impl Span {
    /// dB that a screen on the ground takes, which stands across the line, `along` m from the user and with its middle `aside` m beside the line: TR
    /// 38.901 equations 7.6-29 and 7.6-30, edges to the sides as seen from above, edges above and below as seen from the side.
    pub fn loss_db(
        &self,
        along: f64,
        aside: f64,
        (width, height): (f64, f64),
        wavelength: f64,
    ) -> f64 {
        if along <= 0.0 || along >= self.distance {
            return 0.0;
        }
        let rest = self.distance - along;
        let rise = self.gnb_height - self.ue_height;
        let line = self.ue_height + rise * along / self.distance;
        let beside = |beyond: f64| {
            let detour = libm::hypot(along, beyond) + libm::hypot(rest, beyond) - self.distance;
            edge(detour, wavelength, beyond > 0.0)
        };
        let direct = libm::hypot(self.distance, rise);
        let at_height = |at: f64, beyond: f64| {
            let ways =
                libm::hypot(along, at - self.ue_height) + libm::hypot(rest, at - self.gnb_height);
            edge(ways - direct, wavelength, beyond > 0.0)
        };
        screen_db(
            beside(width / 2.0 - aside) + beside(width / 2.0 + aside),
            at_height(height, height - line) + at_height(0.0, line),
        )
    }
}
