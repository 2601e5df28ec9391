//! The sources by name. A new source is a file, a line in an enum and a line in its `match`.

use bloatlab_units::{Duration, Nanos, Rate, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::carrier::Supply;
use crate::deliveries::Opportunities;
use crate::factory::Factory;
use crate::fluid::Fluid;
use crate::handover::Pauses;
use crate::mahimahi::Trace;
use crate::{
    Carrier, DELIVERY_BYTES, Deliveries, Files, Quantity, Source, Timeline, Trajectory, blocked,
    handover, mahimahi, markov, mmwave, poisson, pulse, random_walk, rate_file, sinusoid, steps,
};

/// Most changes per second of a source that changes twice per interval, with intervals of at least a millisecond.
const SELDOM: f64 = 2e3;

/// How a value changes over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", bound = "Q: Quantity")]
#[schemars(bound = "Q: Quantity", rename = "{Q}Variation")]
pub enum Variation<Q> {
    /// Set at given instants.
    Steps(steps::Params<Q>),
    /// A square wave.
    Pulse(pulse::Params<Q>),
    /// A random walk between two bounds.
    RandomWalk(random_walk::Params<Q>),
    /// Jumps between states.
    Markov(markov::Params<Q>),
    /// A sine wave around a mean.
    Sinusoid(sinusoid::Params<Q>),
}

impl<Q: Quantity> Variation<Q> {
    fn factory(&self) -> &dyn Factory {
        match self {
            Self::Steps(params) => params,
            Self::Pulse(params) => params,
            Self::RandomWalk(params) => params,
            Self::Markov(params) => params,
            Self::Sinusoid(params) => params,
        }
    }

    /// Refuses values out of range, as `parameter: reason`.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn validate(&self) -> Result<(), String> {
        self.factory().validate()
    }

    /// The least and the greatest possible value. `nominal` is the constant value beside `vary`.
    pub fn bounds(&self, nominal: f64) -> (f64, f64) {
        self.factory().bounds(nominal)
    }

    /// Mean number of changes per second.
    pub fn changes_per_second(&self) -> f64 {
        match self {
            Self::Markov(params) => params.changes_per_second(),
            _ => SELDOM,
        }
    }

    /// The value over time.
    pub fn trajectory(&self, nominal: f64, rng: Rng) -> Trajectory {
        Trajectory::new(nominal, self.factory().source(nominal, rng))
    }
}

/// How a delay changes over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schemars(rename = "DurationVariation")]
pub enum DelayVariation {
    /// Set at given instants.
    Steps(steps::Params<Duration>),
    /// A square wave.
    Pulse(pulse::Params<Duration>),
    /// A random walk between two bounds.
    RandomWalk(random_walk::Params<Duration>),
    /// Jumps between states.
    Markov(markov::Params<Duration>),
    /// A sine wave around a mean.
    Sinusoid(sinusoid::Params<Duration>),
    /// Drawn at each handover.
    Handover(handover::Params),
}

impl DelayVariation {
    fn factory(&self) -> &dyn Factory {
        match self {
            Self::Steps(params) => params,
            Self::Pulse(params) => params,
            Self::RandomWalk(params) => params,
            Self::Markov(params) => params,
            Self::Sinusoid(params) => params,
            Self::Handover(params) => params,
        }
    }

    /// Refuses values out of range, as `parameter: reason`.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn validate(&self) -> Result<(), String> {
        self.factory().validate()
    }

    /// Mean number of changes per second.
    pub fn changes_per_second(&self) -> f64 {
        match self {
            Self::Markov(params) => params.changes_per_second(),
            _ => SELDOM,
        }
    }

    /// The least and the greatest possible value, including the wait for the end of a pause. `nominal` is the constant value beside `vary`.
    pub fn bounds(&self, nominal: f64) -> (f64, f64) {
        self.factory().bounds(nominal)
    }

    /// The value over time.
    pub fn trajectory(&self, nominal: f64, rng: Rng) -> Trajectory {
        Trajectory::new(nominal, self.factory().source(nominal, rng))
    }

    /// The times during which nothing arrives.
    pub fn pauses(&self) -> Option<Pauses> {
        match self {
            Self::Handover(params) => params.pauses(),
            _ => None,
        }
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
    /// A random walk between two bounds.
    RandomWalk(random_walk::Params<Rate>),
    /// Jumps between states.
    Markov(markov::Params<Rate>),
    /// A sine wave around a mean.
    Sinusoid(sinusoid::Params<Rate>),
    /// Deliveries at random.
    Poisson(poisson::Params),
    /// Deliveries from a trace.
    Mahimahi(mahimahi::Params),
    /// Rates from a file.
    File(rate_file::Params),
    /// A 60 GHz link.
    Mmwave(mmwave::Params),
    /// A radio link whose path is blocked at times.
    Blockage(blocked::Params),
}

impl RateVariation {
    /// Refuses values out of range, as `parameter: reason`. Reads the file that it names, and stores its digest.
    ///
    /// # Errors
    /// The first parameter that is out of range, or a file that holds no trace.
    pub fn load(&mut self, files: &dyn Files) -> Result<LoadedRate, String> {
        let trajectory = match self {
            Self::Steps(params) => Variation::Steps(params.clone()),
            Self::Pulse(params) => Variation::Pulse(params.clone()),
            Self::RandomWalk(params) => Variation::RandomWalk(params.clone()),
            Self::Markov(params) => Variation::Markov(params.clone()),
            Self::Sinusoid(params) => Variation::Sinusoid(params.clone()),
            Self::Poisson(params) => return Ok(LoadedRate::Poisson(params.clone())),
            Self::Mahimahi(params) => return params.read(files).map(LoadedRate::Trace),
            Self::File(params) => return params.read(files).map(LoadedRate::Timeline),
            Self::Mmwave(params) => {
                params.validate()?;
                return Ok(LoadedRate::Mmwave(params.clone()));
            }
            Self::Blockage(params) => {
                params.validate()?;
                return Ok(LoadedRate::Blockage(params.clone()));
            }
        };
        trajectory.validate()?;
        Ok(LoadedRate::Trajectory(trajectory))
    }

    /// The file that it names, if it names one.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Mahimahi(params) => params.file.as_deref(),
            Self::File(params) => Some(&params.file),
            _ => None,
        }
    }
}

/// How a rate changes over time, checked, with the contents of its files.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadedRate {
    /// Bit by bit.
    Trajectory(Variation<Rate>),
    /// Bit by bit, from a file.
    Timeline(Timeline),
    /// Bit by bit, of a 60 GHz link.
    Mmwave(mmwave::Params),
    /// Bit by bit, of a radio link whose path is blocked at times.
    Blockage(blocked::Params),
    /// Deliveries at random.
    Poisson(poisson::Params),
    /// Deliveries from a trace.
    Trace(Trace),
}

/// What a transmitter follows.
enum Follows<'a> {
    /// A rate.
    Rate(&'a dyn Factory),
    /// Deliveries at random.
    Random(&'a poisson::Params),
    /// Deliveries from a trace.
    Trace(&'a Trace),
}

impl LoadedRate {
    fn follows(&self) -> Follows<'_> {
        match self {
            Self::Trajectory(trajectory) => Follows::Rate(trajectory.factory()),
            Self::Timeline(timeline) => Follows::Rate(timeline),
            Self::Mmwave(params) => Follows::Rate(params),
            Self::Blockage(params) => Follows::Rate(params),
            Self::Poisson(params) => Follows::Random(params),
            Self::Trace(trace) => Follows::Trace(trace),
        }
    }

    /// The greatest possible rate. For a trace, the greatest rate over any second. `nominal` is the constant rate beside `vary`.
    pub fn greatest(&self, nominal: Rate) -> Rate {
        match self.follows() {
            Follows::Rate(factory) => Rate(factory.bounds(nominal.number()).1 as u64),
            Follows::Random(_) => nominal,
            Follows::Trace(trace) => Rate(trace.peak_rate() as u64),
        }
    }

    /// Mean number of changes or deliveries per second, which is what following the rate costs.
    pub fn changes_per_second(&self, nominal: Rate) -> f64 {
        match self {
            Self::Trajectory(trajectory) => trajectory.changes_per_second(),
            Self::Timeline(timeline) => timeline.changes_per_second(),
            Self::Mmwave(_) | Self::Blockage(_) => SELDOM,
            Self::Poisson(_) => nominal.number() / (8 * DELIVERY_BYTES) as f64,
            Self::Trace(trace) => trace.mean_rate() / (8 * DELIVERY_BYTES) as f64,
        }
    }

    /// The rate over time; `None` if the link sends only at deliveries.
    pub fn source(&self, nominal: Rate, rng: Rng) -> Option<Box<dyn Source>> {
        match self.follows() {
            Follows::Rate(factory) => Some(factory.source(nominal.number(), rng)),
            Follows::Random(_) | Follows::Trace(_) => None,
        }
    }

    /// The deliveries, if the link sends only at deliveries.
    pub fn deliveries(&self, nominal: Rate, rng: Rng) -> Option<Box<dyn Deliveries>> {
        match self.follows() {
            Follows::Rate(_) => None,
            Follows::Random(params) => Some(params.deliveries(nominal, rng)),
            Follows::Trace(trace) => Some(trace.deliveries()),
        }
    }

    fn supply(&self, nominal: Rate, rng: Rng) -> Box<dyn Supply> {
        let opportunities = |source| -> Box<dyn Supply> { Box::new(Opportunities::new(source)) };
        match self.follows() {
            Follows::Rate(factory) => {
                let source = factory.source(nominal.number(), rng);
                Box::new(Fluid::new(Trajectory::new(nominal.number(), source)))
            }
            Follows::Random(params) => opportunities(params.deliveries(nominal, rng)),
            Follows::Trace(trace) => opportunities(trace.deliveries()),
        }
    }

    /// The transmitter for a run that ends at the horizon.
    pub fn carrier(&self, nominal: Rate, rng: &Rng, horizon: Nanos) -> Carrier {
        let copy = || self.supply(nominal, rng.clone());
        Carrier::new([copy(), copy()], horizon)
    }
}
