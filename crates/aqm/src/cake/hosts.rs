//! Fairness between hosts: the quantum of a flow is divided by the number of bulk flows of the busier one of its hosts.

use bloatlab_units::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hash::Ways;
use super::table::Table;
use crate::slab::FlowHash;

/// Between what cake shares fairly, as named in tc-cake(8).
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
    /// Whether the flows of one source, and of one destination, share the capacity of one.
    pub fn shares(self) -> [bool; 2] {
        match self {
            Self::DualSrchost => [true, false],
            Self::DualDsthost => [false, true],
            Self::TripleIsolate => [true, true],
            _ => [false, false],
        }
    }

    /// The key by which the queue of a packet is found.
    #[inline]
    pub fn key(self, flow: u64, hosts: impl FnOnce() -> [u32; 2]) -> u64 {
        match self {
            Self::Flows | Self::DualSrchost | Self::DualDsthost | Self::TripleIsolate => flow,
            Self::Flowblind => 0,
            Self::Srchost | Self::Dsthost | Self::Hosts => self.of_hosts(hosts()),
        }
    }

    /// The key where all packets of a host are one flow.
    #[cold]
    fn of_hosts(self, [source, destination]: [u32; 2]) -> u64 {
        match self {
            Self::Srchost => u64::from(source),
            Self::Dsthost => u64::from(destination),
            _ => u64::from(source) << 32 | u64::from(destination),
        }
    }
}

/// Number of bulk flows of each host at one end.
#[derive(Clone, Debug)]
struct End {
    /// Whether they are counted. If not, all numbers are 0.
    shared: bool,
    ways: Ways,
    bulk: Table<u16>,
}

/// Number of bulk flows of each host of a tin, at both ends.
#[derive(Clone, Debug)]
pub struct Loads {
    ends: [End; 2],
    hash: FlowHash,
}

impl Loads {
    /// Creates it without bulk flows.
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

    /// Whether hosts are counted at all.
    #[inline]
    pub fn count(&self) -> bool {
        self.ends.iter().any(|end| end.shared)
    }

    /// The places of two hosts. A host keeps its place while it has bulk flows.
    pub fn places(&mut self, hosts: [u32; 2]) -> [u16; 2] {
        let [source, destination] = &mut self.ends;
        let place = |end: &mut End, host: u32| {
            let hash = self.hash.bits(host.into());
            end.ways.find(hash, |place| end.bulk[place] > 0).0 as u16
        };
        // Separately, because two stores that are read as one value would stall.
        [place(source, hosts[0]), place(destination, hosts[1])]
    }

    /// Records that a flow between these hosts became bulk.
    #[inline]
    pub fn join(&mut self, places: [u16; 2]) {
        for (end, place) in self.ends.iter_mut().zip(places) {
            end.bulk[place.into()] += u16::from(end.shared);
        }
    }

    /// Records that a flow between these hosts is not bulk any more.
    #[inline]
    pub fn leave(&mut self, places: [u16; 2]) {
        for (end, place) in self.ends.iter_mut().zip(places) {
            end.bulk[place.into()] -= u16::from(end.shared);
        }
    }

    /// The quantum of a flow: `quantum` divided by the number of bulk flows of the busier host, rounded at random so that the mean is exact.
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
