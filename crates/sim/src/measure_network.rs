//! Metrics of links and of the network as a whole.

use std::mem::take;

use bloatlab_scenario::PlanFlow;

use crate::engine::Engine;
use crate::place::Place;
use crate::station::Station;
use bloatlab_outcome::{Candidate, Distribution, Flows, LinkAtEnd, NOT_GREEDY, Outcome, Sheet};
use bloatlab_port::Backlog;

/// What the data of several flows shares: a link, or the air of the cell in one direction, which all bearers of that direction divide.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shared {
    Link(usize),
    Air { is_uplink: bool },
}

impl Engine<'_> {
    pub(crate) fn measure_links(&mut self, outcome: &mut Outcome) {
        let mut sheet = Sheet::default();
        let span = self.end - self.warmup;
        let greedy_flows = self.greedy_flows();
        let mut index = 0;
        for (&place, &greedy_flows) in self.places.iter().zip(&greedy_flows) {
            let Some(station) = self.network.station_mut(place) else {
                continue;
            };
            let (_, utilization) = station.whole(span);
            let Backlog {
                queue,
                stats,
                count,
                ..
            } = station.backlog_mut();
            let end = LinkAtEnd {
                arrivals: count.arrivals,
                backlog: (queue.packets(), queue.bytes()),
                span,
                utilization,
                greedy_flows,
            };
            stats.measure(&mut sheet, index, &end);
            let reported = queue.stats();
            outcome.queue_stats.extend(
                reported
                    .into_iter()
                    .map(|(name, value)| (index as u32, name, value)),
            );
            for (quantity, histogram) in [
                ("sojourn", take(&mut stats.sojourn)),
                ("queue_packets", stats.length.histogram()),
            ] {
                outcome.distributions.push(Distribution {
                    scope: "link",
                    entity: index as u32,
                    quantity,
                    histogram,
                });
            }
            index += 1;
        }
        outcome.link_metrics = sheet.0;
    }

    /// By box: the number of greedy TCP flows whose data crosses it.
    fn greedy_flows(&self) -> Vec<u64> {
        let mut crossing = vec![0; self.plan.boxes.len()];
        for (flow, account) in self.plan.flows.iter().zip(&self.network.accounts) {
            if account.greedy_rtt != NOT_GREEDY {
                flow.forward.iter().for_each(|&i| crossing[i] += 1);
            }
        }
        crossing
    }

    /// Measures the flows whose data shares a link, for every link and for the bottleneck.
    pub(crate) fn measure_network(&self, outcome: &mut Outcome) {
        let (warmup, end) = (self.warmup as f64 * 1e-9, self.end as f64 * 1e-9);
        let flows = Flows::new(&outcome.flows, &outcome.flow_metrics, warmup, end);
        // The links that the data of each flow crosses, by the flow's number in the tables.
        let ranked = self.plan.flows.iter().zip(&self.ranks);
        let paths: Vec<&[usize]> = ranked
            .filter(|(_, (rank, _))| rank.is_some())
            .map(|(flow, _)| &flow.forward[..])
            .collect();
        let mut sheet = Sheet::default();
        let links = (0..self.places.len()).filter(|&number| self.station(number).is_some());
        for (link, number) in links.enumerate() {
            let crosses = |flow: usize| paths[flow].contains(&number);
            let rate = self.mean_rate(number).map(|rate| rate * 1e-6);
            flows.measure_link(&mut sheet, link, &crosses, rate);
        }
        let mut crossed: Vec<usize> = paths.iter().copied().flatten().copied().collect();
        crossed.sort_unstable();
        crossed.dedup();
        let candidates = crossed.into_iter().filter_map(|number| {
            Some(Candidate {
                shared: self.shared(number)?,
                rate: self.mean_rate(number)? * 1e-6,
                queue: self.mean_queue(number)?,
            })
        });
        let bottleneck = Candidate::slowest(candidates);
        let shares = |flow: usize| {
            bottleneck.as_ref().is_none_or(|found| {
                let mut crossed = paths[flow].iter();
                crossed.any(|&number| self.shared(number) == Some(found.shared))
            })
        };
        let capacity = bottleneck.as_ref().map(|found| found.rate);
        outcome.network_metrics = flows.measure_network(&shares, capacity);
        outcome.link_metrics.append(&mut sheet.0);
    }

    /// What flows share at a box that is a link.
    fn shared(&self, number: usize) -> Option<Shared> {
        match self.places[number] {
            Place::Link(_) => Some(Shared::Link(number)),
            Place::Bearer(bearer) => Some(Shared::Air {
                is_uplink: !bearer.is_multiple_of(2),
            }),
            _ => None,
        }
    }

    fn station(&self, number: usize) -> Option<&dyn Station> {
        self.network.station(self.places[number])
    }

    /// Mean length of a link's queue, packets.
    fn mean_queue(&self, number: usize) -> Option<f64> {
        let lengths = &self.station(number)?.backlog().stats.length;
        Some(lengths.histogram().mean().unwrap_or(0.0))
    }

    /// bit/s of the slowest link on a flow's data path, in the mean of what is measured.
    pub(crate) fn bottleneck(&self, flow: &PlanFlow) -> f64 {
        let rates = flow
            .forward
            .iter()
            .filter_map(|&number| self.mean_rate(number));
        rates.fold(f64::INFINITY, f64::min)
    }

    /// bit/s of a box that is a link, in the mean of what is measured.
    fn mean_rate(&self, number: usize) -> Option<f64> {
        match self.places[number] {
            // A gate has no transmitter.
            place @ (Place::Link(_) | Place::Bearer(_)) => {
                let station = self.network.station(place)?;
                Some(station.whole(self.end - self.warmup).0)
            }
            _ => None,
        }
    }
}
