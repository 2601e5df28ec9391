//! The radio channel of a user: its signal-to-noise ratio over time, which is fixed, computed from a scenario, or recorded.

use bloatlab_link::Files;
use bloatlab_units::{Interrupt, Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub mod blockage;
mod correlated;
mod fading;
pub mod interference;
pub mod mobility;
mod path_loss;
pub mod scenario;
pub mod trace;

pub use blockage::Blockage;
pub use fading::Fading;
pub use interference::Interferer;
pub use path_loss::{Geometry, Scenario};

use mobility::within;

/// A user's signal-to-noise ratio and how it changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ChannelParams {
    /// A constant SNR.
    Fixed(Fixed),
    /// Computed: link budget, path loss, shadowing, movement and blockage.
    Scenario(Box<scenario::Params>),
    /// From a recording.
    Trace(trace::Params),
}

impl Default for ChannelParams {
    fn default() -> Self {
        Self::Scenario(Box::default())
    }
}

/// A signal-to-noise ratio that never changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fixed {
    /// Signal-to-noise ratio, dB.
    #[schemars(range(min = -200.0, max = 200.0))]
    pub snr_db: f64,
}

/// Parameters whose files have been read.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded(Source);

#[derive(Clone, Debug, PartialEq)]
enum Source {
    Fixed(f64),
    Scenario(Box<scenario::Params>),
    Trace(trace::Trace),
}

impl Loaded {
    /// Whether the SNR is computed from powers and distances instead of given.
    pub fn is_computed(&self) -> bool {
        matches!(self.0, Source::Scenario(_))
    }
}

impl ChannelParams {
    /// Checks the ranges of the values. Files are not read.
    ///
    /// # Errors
    /// The first value out of range, as `parameter: reason`.
    pub fn validate(&self) -> Result<(), String> {
        match self {
            Self::Fixed(fixed) => within("snr_db", fixed.snr_db, -200.0, 200.0),
            Self::Scenario(scenario) => scenario.validate(),
            Self::Trace(_) => Ok(()),
        }
    }

    /// Checks the values, reads the file that they name, if any, and records its digest.
    ///
    /// # Errors
    /// `parameter: reason`, in one line. For an invalid line of a file, with the file and the line number.
    pub fn load(&mut self, files: &dyn Files) -> Result<Loaded, String> {
        self.validate()?;
        Ok(Loaded(match self {
            Self::Fixed(fixed) => Source::Fixed(fixed.snr_db),
            Self::Scenario(scenario) => Source::Scenario(scenario.clone()),
            Self::Trace(trace) => Source::Trace(trace.read(files)?),
        }))
    }

    /// The file that it names, if any.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Trace(trace) => trace.file.as_deref(),
            Self::Fixed(_) | Self::Scenario(_) => None,
        }
    }

    /// Checks that the path loss of the scenario is defined for the carrier: `rma` ends at 30 GHz (TR 38.901 table 7.4.1-1).
    ///
    /// # Errors
    /// `scenario: reason`.
    pub fn check_carrier(&self, ghz: f64) -> Result<(), String> {
        match self {
            Self::Scenario(scenario) if scenario.scenario == Scenario::Rma && ghz > 30.0 => {
                Err(format!(
                    "scenario: `rma` holds up to 30 GHz, and the cell's carrier is at {ghz} GHz"
                ))
            }
            _ => Ok(()),
        }
    }
}

/// What a channel must know about its cell: the carrier, and the noise in its band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// Number of resource blocks.
    pub resource_blocks: u32,
    /// Subcarrier spacing, Hz.
    pub subcarrier_spacing: u64,
    /// Carrier frequency, GHz.
    pub ghz: f64,
    /// Transmit power of the base station over the whole band, dBm.
    pub power_dbm: f64,
}

impl Band {
    /// Thermal noise of a receiver with this noise figure (dB), in dBm: -174 dBm per Hz.
    pub fn noise_dbm(&self, noise_figure: f64) -> f64 {
        let subcarriers = u64::from(self.resource_blocks * crate::SUBCARRIERS);
        let hertz = (subcarriers * self.subcarrier_spacing) as f64;
        crate::bler::decibel(hertz) - 174.0 + noise_figure
    }
}

/// The channel of one user.
#[derive(Clone, Debug)]
pub struct Channel(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Fixed(f64),
    Scenario(Box<scenario::Trajectory>),
    Trace(trace::Player),
}

impl Channel {
    /// Creates a channel from its parameters, the band of its cell, the other base stations on it, and a random stream. Other base stations have no
    /// effect on a given SNR.
    pub fn new(params: &Loaded, band: Band, interferers: &[Interferer], rng: Rng) -> Self {
        Self(match &params.0 {
            Source::Fixed(snr) => Kind::Fixed(*snr),
            Source::Scenario(params) => Kind::Scenario(Box::new(scenario::Trajectory::new(
                params,
                band,
                interferers,
                rng,
            ))),
            Source::Trace(trace) => Kind::Trace(trace::Player::new(trace.clone())),
        })
    }

    /// Sets the interrupt, after which the channel stops following the movement. This ends long computations.
    pub fn set_interrupt(&mut self, interrupt: &Interrupt) {
        if let Kind::Scenario(trajectory) = &mut self.0 {
            trajectory.set_interrupt(interrupt);
        }
    }

    /// The signal-to-noise ratio, dB. `now` never decreases from call to call. The result does not depend on earlier calls.
    pub fn snr_db(&mut self, now: Nanos) -> f64 {
        match &mut self.0 {
            Kind::Fixed(snr) => *snr,
            Kind::Scenario(trajectory) => trajectory.snr_db(now),
            Kind::Trace(player) => player.value(now),
        }
    }

    /// The signal-to-interference-and-noise ratio of the downlink, dB. Without other base stations, it is the signal-to-noise ratio. `now` is as in
    /// [`snr_db`](Self::snr_db).
    pub fn sinr_db(&mut self, now: Nanos) -> f64 {
        match &mut self.0 {
            Kind::Scenario(trajectory) => trajectory.sinr_db(now),
            Kind::Fixed(_) | Kind::Trace(_) => self.snr_db(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use bloatlab_link::Disk;
    use bloatlab_units::{SECOND, Streams};

    use super::*;

    const BAND: Band = Band {
        resource_blocks: 133,
        subcarrier_spacing: 30_000,
        ghz: 6.0,
        power_dbm: 43.0,
    };

    fn read(text: &str) -> ChannelParams {
        serde_json::from_str(text).unwrap()
    }

    fn channel(text: &str) -> Channel {
        let loaded = read(text).load(&Disk).unwrap();
        Channel::new(&loaded, BAND, &[], Streams::new(1).stream("channel"))
    }

    #[test]
    fn fixed_and_recorded() {
        let mut fixed = channel(r#"{"kind": "fixed", "snr_db": 12.5}"#);
        assert_eq!(fixed.snr_db(SECOND), 12.5);
        let mut trace = channel(r#"{"kind": "trace", "samples": [[0, 20], [1, 10]]}"#);
        assert_eq!((trace.snr_db(0), trace.snr_db(SECOND)), (20.0, 10.0));
    }

    #[test]
    fn the_noise_of_the_experiment() {
        // radio.md: 92.2 dBm below 1 mW, with a noise figure of 5 dB.
        assert!((BAND.noise_dbm(5.0) + 92.2).abs() < 0.01);
    }

    #[test]
    fn parameters_round_trip_and_what_is_wrong_is_named() {
        for text in [
            r#"{"kind":"fixed","snr_db":3.0}"#,
            r#"{"kind":"trace","file":"a.txt"}"#,
        ] {
            assert_eq!(serde_json::to_string(&read(text)).unwrap(), text);
        }
        let default = ChannelParams::default();
        assert_eq!(read(&serde_json::to_string(&default).unwrap()), default);
        assert_eq!(read(r#"{"kind": "scenario"}"#), default);
        let mut wrong = read(r#"{"kind": "fixed", "snr_db": 300}"#);
        assert_eq!(
            wrong.load(&Disk).unwrap_err(),
            "snr_db: must be between -200 and 200, not 300"
        );
        let unknown = serde_json::from_str::<ChannelParams>(r#"{"kind": "scenario", "powr": 1}"#);
        assert!(
            unknown
                .unwrap_err()
                .to_string()
                .contains("unknown field `powr`")
        );
    }
}
