//! Blockage: what people and vehicles before the antenna take from a signal (TR 38.901 section 7.6.4), in dB.
//!
//! Model A knows directions: blocked regions of the sky round the user. Model B knows places: screens that stand between the antennas. Both bend the
//! wave round four knife edges. A link adds what they take to its path loss.

use bloatlab_units::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Correlated;

mod geometry;

pub use geometry::{Region, Span, wavelength};

/// Most blockers of a user.
const MOST: u32 = 64;

/// What blocks a user's signal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Params {
    /// Nothing.
    #[default]
    None,
    /// Regions of the sky: model A of TR 38.901.
    A(Regions),
    /// Screens in the way: model B of TR 38.901.
    B(Screens),
}

/// Blocked regions round the user, each an angle wide, that wander with time and with the user's way (TR 38.901 section 7.6.4.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Regions {
    /// Blockers.
    #[schemars(range(min = 0, max = 64))]
    pub blockers: u32,
    /// Indoors: blockers are near (2 m instead of 10) and so wider: 15 to 45 degrees instead of 5 to 15, 5 to 15 instead of 5 high.
    pub indoor: bool,
    /// Speed of the blockers, m/s.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub speed_mps: f64,
    /// How the user's own body stands in the way.
    pub own_body: OwnBody,
    /// How far the device is turned counter-clockwise, degrees; at 0 its front points along the x axis.
    #[schemars(range(min = -360.0, max = 360.0))]
    pub orientation_deg: f64,
}

impl Default for Regions {
    fn default() -> Self {
        Self {
            blockers: 4,
            indoor: false,
            speed_mps: 1.0,
            own_body: OwnBody::None,
            orientation_deg: 0.0,
        }
    }
}

/// How a user's own body stands in the way (TR 38.901 table 7.6.4.1-1): 30 dB in one region beside the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OwnBody {
    /// Not at all.
    #[default]
    None,
    /// The device is held upright: 120 degrees round 260, 80 high round a zenith angle of 100.
    Portrait,
    /// The device is held crosswise: 160 degrees round 40, 75 high round a zenith angle of 110.
    Landscape,
}

/// Upright screens across the line between the antennas, that walk or drive through a square round the user (TR 38.901 section 7.6.4.2).
///
/// Each goes straight at a speed of its own, at most that of its kind; who leaves the square comes back at the opposite side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Screens {
    /// Blockers in the square.
    #[schemars(range(min = 0, max = 64))]
    pub blockers: u32,
    /// What they are.
    pub body: Body,
    /// Side of the square, m.
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub side_m: f64,
}

impl Default for Screens {
    fn default() -> Self {
        Self {
            blockers: 5,
            body: Body::Human,
            side_m: 20.0,
        }
    }
}

/// What blocks (TR 38.901 table 7.6.4.2-5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// 0.3 m wide, 1.7 m high, up to 3 km/h.
    #[default]
    Human,
    /// 4.8 m wide, 1.4 m high, up to 100 km/h.
    Vehicle,
}

impl Body {
    /// Width and height, m.
    pub fn size(self) -> (f64, f64) {
        match self {
            Self::Human => (0.3, 1.7),
            Self::Vehicle => (4.8, 1.4),
        }
    }

    /// Highest speed, m/s.
    pub fn speed(self) -> f64 {
        match self {
            Self::Human => 3.0 / 3.6,
            Self::Vehicle => 100.0 / 3.6,
        }
    }
}

impl Params {
    /// Refuses values out of range, as `parameter: reason`.
    ///
    /// # Errors
    /// The first that is.
    pub fn validate(&self) -> Result<(), String> {
        let within = |name: &str, value: f64, low: f64, high: f64| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(format!(
                "{name}: must be between {low} and {high}, not {value}"
            ))
        };
        let count = |blockers: u32| within("blockers", f64::from(blockers), 0.0, f64::from(MOST));
        match self {
            Self::None => Ok(()),
            Self::A(regions) => {
                count(regions.blockers)?;
                within("speed_mps", regions.speed_mps, 0.0, 100.0)?;
                within("orientation_deg", regions.orientation_deg, -360.0, 360.0)
            }
            Self::B(screens) => {
                count(screens.blockers)?;
                within("side_m", screens.side_m, 1.0, 1000.0)
            }
        }
    }
}

/// Where the user is, as blockers see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// The base station from the user, over ground: x and y, m.
    pub towards: [f64; 2],
    /// Height of the user's antenna, m.
    pub ue_height: f64,
    /// Height of the base station's antenna, m.
    pub gnb_height: f64,
}

/// The blockers of one user under way.
#[derive(Clone, Debug)]
pub struct Blockers {
    wavelength: f64,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    None,
    A {
        params: Regions,
        /// Direction, width and height.
        regions: Vec<[Correlated; 3]>,
    },
    B {
        params: Screens,
        screens: Vec<Screen>,
    },
}

/// A screen: its place from the user and its velocity.
#[derive(Clone, Copy, Debug)]
struct Screen {
    place: [f64; 2],
    velocity: [f64; 2],
}

impl Blockers {
    /// Drawn anew.
    pub fn new(params: &Params, ghz: f64, rng: &mut Rng) -> Self {
        let kind = match params {
            Params::None => Kind::None,
            Params::A(params) => Kind::A {
                params: params.clone(),
                regions: (0..params.blockers)
                    .map(|_| std::array::from_fn(|_| Correlated::new(rng)))
                    .collect(),
            },
            Params::B(params) => Kind::B {
                params: params.clone(),
                screens: (0..params.blockers)
                    .map(|_| Screen::new(params, rng))
                    .collect(),
            },
        };
        Self {
            wavelength: wavelength(ghz),
            kind,
        }
    }

    /// True if what they take never changes while the user stands still.
    pub fn is_static(&self) -> bool {
        match &self.kind {
            Kind::None => true,
            Kind::A { params, regions } => regions.is_empty() || params.speed_mps == 0.0,
            Kind::B { screens, .. } => screens.is_empty(),
        }
    }

    /// Some seconds pass, in which the user moves by this much (x and y, m).
    pub fn advance(&mut self, seconds: f64, moved: [f64; 2], rng: &mut Rng) {
        match &mut self.kind {
            Kind::None => {}
            Kind::A { params, regions } => {
                // TR 38.901 section 7.6.4.1 step e: 10 m, indoors 5; and the time to go so far.
                let length = if params.indoor { 5.0 } else { 10.0 };
                let way = libm::hypot(moved[0], moved[1]) + seconds * params.speed_mps;
                for value in regions.iter_mut().flatten() {
                    value.advance(way / length, rng);
                }
            }
            Kind::B { params, screens } => {
                let side = params.side_m;
                for screen in screens {
                    for (axis, moved) in moved.iter().enumerate() {
                        let place = screen.place[axis] + screen.velocity[axis] * seconds - moved;
                        let turns = libm::floor(place / side + 0.5);
                        screen.place[axis] = place - side * turns;
                    }
                }
            }
        }
    }

    /// dB that all of them take together.
    pub fn loss_db(&self, view: &View) -> f64 {
        let [x, y] = view.towards;
        let distance = libm::hypot(x, y);
        match &self.kind {
            Kind::None => 0.0,
            Kind::A { params, regions } => {
                let azimuth = libm::atan2(y, x).to_degrees();
                let up = libm::atan2(view.gnb_height - view.ue_height, distance);
                let zenith = 90.0 - up.to_degrees();
                let loss = |region: &[Correlated; 3]| {
                    params
                        .region(region, azimuth, zenith)
                        .loss_db(self.wavelength)
                };
                regions.iter().map(loss).sum::<f64>() + params.own_body_db(azimuth, zenith)
            }
            Kind::B { params, screens } => {
                let span = Span {
                    distance,
                    ue_height: view.ue_height,
                    gnb_height: view.gnb_height,
                };
                let size = params.body.size();
                let loss = |screen: &Screen| {
                    let [a, b] = screen.place;
                    let along = (a * x + b * y) / distance;
                    let aside = (a * y - b * x) / distance;
                    span.loss_db(along, aside, size, self.wavelength)
                };
                if distance > 0.0 {
                    screens.iter().map(loss).sum()
                } else {
                    0.0
                }
            }
        }
    }
}

/// The angle between -180 and 180 degrees.
fn turned(degrees: f64) -> f64 {
    degrees - 360.0 * libm::floor(degrees / 360.0 + 0.5)
}

impl Regions {
    fn region(&self, drawn: &[Correlated; 3], azimuth: f64, zenith: f64) -> Region {
        // TR 38.901 table 7.6.4.1-2.
        let (widths, heights, distance) = if self.indoor {
            ((15.0, 45.0), (5.0, 15.0), 2.0)
        } else {
            ((5.0, 15.0), (5.0, 5.0), 10.0)
        };
        let between =
            |(low, high): (f64, f64), value: &Correlated| low + (high - low) * value.uniform();
        Region {
            azimuth: turned(azimuth - 360.0 * drawn[0].uniform()),
            width: between(widths, &drawn[1]),
            zenith: zenith - 90.0,
            height: between(heights, &drawn[2]),
            distance,
        }
    }

    fn own_body_db(&self, azimuth: f64, zenith: f64) -> f64 {
        let (middle, width, lies, height) = match self.own_body {
            OwnBody::None => return 0.0,
            OwnBody::Portrait => (260.0, 120.0, 100.0, 80.0),
            OwnBody::Landscape => (40.0, 160.0, 110.0, 75.0),
        };
        let beside = turned(azimuth - self.orientation_deg - middle).abs();
        let above = (zenith - lies).abs();
        if beside < width / 2.0 && above < height / 2.0 {
            30.0
        } else {
            0.0
        }
    }
}

impl Screen {
    fn new(params: &Screens, rng: &mut Rng) -> Self {
        let place = [0, 1].map(|_| params.side_m * (rng.uniform() - 0.5));
        let heading = std::f64::consts::TAU * rng.uniform();
        let speed = params.body.speed() * rng.uniform();
        Self {
            place,
            velocity: [speed * libm::cos(heading), speed * libm::sin(heading)],
        }
    }
}
