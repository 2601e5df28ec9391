//! All links of the kernel in a run: their samples and their part of the outcome.

use std::io;

use bloatlab_outcome::metrics::{
    F_DROPPED_AQM, F_DROPPED_OVERFLOW, F_DROPS_L4, F_LOSS_RATE_L4, F_MARKS_L4,
    F_MEAN_THROUGHPUT_L4, F_MEAN_UTILIZATION_BDP_L4, F_MEAN_UTILIZATION_BDP_MEASURED_L4,
    F_MEAN_UTILIZATION_BW_L4, F_RESIDUE, F_RX_PACKETS, F_TX_PACKETS, L_LOSS_EVENTS,
};
use bloatlab_outcome::{Candidate, Distribution, Flows, LinkInfo, MS, MetricId, Outcome, Sheet};
use bloatlab_scenario::Plan;
use bloatlab_units::{Nanos, SECOND};

use crate::kernel_link::KernelLink;

/// Metrics of flows that count packets in our network. The kernel's links come before it, so there are none.
const COUNTED_BY_US: [MetricId; 8] = [
    F_DROPPED_AQM,
    F_DROPPED_OVERFLOW,
    F_DROPS_L4,
    F_LOSS_RATE_L4,
    F_MARKS_L4,
    F_RESIDUE,
    F_RX_PACKETS,
    F_TX_PACKETS,
];

/// A link and its sample.
pub(crate) type Row = (u32, [f64; 8]);

/// The links of the kernel in a run.
#[derive(Default)]
pub(crate) struct KernelLinks {
    links: Vec<KernelLink>,
    sample_interval: Nanos,
    next_sample: Nanos,
    warmup: Nanos,
    is_warm: bool,
    /// Rows of the links by their instant, s.
    rows: Vec<(f64, Vec<Row>)>,
}

impl KernelLinks {
    /// The links of a plan, which have been made.
    pub fn new(plan: &Plan, links: Vec<KernelLink>) -> Self {
        Self {
            links,
            sample_interval: plan.sample_interval,
            next_sample: plan.sample_interval,
            warmup: plan.warmup,
            is_warm: plan.warmup == 0,
            rows: Vec::new(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The link with this index.
    pub fn link(&mut self, index: usize) -> &mut KernelLink {
        &mut self.links[index]
    }

    /// Does something with the link of a box, if packets cross it.
    ///
    /// # Errors
    /// It fails.
    pub fn of_box(
        &mut self,
        number: usize,
        act: impl FnOnce(&mut KernelLink) -> io::Result<()>,
    ) -> io::Result<()> {
        let found = self.links.iter_mut().find(|link| link.number == number);
        found.map_or(Ok(()), act)
    }

    /// When something is to be done next.
    pub fn next_at(&self) -> Nanos {
        let changes = self.links.iter().map(KernelLink::next_at);
        let sample = if self.links.is_empty() {
            Nanos::MAX
        } else {
            self.next_sample
        };
        changes.fold(sample, Nanos::min)
    }

    /// Sets rates and takes samples that are due.
    ///
    /// Returns whether there is a new sample.
    ///
    /// # Errors
    /// A device is gone.
    pub fn turn(&mut self, now: Nanos) -> io::Result<bool> {
        for link in &mut self.links {
            link.vary(now)?;
        }
        if !self.is_warm && now >= self.warmup {
            self.is_warm = true;
            self.links.iter_mut().try_for_each(|link| link.reset(now))?;
        }
        let is_due = !self.links.is_empty() && now >= self.next_sample;
        if is_due {
            self.sample(now)?;
            self.next_sample += self.sample_interval;
        }
        Ok(is_due)
    }

    /// The rows of the last sample, and its instant in s.
    pub fn last_sample(&self) -> Option<&(f64, Vec<Row>)> {
        self.rows.last()
    }

    fn sample(&mut self, now: Nanos) -> io::Result<()> {
        let links = self.links.iter_mut().enumerate();
        let rows = links.map(|(index, link)| Ok((index as u32, link.sample(now)?)));
        let rows = rows.collect::<io::Result<_>>()?;
        self.rows.push((now as f64 / SECOND as f64, rows));
        Ok(())
    }

    /// Measures the flows whose data shares a link. Our network has no links, so it took all flows together.
    fn measure_shares(&self, plan: &Plan, end: Nanos, sheet: &mut Sheet, outcome: &mut Outcome) {
        let warmup = if self.is_warm { self.warmup } else { 0 };
        let (from, to) = (warmup as f64 * 1e-9, end as f64 * 1e-9);
        let flows = Flows::new(&outcome.flows, &outcome.flow_metrics, from, to);
        let with_data = plan.all_flows().filter(|flow| flow.traffic.has_data());
        let paths: Vec<&[usize]> = with_data.map(|flow| &flow.forward[..]).collect();
        let crosses = |link: &KernelLink, flow: usize| paths[flow].contains(&link.number);
        let crossed = |link: &KernelLink| (0..paths.len()).any(|flow| crosses(link, flow));
        let mut candidates = Vec::new();
        for (index, link) in self.links.iter().enumerate() {
            let rate = link.mean_rate(end - warmup) * 1e-6;
            flows.measure_link(sheet, index, &|flow| crosses(link, flow), Some(rate));
            if crossed(link) {
                let queue = link.stats.length.histogram().mean().unwrap_or(0.0);
                candidates.push(Candidate {
                    shared: link,
                    rate,
                    queue,
                });
            }
        }
        if let Some(found) = Candidate::slowest(candidates.into_iter()) {
            let shares = |flow: usize| crosses(found.shared, flow);
            outcome.network_metrics = flows.measure_network(&shares, Some(found.rate));
        }
    }

    /// Measures how much of the slowest link on its path each flow uses, in `span` ns. Our network has no links to compare with.
    fn measure_use(&self, plan: &Plan, span: Nanos, outcome: &mut Outcome) {
        let with_data = plan.all_flows().filter(|flow| flow.traffic.has_data());
        let mut sheet = Sheet::default();
        for (rank, flow) in with_data.enumerate() {
            let crossed = self.links.iter();
            let crossed = crossed.filter(|link| flow.forward.contains(&link.number));
            let rates = crossed.map(|link| link.mean_rate(span));
            let Some(rate) = rates.reduce(f64::min) else {
                continue;
            };
            let value = |metric: MetricId| {
                let mut values = outcome.flow_metrics.iter();
                let found = values.find(|v| v.entity as usize == rank && v.metric == metric);
                found.map(|v| v.value)
            };
            let share = value(F_MEAN_THROUGHPUT_L4).map(|throughput| throughput * 1e6 / rate);
            let measured = value(F_MEAN_UTILIZATION_BDP_MEASURED_L4);
            let of_rate = share
                .zip(measured)
                .map(|(share, measured)| share * measured);
            sheet.put(
                rank,
                F_MEAN_UTILIZATION_BW_L4,
                share.filter(|_| flow.traffic.is_tcp()),
            );
            sheet.put(rank, F_MEAN_UTILIZATION_BDP_L4, of_rate);
        }
        outcome.flow_metrics.append(&mut sheet.0);
    }

    /// Adds the links to the outcome of our network.
    ///
    /// # Errors
    /// A device is gone.
    pub fn finish(mut self, plan: &Plan, end: Nanos, outcome: &mut Outcome) -> io::Result<()> {
        if self.links.is_empty() {
            return Ok(());
        }
        self.sample(end.max(self.next_sample - self.sample_interval + 1))?;
        let warmup = if self.is_warm { self.warmup } else { 0 };
        for (time, rows) in &self.rows {
            outcome.link_series.extend(*time, rows);
        }
        let mut sheet = Sheet::default();
        for (index, link) in self.links.iter_mut().enumerate() {
            let end = link.at_end(end, end - warmup)?;
            link.stats.measure(&mut sheet, index, &end);
            let reported = link.queue_statistics()?;
            outcome.queue_stats.extend(
                reported
                    .into_iter()
                    .map(|(name, value)| (index as u32, name, value)),
            );
            let planned = link.planned();
            outcome.links.push(LinkInfo {
                name: plan.boxes[link.number].name.clone(),
                rate: planned.rate.0 as f64 * 1e-6,
                delay: planned.delay as f64 * MS,
                queue: planned.queue.kind(),
                bearer: None,
            });
            for (quantity, histogram) in [
                ("sojourn", std::mem::take(&mut link.stats.sojourn)),
                ("queue_packets", link.stats.length.histogram()),
            ] {
                outcome.distributions.push(Distribution {
                    scope: "link",
                    entity: index as u32,
                    quantity,
                    histogram,
                });
            }
        }
        self.measure_shares(plan, end, &mut sheet, outcome);
        self.measure_use(plan, end - warmup, outcome);
        // The kernel does not say which flow a dropped packet belongs to.
        sheet.0.retain(|value| value.metric != L_LOSS_EVENTS);
        outcome.link_metrics = sheet.0;
        outcome
            .flow_metrics
            .retain(|value| !COUNTED_BY_US.contains(&value.metric));
        Ok(())
    }
}
