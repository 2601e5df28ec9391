//! One tin: its flows in their rotations, its threshold, and what it counted.

use bloatlab_units::{Nanos, Rng};

use super::hash::{Found, PLACES, Ways};
use super::hosts::Loads;
use super::rotation::{Flow, Rotation, Set};
use super::shaper::Threshold;
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

/// A tin. Its flows are numbered through all tins: they are `base` to `base + 1023`.
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
    /// Flows that count as sparse.
    pub sparse_flows: u32,
    /// Flows that count as bulk.
    pub bulk_flows: u32,
    /// Flows against which BLUE is at work.
    pub unresponsive_flows: u32,
    /// What it counted.
    pub counts: Counts,
    base: usize,
    ways: Ways,
    loads: Loads,
    new_flows: Rotation,
    old_flows: Rotation,
    decaying_flows: Rotation,
}

impl Tin {
    /// An empty tin, whose flows begin at `base`.
    pub fn new(settings: Settings, base: usize, loads: Loads) -> Self {
        Self {
            settings,
            threshold: settings.threshold.map(Threshold::new),
            deficit: 0,
            backlog: 0,
            sparse_flows: 0,
            bulk_flows: 0,
            unresponsive_flows: 0,
            counts: Counts::default(),
            base,
            ways: Ways::default(),
            loads,
            new_flows: Rotation::default(),
            old_flows: Rotation::default(),
            decaying_flows: Rotation::default(),
        }
    }

    /// Whether any flow waits for its turn; some may turn out empty.
    #[inline]
    pub fn active(&self) -> bool {
        self.sparse_flows + self.bulk_flows > 0
    }

    /// The queue of a key that hashes to `home`; `hosts` are asked for when a queue changes hands.
    #[inline]
    pub fn classify(
        &mut self,
        flows: &mut [Flow],
        home: usize,
        key: u64,
        hosts: impl FnOnce() -> [u32; 2],
    ) -> usize {
        let base = self.base;
        let own = &flows[base..base + PLACES];
        let (place, found) = self
            .ways
            .find(home, key, |place| own[place].set != Set::Out);
        let index = base + place;
        match found {
            Found::Direct => {}
            Found::Indirect => self.counts.way_inds += 1,
            Found::Missed => self.counts.way_miss += 1,
            Found::Collided => self.counts.way_cols += 1,
        }
        let flow = &mut flows[index];
        if self.loads.count() && (flow.set == Set::Out || found == Found::Collided) {
            let places = self.loads.places(hosts());
            if flow.set == Set::Bulk {
                self.loads.leave(flow.hosts);
                self.loads.join(places);
            }
            flow.hosts = places;
        }
        index
    }

    /// A packet was put into a flow: it waits for its turn from now on.
    #[inline]
    pub fn arrived(&mut self, flows: &mut [Flow], index: usize, rng: &mut Rng) {
        match flows[index].set {
            Set::Sparse | Set::Bulk => {}
            Set::SparseWait => self.count_as(&mut flows[index], Set::Bulk),
            set @ (Set::Out | Set::Decaying) => {
                if set == Set::Decaying {
                    self.decaying_flows.remove(flows, index);
                }
                self.new_flows.push(flows, index);
                self.count_as(&mut flows[index], Set::Sparse);
                flows[index].deficit = self.turn(&flows[index], rng);
            }
        }
    }

    /// Whose turn it is; `decaying` first, if there are any and that is wanted.
    #[inline]
    pub fn first(&self, decaying: bool) -> Option<usize> {
        let waiting = || self.new_flows.first().or_else(|| self.old_flows.first());
        match self.decaying_flows.first().filter(|_| decaying) {
            None => waiting(),
            first => first,
        }
    }

    /// A flow has used up its turn: it gets another, behind the bulk flows, and counts as bulk if it has more to send.
    #[inline]
    pub fn turn_over(&mut self, flows: &mut [Flow], index: usize, rng: &mut Rng) {
        self.unlink(flows, index);
        let flow = &mut flows[index];
        if flow.set == Set::Sparse {
            let more = flow.backlog > 0;
            self.count_as(flow, if more { Set::Bulk } else { Set::SparseWait });
        }
        flow.deficit += self.turn(flow, rng);
        self.old_flows.push(flows, index);
    }

    /// A flow was found empty at its turn: it stays in sight until its law has come to rest.
    pub fn emptied(&mut self, flows: &mut [Flow], index: usize, now: Nanos) {
        let law = self.settings.law;
        let silent = law.emptied(&mut flows[index].vars, now);
        self.unresponsive_flows -= u32::from(silent);
        self.unlink(flows, index);
        if flows[index].vars.at_rest(now) {
            self.count_as(&mut flows[index], Set::Out);
        } else {
            self.count_as(&mut flows[index], Set::Decaying);
            self.decaying_flows.push(flows, index);
        }
    }

    /// A packet was cut off a flow because the buffer was full.
    pub fn overflowed(&mut self, flow: &mut Flow, now: Nanos) {
        self.counts.law.drop_overlimit += 1;
        let began = self.settings.law.overflowed(&mut flow.vars, now);
        self.unresponsive_flows += u32::from(began);
    }

    /// Takes a flow out of the rotation in which its set stands.
    #[inline]
    fn unlink(&mut self, flows: &mut [Flow], index: usize) {
        let rotation = match flows[index].set {
            Set::Out => return,
            Set::Sparse => &mut self.new_flows,
            Set::SparseWait | Set::Bulk => &mut self.old_flows,
            Set::Decaying => &mut self.decaying_flows,
        };
        rotation.remove(flows, index);
    }

    /// Changes what a flow counts as.
    #[inline]
    fn count_as(&mut self, flow: &mut Flow, set: Set) {
        match flow.set {
            Set::Sparse | Set::SparseWait => self.sparse_flows -= 1,
            Set::Bulk => {
                self.bulk_flows -= 1;
                self.loads.leave(flow.hosts);
            }
            Set::Out | Set::Decaying => {}
        }
        match set {
            Set::Sparse | Set::SparseWait => self.sparse_flows += 1,
            Set::Bulk => {
                self.bulk_flows += 1;
                self.loads.join(flow.hosts);
            }
            Set::Out | Set::Decaying => {}
        }
        flow.set = set;
    }

    /// Bytes of a flow's turn.
    #[inline]
    fn turn(&self, flow: &Flow, rng: &mut Rng) -> i32 {
        self.loads.turn(self.settings.quantum, flow.hosts, rng)
    }
}
