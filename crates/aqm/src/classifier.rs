//! Chooses the queue of a packet.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use bloatlab_units::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::slab::FlowHash;
use crate::{Context, Hosts, Packet};

/// What decides the queue of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Classifier {
    /// The hash of the flow. Flows may collide; which ones depends on the seed.
    #[default]
    Flow,
    /// The hash of the source host. All flows of a host share one queue.
    Source,
    /// The flow itself. Each new flow gets the next unused queue; when there is none left, flows share queues in turn.
    Exact,
}

/// A classifier with a number of queues.
#[derive(Clone, Debug)]
pub struct Classes {
    by: Classifier,
    hash: FlowHash,
    hosts: Hosts,
    /// The queues of known flows, for `Exact`. It is only looked up, never iterated.
    known: HashMap<u64, u32, BuildHasherDefault<DefaultHasher>>,
    queues: u32,
}

impl Classes {
    /// Creates a classifier with the classes 0, 1, ..., `queues` - 1.
    pub fn new(by: Classifier, context: &mut Context, queues: u32) -> Self {
        Self {
            by,
            hash: FlowHash::new(&mut context.rng, queues),
            hosts: context.hosts.clone(),
            known: HashMap::default(),
            queues,
        }
    }

    /// The queue of a packet.
    #[inline]
    pub fn queue<P: Packet>(&mut self, packet: &P) -> usize {
        match self.by {
            Classifier::Flow => self.hash.queue(packet.flow()),
            Classifier::Source => self.hash.queue(u64::from(self.hosts.of(packet.flow())[0])),
            Classifier::Exact => self.known(packet.flow()),
        }
    }

    /// The queue of a flow that is not hashed. Not inlined, so that the hash is.
    #[inline(never)]
    fn known(&mut self, flow: u64) -> usize {
        let appeared = self.known.len() as u32;
        *self.known.entry(flow).or_insert(appeared % self.queues) as usize
    }

    /// Changes the hash from now on.
    pub fn perturb(&mut self, rng: &mut Rng) {
        self.hash = FlowHash::new(rng, self.queues);
    }
}
