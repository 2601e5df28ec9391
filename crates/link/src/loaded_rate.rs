//! A rate that varies, with the contents of its files.

use bloatlab_units::{Nanos, Rate, Rng};

use crate::carrier::Supply;
use crate::deliveries::Opportunities;
use crate::factory::Factory;
use crate::fluid::Fluid;
use crate::mahimahi::Trace;
use crate::{
    Carrier, DELIVERY_BYTES, Deliveries, Quantity, RateSource, Source, Timeline, Trajectory,
    poisson,
};

/// How a rate changes over time, checked, with the contents of its files.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadedRate {
    /// Bit by bit, from a generator.
    Source(RateSource),
    /// Bit by bit, from a file.
    Timeline(Timeline),
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
            Self::Source(source) => Follows::Rate(source.factory()),
            Self::Timeline(timeline) => Follows::Rate(timeline),
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
        match self.follows() {
            Follows::Rate(factory) => factory.changes_per_second(),
            Follows::Random(_) => nominal.number() / (8 * DELIVERY_BYTES) as f64,
            Follows::Trace(trace) => trace.mean_rate() / (8 * DELIVERY_BYTES) as f64,
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
