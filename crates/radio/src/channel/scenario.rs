//! The link budget along a user's path.

use bloatlab_units::{Duration, Interrupt, MICROSECOND, MILLISECOND, Nanos, Rng, SECOND, Streams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blockage::{Blockage, Blockers, View};
use super::correlated::Correlated;
use super::fading::{Fading, Paths};
use super::interference::{Interference, Interferer, Receiver};
use super::mobility::{Mobility, Walker, within};
use super::{Band, Geometry, Scenario};
use crate::bler::decibel;

pub use super::path_loss::Condition;

/// A channel computed from the user's position: transmit power, antennas, path loss and noise (TR 38.901).
///
/// Shadowing, movement, blockage and fast fading can be added. The base station is at the origin. The channel is computed at every `interval` and is
/// constant in between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The surroundings of the base station.
    pub scenario: Scenario,
    /// Whether there is a line of sight.
    pub condition: Condition,
    /// Number of antenna elements of the base station. All of them point at the user.
    #[schemars(range(min = 1, max = 1024))]
    pub gnb_antennas: u32,
    /// Number of antenna elements of the user. All of them point at the base station.
    #[schemars(range(min = 1, max = 1024))]
    pub ue_antennas: u32,
    /// Noise figure of the user's receiver, dB.
    #[schemars(range(min = 0.0, max = 30.0))]
    pub noise_figure_db: f64,
    /// Height of the base station's antenna, m.
    #[schemars(range(min = 1.0, max = 150.0))]
    pub gnb_height_m: f64,
    /// Height of the user's antenna, m.
    #[schemars(range(min = 0.5, max = 150.0))]
    pub ue_height_m: f64,
    /// Initial position of the user: x and y from the base station, m.
    pub position_m: [f64; 2],
    /// How the user moves.
    pub mobility: Mobility,
    /// Whether obstacles make the signal stronger or weaker along the path than the path loss alone.
    pub shadowing: bool,
    /// Obstacles that temporarily block the signal.
    pub blockage: Blockage,
    /// Fast fading. If absent, there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fading: Option<Fading>,
    /// How often a channel that changes is computed.
    #[schemars(extend("x-minimum" = "100us", "x-maximum" = "1s"))]
    pub interval: Duration,
}

impl Default for Params {
    /// The values of the 5G RLC experiment.
    fn default() -> Self {
        Self {
            scenario: Scenario::Rma,
            condition: Condition::Los,
            gnb_antennas: 32,
            ue_antennas: 8,
            noise_figure_db: 5.0,
            gnb_height_m: 10.0,
            ue_height_m: 1.5,
            position_m: [0.0, 10.0],
            mobility: Mobility::default(),
            shadowing: false,
            blockage: Blockage::None,
            fading: None,
            interval: Duration(MILLISECOND),
        }
    }
}

impl Params {
    /// Checks the ranges of the values.
    ///
    /// # Errors
    /// The first value out of range, as `parameter: reason`.
    pub fn validate(&self) -> Result<(), String> {
        let nested = |name: &'static str| move |why: String| format!("{name}.{why}");
        within("gnb_antennas", f64::from(self.gnb_antennas), 1.0, 1024.0)?;
        within("ue_antennas", f64::from(self.ue_antennas), 1.0, 1024.0)?;
        within("noise_figure_db", self.noise_figure_db, 0.0, 30.0)?;
        within("gnb_height_m", self.gnb_height_m, 1.0, 150.0)?;
        within("ue_height_m", self.ue_height_m, 0.5, 150.0)?;
        for value in self.position_m {
            within("position_m", value, -1e6, 1e6)?;
        }
        self.mobility.validate().map_err(nested("mobility"))?;
        self.blockage.validate().map_err(nested("blockage"))?;
        if let Some(fading) = &self.fading {
            fading.validate().map_err(nested("fading"))?;
        }
        if !(100 * MICROSECOND..=SECOND).contains(&self.interval.0) {
            return Err(format!(
                "interval: must be between 100us and 1s, not {}",
                self.interval
            ));
        }
        Ok(())
    }

    /// The user as a receiver of other base stations.
    fn receiver(&self, band: Band) -> Receiver {
        Receiver {
            scenario: self.scenario,
            condition: self.condition,
            shadowing: self.shadowing,
            height: self.ue_height_m,
            gnb_height: self.gnb_height_m,
            noise_dbm: band.noise_dbm(self.noise_figure_db),
        }
    }

    /// Signal above the noise without any loss on the path, dB.
    fn budget(&self, band: Band) -> f64 {
        let antennas = f64::from(self.gnb_antennas) * f64::from(self.ue_antennas);
        band.power_dbm + decibel(antennas) - band.noise_dbm(self.noise_figure_db)
    }
}

/// The state of a user's channel.
#[derive(Clone, Debug)]
pub(crate) struct Trajectory {
    params: Params,
    /// Carrier frequency, GHz.
    ghz: f64,
    budget: f64,
    walker: Walker,
    position: [f64; 2],
    line_of_sight: bool,
    sight: Correlated,
    shadow: Correlated,
    blockers: Blockers,
    paths: Option<Paths>,
    interference: Interference,
    /// A separate random stream for each quantity, so that none shifts another's.
    walk: Rng,
    shadowing: Rng,
    seeing: Rng,
    /// Number of intervals that have begun.
    step: u64,
    /// The SNR of this interval; `None` before the first.
    snr_db: Option<f64>,
    /// How far interference raises the noise in this interval, dB.
    rise_db: f64,
    /// Once this is set, no further intervals are computed.
    interrupt: Interrupt,
}

impl Trajectory {
    pub(crate) fn new(
        params: &Params,
        band: Band,
        interferers: &[Interferer],
        mut rng: Rng,
    ) -> Self {
        let streams = Streams::new(rng.bits());
        let mut shadowing = streams.stream("shadowing");
        let mut seeing = streams.stream("sight");
        let mut scattering = streams.stream("fading");
        let ghz = band.ghz;
        let paths = params.fading.as_ref();
        let mut trajectory = Self {
            ghz,
            budget: params.budget(band),
            walker: Walker::new(&params.mobility, params.position_m),
            position: params.position_m,
            line_of_sight: true,
            sight: Correlated::new(&mut seeing),
            shadow: Correlated::new(&mut shadowing),
            blockers: Blockers::new(&params.blockage, ghz, streams.stream("blockage")),
            paths: paths.map(|fading| Paths::new(fading, ghz, &mut scattering)),
            interference: Interference::new(
                interferers,
                params.receiver(band),
                params.position_m,
                band,
                &streams,
            ),
            walk: streams.stream("mobility"),
            shadowing,
            seeing,
            step: 0,
            snr_db: None,
            rise_db: 0.0,
            interrupt: Interrupt::default(),
            params: params.clone(),
        };
        trajectory.line_of_sight = trajectory.sees();
        trajectory
    }

    pub(crate) fn set_interrupt(&mut self, interrupt: &Interrupt) {
        self.interrupt = interrupt.clone();
    }

    pub(crate) fn snr_db(&mut self, now: Nanos) -> f64 {
        let step = now / self.params.interval.0;
        if let (true, Some(snr)) = (step == self.step, self.snr_db) {
            return snr;
        }
        // Fading depends only on time, so it does not need every interval, and neither does a static user.
        let is_still = self.walker.is_static() && self.blockers.is_none();
        if is_still {
            self.step = step;
        }
        while self.step < step && !self.interrupt.is_set() {
            self.step += 1;
            self.advance();
        }
        let snr = match (self.snr_db, &self.paths) {
            (Some(snr), None) if is_still => snr,
            _ => self.compute(),
        };
        self.snr_db = Some(snr);
        snr
    }

    pub(crate) fn sinr_db(&mut self, now: Nanos) -> f64 {
        self.snr_db(now) - self.rise_db
    }

    /// Advances by one interval.
    fn advance(&mut self) {
        let interval = self.params.interval.0;
        let now = self.step * interval;
        let position = self.walker.position(now, &mut self.walk);
        let moved = [0, 1].map(|axis| position[axis] - self.position[axis]);
        let way = libm::hypot(moved[0], moved[1]);
        self.position = position;
        self.blockers.advance(interval, way);
        if way > 0.0 {
            let scenario = self.params.scenario;
            self.sight
                .advance(way / scenario.sight_distance(), &mut self.seeing);
            self.line_of_sight = self.sees();
            let length = scenario.shadowing_distance(self.line_of_sight);
            self.shadow.advance(way / length, &mut self.shadowing);
            self.interference.advance(self.position, way);
        }
    }

    fn geometry(&self) -> Geometry {
        Geometry {
            distance: libm::hypot(self.position[0], self.position[1]),
            gnb_height: self.params.gnb_height_m,
            ue_height: self.params.ue_height_m,
            ghz: self.ghz,
        }
    }

    fn sees(&self) -> bool {
        match self.params.condition {
            Condition::Los => true,
            Condition::Nlos => false,
            Condition::Probabilistic => {
                let scenario = self.params.scenario;
                self.sight.uniform() < scenario.sight_probability(&self.geometry())
            }
        }
    }

    fn compute(&mut self) -> f64 {
        let (scenario, at) = (self.params.scenario, self.geometry());
        let mut snr = self.budget - scenario.path_loss(&at, self.line_of_sight);
        if self.params.shadowing {
            snr -= scenario.shadowing_deviation(&at, self.line_of_sight) * self.shadow.value();
        }
        let [x, y] = self.position;
        let now = self.step * self.params.interval.0;
        let view = View {
            towards: [-x, -y],
            gnb_height: at.gnb_height,
            ue_height: at.ue_height,
        };
        snr -= self.blockers.loss_db(now, &view);
        if let Some(paths) = &self.paths {
            snr += paths.gain_db(now);
        }
        self.rise_db = self.interference.rise_db(self.position);
        snr
    }
}
