//! Metrics of links and of the network as a whole.

use std::mem::take;

use bloatlab_scenario::PlanFlow;

use crate::engine::Engine;
use crate::place::Place;
use bloatlab_outcome::{Distribution, LinkAtEnd, NOT_GREEDY, Outcome, Sheet, network_metrics};
use bloatlab_port::Backlog;

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

    pub(crate) fn measure_network(&self, outcome: &mut Outcome) {
        outcome.network_metrics = network_metrics(&outcome.flow_metrics, self.capacity());
    }

    /// Mbit/s of all links that are the slowest on some flow's data path.
    fn capacity(&self) -> f64 {
        let mut used = vec![false; self.plan.boxes.len()];
        for flow in &self.plan.flows {
            let slowest = self.bottleneck(flow);
            for &number in &flow.forward {
                used[number] |= self.mean_rate(number) == Some(slowest);
            }
        }
        let every = used.iter().enumerate().filter(|(_, used)| **used);
        let rates = every.filter_map(|(number, _)| self.mean_rate(number));
        rates.map(|rate| rate * 1e-6).sum()
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
