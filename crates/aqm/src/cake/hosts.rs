//! Fairness between hosts: a flow's turn is divided by the number of bulk flows of the busier of its hosts.

use bloatlab_units::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hash::Ways;
use super::table::Table;
use crate::slab::FlowHash;

/// What is shared between, as tc-cake(8) names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "tc-cake(8) explains each")]
pub enum Isolation {
    Flowblind,
    Srchost,
    Dsthost,
    Hosts,
    Flows,
    DualSrchost,
    DualDsthost,
    TripleIsolate,
}

impl Isolation {
    /// Whether flows of one source, and of one destination, share what one of them gets.
    pub fn shares(self) -> [bool; 2] {
        match self {
            Self::DualSrchost => [true, false],
            Self::DualDsthost => [false, true],
            Self::TripleIsolate => [true, true],
            _ => [false, false],
        }
    }

    /// What a packet's queue is found by.
    #[inline]
    pub fn key(self, flow: u64, hosts: impl FnOnce() -> [u32; 2]) -> u64 {
        match self {
            Self::Flows | Self::DualSrchost | Self::DualDsthost | Self::TripleIsolate => flow,
            Self::Flowblind => 0,
            Self::Srchost | Self::Dsthost | Self::Hosts => self.of_hosts(hosts()),
        }
    }

    /// The same, where packets of a host are one flow.
    #[cold]
    fn of_hosts(self, [source, destination]: [u32; 2]) -> u64 {
        match self {
            Self::Srchost => u64::from(source),
            Self::Dsthost => u64::from(destination),
            _ => u64::from(source) << 32 | u64::from(destination),
        }
    }
}

/// Bulk flows of each host at one end.
#[derive(Clone, Debug)]
struct End {
    /// Whether they count; if not, there are none.
    shared: bool,
    ways: Ways,
    bulk: Table<u16>,
}

/// Bulk flows of each host of a tin, at both ends.
#[derive(Clone, Debug)]
pub struct Loads {
    ends: [End; 2],
    hash: FlowHash,
}

impl Loads {
    /// No bulk flows yet.
    pub fn new(isolation: Isolation, rng: &mut Rng) -> Self {
        let end = |shared| End {
            shared,
            ways: Ways::default(),
            bulk: Table::new(0),
        };
        Self {
            ends: isolation.shares().map(end),
            hash: FlowHash::new(rng, u32::MAX),
        }
    }

    /// Whether hosts count at all.
    #[inline]
    pub fn count(&self) -> bool {
        self.ends.iter().any(|end| end.shared)
    }

    /// The places of two hosts; a place is kept while its host has bulk flows.
    pub fn places(&mut self, hosts: [u32; 2]) -> [u16; 2] {
        let [source, destination] = &mut self.ends;
        let place = |end: &mut End, host: u32| {
            let hash = self.hash.bits(host.into());
            end.ways.find(hash, |place| end.bulk[place] > 0).0 as u16
        };
        // One by one: a store for each, read as both, would wait.
        [place(source, hosts[0]), place(destination, hosts[1])]
    }

    /// A flow between these hosts has become bulk.
    #[inline]
    pub fn join(&mut self, places: [u16; 2]) {
        for (end, place) in self.ends.iter_mut().zip(places) {
            end.bulk[place.into()] += u16::from(end.shared);
        }
    }

    /// A flow between these hosts is bulk no longer.
    #[inline]
    pub fn leave(&mut self, places: [u16; 2]) {
        for (end, place) in self.ends.iter_mut().zip(places) {
            end.bulk[place.into()] -= u16::from(end.shared);
        }
    }

    /// A flow's turn: `quantum`, divided by the bulk flows of the busier host. What the division leaves is drawn for, so that in
    /// the mean nothing is lost.
    #[inline]
    pub fn turn(&self, quantum: u32, places: [u16; 2], rng: &mut Rng) -> i32 {
        let [source, destination] = [0, 1].map(|end| self.ends[end].bulk[places[end].into()]);
        let load = source.max(destination);
        if load <= 1 {
            return quantum as i32;
        }
        let spare = rng.below(u64::from(load)) as u32;
        ((quantum + spare) / u32::from(load)) as i32
    }
}
