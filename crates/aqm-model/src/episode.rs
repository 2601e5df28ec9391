//! One run of the model.

use std::fmt;

use bloatlab_aqm::{Context, Hosts, QueueConfig};
use bloatlab_units::{Rate, Rng, Streams};

use crate::config::{config, kinds};
use crate::operation::Operation;

/// A queue, the link that it serves, and the operations on it.
#[derive(Clone, PartialEq)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub struct Episode {
    /// The index of a kind in the registry, modulo the number of kinds.
    pub kind: u8,
    /// Selects the values of its parameters. If empty, all have their defaults.
    pub choices: Vec<u16>,
    /// Selects the link and the number of flows.
    pub place: u8,
    /// Seed of the queue's random stream.
    pub seed: u64,
    /// The operations, in order.
    pub operations: Vec<Operation>,
}

impl Episode {
    /// Number of kinds in the registry.
    pub fn kinds() -> usize {
        kinds().len()
    }

    /// A random episode of this kind, with default or random parameters.
    pub fn draw(kind: u8, operations: usize, rng: &mut Rng) -> Self {
        let varied = rng.below(4) > 0;
        // Some configurations change few parameters, others most of them.
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

    /// Number of flows: one, a few, or enough that their hashes collide.
    pub fn flows(&self) -> u32 {
        [1, 2, 5, 16, 64, 300, 1000, 2000][usize::from(self.place % 8)]
    }

    /// The context in which the queue is built.
    pub fn context(&self) -> Context {
        const RATES: [u64; 4] = [100_000_000, 1_000_000, 10_000_000_000, 64_000];
        let rate = RATES[usize::from(self.place / 8 % 4)];
        let rng = Streams::new(self.seed).stream("queue");
        let mut context = Context::new(
            rng,
            [1500, 1514][usize::from(self.place / 32 % 2)],
            Rate(rate),
        );
        // Flows share a few hosts.
        context.hosts = Hosts::new(|flow| [flow as u32 % 7, 100 + flow as u32 % 13]);
        context
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
            writeln!(f, "{}", operation.description(flows))?;
        }
        Ok(())
    }
}
