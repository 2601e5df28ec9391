//! Temporary obstacles between a user and the base station: the blockage models of TR 38.901 section 7.6.4, along the user's path.

use bloatlab_link::blockage::{
    AngularBlockers, Crossings, Orientation, Person, Screen, Surroundings, wavelength,
};
use bloatlab_units::{Duration, MILLISECOND, Nanos, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mobility::within;

/// Obstacles that temporarily block a user's signal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Blockage {
    /// Nothing.
    #[default]
    None,
    /// Screens at angles around the user: model A.
    A(Angular),
    /// Screens in space: model B.
    B(Crossing),
}

/// Four screens at angles around the user, which drift with time and with the user's movement, and the user's own body (TR 38.901 section 7.6.4.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Angular {
    /// The user's surroundings, which determine the sizes and distances of the screens.
    pub surroundings: Surroundings,
    /// Speed of the blockers, m/s.
    #[schemars(range(min = 0.01, max = 100.0))]
    pub speed_mps: f64,
    /// How the device is held.
    pub orientation: Orientation,
    /// How far the device is turned counter-clockwise, degrees. At 0, its front points along the x axis.
    #[schemars(range(min = -360.0, max = 360.0))]
    pub turned_deg: f64,
}

impl Default for Angular {
    fn default() -> Self {
        Self {
            surroundings: Surroundings::Outdoor,
            speed_mps: 1.0,
            orientation: Orientation::Free,
            turned_deg: 0.0,
        }
    }
}

/// People or vehicles that cross the path at right angles, each at a random place, as a Poisson process (TR 38.901 section 7.6.4.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Crossing {
    /// Mean time between two crossings, from 1 ms to 1 h.
    #[schemars(extend("x-minimum" = "1ms", "x-maximum" = "1h"))]
    pub gap: Duration,
    /// Speed, m/s: up to 0.83 for people, up to 27.8 for vehicles.
    #[schemars(range(min = 0.01, max = 100.0))]
    pub speed_mps: f64,
    /// Width, m: 4.8 for a vehicle.
    #[schemars(range(min = 0.01, max = 100.0))]
    pub width_m: f64,
    /// Height, m: 1.4 for a vehicle.
    #[schemars(range(min = 0.01, max = 100.0))]
    pub height_m: f64,
}

impl Default for Crossing {
    /// TR 38.901 table 7.6.4.2-5: a person.
    fn default() -> Self {
        Self {
            gap: Duration(10 * SECOND),
            speed_mps: 3.0 / 3.6,
            width_m: 0.3,
            height_m: 1.7,
        }
    }
}

impl Blockage {
    /// Checks the ranges of the values.
    ///
    /// # Errors
    /// The first value out of range, as `parameter: reason`.
    pub fn validate(&self) -> Result<(), String> {
        match self {
            Self::None => Ok(()),
            Self::A(angular) => {
                within("speed_mps", angular.speed_mps, 0.01, 100.0)?;
                within("turned_deg", angular.turned_deg, -360.0, 360.0)
            }
            Self::B(crossing) => {
                within("speed_mps", crossing.speed_mps, 0.01, 100.0)?;
                within("width_m", crossing.width_m, 0.01, 100.0)?;
                within("height_m", crossing.height_m, 0.01, 100.0)?;
                if !(MILLISECOND..=3600 * SECOND).contains(&crossing.gap.0) {
                    let gap = crossing.gap;
                    return Err(format!("gap: must be between 1ms and 1h, not {gap}"));
                }
                Ok(())
            }
        }
    }
}

/// The positions of base station and user, as needed for blockage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct View {
    /// Horizontal position of the base station relative to the user, x and y, m.
    pub(crate) towards: [f64; 2],
    /// Height of the base station's antenna, m.
    pub(crate) gnb_height: f64,
    /// Height of the user's antenna, m.
    pub(crate) ue_height: f64,
}

/// The state of one user's blockers.
#[derive(Clone, Debug)]
pub(crate) struct Blockers {
    wavelength: f64,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    None,
    A {
        params: Angular,
        screens: Box<AngularBlockers>,
        /// Time at the speed of the blockers. The user's movement is converted to such time, because both decorrelate over the same length.
        at: Nanos,
    },
    /// On a path of length 1, because its length changes with the user's position.
    B(Crossings),
}

impl Blockers {
    pub(crate) fn new(params: &Blockage, ghz: f64, rng: Rng) -> Self {
        let kind = match params {
            Blockage::None => Kind::None,
            Blockage::A(params) => Kind::A {
                screens: Box::new(AngularBlockers::new(
                    params.surroundings,
                    params.speed_mps,
                    rng,
                )),
                params: params.clone(),
                at: 0,
            },
            Blockage::B(params) => {
                let person = Person {
                    width: params.width_m,
                    height: params.height_m,
                    speed: params.speed_mps,
                };
                Kind::B(Crossings::new(person, 1.0, params.gap.0 as f64, rng))
            }
        };
        Self {
            wavelength: wavelength(ghz),
            kind,
        }
    }

    /// Whether there are no blockers.
    pub(crate) fn is_none(&self) -> bool {
        matches!(self.kind, Kind::None)
    }

    /// Advances by a time in which the user moves this far, m.
    pub(crate) fn advance(&mut self, time: Nanos, way: f64) {
        if let Kind::A {
            params,
            screens,
            at,
        } = &mut self.kind
        {
            *at += time + (way / params.speed_mps * 1e9) as Nanos;
            screens.go(*at);
        }
    }

    /// Loss in dB at a time, which never decreases from call to call.
    pub(crate) fn loss_db(&mut self, now: Nanos, view: &View) -> f64 {
        let [x, y] = view.towards;
        let distance = libm::hypot(x, y);
        match &mut self.kind {
            Kind::None => 0.0,
            Kind::A {
                params, screens, ..
            } => {
                let azimuth = libm::atan2(y, x).to_degrees();
                let rise = libm::atan2(view.gnb_height - view.ue_height, distance);
                let zenith = 90.0 - rise.to_degrees();
                screens.loss(self.wavelength, azimuth, zenith)
                    + params.orientation.loss(azimuth - params.turned_deg, zenith)
            }
            Kind::B(crossings) => {
                let heights = [view.gnb_height, view.ue_height];
                let stretched = |screen: Screen| Screen {
                    along: screen.along * distance,
                    ..screen
                };
                let loss = |screen| stretched(screen).loss(self.wavelength, distance, heights);
                crossings.screens(now).map(loss).sum()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bloatlab_units::Streams;

    use super::*;

    fn view(towards: [f64; 2]) -> View {
        View {
            towards,
            gnb_height: 1.0,
            ue_height: 1.0,
        }
    }

    fn blockers(params: Blockage, seed: u64) -> Blockers {
        Blockers::new(&params, 60.0, Streams::new(seed).stream("test"))
    }

    #[test]
    fn a_person_in_the_middle_takes_what_the_standard_says() {
        // radio.md: 15.2 dB in the middle of a path of 4 m, 12.4 dB of 8 m, with antennas 1 m high. By hand: the edges, 0.15 m to each side, each
        // block 0.4251 of the field (4 m), the head 0.7 m above blocks 0.4834, and the feet 0.4882: -20 lg(1 - 0.8502 x 0.9717).
        for (distance, expected) in [(4.0, 15.2), (8.0, 12.4)] {
            let screen = Screen {
                along: distance / 2.0,
                aside: 0.0,
                width: 0.3,
                height: 1.7,
            };
            let loss = screen.loss(wavelength(60.0), distance, [1.0, 1.0]);
            assert!((loss - expected).abs() < 0.05, "{loss}");
        }
    }

    #[test]
    fn a_crossing_takes_more_than_5_db_for_a_third_of_a_second() {
        let params = Blockage::B(Crossing {
            gap: Duration(20 * SECOND),
            speed_mps: 1.0,
            ..Crossing::default()
        });
        let mut blockers = blockers(params, 3);
        let view = view([4.0, 0.0]);
        let (mut deep, mut crossings, mut was_deep) = (0_u32, 0_u32, false);
        for millisecond in 0..4_000_000_u64 {
            let is_deep = blockers.loss_db(millisecond * MILLISECOND, &view) > 5.0;
            deep += u32::from(is_deep);
            crossings += u32::from(is_deep && !was_deep);
            was_deep = is_deep;
        }
        // 200 crossings, sometimes two at once.
        assert!((160..=240).contains(&crossings), "{crossings}");
        let mean = f64::from(deep) / f64::from(crossings);
        assert!((270.0..=340.0).contains(&mean), "{mean} ms");
    }

    #[test]
    fn the_users_own_body_is_behind_the_device() {
        let loss = |turned_deg| {
            let params = Blockage::A(Angular {
                orientation: Orientation::Portrait,
                turned_deg,
                ..Angular::default()
            });
            // The four screens are common to both devices.
            let free = Blockage::A(Angular::default());
            let view = view([0.0, -10.0]);
            blockers(params, 1).loss_db(0, &view) - blockers(free, 1).loss_db(0, &view)
        };
        // The base station is at 270 degrees; the body within 60 of 260.
        let near = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
        assert!(near(loss(0.0), 30.0) && near(loss(60.0), 30.0) && near(loss(80.0), 0.0));
    }

    #[test]
    fn blocking_screens_decorrelate_with_time_and_distance() {
        // A horizontal path is blocked with probability 1 - (1 - 20/360)^4 = 0.204. After a correlation length of 10 m, this has often changed.
        let view = view([50.0, 0.0]);
        let (mut touched, mut by_time, mut by_way, mut unchanged) = (0, 0, 0, 0);
        for seed in 0..4000 {
            let mut a = blockers(Blockage::A(Angular::default()), seed);
            let mut b = a.clone();
            let before = a.loss_db(0, &view);
            a.advance(30 * SECOND, 0.0);
            b.advance(0, 30.0);
            touched += u32::from(before > 0.0);
            by_time += u32::from(before > 0.0 && a.loss_db(0, &view) > 0.0);
            by_way += u32::from(before > 0.0 && b.loss_db(0, &view) > 0.0);
            b.advance(0, 0.0);
            unchanged += u32::from(b.loss_db(0, &view) == a.loss_db(0, &view));
        }
        let share = f64::from(touched) / 4000.0;
        assert!(
            (share - 0.204).abs() < 4.0 * 0.403 / 4000_f64.sqrt(),
            "{share}"
        );
        // After three lengths it is nearly independent. Time and movement have the same effect.
        assert!(by_time < touched / 2, "{by_time} of {touched}");
        assert_eq!(by_time, by_way);
        assert_eq!(unchanged, 4000);
    }

    #[test]
    fn values_out_of_range_are_named() {
        let wide = Blockage::B(Crossing {
            width_m: 0.0,
            ..Crossing::default()
        });
        let why = wide.validate().unwrap_err();
        assert_eq!(why, "width_m: must be between 0.01 and 100, not 0");
        let text = r#"{"kind": "a", "sped": 3}"#;
        let why = serde_json::from_str::<Blockage>(text)
            .unwrap_err()
            .to_string();
        assert!(why.contains("unknown field `sped`"), "{why}");
        let none = serde_json::from_str::<Blockage>(r#"{"kind": "none"}"#);
        assert_eq!(none.unwrap(), Blockage::None);
    }
}
