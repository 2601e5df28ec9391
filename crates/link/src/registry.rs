//! The sources by name. A new one is a file, a line in an enum and a line in its `match`.

use bloatlab_units::{Duration, Nanos, Rate, Rng, SECOND};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::carrier::Supply;
use crate::deliveries::Opportunities;
use crate::fluid::Fluid;
use crate::mahimahi::Trace;
use crate::{Carrier, Course, Quantity, Source, mahimahi, poisson, pulse, random_walk, steps};

/// The longest period, ns.
pub(crate) const HOUR: Nanos = 3600 * SECOND;

/// What the parameters of a source give.
pub(crate) trait Law {
    /// Refuses values out of range, as `parameter: reason`.
    fn validate(&self) -> Result<(), String>;

    /// The least and the greatest value there can be, given the constant one.
    fn bounds(&self, nominal: f64) -> (f64, f64);

    /// The changes.
    fn source(&self, nominal: f64, rng: Rng) -> Box<dyn Source>;
}

/// Refuses a duration out of range.
pub(crate) fn between(name: &str, value: Duration, low: Nanos, high: Nanos) -> Result<(), String> {
    if (low..=high).contains(&value.0) {
        return Ok(());
    }
    let (low, high) = (Duration(low), Duration(high));
    Err(format!(
        "{name}: must be between {low} and {high}, not {value}"
    ))
}

/// How a value changes over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", bound = "Q: Quantity")]
#[schemars(bound = "Q: Quantity", rename = "{Q}Variation")]
pub enum Variation<Q> {
    /// Set at given instants.
    Steps(steps::Params<Q>),
    /// A square wave.
    Pulse(pulse::Params<Q>),
    /// Wanders between two bounds.
    RandomWalk(random_walk::Params<Q>),
}

impl<Q: Quantity> Variation<Q> {
    fn law(&self) -> &dyn Law {
        match self {
            Self::Steps(params) => params,
            Self::Pulse(params) => params,
            Self::RandomWalk(params) => params,
        }
    }

    /// Refuses values out of range, as `parameter: reason`.
    ///
    /// # Errors
    /// The first that is.
    pub fn validate(&self) -> Result<(), String> {
        self.law().validate()
    }

    /// The least and the greatest value there can be, given the constant one.
    pub fn bounds(&self, nominal: f64) -> (f64, f64) {
        self.law().bounds(nominal)
    }

    /// The value over time.
    pub fn course(&self, nominal: f64, rng: Rng) -> Course {
        Course::new(nominal, self.law().source(nominal, rng))
    }
}

/// How a rate changes over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RateVariation {
    /// Set at given instants.
    Steps(steps::Params<Rate>),
    /// A square wave.
    Pulse(pulse::Params<Rate>),
    /// Wanders between two bounds.
    RandomWalk(random_walk::Params<Rate>),
    /// Deliveries at random.
    Poisson(poisson::Params),
    /// Deliveries from a trace.
    Mahimahi(mahimahi::Params),
}

impl RateVariation {
    /// Refuses values out of range, as `parameter: reason`; reads what is in files.
    ///
    /// # Errors
    /// The first that is out of range, or a file that holds no trace.
    pub fn load(&mut self) -> Result<LoadedRate, String> {
        let course = match self {
            Self::Steps(params) => Variation::Steps(params.clone()),
            Self::Pulse(params) => Variation::Pulse(params.clone()),
            Self::RandomWalk(params) => Variation::RandomWalk(params.clone()),
            Self::Poisson(params) => return Ok(LoadedRate::Poisson(params.clone())),
            Self::Mahimahi(params) => return params.read().map(LoadedRate::Trace),
        };
        course.validate()?;
        Ok(LoadedRate::Course(course))
    }
}

/// How a rate changes over time, checked and with what its files hold.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadedRate {
    /// Bit by bit.
    Course(Variation<Rate>),
    /// Deliveries at random.
    Poisson(poisson::Params),
    /// Deliveries from a trace.
    Trace(Trace),
}

impl LoadedRate {
    /// The greatest rate there can be, given the constant one; of a trace, the most that a second holds.
    pub fn greatest(&self, nominal: Rate) -> Rate {
        match self {
            Self::Course(course) => Rate(course.bounds(nominal.number()).1 as u64),
            Self::Poisson(_) => nominal,
            Self::Trace(trace) => Rate(trace.peak_rate() as u64),
        }
    }

    /// The transmitter, for a run that ends at the horizon.
    pub fn carrier(&self, nominal: Rate, rng: &Rng, horizon: Nanos) -> Carrier {
        let copy = || -> Box<dyn Supply> {
            match self {
                Self::Course(course) => {
                    Box::new(Fluid::new(course.course(nominal.number(), rng.clone())))
                }
                Self::Poisson(params) => {
                    Box::new(Opportunities::new(params.deliveries(nominal, rng.clone())))
                }
                Self::Trace(trace) => Box::new(Opportunities::new(trace.deliveries())),
            }
        };
        Carrier::new([copy(), copy()], horizon)
    }
}
