//! One tin: its flows in their rotations, its threshold, and what it counted.

use bloatlab_units::{Nanos, Rng};

use super::hash::{Found, Ways, home};
use super::hosts::Loads;
use super::rotation::{Flow, Line, Rotation, Set};
use super::shaper::Threshold;
use super::table::Table;
use super::tins::Settings;
use crate::cobalt;

/// What a tin counted, by the words of `tc -s qdisc`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Packets that arrived, dropped ones among them.
    pub pkts: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Flows found at another place than the one they hash to.
    pub way_inds: u64,
    /// Flows that were given a free place.
    pub way_miss: u64,
    /// Flows that were put to another's.
    pub way_cols: u64,
    /// ACKs that the filter dropped.
    pub ack_drop: u64,
    /// What the law did.
    pub law: cobalt::Stats,
}

/// A tin.
#[derive(Debug)]
pub struct Tin {
    /// What it is set to.
    pub settings: Settings,
    /// When it has priority; none in an unlimited queue.
    pub threshold: Option<Threshold>,
    /// Bytes it may still send in its turn, in an unlimited queue.
    pub deficit: i64,
    /// Bytes queued.
    pub backlog: u64,
    /// Flows that count as bulk.
    pub bulk_flows: u32,
    /// Flows against which BLUE is at work.
    pub unresponsive_flows: u32,
    /// What it counted.
    pub counts: Counts,
    /// Its flows.
    pub flows: Table<Flow>,
    /// What each counts as; apart, so that it is known before the flow's cache line has come.
    sets: Table<Set>,
    ways: Ways,
    loads: Loads,
    new_flows: Line,
    old_flows: Line,
    decaying_flows: Rotation,
    /// Until when the law of each decaying flow stays as it is; apart, so that looking at one in vain does not touch its cache line.
    decays_at: Table<Nanos>,
}

impl Tin {
    /// An empty tin.
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

    /// In an unlimited queue, the tin is passed over so often: each time it gets its weight, unless it still has some of it.
    #[inline]
    pub fn collect(&mut self, rounds: i64) {
        if self.deficit <= 0 {
            let wanted = 1 - self.deficit / self.settings.weight;
            self.deficit += wanted.min(rounds) * self.settings.weight;
        }
    }

    /// The queue of a key with this hash; `hosts` are asked for when a queue changes hands.
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

    /// The queue of a key that has none, or whose queue was forgotten.
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

    /// A packet was put into a flow: it waits for its turn from now on.
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

    /// Whose turn it is.
    #[inline]
    pub fn first(&self) -> Option<usize> {
        self.new_flows.first().or_else(|| self.old_flows.first())
    }

    /// The first flow has used up its turn: it gets another, behind the bulk flows, and counts as bulk if it has more to send.
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

    /// The first flow was found empty: it stays in sight until its law has come to rest.
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
        flow.vars.pause();
        self.decays_at[place] = flow.vars.decays_at();
        if now >= self.decays_at[place] && self.relax(place, now) {
            self.sets[place] = Set::Out;
        } else {
            self.sets[place] = Set::Decaying;
            self.decaying_flows.push(place);
        }
    }

    /// Looks at one of the flows that are to be forgotten.
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

    /// Tells the law of an empty flow that its time has come; whether it has come to rest.
    #[cold]
    #[inline(never)]
    fn relax(&mut self, place: usize, now: Nanos) -> bool {
        let (law, vars) = (&self.settings.law, &mut self.flows[place].vars);
        self.unresponsive_flows -= u32::from(law.emptied(vars, now));
        self.decays_at[place] = vars.decays_at();
        vars.at_rest(now)
    }

    /// Flows that count as sparse.
    pub fn sparse_flows(&self) -> usize {
        let sparse = |set: &&Set| matches!(set, Set::Sparse | Set::SparseWait);
        self.sets.iter().filter(sparse).count()
    }

    /// A sparse flow counts as bulk from now on.
    #[inline]
    fn becomes_bulk(&mut self, place: usize) {
        self.sets[place] = Set::Bulk;
        self.bulk_flows += 1;
        self.loads.join(self.flows[place].hosts);
    }

    /// A packet was cut off a flow because the buffer was full.
    pub fn overflowed(&mut self, place: usize, now: Nanos) {
        self.counts.law.drop_overlimit += 1;
        let vars = &mut self.flows[place].vars;
        let began = self.settings.law.overflowed(vars, now);
        self.unresponsive_flows += u32::from(began);
    }
}
