//! Metrics of flows and probes.

use std::mem::take;

use bloatlab_aqm::DropReason;
use bloatlab_units::{NEVER, Nanos};

use crate::datagrams::UdpFlow;
use crate::engine::Engine;
use crate::flow::{Flow, since};
use crate::samples::Samples;
use crate::tcp_stats::{TcpStats, Totals};
use bloatlab_outcome::Histogram;
use bloatlab_outcome::mbps;
use bloatlab_outcome::metrics::*;
use bloatlab_outcome::{Distribution, Outcome};
use bloatlab_outcome::{MS, Sheet};

impl Engine<'_> {
    pub(crate) fn measure_flows(&self, outcome: &mut Outcome) {
        let mut sheet = Sheet::default();
        let mut probes = Sheet::default();
        for (index, flow) in self.flows.iter().enumerate() {
            if self.control.heed().is_err() {
                return;
            }
            let account = &self.network.accounts[index];
            match flow {
                Flow::Tcp(tcp) => {
                    let tcp = (&tcp.stats, &tcp.totals());
                    self.measure_tcp((&mut sheet, &mut probes), index, tcp);
                }
                Flow::Outside(tcp) => {
                    let tcp = (&tcp.stats, &tcp.totals());
                    self.measure_tcp((&mut sheet, &mut probes), index, tcp);
                }
                Flow::Udp(udp) => {
                    let Some(rank) = self.ranks[index].0.map(|r| r as usize) else {
                        continue;
                    };
                    let lifetime = account.stop.min(self.end).saturating_sub(udp.since);
                    measure_udp(&mut sheet, rank, udp, lifetime);
                    let (lost, sent) = (account.lost_datagrams() as f64, account.sent);
                    let rate = (sent > 0).then(|| lost / sent as f64);
                    sheet.put(rank, F_LOSS_RATE_L4, rate);
                }
                Flow::Echo(echo) => {
                    let Some(probe) = self.ranks[index].1 else {
                        continue;
                    };
                    let lost = echo.sent - echo.rtt.total().min(echo.sent);
                    measure_probe(&mut probes, probe as usize, &echo.rtt, lost);
                }
            }
            if let Some(rank) = self.ranks[index].0.map(|r| r as usize) {
                sheet.put(rank, F_TX_PACKETS, account.sent as f64);
                sheet.put(rank, F_RX_PACKETS, account.received as f64);
                sheet.put(rank, F_RESIDUE, account.residue() as f64);
                for (reason, metric) in [
                    (DropReason::Overflow, F_DROPPED_OVERFLOW),
                    (DropReason::Aqm, F_DROPPED_AQM),
                ] {
                    sheet.put(rank, metric, account.dropped[reason as usize] as f64);
                }
                sheet.put(rank, F_DROPS_L4, account.drops as f64);
                let corrupts = |&number: &usize| self.plan.boxes[number].kind.corrupts();
                let checked = self.plan.flows[index].forward.iter().any(corrupts);
                let discards = checked.then_some(account.discards as f64);
                sheet.put(rank, F_CHECKSUM_DISCARDS_L4, discards);
                sheet.put(rank, F_MARKS_L4, account.marks as f64);
                sheet.put(
                    rank,
                    F_MEAN_SOJOURN_L4,
                    account.sojourn.mean().map(|v| v * MS),
                );
                sheet.quantiles(
                    rank,
                    &account.sojourn,
                    &[
                        (0.5, F_P50_SOJOURN_L4),
                        (0.95, F_P95_SOJOURN_L4),
                        (0.99, F_P99_SOJOURN_L4),
                    ],
                );
            }
        }
        outcome.flow_metrics = sheet.0;
        outcome.probe_metrics = probes.0;
    }

    /// Moves the flows' histograms into the outcome.
    pub(crate) fn hand_over_distributions(&mut self, outcome: &mut Outcome) {
        let accounts = &mut self.network.accounts;
        for (index, (flow, account)) in self.flows.iter_mut().zip(accounts).enumerate() {
            let (rank, probe) = self.ranks[index];
            let mut hand_over = |scope, entity, quantity, histogram: &mut Histogram| {
                outcome.distributions.push(Distribution {
                    scope,
                    entity,
                    quantity,
                    histogram: take(histogram),
                });
            };
            match flow {
                Flow::Tcp(_) | Flow::Outside(_) => {
                    let Some(stats) = flow.tcp_stats() else {
                        continue;
                    };
                    if let Some(rank) = rank {
                        hand_over("flow", rank, "rtt", &mut stats.rtt);
                    }
                    if let (Some(_), Some(probe)) = (rank, probe) {
                        let fetches = stats.fetches.get_or_insert_default();
                        hand_over("probe", probe, "fetch_time", fetches);
                    }
                }
                Flow::Udp(udp) => {
                    if let Some(rank) = rank {
                        hand_over("flow", rank, "one_way_delay", &mut udp.delay);
                    }
                }
                Flow::Echo(echo) => {
                    if let Some(probe) = probe {
                        hand_over("probe", probe, "rtt", &mut echo.rtt);
                    }
                }
            }
            if let Some(rank) = rank {
                hand_over("flow", rank, "sojourn", &mut account.sojourn);
            }
        }
    }

    /// From when a flow counts to when it ends.
    fn lifetime(&self, index: usize, stats: &TcpStats, completed_at: Nanos) -> Nanos {
        let stop = self.network.accounts[index]
            .stop
            .min(self.end)
            .min(completed_at);
        stop.saturating_sub(stats.since)
    }

    /// Measures a TCP flow, and the pages that it fetched.
    fn measure_tcp(
        &self,
        (sheet, probes): (&mut Sheet, &mut Sheet),
        index: usize,
        (stats, totals): (&TcpStats, &Totals),
    ) {
        let (Some(rank), probe) = self.ranks[index] else {
            return;
        };
        self.measure_connection(sheet, rank as usize, index, (stats, totals));
        if let Some(probe) = probe {
            let probe = probe as usize;
            measure_probe(
                probes,
                probe,
                stats.fetches.as_deref().unwrap_or(&Histogram::EMPTY),
                stats.failed_fetches,
            );
            if totals.knows_sender {
                let (waits, base) = (totals.waits, stats.waits_base);
                for (metric, count, before) in [
                    (P_SYN_RETRANSMISSIONS, waits.syns, base.syns),
                    (P_LOST_SYNS, waits.connections, base.connections),
                    (P_RTOS, waits.rtos, base.rtos),
                ] {
                    probes.put(probe, metric, (count - before) as f64);
                }
            }
        }
    }

    fn measure_connection(
        &self,
        sheet: &mut Sheet,
        rank: usize,
        index: usize,
        (stats, totals): (&TcpStats, &Totals),
    ) {
        let lifetime = self.lifetime(index, stats, totals.completed_at);
        if stats.since > self.end || lifetime == 0 {
            return;
        }
        let sent = since(&totals.sent, &stats.base);
        let base_rtt = self.plan.flows[index].base_rtt as f64;
        let rate = self.bottleneck(&self.plan.flows[index]);
        let (arrived, delivered, averages) = match &stats.by_stop {
            Some(then) => (then.arrived, then.delivered, &then.averages),
            None => (totals.arrived, stats.delivered, &stats.averages),
        };
        let throughput = mbps((arrived - stats.arrived_base) as f64, lifetime);
        let known = |value: Option<f64>| value.filter(|_| totals.knows_sender);
        let srtt = known(averages.srtt());
        sheet.put(rank, F_MEAN_THROUGHPUT_L4, throughput);
        sheet.put(rank, F_MEAN_THROUGHPUT_L7, mbps(delivered as f64, lifetime));
        sheet.put(
            rank,
            F_MEAN_SENDING_RATE_L4,
            mbps(sent.bytes as f64, lifetime),
        );
        let written = (totals.written - stats.written_base) as f64;
        sheet.put(rank, F_MEAN_SENDING_RATE_L7, mbps(written, lifetime));
        let per_rate = |sum: f64| (stats.rates > 0).then(|| sum / stats.rates as f64 * 8e3);
        sheet.put(rank, F_MEAN_DELIVERY_RATE_L4, per_rate(stats.rate_sum));
        sheet.put(rank, F_MEAN_SRTT_L4, srtt.map(|v| v * MS));
        sheet.put(
            rank,
            F_MEAN_EST_QDELAY_L4,
            srtt.map(|v| (v - base_rtt) * MS),
        );
        if totals.min_rtt < NEVER {
            sheet.put(rank, F_MIN_RTT_L4, totals.min_rtt as f64 * MS);
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
            known(averages.cwnd.mean()).map(|v| v / totals.mss),
        );
        sheet.put(
            rank,
            F_MEAN_IN_FLIGHT_L4,
            known(averages.in_flight.mean()).map(|v| v / totals.mss),
        );
        sheet.put(rank, F_COV_IN_FLIGHT_L4, known(averages.in_flight.cov()));
        put_samples(sheet, rank, &stats.samples);
        sheet.put(rank, F_FLOW_COMPLETION_TIME_L4, lifetime as f64 * 1e-9);
        if totals.first_read_at != NEVER {
            let began = self.network.accounts[index].start;
            let start_up = (totals.first_read_at - began) as f64 * MS;
            sheet.put(rank, F_FLOW_START_UP_TIME_L4, start_up);
        }
        sheet.put(rank, F_MEAN_IDT_EWMA_L4, stats.mean_idt().map(|v| v * MS));
        let delay = (stats.delivered > 0).then(|| stats.delay_sum / stats.delivered as f64 * MS);
        sheet.put(rank, F_MEAN_ONE_WAY_DELAY_L7, delay);
        if totals.knows_recovery {
            let time = sent.recovery_time as f64;
            let recovery = (sent.recovered > 0).then(|| time / sent.recovered as f64 * MS);
            sheet.put(rank, F_MEAN_RECOVERY_TIME_L4, recovery);
            sheet.put(rank, F_TOTAL_RECOVERIES_L4, sent.recoveries as f64);
        }
        sheet.put(
            rank,
            F_TOTAL_RETRANSMISSIONS_L4,
            known(Some(sent.retransmissions as f64)),
        );
        sheet.put(rank, F_TOTAL_RTOS_L4, known(Some(sent.rtos as f64)));
        let given_up = totals.handshakes_given_up as f64;
        sheet.put(rank, F_HANDSHAKES_GIVEN_UP_L4, given_up);
        if totals.knows_recovery {
            sheet.put(rank, F_TOTAL_TAIL_LOSS_PROBES_L4, sent.probes as f64);
            sheet.put(rank, F_TOTAL_ECN_REDUCTIONS_L4, sent.ecn_reductions as f64);
            sheet.put(rank, F_TOTAL_UNDONE_REDUCTIONS_L4, sent.undone as f64);
        }
        let wire = (totals.mss + f64::from(bloatlab_tcp::segment::HEADER)) / totals.mss;
        let on_wire = known(averages.in_flight.mean()).map(|v| v * wire * 8e9 / base_rtt);
        // Without a link there is no rate to compare with.
        let of_rate = |v: f64| rate.is_finite().then(|| v / rate);
        sheet.put(rank, F_MEAN_UTILIZATION_BDP_L4, on_wire.and_then(of_rate));
        sheet.put(
            rank,
            F_MEAN_UTILIZATION_BDP_MEASURED_L4,
            on_wire.map(|v| v / (throughput * 1e6)),
        );
        sheet.put(rank, F_MEAN_UTILIZATION_BW_L4, of_rate(throughput * 1e6));
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
            (0.5, F_P50_ONE_WAY_DELAY_L4),
            (0.95, F_P95_ONE_WAY_DELAY_L4),
            (0.99, F_P99_ONE_WAY_DELAY_L4),
        ],
    );
    sheet.put(rank, F_MEAN_JITTER_L4, flow.jitter * MS);
    put_samples(sheet, rank, &flow.samples);
    let monitor = &flow.monitor;
    sheet.put(rank, F_THROUGHPUT, monitor.throughput());
    let received = flow.delay.total();
    sheet.put(rank, F_MEAN_DELAY, flow.delay.mean().map(|v| v * MS));
    let jitter = |pairs: u64| monitor.jitter as f64 / pairs as f64 * MS;
    sheet.put(
        rank,
        F_MEAN_JITTER,
        (received > 1).then(|| jitter(received - 1)),
    );
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
