//! Path loss, line-of-sight probability, and the distribution of shadowing, by scenario (TR 38.901 section 7.4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Speed of light, m/s.
pub const LIGHT: f64 = 299_792_458.0;

/// The surroundings of the base station (TR 38.901 section 7.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scenario {
    /// Rural, macro cell: buildings 5 m high, streets 20 m wide.
    #[default]
    Rma,
    /// Urban, macro cell.
    Uma,
    /// Urban, street canyon: micro cell.
    Umi,
    /// Indoor office, open.
    Inh,
}

/// Whether there is a line of sight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// Always.
    #[default]
    Los,
    /// Never.
    Nlos,
    /// With the scenario's probability for the distance. It changes only over some distance.
    Probabilistic,
}

/// The relative position of base station and user, and the carrier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometry {
    /// Horizontal distance, m.
    pub distance: f64,
    /// Height of the base station, m.
    pub gnb_height: f64,
    /// Height of the user, m.
    pub ue_height: f64,
    /// Carrier frequency, GHz.
    pub ghz: f64,
}

/// Height of buildings in `rma`, m.
const BUILDINGS: f64 = 5.0;
/// Width of streets in `rma`, m.
const STREETS: f64 = 20.0;

fn lg(x: f64) -> f64 {
    libm::log10(x)
}

impl Geometry {
    /// Distance between the antennas, but at least 1 m, from which the formulae hold.
    fn direct(&self) -> f64 {
        libm::hypot(self.distance, self.gnb_height - self.ue_height).max(1.0)
    }

    fn carrier(&self) -> f64 {
        20.0 * lg(self.ghz)
    }
}

impl Scenario {
    /// Path loss in dB (TR 38.901 table 7.4.1-1), with or without a line of sight.
    pub fn path_loss(self, at: &Geometry, line_of_sight: bool) -> f64 {
        let clear = self.clear(at);
        if line_of_sight {
            clear
        } else {
            clear.max(self.obstructed(at))
        }
    }

    /// The break point: horizontal distance, m, from which the ground reflection matters.
    fn break_point(self, at: &Geometry) -> f64 {
        let hertz = at.ghz * 1e9;
        match self {
            Self::Rma => std::f64::consts::TAU * at.gnb_height * at.ue_height * hertz / LIGHT,
            // Effective heights are 1 m smaller (TR 38.901 table 7.4.1-1 note 1).
            Self::Uma | Self::Umi => {
                let heights = (at.gnb_height - 1.0).max(0.0) * (at.ue_height - 1.0).max(0.0);
                4.0 * heights * hertz / LIGHT
            }
            Self::Inh => f64::INFINITY,
        }
    }

    fn clear(self, at: &Geometry) -> f64 {
        let direct = at.direct();
        let break_point = self.break_point(at);
        let near = at.distance <= break_point;
        let heights = at.gnb_height - at.ue_height;
        let reflected = || lg(break_point * break_point + heights * heights);
        match (self, near) {
            (Self::Rma, true) => rural(direct, at.ghz),
            (Self::Rma, false) => {
                let break_point = break_point.max(1.0);
                rural(break_point, at.ghz) + 40.0 * lg(direct / break_point)
            }
            (Self::Uma, true) => 28.0 + 22.0 * lg(direct) + at.carrier(),
            (Self::Uma, false) => 28.0 + 40.0 * lg(direct) + at.carrier() - 9.0 * reflected(),
            (Self::Umi, true) => 32.4 + 21.0 * lg(direct) + at.carrier(),
            (Self::Umi, false) => 32.4 + 40.0 * lg(direct) + at.carrier() - 9.5 * reflected(),
            (Self::Inh, _) => 32.4 + 17.3 * lg(direct) + at.carrier(),
        }
    }

    fn obstructed(self, at: &Geometry) -> f64 {
        let direct = at.direct();
        match self {
            Self::Rma => {
                let (gnb, user) = (at.gnb_height, at.ue_height);
                let roofs = BUILDINGS / gnb;
                let antenna = lg(11.75 * user);
                161.04 - 7.1 * lg(STREETS) + 7.5 * lg(BUILDINGS)
                    - (24.37 - 3.7 * roofs * roofs) * lg(gnb)
                    + (43.42 - 3.1 * lg(gnb)) * (lg(direct) - 3.0)
                    + at.carrier()
                    - (3.2 * antenna * antenna - 4.97)
            }
            Self::Uma => 13.54 + 39.08 * lg(direct) + at.carrier() - 0.6 * (at.ue_height - 1.5),
            Self::Umi => 22.4 + 35.3 * lg(direct) + 21.3 * lg(at.ghz) - 0.3 * (at.ue_height - 1.5),
            Self::Inh => 17.3 + 38.3 * lg(direct) + 24.9 * lg(at.ghz),
        }
    }

    /// The probability of a line of sight (TR 38.901 table 7.4.2-1).
    pub fn sight_probability(self, at: &Geometry) -> f64 {
        let d = at.distance;
        let decay = |scale: f64, beyond: f64| libm::exp(-(d - beyond) / scale);
        let street = |scale: f64| 18.0 / d + decay(scale, 0.0) * (1.0 - 18.0 / d);
        match self {
            Self::Rma if d <= 10.0 => 1.0,
            Self::Rma => decay(1000.0, 10.0),
            Self::Uma | Self::Umi if d <= 18.0 => 1.0,
            Self::Umi => street(36.0),
            Self::Uma => {
                // A user at a greater height has a line of sight more often. The heights of the standard end at 23 m.
                let high = ((at.ue_height - 13.0) / 10.0).clamp(0.0, 1.0);
                let hundreds = d / 100.0;
                let more = 1.25 * hundreds * hundreds * hundreds * decay(150.0, 0.0);
                (street(63.0) * (1.0 + libm::pow(high, 1.5) * more)).min(1.0)
            }
            Self::Inh if d <= 5.0 => 1.0,
            Self::Inh if d <= 49.0 => decay(70.8, 5.0),
            Self::Inh => 0.54 * decay(211.7, 49.0),
        }
    }

    /// Standard deviation of shadowing, dB (TR 38.901 table 7.4.1-1).
    pub fn shadowing_deviation(self, at: &Geometry, line_of_sight: bool) -> f64 {
        match (self, line_of_sight) {
            (Self::Rma, true) if at.distance > self.break_point(at) => 6.0,
            (Self::Rma | Self::Uma | Self::Umi, true) => 4.0,
            (Self::Inh, true) => 3.0,
            (Self::Rma, false) => 8.0,
            (Self::Uma, false) => 6.0,
            (Self::Umi, false) => 7.82,
            (Self::Inh, false) => 8.03,
        }
    }

    /// Correlation distance of shadowing, m (TR 38.901 table 7.5-6).
    pub fn shadowing_distance(self, line_of_sight: bool) -> f64 {
        match (self, line_of_sight) {
            (Self::Rma | Self::Uma, true) => 37.0,
            (Self::Rma, false) => 120.0,
            (Self::Uma, false) => 50.0,
            (Self::Umi, true) | (Self::Inh, true) => 10.0,
            (Self::Umi, false) => 13.0,
            (Self::Inh, false) => 6.0,
        }
    }

    /// Correlation distance of the line of sight, m (TR 38.901 table 7.6.3.1-2).
    pub fn sight_distance(self) -> f64 {
        match self {
            Self::Rma => 60.0,
            Self::Uma | Self::Umi => 50.0,
            Self::Inh => 10.0,
        }
    }
}

/// `rma` with a line of sight, up to the break point.
fn rural(direct: f64, ghz: f64) -> f64 {
    let roofs = libm::pow(BUILDINGS, 1.72);
    20.0 * lg(40.0 * std::f64::consts::PI * direct * ghz / 3.0)
        + (0.03 * roofs).min(10.0) * lg(direct)
        - (0.044 * roofs).min(14.77)
        + 0.002 * lg(BUILDINGS) * direct
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(distance: f64, gnb_height: f64, ue_height: f64, ghz: f64) -> Geometry {
        Geometry {
            distance,
            gnb_height,
            ue_height,
            ghz,
        }
    }

    #[track_caller]
    fn near(value: f64, expected: f64, within: f64) {
        assert!((value - expected).abs() < within, "{value}, not {expected}");
    }

    #[test]
    fn clear_paths_by_hand() {
        // radio.md: 70.2 dB in the experiment, at 13.12 m.
        near(
            Scenario::Rma.path_loss(&at(10.0, 10.0, 1.5, 6.0), true),
            70.2,
            0.03,
        );
        // Break point 2 pi 10 1.5 6e9/c = 1886.3 m, there 113.517 + 1.565 - 0.701 + 2.637 = 117.018 dB; 3 km: + 40 lg(3000/1886.3) = 8.060.
        near(
            Scenario::Rma.path_loss(&at(3000.0, 10.0, 1.5, 6.0), true),
            125.078,
            0.01,
        );
        // UMa, 100 m, 25 and 1.5 m, 3.5 GHz: d3 = 102.72; 28 + 44.256 + 10.881.
        near(
            Scenario::Uma.path_loss(&at(100.0, 25.0, 1.5, 3.5), true),
            83.137,
            0.005,
        );
        // UMi, 100 m, 10 and 1.5 m, 28 GHz: d3 = 100.36; 32.4 + 42.033 + 28.943.
        near(
            Scenario::Umi.path_loss(&at(100.0, 10.0, 1.5, 28.0), true),
            103.376,
            0.005,
        );
        // InH, 10 m, 3 and 1 m, 60 GHz: d3 = 10.198; 32.4 + 17.447 + 35.563.
        near(
            Scenario::Inh.path_loss(&at(10.0, 3.0, 1.0, 60.0), true),
            85.41,
            0.005,
        );
    }

    #[test]
    fn past_the_break_point_by_hand() {
        // UMa 2 GHz, 25 and 1.5 m: 4 x 24 x 0.5 x 2e9/c = 320.2 m; 1 km, d3 = 1000.28: 28 + 120.005 + 6.021 - 9 lg(320.2^2 + 23.5^2) = -45.12.
        near(
            Scenario::Uma.path_loss(&at(1000.0, 25.0, 1.5, 2.0), true),
            108.91,
            0.02,
        );
        // UMi 2 GHz, 10 and 1.5 m: 120.08 m; 500 m, d3 = 500.07: 32.4 + 107.961 + 6.021 - 9.5 lg(120.08^2 + 8.5^2) = -39.53.
        near(
            Scenario::Umi.path_loss(&at(500.0, 10.0, 1.5, 2.0), true),
            106.85,
            0.02,
        );
    }

    #[test]
    fn obstructed_paths_by_hand() {
        // UMa, 100 m: 13.54 + 39.08 x 2.01166 + 10.881 = 103.037.
        near(
            Scenario::Uma.path_loss(&at(100.0, 25.0, 1.5, 3.5), false),
            103.037,
            0.005,
        );
        // UMi: 22.4 + 35.3 x 2.00156 + 21.3 x 1.44716 = 123.88.
        near(
            Scenario::Umi.path_loss(&at(100.0, 10.0, 1.5, 28.0), false),
            123.88,
            0.01,
        );
        // InH: 17.3 + 38.3 x 1.00852 + 24.9 x 1.77815 = 100.20.
        near(
            Scenario::Inh.path_loss(&at(10.0, 3.0, 1.0, 60.0), false),
            100.20,
            0.01,
        );
        // RMa, 1 km, 35 and 1.5 m, 0.7 GHz: 161.04 - 9.237 + 5.242 - (24.37 - 0.0755) 1.54407 + (43.42 - 4.787) 0.000243 - 3.098 - (4.968 - 4.97).
        near(
            Scenario::Rma.path_loss(&at(1000.0, 35.0, 1.5, 0.7), false),
            116.45,
            0.03,
        );
    }

    #[test]
    fn sight_by_hand() {
        let sight =
            |scenario: Scenario, d, height| scenario.sight_probability(&at(d, 25.0, height, 2.0));
        near(sight(Scenario::Rma, 1010.0, 1.5), 0.367_88, 1e-5);
        // 18/100 + exp(-100/36) x 0.82 = 0.23098; UMa with 63: 0.18 + 0.20447 x 0.82 = 0.34767.
        near(sight(Scenario::Umi, 100.0, 1.5), 0.230_98, 1e-4);
        near(sight(Scenario::Uma, 100.0, 1.5), 0.347_67, 1e-4);
        // At 23 m: x (1 + 1.25 exp(-100/150)) = x 1.64177.
        near(sight(Scenario::Uma, 100.0, 23.0), 0.570_80, 1e-4);
        near(sight(Scenario::Inh, 49.0, 1.5), 0.537_1, 1e-3);
        near(sight(Scenario::Inh, 260.7, 1.5), 0.198_65, 1e-4);
        for (scenario, d) in [
            (Scenario::Rma, 10.0),
            (Scenario::Uma, 18.0),
            (Scenario::Umi, 18.0),
            (Scenario::Inh, 5.0),
        ] {
            assert_eq!(sight(scenario, d, 1.5), 1.0);
            assert!(sight(scenario, d * 1.01, 1.5) > 0.98);
        }
    }

    #[test]
    fn distance_and_obstacles_never_raise_the_snr() {
        for scenario in [Scenario::Rma, Scenario::Uma, Scenario::Umi, Scenario::Inh] {
            let mut last = [0.0; 2];
            for d in 1..2000 {
                let at = at(f64::from(d), 10.0, 1.5, 6.0);
                let losses = [
                    scenario.path_loss(&at, true),
                    scenario.path_loss(&at, false),
                ];
                assert!(losses[0] <= losses[1]);
                assert!(
                    losses[0] >= last[0] - 0.05 && losses[1] >= last[1] - 0.05,
                    "{scenario:?} {d}"
                );
                last = losses;
            }
        }
    }

    #[test]
    fn shadowing_is_wider_past_the_break_point_of_the_country() {
        let deviation = |d| Scenario::Rma.shadowing_deviation(&at(d, 10.0, 1.5, 6.0), true);
        assert_eq!((deviation(1800.0), deviation(1900.0)), (4.0, 6.0));
    }
}
