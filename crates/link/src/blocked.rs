//! The rate of a radio link whose path is blocked at times: blockers lower its SNR, and a table gives the rate for each SNR.

use bloatlab_units::{Duration, MILLISECOND, Nanos, Rate, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blockage::{AngularBlockers, Crossings, Orientation, Person, Surroundings, wavelength};
use crate::factory::{Factory, HOUR, between};
use crate::{Change, Quantity, Source};

/// The rate that the SNR allows. Blockers lower the SNR, by the blockage models of TR 38.901 with physical sizes, speeds and distances.
///
/// In model `a`, four screens drift at angles around the receiver. In model `b`, people cross the path. The SNR without them is constant. Only queues
/// use the constant rate beside `vary`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The model of TR 38.901.
    pub model: Model,
    /// SNR of the free path, dB, from -30 to 100.
    #[schemars(range(min = -30.0, max = 100.0))]
    pub snr: f64,
    /// GHz, from 0.5 to 300.
    #[schemars(range(min = 0.5, max = 300.0))]
    pub frequency: f64,
    /// Speed of people (`b`), of receiver and blockers (`a`), m/s, from 0.01 to 100.
    #[schemars(range(min = 0.01, max = 100.0))]
    pub speed: f64,
    /// Length of the path on the ground, m, from 0.1 to 10000; of `b`.
    #[schemars(range(min = 0.1, max = 10_000.0))]
    pub distance: f64,
    /// Height of the transmitter's antenna, m, from 0 to 100; of `b`.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub transmitter_height: f64,
    /// Height of the receiver's antenna, m, from 0 to 100; of `b`.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub receiver_height: f64,
    /// Mean time between two people who cross, from 100 ms to 1 h; of `b`.
    pub gap: Duration,
    /// Width of a person, m, from 0.01 to 100 (a vehicle: 4.8); of `b`.
    #[schemars(range(min = 0.01, max = 100.0))]
    pub width: f64,
    /// Height of a person, m, from 0.01 to 100 (a vehicle: 1.4); of `b`.
    #[schemars(range(min = 0.01, max = 100.0))]
    pub height: f64,
    /// Where the receiver is; of `a`.
    pub surroundings: Surroundings,
    /// How the receiver is held; of `a`.
    pub orientation: Orientation,
    /// Azimuth from which the path arrives, degrees, from 0 to 360, as the receiver is turned; of `a`.
    #[schemars(range(min = 0.0, max = 360.0))]
    pub azimuth: f64,
    /// Time between two computations of the rate, from 1 ms to 1 h.
    pub interval: Duration,
    /// SNRs in ascending order, each with the rate from that SNR on. Below the first the rate is 0. The default is the single carrier of IEEE
    /// 802.11ad.
    #[schemars(length(min = 1, max = 1000))]
    pub table: Vec<Row>,
}

/// A model of TR 38.901.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// Screens at angles.
    A,
    /// Screens in space.
    #[default]
    B,
}

/// A row of the table of rates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Row {
    /// The least SNR, dB.
    pub snr: f64,
    /// The rate.
    pub rate: Rate,
}

/// IEEE 802.11ad-2012: receiver sensitivity over the noise of 1.76 GHz at 10 dB of noise figure (-71.55 dBm); MCS 5 is left out because it needs more
/// than MCS 6.
const SINGLE_CARRIER: [(f64, u64); 11] = [
    (3.55, 385_000_000),
    (5.55, 770_000_000),
    (6.55, 962_500_000),
    (7.55, 1_155_000_000),
    (8.55, 1_540_000_000),
    (9.55, 1_925_000_000),
    (10.55, 2_310_000_000),
    (12.55, 2_502_500_000),
    (16.55, 3_080_000_000),
    (17.55, 3_850_000_000),
    (18.55, 4_620_000_000),
];

impl Default for Params {
    fn default() -> Self {
        let row = |(snr, rate)| Row {
            snr,
            rate: Rate(rate),
        };
        Self {
            model: Model::default(),
            snr: 20.0,
            frequency: 60.0,
            speed: 1.0,
            distance: 4.0,
            transmitter_height: 1.0,
            receiver_height: 1.0,
            gap: Duration(10 * SECOND),
            width: 0.3,
            height: 1.7,
            surroundings: Surroundings::default(),
            orientation: Orientation::default(),
            azimuth: 0.0,
            interval: Duration(10 * MILLISECOND),
            table: SINGLE_CARRIER.map(row).to_vec(),
        }
    }
}

impl Params {
    /// The rate at this SNR.
    fn rate(&self, snr: f64) -> Rate {
        let rows = self.table.partition_point(|row| row.snr <= snr);
        rows.checked_sub(1)
            .map_or(Rate(0), |place| self.table[place].rate)
    }

    fn check_table(&self) -> Result<(), String> {
        if !(1..=1000).contains(&self.table.len()) {
            let rows = self.table.len();
            return Err(format!("table: must have 1 to 1000 rows, not {rows}"));
        }
        for (place, row) in self.table.iter().enumerate() {
            row.rate.check(&format!("table[{place}].rate"))?;
            if !(-1000.0..=1000.0).contains(&row.snr) {
                return Err(format!("table[{place}].snr: must be from -1000 to 1000 dB"));
            }
            if place > 0 && row.snr <= self.table[place - 1].snr {
                return Err(format!(
                    "table[{place}].snr: must be above {}, that of the row before it",
                    self.table[place - 1].snr
                ));
            }
        }
        Ok(())
    }
}

impl Factory for Params {
    fn validate(&self) -> Result<(), String> {
        for (name, value, low, high) in [
            ("snr", self.snr, -30.0, 100.0),
            ("frequency", self.frequency, 0.5, 300.0),
            ("speed", self.speed, 0.01, 100.0),
            ("distance", self.distance, 0.1, 10_000.0),
            ("transmitter_height", self.transmitter_height, 0.0, 100.0),
            ("receiver_height", self.receiver_height, 0.0, 100.0),
            ("width", self.width, 0.01, 100.0),
            ("height", self.height, 0.01, 100.0),
            ("azimuth", self.azimuth, 0.0, 360.0),
        ] {
            if !(low..=high).contains(&value) {
                return Err(format!(
                    "{name}: must be between {low} and {high}, not {value}"
                ));
            }
        }
        between("gap", self.gap, 100 * MILLISECOND, HOUR)?;
        between("interval", self.interval, MILLISECOND, HOUR)?;
        self.check_table()
    }

    fn bounds(&self, _nominal: f64) -> (f64, f64) {
        // Two screens together may block everything. The rates of a table need not be in ascending order.
        let reached = self.table.iter().filter(|row| row.snr <= self.snr);
        let most = reached.map(|row| row.rate.number()).fold(0.0, f64::max);
        (0.0, most)
    }

    fn source(&self, _nominal: f64, rng: Rng) -> Box<dyn Source> {
        let person = Person {
            width: self.width,
            height: self.height,
            speed: self.speed,
        };
        let blockers = match self.model {
            Model::A => Blockers::Angular(AngularBlockers::new(self.surroundings, self.speed, rng)),
            Model::B => Blockers::Crossing(Crossings::new(
                person,
                self.distance,
                self.gap.0 as f64,
                rng,
            )),
        };
        Box::new(Blocked {
            wavelength: wavelength(self.frequency),
            params: self.clone(),
            blockers,
            at: 0,
        })
    }
}

enum Blockers {
    Angular(AngularBlockers),
    Crossing(Crossings),
}

struct Blocked {
    params: Params,
    wavelength: f64,
    blockers: Blockers,
    at: Nanos,
}

impl Source for Blocked {
    fn next(&mut self) -> Change {
        let at = self.at;
        self.at += self.params.interval.0;
        let params = &self.params;
        let loss = match &mut self.blockers {
            Blockers::Angular(blockers) => {
                // The ray runs along the ground, on which the screens are.
                let (azimuth, zenith) = (params.azimuth, 90.0);
                blockers.go(at);
                blockers.loss(self.wavelength, azimuth, zenith)
                    + params.orientation.loss(azimuth, zenith)
            }
            Blockers::Crossing(crossings) => {
                let heights = [params.transmitter_height, params.receiver_height];
                crossings.loss(at, self.wavelength, heights)
            }
        };
        let rate = params.rate(params.snr - loss);
        Change {
            at,
            value: rate.number(),
        }
    }
}
