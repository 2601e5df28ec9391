//! One run of the model.

use std::fmt;

use bloatlab_aqm::{Context, Hosts, Qdisc, QueueConfig};
use bloatlab_units::{Rate, Rng, Streams};
use serde_json::Value;

use crate::config::{config, kinds};
use crate::driver::{Driver, Tally};
use crate::operation::Operation;
use crate::packet::ModelPacket;

/// A queue, its place, and what happens to it.
#[derive(Clone, PartialEq)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub struct Episode {
    /// Which kind of the registry, modulo their number.
    pub kind: u8,
    /// What its parameters are; none: the defaults.
    pub choices: Vec<u16>,
    /// Which link it stands before and how many flows there are.
    pub place: u8,
    /// Of the queue's random stream.
    pub seed: u64,
    /// What happens.
    pub operations: Vec<Operation>,
}

impl Episode {
    /// How many kinds there are.
    pub fn kinds() -> usize {
        kinds().len()
    }

    /// One at random of this kind, by default or with random parameters.
    pub fn draw(kind: u8, operations: usize, rng: &mut Rng) -> Self {
        let varied = rng.below(4) > 0;
        // Some configurations differ in few parameters, others in most.
        let often = 0.2 + 0.7 * rng.uniform();
        let choices = (0..40)
            .map(|_| {
                if varied && rng.chance(often) {
                    rng.bits() as u16
                } else {
                    0
                }
            })
            .collect();
        let load = rng.below(5);
        Self {
            kind,
            choices,
            place: rng.bits() as u8,
            seed: rng.bits(),
            operations: (0..operations)
                .map(|_| Operation::draw(rng, load))
                .collect(),
        }
    }

    /// The queue's configuration, which is valid.
    pub fn config(&self) -> QueueConfig {
        config(usize::from(self.kind), &self.choices)
    }

    /// How many flows there are: one alone, some, or so many that hashes collide.
    pub fn flows(&self) -> u32 {
        [1, 2, 5, 16, 64, 300, 1000, 2000][usize::from(self.place % 8)]
    }

    /// Where the queue stands.
    pub fn context(&self) -> Context {
        const RATES: [u64; 4] = [100_000_000, 1_000_000, 10_000_000_000, 64_000];
        let rate = RATES[usize::from(self.place / 8 % 4)];
        let rng = Streams::new(self.seed).stream("queue");
        let mut context = Context::new(
            rng,
            [1500, 1514][usize::from(self.place / 32 % 2)],
            Rate(rate),
        );
        // Few hosts, shared by flows of either parity.
        context.hosts = Hosts::new(|flow| [flow as u32 % 7, 100 + flow as u32 % 13]);
        context
    }

    /// Runs it, and panics when the queue breaks a promise. With `twice`, it must run the same again.
    pub fn run(&self, twice: bool) -> Tally {
        let config = self.config();
        let value = serde_json::to_value(&config).unwrap_or_default();
        let queue = || {
            config
                .build(self.context())
                .expect("a queue of the registry")
        };
        let tally = self.run_on(queue(), &value);
        if twice {
            let again = self.run_on(queue(), &value);
            assert_eq!(tally, again, "the same seed gives the same run");
        }
        tally
    }

    /// Runs it on a queue from elsewhere, which was built from this configuration in the episode's context.
    pub fn run_on(&self, queue: Box<dyn Qdisc<ModelPacket>>, config: &Value) -> Tally {
        Driver::new(self, queue, config).drive(self)
    }
}

impl fmt::Debug for Episode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = serde_json::to_string(&self.config()).map_err(|_| fmt::Error)?;
        let (context, flows) = (self.context(), self.flows());
        writeln!(f, "{config}")?;
        writeln!(
            f,
            "seed {}, {}, MTU {}, {flows} flows (kind {}, place {}, choices {:?})",
            self.seed, context.rate, context.mtu, self.kind, self.place, self.choices
        )?;
        for operation in &self.operations {
            writeln!(f, "{}", operation.told(flows))?;
        }
        Ok(())
    }
}
