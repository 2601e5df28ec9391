//! Interference from other base stations on the same carrier.
//!
//! The SINR of a UE is S/(N + I). S is the power of its base station at the UE, N the noise, and I the sum over all other base stations of the
//! power that arrives from each, times its load. In dB, SINR = SNR - 10 lg(1 + sum of load x 10^(INR/10)), and
//! INR = power + gain - path loss - shadowing - N.

use bloatlab_units::{Rng, Streams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::correlated::Correlated;
use super::mobility::within;
use super::path_loss::Condition;
use super::{Band, Geometry, Scenario};
use crate::bler::{decibel, ratio};

/// Another base station on the same carrier. Its downlink disturbs the downlink of this cell's UEs.
///
/// Its slots are those of this cell, so it never sends while a UE of this cell does. Its power at a UE follows from the path loss of that UE's
/// channel (TR 38.901 section 7.4). Each base station has its own line of sight and shadowing, but neither blockage nor fading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interferer {
    /// Position of the base station: x and y from this cell's base station, m.
    pub position_m: [f64; 2],
    /// Height of its antenna, m. If absent, the `gnb_height_m` of the UE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1.0, max = 150.0))]
    pub height_m: Option<f64>,
    /// Transmit power of the base station, dBm. If absent, the `gnb_power` of the cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -30.0, max = 80.0))]
    pub power: Option<f64>,
    /// Share of the symbols and resource blocks in which it sends. The interference is the mean over all of them.
    #[serde(default = "full")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub load: f64,
    /// Gain of both antennas on the path from it to a UE, dB. 0 is the mean over all directions, because neither antenna points at the other.
    #[serde(default)]
    #[schemars(range(min = -60.0, max = 60.0))]
    pub gain_db: f64,
}

fn full() -> f64 {
    1.0
}

impl Interferer {
    /// Checks the ranges of the values.
    ///
    /// # Errors
    /// The first value out of range, as `parameter: reason`.
    pub fn validate(&self) -> Result<(), String> {
        for value in self.position_m {
            within("position_m", value, -1e6, 1e6)?;
        }
        if let Some(height) = self.height_m {
            within("height_m", height, 1.0, 150.0)?;
        }
        if let Some(power) = self.power {
            within("power", power, -30.0, 80.0)?;
        }
        within("load", self.load, 0.0, 1.0)?;
        within("gain_db", self.gain_db, -60.0, 60.0)
    }
}

/// What the interference at a user depends on, besides its position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receiver {
    pub(crate) scenario: Scenario,
    pub(crate) condition: Condition,
    /// Whether there is shadowing.
    pub(crate) shadowing: bool,
    /// Height of its antenna, m.
    pub(crate) height: f64,
    /// Height of base stations without a `height_m`, m.
    pub(crate) gnb_height: f64,
    /// Its thermal noise, dBm.
    pub(crate) noise_dbm: f64,
}

/// What one user receives from one other base station.
#[derive(Clone, Debug)]
struct Source {
    position: [f64; 2],
    height: f64,
    /// Its power above the noise without any loss on the path, dB.
    budget: f64,
    load: f64,
    line_of_sight: bool,
    sight: Correlated,
    shadow: Correlated,
    seeing: Rng,
    shadowing: Rng,
}

/// What one user receives from all other base stations.
#[derive(Clone, Debug)]
pub(crate) struct Interference {
    receiver: Receiver,
    /// Carrier frequency, GHz.
    ghz: f64,
    sources: Vec<Source>,
}

impl Interference {
    /// Creates it for a user at its initial position. Each base station draws from its own random streams.
    pub(crate) fn new(
        interferers: &[Interferer],
        receiver: Receiver,
        position: [f64; 2],
        band: Band,
        streams: &Streams,
    ) -> Self {
        let ghz = band.ghz;
        let sources = (1..).zip(interferers).map(|(number, other): (u32, _)| {
            let stream = |what: &str| streams.stream(&format!("interferer_{number}/{what}"));
            let (mut seeing, mut shadowing) = (stream("sight"), stream("shadowing"));
            let power = other.power.unwrap_or(band.power_dbm);
            let mut source = Source {
                position: other.position_m,
                height: other.height_m.unwrap_or(receiver.gnb_height),
                budget: power + other.gain_db - receiver.noise_dbm,
                load: other.load,
                line_of_sight: true,
                sight: Correlated::new(&mut seeing),
                shadow: Correlated::new(&mut shadowing),
                seeing,
                shadowing,
            };
            source.look(&receiver, position, ghz);
            source
        });
        Self {
            receiver,
            ghz,
            sources: sources.collect(),
        }
    }

    /// The user has moved by `way` m to `position`.
    pub(crate) fn advance(&mut self, position: [f64; 2], way: f64) {
        let scenario = self.receiver.scenario;
        for source in &mut self.sources {
            let lengths = way / scenario.sight_distance();
            source.sight.advance(lengths, &mut source.seeing);
            source.look(&self.receiver, position, self.ghz);
            let lengths = way / scenario.shadowing_distance(source.line_of_sight);
            source.shadow.advance(lengths, &mut source.shadowing);
        }
    }

    /// The factor in dB, at least 0, by which noise and interference together exceed the noise.
    pub(crate) fn rise_db(&self, position: [f64; 2]) -> f64 {
        if self.sources.is_empty() {
            return 0.0;
        }
        let (receiver, scenario) = (&self.receiver, self.receiver.scenario);
        let powers = self.sources.iter().map(|source| {
            let at = source.geometry(receiver, position, self.ghz);
            let mut above_noise = source.budget - scenario.path_loss(&at, source.line_of_sight);
            if receiver.shadowing {
                let deviation = scenario.shadowing_deviation(&at, source.line_of_sight);
                above_noise -= deviation * source.shadow.value();
            }
            source.load * ratio(above_noise)
        });
        decibel(1.0 + powers.sum::<f64>())
    }
}

impl Source {
    fn geometry(&self, receiver: &Receiver, position: [f64; 2], ghz: f64) -> Geometry {
        let [x, y] = [0, 1].map(|axis| self.position[axis] - position[axis]);
        Geometry {
            distance: libm::hypot(x, y),
            gnb_height: self.height,
            ue_height: receiver.height,
            ghz,
        }
    }

    /// Determines whether the user sees the base station.
    fn look(&mut self, receiver: &Receiver, position: [f64; 2], ghz: f64) {
        self.line_of_sight = match receiver.condition {
            Condition::Los => true,
            Condition::Nlos => false,
            Condition::Probabilistic => {
                let at = self.geometry(receiver, position, ghz);
                self.sight.uniform() < receiver.scenario.sight_probability(&at)
            }
        };
    }
}
