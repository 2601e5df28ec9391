//! Metrics of links and of the network as a whole.

use std::mem::take;

use bloatlab_scenario::PlanFlow;

use crate::engine::Engine;
use crate::place::Place;
use bloatlab_outcome::NOT_GREEDY;
use bloatlab_outcome::mbps;
use bloatlab_outcome::metrics::*;
use bloatlab_outcome::{Distribution, Outcome, network_metrics};
use bloatlab_outcome::{MS, Sheet};

impl Engine<'_> {
    pub(crate) fn measure_links(&mut self, outcome: &mut Outcome) {
        let mut sheet = Sheet::default();
        let span = self.end - self.warmup;
        let greedy_flows = self.greedy_flows();
        for (index, link) in self.network.links.iter_mut().enumerate() {
            let (stats, arrivals) = (&link.stats, link.arrivals());
            let lengths = stats.length.histogram();
            sheet.put(index, L_MEAN_QUEUE_LENGTH, lengths.mean());
            sheet.put(index, L_P95_QUEUE_LENGTH, lengths.quantile(0.95));
            sheet.put(index, L_MAX_QUEUE_LENGTH, lengths.max().map(|v| v as f64));
            sheet.put(index, L_MEAN_QUEUE_BYTES, stats.bytes.mean());
            sheet.put(index, L_MAX_QUEUE_BYTES, stats.max_bytes as f64);
            sheet.put(index, L_MEAN_SOJOURN, stats.sojourn.mean().map(|v| v * MS));
            let quantiles = [
                (0.5, L_P50_SOJOURN),
                (0.95, L_P95_SOJOURN),
                (0.99, L_P99_SOJOURN),
            ];
            sheet.quantiles(index, &stats.sojourn, &quantiles);
            sheet.put(
                index,
                L_MAX_SOJOURN,
                stats.sojourn.max().map(|v| v as f64 * MS),
            );
            sheet.put(index, L_ARRIVALS, arrivals as f64);
            sheet.put(index, L_BACKLOG_PACKETS, link.queue.packets() as f64);
            sheet.put(index, L_BACKLOG_BYTES, link.queue.bytes() as f64);
            sheet.put(index, L_DROPS, stats.drops as f64);
            sheet.put(
                index,
                L_LOSS_RATE,
                (arrivals > 0).then(|| stats.drops as f64 / arrivals as f64),
            );
            sheet.put(index, L_MARKS, stats.marks as f64);
            let losses = &stats.losses;
            let interval = losses.mean_interval().map(|v| v * MS);
            sheet.put(index, L_MEAN_LOSS_INTERVAL, interval);
            sheet.put(index, L_LOSS_EVENTS, losses.events as f64);
            sheet.put(index, L_MEAN_LOSS_EVENT_SIZE, losses.mean_size());
            let flows = greedy_flows[link.number as usize];
            let together = losses.synchronization(flows).filter(|_| flows > 1);
            sheet.put(index, L_LOSS_SYNCHRONIZATION, together);
            sheet.put(index, L_THROUGHPUT, mbps(stats.sent_bytes as f64, span));
            sheet.put(index, L_UTILIZATION, link.whole(span).1);
            let reported = link.queue.stats();
            outcome.queue_stats.extend(
                reported
                    .into_iter()
                    .map(|(name, value)| (index as u32, name, value)),
            );
            for (quantity, histogram) in [
                ("sojourn", take(&mut link.stats.sojourn)),
                ("queue_packets", lengths),
            ] {
                outcome.distributions.push(Distribution {
                    scope: "link",
                    entity: index as u32,
                    quantity,
                    histogram,
                });
            }
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
            Place::Link(i) | Place::Bearer(i) => Some(
                self.network.links[i as usize]
                    .whole(self.end - self.warmup)
                    .0,
            ),
            _ => None,
        }
    }
}
