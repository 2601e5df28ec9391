//! One tin: its flows and their lists, its threshold, and its counters.

use bloatlab_units::{Nanos, Rng};

use super::hash::{Found, Ways, home};
use super::hosts::Loads;
use super::rotation::{Flow, Line, Rotation, Set};
use super::shaper::Threshold;
use super::table::Table;
use super::tins::Settings;
use crate::cobalt;

/// The counters of a tin, as in `tc -s qdisc`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Packets that arrived, including those that were dropped.
    pub pkts: u64,
    /// Bytes that arrived, including those that were dropped.
    pub bytes: u64,
    /// Flows found at another place than the one that they hash to.
    pub way_inds: u64,
    /// Flows that were given a free place.
    pub way_miss: u64,
    /// Flows that had to share the place of another flow.
    pub way_cols: u64,
    /// ACKs that the filter dropped.
    pub ack_drop: u64,
    /// COBALT's counters.
    pub controller: cobalt::Stats,
}

/// A tin.
#[derive(Debug)]
pub struct Tin {
    /// Its settings.
    pub settings: Settings,
    /// Its threshold. Absent without a shaper.
    pub threshold: Option<Threshold>,
    /// Without a shaper: bytes that it may still send in its turn.
    pub deficit: i64,
    /// Backlog in bytes.
    pub backlog: u64,
    /// Number of bulk flows.
    pub bulk_flows: u32,
    /// Number of flows for which BLUE is active.
    pub unresponsive_flows: u32,
    /// Its counters.
    pub counts: Counts,
    /// Its flows.
    pub flows: Table<Flow>,
    /// The state of each flow. Stored separately, so that it is known before the cache line of the flow is loaded.
    sets: Table<Set>,
    ways: Ways,
    loads: Loads,
    new_flows: Line,
    old_flows: Line,
    decaying_flows: Rotation,
    /// Until when the COBALT state of each decaying flow does not change. Stored separately, so that a check does not touch the cache line of the
    /// flow.
    decays_at: Table<Nanos>,
}

impl Tin {
    /// Creates an empty tin.
    pub fn new(settings: Settings, loads: Loads) -> Self {
        Self {
            settings,
            threshold: settings.threshold.map(Threshold::new),
            deficit: 0,
            backlog: 0,
            bulk_flows: 0,
            unresponsive_flows: 0,
            counts: Counts::default(),
            flows: Table::new(Flow::default()),
            sets: Table::new(Set::Out),
            ways: Ways::default(),
            loads,
            new_flows: Line::default(),
            old_flows: Line::default(),
            decaying_flows: Rotation::default(),
            decays_at: Table::new(0),
        }
    }

    /// Without a shaper: the tin is skipped `rounds` times. Each time it gets its weight, unless it still has some of it.
    #[inline]
    pub fn collect(&mut self, rounds: i64) {
        if self.deficit <= 0 {
            let wanted = 1 - self.deficit / self.settings.weight;
            self.deficit += wanted.min(rounds) * self.settings.weight;
        }
    }

    /// The queue of the key with this hash. `hosts` is called only when the queue gets a new key.
    #[inline]
    pub fn classify(&mut self, hash: u32, hosts: impl FnOnce() -> [u32; 2]) -> usize {
        match self.ways.of(hash) {
            Some(place) if self.sets[place] != Set::Out => {
                self.counts.way_inds += u64::from(place != home(hash));
                place
            }
            _ => self.admit(hash, hosts),
        }
    }

    /// The queue of a key that has none, or whose queue has decayed.
    #[cold]
    #[inline(never)]
    fn admit(&mut self, hash: u32, hosts: impl FnOnce() -> [u32; 2]) -> usize {
        let Self { sets, ways, .. } = self;
        let (place, found) = ways.find(hash, |place| sets[place] != Set::Out);
        match found {
            Found::Direct => {}
            Found::Indirect => self.counts.way_inds += 1,
            Found::Missed => self.counts.way_miss += 1,
            Found::Collided => self.counts.way_cols += 1,
        }
        if self.loads.count() {
            let flow = &mut self.flows[place];
            let places = self.loads.places(hosts());
            if self.sets[place] == Set::Bulk {
                self.loads.leave(flow.hosts);
                self.loads.join(places);
            }
            flow.hosts = places;
        }
        place
    }

    /// Records that a packet was added to a flow, which now waits for its turn.
    #[inline]
    pub fn arrived(&mut self, place: usize, rng: &mut Rng) {
        let set = self.sets[place];
        if set == Set::Sparse || set == Set::Bulk {
            return;
        }
        if set == Set::SparseWait {
            self.becomes_bulk(place);
            return;
        }
        if set == Set::Decaying {
            self.decaying_flows.remove(place);
        }
        self.new_flows.push(place);
        self.sets[place] = Set::Sparse;
        let flow = &mut self.flows[place];
        flow.deficit = self.loads.turn(self.settings.quantum, flow.hosts, rng);
    }

    /// The flow to serve.
    #[inline]
    pub fn first(&self) -> Option<usize> {
        self.new_flows.first().or_else(|| self.old_flows.first())
    }

    /// Ends the turn of the first flow. It moves behind the bulk flows with a new quantum, and is a bulk flow if it has more to send.
    #[inline]
    pub fn turn_over(&mut self, place: usize, rng: &mut Rng) {
        if self.sets[place] == Set::Sparse {
            self.new_flows.pop();
            if self.flows[place].backlog > 0 {
                self.becomes_bulk(place);
            } else {
                self.sets[place] = Set::SparseWait;
            }
        } else {
            self.old_flows.pop();
        }
        self.old_flows.push(place);
        let flow = &mut self.flows[place];
        flow.deficit += self.loads.turn(self.settings.quantum, flow.hosts, rng);
    }

    /// Handles that the first flow is empty. It is kept until its COBALT state has decayed.
    #[inline]
    pub fn emptied(&mut self, place: usize, now: Nanos) {
        let set = self.sets[place];
        if set == Set::Sparse {
            self.new_flows.pop();
        } else {
            self.old_flows.pop();
        }
        let flow = &mut self.flows[place];
        if set == Set::Bulk {
            self.bulk_flows -= 1;
            self.loads.leave(flow.hosts);
        }
        flow.state.pause();
        self.decays_at[place] = flow.state.decays_at();
        if now >= self.decays_at[place] && self.relax(place, now) {
            self.sets[place] = Set::Out;
        } else {
            self.sets[place] = Set::Decaying;
            self.decaying_flows.push(place);
        }
    }

    /// Updates the state of one decaying flow.
    #[inline]
    pub fn decay(&mut self, now: Nanos) {
        let Some(place) = self.decaying_flows.first() else {
            return;
        };
        if now >= self.decays_at[place] && self.relax(place, now) {
            self.decaying_flows.remove(place);
            self.sets[place] = Set::Out;
        } else {
            self.decaying_flows.turn();
        }
    }

    /// Updates the COBALT state of an empty flow. Returns whether it has decayed.
    #[cold]
    #[inline(never)]
    fn relax(&mut self, place: usize, now: Nanos) -> bool {
        let (controller, state) = (&self.settings.controller, &mut self.flows[place].state);
        self.unresponsive_flows -= u32::from(controller.emptied(state, now));
        self.decays_at[place] = state.decays_at();
        state.at_rest(now)
    }

    /// Number of sparse flows.
    pub fn sparse_flows(&self) -> usize {
        let sparse = |set: &&Set| matches!(set, Set::Sparse | Set::SparseWait);
        self.sets.iter().filter(sparse).count()
    }

    /// Makes a sparse flow a bulk flow.
    #[inline]
    fn becomes_bulk(&mut self, place: usize) {
        self.sets[place] = Set::Bulk;
        self.bulk_flows += 1;
        self.loads.join(self.flows[place].hosts);
    }

    /// Records that a packet of a flow was dropped because the buffer was full.
    pub fn overflowed(&mut self, place: usize, now: Nanos) {
        self.counts.controller.drop_overlimit += 1;
        let state = &mut self.flows[place].state;
        let began = self.settings.controller.overflowed(state, now);
        self.unresponsive_flows += u32::from(began);
    }
}
