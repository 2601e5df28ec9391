//! The link budget along a user's way.

use bloatlab_units::{Duration, Interrupt, MICROSECOND, MILLISECOND, Nanos, Rng, SECOND, Streams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blockage::{Blockage, Blockers, View};
use super::correlated::Correlated;
use super::fading::{Fading, Paths};
use super::mobility::{Mobility, Walker, within};
use super::{Band, Geometry, Scenario};
use crate::bler::decibel;

/// A channel computed from where the user is: transmit power, antennas, path loss and noise (TR 38.901).
///
/// Shadowing, movement, blockage and fast fading add to it as they are asked for. The base station stands at the origin. The channel is computed
/// anew at each `interval` and holds in between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// What stands round the base station.
    pub scenario: Scenario,
    /// Whether there is a line of sight.
    pub condition: Condition,
    /// Antenna elements of the base station; all of them point at the user.
    #[schemars(range(min = 1, max = 1024))]
    pub gnb_antennas: u32,
    /// Antenna elements of the user; all of them point at the base station.
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
    /// Where the user begins: x and y from the base station, m.
    pub position_m: [f64; 2],
    /// How the user moves.
    pub mobility: Mobility,
    /// Whether obstacles make the signal stronger or weaker along the way than path loss says.
    pub shadowing: bool,
    /// What blocks the signal for a while.
    pub blockage: Blockage,
    /// Fast fading; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fading: Option<Fading>,
    /// How often a channel that changes is computed anew.
    #[schemars(extend("x-minimum" = "100us", "x-maximum" = "1s"))]
    pub interval: Duration,
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
    /// As likely as the scenario says for the distance; it is kept or lost over some way.
    Probabilistic,
}

impl Default for Params {
    /// The 5G RLC experiment's.
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
    /// Refuses values out of range, as `parameter: reason`.
    ///
    /// # Errors
    /// The first that is.
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

    /// What arrives above the noise if nothing is lost on the way, dB.
    fn budget(&self, band: Band) -> f64 {
        let antennas = f64::from(self.gnb_antennas) * f64::from(self.ue_antennas);
        band.power_dbm + decibel(antennas) - band.noise_dbm(self.noise_figure_db)
    }
}

/// A user's channel under way.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    params: Params,
    /// Of the carrier.
    ghz: f64,
    budget: f64,
    walker: Walker,
    position: [f64; 2],
    line_of_sight: bool,
    sight: Correlated,
    shadow: Correlated,
    blockers: Blockers,
    paths: Option<Paths>,
    /// One stream for each of what is drawn, so that none shifts another's.
    walk: Rng,
    shadowing: Rng,
    seeing: Rng,
    /// Intervals that have begun.
    step: u64,
    /// The answer for this interval; `None` before the first.
    snr_db: Option<f64>,
    /// Once this is set the walk through the intervals ends.
    interrupt: Interrupt,
}

impl Course {
    pub(crate) fn new(params: &Params, band: Band, mut rng: Rng) -> Self {
        let streams = Streams::new(rng.bits());
        let mut shadowing = streams.stream("shadowing");
        let mut seeing = streams.stream("sight");
        let mut scattering = streams.stream("fading");
        let ghz = band.ghz;
        let paths = params.fading.as_ref();
        let mut course = Self {
            ghz,
            budget: params.budget(band),
            walker: Walker::new(&params.mobility, params.position_m),
            position: params.position_m,
            line_of_sight: true,
            sight: Correlated::new(&mut seeing),
            shadow: Correlated::new(&mut shadowing),
            blockers: Blockers::new(&params.blockage, ghz, streams.stream("blockage")),
            paths: paths.map(|fading| Paths::new(fading, ghz, &mut scattering)),
            walk: streams.stream("mobility"),
            shadowing,
            seeing,
            step: 0,
            snr_db: None,
            interrupt: Interrupt::default(),
            params: params.clone(),
        };
        course.line_of_sight = course.sees();
        course
    }

    pub(crate) fn heed(&mut self, interrupt: &Interrupt) {
        self.interrupt = interrupt.clone();
    }

    pub(crate) fn snr_db(&mut self, now: Nanos) -> f64 {
        let step = now / self.params.interval.0;
        if let (true, Some(snr)) = (step == self.step, self.snr_db) {
            return snr;
        }
        // What stands still, and fading, which is a function of time, need not be walked through.
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

    /// One interval on.
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
        snr
    }
}
