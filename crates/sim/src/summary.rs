//! From what was counted to the outcome.

use bloatlab_scenario::{PlanBoxKind, Traffic};
use bloatlab_units::Nanos;

use crate::boxes::Count;
use crate::engine::Engine;
use crate::flow::{Flow, Samples, TcpFlow, UdpFlow, since};
use crate::histogram::Histogram;
use crate::metrics::*;
use crate::network::Place;
use crate::outcome::{Distribution, FlowInfo, Handshake, LinkInfo, Outcome, ProbeInfo, Value};
use crate::sample::mbps;

const MS: f64 = 1e-6;

/// Collects metric values; one that does not exist is left out.
#[derive(Default)]
struct Sheet(Vec<Value>);

impl Sheet {
    fn put(&mut self, entity: usize, metric: Metric, value: impl Into<Option<f64>>) {
        if let Some(value) = value.into().filter(|v| v.is_finite()) {
            self.0.push(Value {
                entity,
                metric,
                value,
            });
        }
    }

    fn quantiles(&mut self, entity: usize, histogram: &Histogram, metrics: &[(f64, Metric)]) {
        for &(fraction, metric) in metrics {
            self.put(entity, metric, histogram.quantile(fraction).map(|v| v * MS));
        }
    }
}

impl Engine<'_> {
    /// Ends the run: the last sample, the averages, the metrics.
    pub(crate) fn finish(mut self) -> Outcome {
        self.network.schedule.now = self.end;
        let end = self.end;
        self.sample();
        for link in &mut self.network.links {
            // What is still on the wire counts only as far as it was sent.
            link.stats.busy -= link.busy_until.saturating_sub(end).min(link.stats.busy);
            link.set_length(end, link.packets, link.bytes);
        }
        for flow in &mut self.flows {
            if let Flow::Tcp(flow) = flow
                && flow.stats.since <= end
            {
                flow.observe(
                    end.min(flow.completed_at)
                        .max(flow.stats.in_flight.changed_at()),
                );
            }
        }
        let mut outcome = Outcome {
            events: self.events,
            ..Outcome::default()
        };
        self.describe(&mut outcome);
        self.measure_flows(&mut outcome);
        self.measure_links(&mut outcome);
        self.measure_network(&mut outcome);
        outcome.flow_series = self.flow_series;
        outcome.link_series = self.link_series;
        outcome.probe_series = self.probe_series;
        outcome.packets = self.network.log.into_events();
        outcome
    }

    fn describe(&self, outcome: &mut Outcome) {
        for (index, planned) in self.plan.flows.iter().enumerate() {
            let passage = &self.network.passages[index];
            outcome.flow_names.push(planned.name.clone());
            outcome.handshakes.push(match &self.flows[index] {
                Flow::Tcp(flow) => {
                    let window_scale = flow.ends[1].receiver.window_scale();
                    Handshake {
                        window_scale,
                        mss: planned.tcp.mss,
                    }
                }
                _ => Handshake::default(),
            });
            if let Some(rank) = self.ranks[index].1 {
                debug_assert_eq!(rank as usize, outcome.probes.len());
                let (interval, size) = match &planned.traffic {
                    Traffic::Ping { interval, size } => (interval.0, size.0),
                    Traffic::Fetch {
                        interval, response, ..
                    } => (interval.0, response.0),
                    _ => (0, 0),
                };
                let interval = interval as f64 * MS;
                outcome.probes.push(ProbeInfo {
                    name: planned.name.clone(),
                    interval,
                    size,
                });
            }
            if self.ranks[index].0.is_some() {
                let tcp = matches!(self.flows[index], Flow::Tcp(_));
                outcome.flows.push(FlowInfo {
                    name: planned.name.clone(),
                    cca: if tcp {
                        planned.cca.kind().to_owned()
                    } else {
                        String::new()
                    },
                    traffic: traffic_name(&planned.traffic),
                    start: passage.start as f64 * 1e-9,
                    stop: passage.stop as f64 * 1e-9,
                    base_rtt: planned.base_rtt as f64 * MS,
                    mss: planned.tcp.mss,
                });
            }
        }
        for planned in &self.plan.boxes {
            if let PlanBoxKind::Link(link) = &planned.kind {
                outcome.links.push(LinkInfo {
                    name: planned.name.clone(),
                    rate: link.rate.0 as f64 * 1e-6,
                    delay: link.delay as f64 * MS,
                    queue: link.queue.kind(),
                });
            }
        }
        let counts = self
            .places
            .iter()
            .zip(&self.box_names)
            .map(|(place, name)| (name.clone(), self.count(*place)));
        outcome.counts = counts.collect();
    }

    fn count(&self, place: Place) -> Count {
        match place {
            Place::Link(i) => Count {
                held: self.network.links[i as usize].held(),
                ..self.network.links[i as usize].count
            },
            Place::Delay(i) => {
                let line = &self.network.delays[i as usize];
                Count {
                    held: line.flight.len() as u64,
                    ..line.count
                }
            }
            Place::Loss(i) => self.network.losses[i as usize].count,
            Place::Host => Count::default(),
        }
    }

    fn measure_flows(&self, outcome: &mut Outcome) {
        let mut sheet = Sheet::default();
        let mut probes = Sheet::default();
        for (index, flow) in self.flows.iter().enumerate() {
            let planned = &self.plan.flows[index];
            let passage = &self.network.passages[index];
            let distribution = |scope, quantity, histogram: &Histogram| Distribution {
                scope,
                name: planned.name.clone(),
                quantity,
                histogram: histogram.clone(),
            };
            match flow {
                Flow::Tcp(tcp) => {
                    let Some(rank) = self.ranks[index].0.map(|r| r as usize) else {
                        continue;
                    };
                    let lifetime = self.lifetime(index, tcp);
                    self.measure_tcp(&mut sheet, rank, index, tcp, lifetime);
                    outcome
                        .distributions
                        .push(distribution("flow", "rtt", &tcp.stats.rtt));
                    if let Some(probe) = self.ranks[index].1 {
                        measure_probe(
                            &mut probes,
                            probe as usize,
                            &tcp.stats.fetches,
                            tcp.stats.failed_fetches,
                        );
                        outcome.distributions.push(distribution(
                            "probe",
                            "fetch_time",
                            &tcp.stats.fetches,
                        ));
                    }
                }
                Flow::Udp(udp) => {
                    let Some(rank) = self.ranks[index].0.map(|r| r as usize) else {
                        continue;
                    };
                    let lifetime = passage.stop.min(self.end).saturating_sub(udp.since);
                    measure_udp(&mut sheet, rank, udp, lifetime);
                    outcome
                        .distributions
                        .push(distribution("flow", "one_way_delay", &udp.delay));
                }
                Flow::Echo(echo) => {
                    let Some(probe) = self.ranks[index].1 else {
                        continue;
                    };
                    let lost = echo.sent - echo.rtt.total().min(echo.sent);
                    measure_probe(&mut probes, probe as usize, &echo.rtt, lost);
                    outcome
                        .distributions
                        .push(distribution("probe", "rtt", &echo.rtt));
                }
            }
            if let Some(rank) = self.ranks[index].0.map(|r| r as usize) {
                sheet.put(rank, F_DROPS_L4, passage.drops as f64);
                sheet.put(rank, F_MARKS_L4, passage.marks as f64);
                sheet.put(
                    rank,
                    F_MEAN_SOJOURN_L4,
                    passage.sojourn.mean().map(|v| v * MS),
                );
                sheet.quantiles(
                    rank,
                    &passage.sojourn,
                    &[(0.95, F_P95_SOJOURN_L4), (0.99, F_P99_SOJOURN_L4)],
                );
                outcome
                    .distributions
                    .push(distribution("flow", "sojourn", &passage.sojourn));
            }
        }
        outcome.flow_metrics = sheet.0;
        outcome.probe_metrics = probes.0;
    }

    /// From when a flow counts to when it ends.
    fn lifetime(&self, index: usize, flow: &TcpFlow) -> Nanos {
        let stop = self.network.passages[index]
            .stop
            .min(self.end)
            .min(flow.completed_at);
        stop.saturating_sub(flow.stats.since)
    }

    fn measure_tcp(
        &self,
        sheet: &mut Sheet,
        rank: usize,
        index: usize,
        flow: &TcpFlow,
        lifetime: Nanos,
    ) {
        if flow.stats.since > self.end || lifetime == 0 {
            return;
        }
        let stats = &flow.stats;
        let sent = since(&flow.sender_stats(), &stats.base);
        let base_rtt = self.plan.flows[index].base_rtt as f64;
        let rate = self.bottlenecks[index];
        let (arrived, delivered) = stats.by_stop.unwrap_or((flow.arrived(), stats.delivered));
        let throughput = mbps((arrived - stats.arrived_base) as f64, lifetime);
        let srtt = stats.srtt.mean();
        sheet.put(rank, F_MEAN_THROUGHPUT_L4, throughput);
        sheet.put(rank, F_MEAN_THROUGHPUT_L7, mbps(delivered as f64, lifetime));
        sheet.put(
            rank,
            F_MEAN_SENDING_RATE_L4,
            mbps(sent.bytes as f64, lifetime),
        );
        let written = (flow.log.written() - stats.written_base) as f64;
        sheet.put(rank, F_MEAN_SENDING_RATE_L7, mbps(written, lifetime));
        let per_rate = |sum: f64| (stats.rates > 0).then(|| sum / stats.rates as f64 * 8e3);
        sheet.put(rank, F_MEAN_DELIVERY_RATE_L4, per_rate(stats.rate_sum));
        sheet.put(rank, F_MEAN_SRTT_L4, srtt.map(|v| v * MS));
        sheet.put(
            rank,
            F_MEAN_EST_QDELAY_L4,
            srtt.map(|v| (v - base_rtt) * MS),
        );
        if flow.ends[0].sender.rtt.min < u64::MAX {
            sheet.put(rank, F_MIN_RTT_L4, flow.ends[0].sender.rtt.min as f64 * MS);
        }
        let quantiles = [
            (0.5, F_P50_RTT_L4),
            (0.95, F_P95_RTT_L4),
            (0.99, F_P99_RTT_L4),
        ];
        sheet.quantiles(rank, &stats.rtt, &quantiles);
        sheet.put(rank, F_MAX_RTT_L4, stats.rtt.max().map(|v| v as f64 * MS));
        sheet.put(
            rank,
            F_MEAN_CWND_L4,
            stats.cwnd.mean().map(|v| v / flow.mss),
        );
        sheet.put(
            rank,
            F_MEAN_IN_FLIGHT_L4,
            stats.in_flight.mean().map(|v| v / flow.mss),
        );
        sheet.put(rank, F_COV_IN_FLIGHT_L4, stats.in_flight.cov());
        put_samples(sheet, rank, &stats.samples);
        sheet.put(rank, F_FLOW_COMPLETION_TIME_L4, lifetime as f64 * 1e-9);
        sheet.put(
            rank,
            F_MEAN_IDT_EWMA_L4,
            (stats.idts > 0).then(|| stats.idt_sum / stats.idts as f64 * MS),
        );
        let delay = (stats.delivered > 0).then(|| stats.delay_sum / stats.delivered as f64 * MS);
        sheet.put(rank, F_MEAN_ONE_WAY_DELAY_L7, delay);
        let recovery =
            (sent.recovered > 0).then(|| sent.recovery_time as f64 / sent.recovered as f64 * MS);
        sheet.put(rank, F_MEAN_RECOVERY_TIME_L4, recovery);
        sheet.put(rank, F_TOTAL_RECOVERIES_L4, sent.recoveries as f64);
        sheet.put(
            rank,
            F_TOTAL_RETRANSMISSIONS_L4,
            sent.retransmissions as f64,
        );
        sheet.put(rank, F_TOTAL_RTOS_L4, sent.rtos as f64);
        sheet.put(rank, F_TOTAL_TAIL_LOSS_PROBES_L4, sent.probes as f64);
        sheet.put(rank, F_TOTAL_ECN_REDUCTIONS_L4, sent.ecn_reductions as f64);
        let wire = (flow.mss + f64::from(bloatlab_tcp::segment::HEADER)) / flow.mss;
        let on_wire = stats.in_flight.mean().map(|v| v * wire * 8e9 / base_rtt);
        sheet.put(rank, F_MEAN_UTILIZATION_BDP_L4, on_wire.map(|v| v / rate));
        sheet.put(
            rank,
            F_MEAN_UTILIZATION_BDP_MEASURED_L4,
            on_wire.map(|v| v / (throughput * 1e6)),
        );
        sheet.put(rank, F_MEAN_UTILIZATION_BW_L4, throughput * 1e6 / rate);
    }

    fn measure_links(&self, outcome: &mut Outcome) {
        let mut sheet = Sheet::default();
        let span = self.end - self.warmup;
        for (index, link) in self.network.links.iter().enumerate() {
            let stats = &link.stats;
            sheet.put(index, L_MEAN_QUEUE_LENGTH, stats.length.mean());
            sheet.put(index, L_P95_QUEUE_LENGTH, stats.length.quantile(0.95));
            sheet.put(
                index,
                L_MAX_QUEUE_LENGTH,
                stats.length.max().map(|v| v as f64),
            );
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
            sheet.put(index, L_ARRIVALS, stats.arrivals as f64);
            sheet.put(index, L_DROPS, stats.drops as f64);
            sheet.put(
                index,
                L_LOSS_RATE,
                (stats.arrivals > 0).then(|| stats.drops as f64 / stats.arrivals as f64),
            );
            sheet.put(index, L_MARKS, stats.marks as f64);
            sheet.put(index, L_THROUGHPUT, mbps(stats.sent_bytes as f64, span));
            sheet.put(index, L_UTILIZATION, stats.busy as f64 / span as f64);
            let reported = link.queue.stats();
            outcome.queue_stats.extend(
                reported
                    .into_iter()
                    .map(|(name, value)| (index, name, value)),
            );
            let name = &self.box_names[link.number as usize];
            for (quantity, histogram) in [
                ("sojourn", &stats.sojourn),
                ("queue_packets", &stats.length),
            ] {
                let histogram = histogram.clone();
                outcome.distributions.push(Distribution {
                    scope: "link",
                    name: name.clone(),
                    quantity,
                    histogram,
                });
            }
        }
        outcome.link_metrics = sheet.0;
    }

    fn measure_network(&self, outcome: &mut Outcome) {
        let of = |name: &str| -> Vec<f64> {
            outcome
                .flow_metrics
                .iter()
                .filter(|v| v.metric.name == name)
                .map(|v| v.value)
                .collect()
        };
        let throughputs = of(F_MEAN_THROUGHPUT_L4.name);
        let srtts = of(F_MEAN_SRTT_L4.name);
        let mut sheet = Sheet::default();
        let total: f64 = throughputs.iter().sum();
        let n = throughputs.len() as f64;
        if throughputs.is_empty() {
            return;
        }
        sheet.put(0, N_AGG_THROUGHPUT, total);
        sheet.put(0, N_CAPACITY_SHARE, total / self.capacity());
        let squares: f64 = throughputs.iter().map(|x| x * x).sum();
        sheet.put(
            0,
            N_JAIN_INDEX,
            (squares > 0.0).then(|| total * total / (n * squares)),
        );
        let largest = throughputs.iter().copied().fold(0.0, f64::max);
        let smallest = throughputs.iter().copied().fold(f64::INFINITY, f64::min);
        sheet.put(
            0,
            N_MIN_MAX_RATIO,
            (largest > 0.0).then(|| smallest / largest),
        );
        sheet.put(
            0,
            N_UTILITY_PF,
            throughputs.iter().map(|&x| libm::log(x)).sum::<f64>(),
        );
        sheet.put(
            0,
            N_UTILITY_MPDF,
            throughputs.iter().map(|x| -1.0 / x).sum::<f64>(),
        );
        if !srtts.is_empty() {
            let mean = srtts.iter().sum::<f64>() / srtts.len() as f64;
            sheet.put(0, N_MEAN_SRTT, mean);
            sheet.put(0, N_POWER, total / (mean * 1e-3));
        }
        sheet.put(
            0,
            N_TOTAL_RETRANSMISSIONS,
            of(F_TOTAL_RETRANSMISSIONS_L4.name).iter().sum::<f64>(),
        );
        sheet.put(
            0,
            N_TOTAL_RTOS,
            of(F_TOTAL_RTOS_L4.name).iter().sum::<f64>(),
        );
        outcome.network_metrics = sheet.0;
    }

    /// Mbit/s of all links that are the slowest on some flow's data path.
    fn capacity(&self) -> f64 {
        let mut used = vec![false; self.plan.boxes.len()];
        for (flow, &slowest) in self.plan.flows.iter().zip(&self.bottlenecks) {
            for &number in &flow.forward {
                if let PlanBoxKind::Link(link) = &self.plan.boxes[number].kind {
                    used[number] |= link.rate.0 as f64 == slowest;
                }
            }
        }
        let rates = self
            .plan
            .boxes
            .iter()
            .zip(&used)
            .filter(|(_, used)| **used)
            .map(|(b, _)| match &b.kind {
                PlanBoxKind::Link(link) => link.rate.0 as f64 * 1e-6,
                _ => 0.0,
            });
        rates.sum()
    }
}

fn put_samples(sheet: &mut Sheet, rank: usize, samples: &Samples) {
    let n = samples.count as f64;
    let mean = samples.throughput / n;
    let variance = (samples.squares / n - mean * mean).max(0.0);
    sheet.put(
        rank,
        F_COV_THROUGHPUT_L4,
        (mean > 0.0).then(|| libm::sqrt(variance) / mean),
    );
    sheet.put(
        rank,
        F_MEAN_NETWORK_POWER_L4,
        (samples.powers > 0).then(|| samples.power / samples.powers as f64),
    );
    let positive = samples.positive as f64;
    if samples.positive > 0 {
        sheet.put(
            rank,
            F_MEAN_UTILITY_PF_L4,
            samples.log_throughput / positive,
        );
        sheet.put(
            rank,
            F_MEAN_UTILITY_MPDF_L4,
            -samples.inverse_throughput / positive,
        );
    }
}

fn measure_udp(sheet: &mut Sheet, rank: usize, flow: &UdpFlow, lifetime: Nanos) {
    if lifetime == 0 {
        return;
    }
    let throughput = mbps(flow.bytes_by_stop.unwrap_or(flow.bytes) as f64, lifetime);
    sheet.put(rank, F_MEAN_THROUGHPUT_L4, throughput);
    sheet.put(rank, F_MEAN_THROUGHPUT_L7, throughput);
    sheet.put(
        rank,
        F_MEAN_SENDING_RATE_L4,
        mbps(flow.sent_bytes as f64, lifetime),
    );
    sheet.put(
        rank,
        F_MEAN_SENDING_RATE_L7,
        mbps(flow.sent_bytes as f64, lifetime),
    );
    sheet.put(rank, F_FLOW_COMPLETION_TIME_L4, lifetime as f64 * 1e-9);
    sheet.put(
        rank,
        F_MEAN_ONE_WAY_DELAY_L4,
        flow.delay.mean().map(|v| v * MS),
    );
    sheet.quantiles(
        rank,
        &flow.delay,
        &[
            (0.95, F_P95_ONE_WAY_DELAY_L4),
            (0.99, F_P99_ONE_WAY_DELAY_L4),
        ],
    );
    sheet.put(rank, F_MEAN_JITTER_L4, flow.jitter * MS);
    let lost = flow.sent.saturating_sub(flow.received) as f64;
    sheet.put(
        rank,
        F_LOSS_RATE_L4,
        (flow.sent > 0).then(|| lost / flow.sent as f64),
    );
    put_samples(sheet, rank, &flow.samples);
}

fn measure_probe(sheet: &mut Sheet, rank: usize, times: &Histogram, lost: u64) {
    sheet.put(rank, P_TRANSACTIONS, times.total() as f64);
    sheet.put(rank, P_LOST, lost as f64);
    sheet.put(rank, P_MEAN_RTT, times.mean().map(|v| v * MS));
    sheet.quantiles(
        rank,
        times,
        &[(0.5, P_P50_RTT), (0.95, P_P95_RTT), (0.99, P_P99_RTT)],
    );
    sheet.put(rank, P_MAX_RTT, times.max().map(|v| v as f64 * MS));
}

fn traffic_name(traffic: &Traffic) -> &'static str {
    match traffic {
        Traffic::Greedy => "greedy",
        Traffic::Finite { .. } => "finite",
        Traffic::Cbr { .. } => "cbr",
        Traffic::Poisson { .. } => "poisson",
        Traffic::OnOff { .. } => "on_off",
        Traffic::Fetch { .. } => "fetch",
        Traffic::Ping { .. } => "ping",
    }
}
