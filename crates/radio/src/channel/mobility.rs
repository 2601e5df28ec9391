//! How a user moves.

use bloatlab_units::{Duration, MICROSECOND, Nanos, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a user moves. The base station is at the origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Mobility {
    /// The user does not move.
    Static(Static),
    /// On a straight line at constant speed.
    Line(Line),
    /// From one random point to the next.
    RandomWaypoint(RandomWaypoint),
}

impl Default for Mobility {
    fn default() -> Self {
        Self::Static(Static {})
    }
}

/// The user does not move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Static {}

/// The user moves on a straight line at constant speed, from the initial position, for a given length. At the end, the user turns back or stops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Line {
    /// Speed, m/s: 0.83 for a pedestrian, 8.3 in a town, 33.3 on a motorway.
    #[schemars(range(min = 0.001, max = 300.0))]
    pub speed_mps: f64,
    /// Direction, degrees counter-clockwise from the x axis.
    #[schemars(range(min = -360.0, max = 360.0))]
    pub heading_deg: f64,
    /// Length of the line, m.
    #[schemars(range(min = 0.001, max = 1e6))]
    pub length_m: f64,
    /// What happens at the end of the line.
    pub at_end: AtEnd,
}

/// What happens at the end of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AtEnd {
    /// The user moves back and forth.
    #[default]
    Turn,
    /// The user stays there.
    Stop,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            // TR 38.901 table 7.2-1: 3 km/h.
            speed_mps: 3.0 / 3.6,
            heading_deg: 0.0,
            length_m: 100.0,
            at_end: AtEnd::Turn,
        }
    }
}

/// The user moves to random points in a rectangle, each at a random speed, and pauses there (Johnson and Maltz 1996).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RandomWaypoint {
    /// Lowest speed, m/s.
    #[schemars(range(min = 0.001, max = 300.0))]
    pub min_speed_mps: f64,
    /// Highest speed, m/s.
    #[schemars(range(min = 0.001, max = 300.0))]
    pub max_speed_mps: f64,
    /// Pause at each point.
    pub pause: Duration,
    /// One corner of the rectangle, x and y in m.
    pub from_m: [f64; 2],
    /// The opposite corner.
    pub to_m: [f64; 2],
}

impl Default for RandomWaypoint {
    fn default() -> Self {
        Self {
            min_speed_mps: 0.5,
            max_speed_mps: 1.5,
            pause: Duration(2 * SECOND),
            from_m: [10.0, -50.0],
            to_m: [110.0, 50.0],
        }
    }
}

/// Checks the range of a number. The error is `name: reason`.
pub(crate) fn within(name: &str, value: f64, low: f64, high: f64) -> Result<(), String> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(format!(
        "{name}: must be between {low} and {high}, not {value}"
    ))
}

impl Mobility {
    /// Checks the ranges of the values.
    ///
    /// # Errors
    /// The first value out of range, as `parameter: reason`.
    pub fn validate(&self) -> Result<(), String> {
        match self {
            Self::Static(Static {}) => Ok(()),
            Self::Line(line) => {
                within("speed_mps", line.speed_mps, 0.001, 300.0)?;
                within("heading_deg", line.heading_deg, -360.0, 360.0)?;
                within("length_m", line.length_m, 0.001, 1e6)
            }
            Self::RandomWaypoint(walk) => {
                within("min_speed_mps", walk.min_speed_mps, 0.001, 300.0)?;
                within(
                    "max_speed_mps",
                    walk.max_speed_mps,
                    walk.min_speed_mps,
                    300.0,
                )?;
                if walk.pause.0 > 3600 * SECOND {
                    return Err(format!("pause: must be at most 1h, not {}", walk.pause));
                }
                for corner in [walk.from_m, walk.to_m] {
                    for value in corner {
                        within("from_m, to_m", value, -1e6, 1e6)?;
                    }
                }
                if walk.from_m == walk.to_m {
                    return Err("to_m: must be another point than `from_m`".to_owned());
                }
                Ok(())
            }
        }
    }
}

type Point = [f64; 2];

fn distance(a: Point, b: Point) -> f64 {
    libm::hypot(a[0] - b[0], a[1] - b[1])
}

/// The state of a moving user.
#[derive(Clone, Debug)]
pub(crate) enum Walker {
    Static(Point),
    Line { line: Line, start: Point },
    RandomWaypoint(Waypoints),
}

impl Walker {
    pub(crate) fn new(mobility: &Mobility, start: Point) -> Self {
        match mobility {
            Mobility::Static(Static {}) => Self::Static(start),
            Mobility::Line(line) => Self::Line {
                line: line.clone(),
                start,
            },
            Mobility::RandomWaypoint(walk) => Self::RandomWaypoint(Waypoints {
                walk: walk.clone(),
                from: start,
                to: start,
                begin: 0,
                arrive: 0,
                leave: 0,
            }),
        }
    }

    pub(crate) fn is_static(&self) -> bool {
        matches!(self, Self::Static(_))
    }

    /// The user's position. `now` never decreases from call to call.
    pub(crate) fn position(&mut self, now: Nanos, rng: &mut Rng) -> Point {
        match self {
            Self::Static(point) => *point,
            Self::Line { line, start } => {
                let way = line.speed_mps * now as f64 * 1e-9;
                let along = match line.at_end {
                    AtEnd::Stop => way.min(line.length_m),
                    AtEnd::Turn => {
                        let round = libm::fmod(way, 2.0 * line.length_m);
                        line.length_m - (round - line.length_m).abs()
                    }
                };
                let heading = line.heading_deg.to_radians();
                [
                    start[0] + along * libm::cos(heading),
                    start[1] + along * libm::sin(heading),
                ]
            }
            Self::RandomWaypoint(waypoints) => waypoints.position(now, rng),
        }
    }
}

/// Shortest duration of one leg, so that there are few legs between two queries, however short they are.
const SHORTEST: Nanos = 100 * MICROSECOND;

/// A random walk from point to point.
#[derive(Clone, Debug)]
pub(crate) struct Waypoints {
    walk: RandomWaypoint,
    from: Point,
    to: Point,
    begin: Nanos,
    arrive: Nanos,
    leave: Nanos,
}

impl Waypoints {
    fn position(&mut self, now: Nanos, rng: &mut Rng) -> Point {
        while now >= self.leave {
            let walk = &self.walk;
            let mut between = |place: usize| {
                walk.from_m[place] + (walk.to_m[place] - walk.from_m[place]) * rng.uniform()
            };
            let next = [between(0), between(1)];
            let speed =
                walk.min_speed_mps + (walk.max_speed_mps - walk.min_speed_mps) * rng.uniform();
            self.from = self.to;
            self.to = next;
            self.begin = self.leave;
            let seconds = distance(self.from, self.to) / speed;
            self.arrive = self.begin + ((seconds * 1e9) as Nanos).max(SHORTEST);
            self.leave = self.arrive + walk.pause.0;
        }
        if now >= self.arrive {
            return self.to;
        }
        let share = (now - self.begin) as f64 / (self.arrive - self.begin) as f64;
        [0, 1].map(|place| self.from[place] + (self.to[place] - self.from[place]) * share)
    }
}

#[cfg(test)]
mod tests {
    use bloatlab_units::{MILLISECOND, Streams};

    use super::*;

    fn position(walker: &mut Walker, seconds: u64) -> Point {
        walker.position(seconds * SECOND, &mut Streams::new(1).stream("test"))
    }

    #[test]
    fn to_and_fro_and_to_the_end() {
        let line = |at_end| {
            Mobility::Line(Line {
                speed_mps: 10.0,
                heading_deg: 90.0,
                length_m: 100.0,
                at_end,
            })
        };
        let mut turns = Walker::new(&line(AtEnd::Turn), [3.0, 0.0]);
        let mut stops = Walker::new(&line(AtEnd::Stop), [3.0, 0.0]);
        for (seconds, turned, stopped) in [
            (0, 0.0, 0.0),
            (5, 50.0, 50.0),
            (12, 80.0, 100.0),
            (20, 0.0, 100.0),
            (23, 30.0, 100.0),
        ] {
            for (walker, y) in [(&mut turns, turned), (&mut stops, stopped)] {
                let at = position(walker, seconds);
                assert!(distance(at, [3.0, y]) < 1e-9, "{seconds} s: {at:?}");
            }
        }
    }

    #[test]
    fn a_point_of_an_area_is_walked_through_in_few_ways() {
        // Each leg takes less than a nanosecond. One at a time, ten minutes would take 6 * 10^11 legs.
        let walk = RandomWaypoint {
            min_speed_mps: 300.0,
            max_speed_mps: 300.0,
            pause: Duration(0),
            from_m: [0.0, 0.0],
            to_m: [1e-9, 0.0],
        };
        let mut walker = Walker::new(&Mobility::RandomWaypoint(walk), [0.0, 0.0]);
        let mut rng = Streams::new(5).stream("test");
        let at = walker.position(600 * SECOND, &mut rng);
        assert!((0.0..=1e-9).contains(&at[0]) && at[1] == 0.0);
    }

    #[test]
    fn waypoints_stay_within_their_rectangle_and_speed() {
        let walk = RandomWaypoint::default();
        let mut walker = Walker::new(&Mobility::RandomWaypoint(walk.clone()), [20.0, 0.0]);
        let mut rng = Streams::new(5).stream("test");
        let mut last = walker.position(0, &mut rng);
        assert_eq!(last, [20.0, 0.0]);
        let mut way = 0.0;
        for step in 1..100_000 {
            let at = walker.position(step * 10 * MILLISECOND, &mut rng);
            let moved = distance(last, at);
            assert!(moved <= 0.01 * walk.max_speed_mps + 1e-9);
            assert!((10.0..=110.0).contains(&at[0]) && (-50.0..=50.0).contains(&at[1]));
            way += moved;
            last = at;
        }
        assert!(way > 300.0, "{way}");
    }

    #[test]
    fn values_out_of_range_are_named() {
        let walk = RandomWaypoint {
            min_speed_mps: 2.0,
            max_speed_mps: 1.0,
            ..RandomWaypoint::default()
        };
        let why = Mobility::RandomWaypoint(walk).validate().unwrap_err();
        assert_eq!(why, "max_speed_mps: must be between 2 and 300, not 1");
        let line = Line {
            speed_mps: f64::NAN,
            ..Line::default()
        };
        assert!(
            Mobility::Line(line)
                .validate()
                .unwrap_err()
                .starts_with("speed_mps")
        );
    }
}
