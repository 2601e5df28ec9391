//! Which of a discipline's queues a packet joins.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use bloatlab_units::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::slab::FlowHash;
use crate::{Context, Hosts, Packet};

/// What decides a packet's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Classifier {
    /// The flow, hashed: flows may collide, which ones varies from seed to seed.
    #[default]
    Flow,
    /// The source host, hashed: all flows of a host share one queue.
    Source,
    /// The flow, each in a queue of its own in order of appearance, until the queues run out and are shared in turn.
    Exact,
}

/// A classifier onto a number of queues.
#[derive(Clone, Debug)]
pub struct Classes {
    by: Classifier,
    hash: FlowHash,
    hosts: Hosts,
    /// Queues of the flows that have appeared, if they are not hashed; looked up and never walked through.
    known: HashMap<u64, u32, BuildHasherDefault<DefaultHasher>>,
    queues: u32,
}

impl Classes {
    /// Classes 0, 1, ..., `queues` - 1 at this place.
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

    /// The queue of a flow that is not hashed; apart, so that a hash is inlined.
    #[inline(never)]
    fn known(&mut self, flow: u64) -> usize {
        let appeared = self.known.len() as u32;
        *self.known.entry(flow).or_insert(appeared % self.queues) as usize
    }

    /// Hashes otherwise from now on.
    pub fn perturb(&mut self, rng: &mut Rng) {
        self.hash = FlowHash::new(rng, self.queues);
    }
}
