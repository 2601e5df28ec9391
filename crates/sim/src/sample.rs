//! What is looked at every sample interval, and the end of the warm-up.

use bloatlab_units::{NEVER, Nanos, SECOND};

use bloatlab_outcome::mbps;

use crate::control::Stopped;
use crate::engine::Engine;
use crate::flow::{Flow, TcpFlow};
use crate::schedule::clock;

impl Engine<'_> {
    #[cold]
    pub(crate) fn on_sample(&mut self) -> Result<(), Stopped> {
        self.sample();
        let next = self.now() + self.sample_interval;
        if next < self.end {
            self.network.schedule.measure_at(next, clock::SAMPLE);
        }
        // A sample of many flows is as much work as many events.
        self.control.heed()
    }

    /// Adds a row for every link and every flow that is alive.
    pub(crate) fn sample(&mut self) {
        self.network.catch_up();
        let (now, from) = (self.now(), self.sampled_at);
        let span = now - from;
        if span == 0 {
            return;
        }
        let time = now as f64 / SECOND as f64;
        let mut index = 0;
        for &place in &self.places {
            let Some(station) = self.network.station_mut(place) else {
                continue;
            };
            let (utilization, rate) = station.sample(now, span);
            let backlog = station.backlog_mut();
            let bytes = backlog.stats.take_bytes();
            let interval = backlog.stats.take_interval();
            self.link_series.extend(
                time,
                &[(
                    index,
                    [
                        backlog.packets as f64,
                        backlog.bytes as f64,
                        interval.mean_sojourn(),
                        mbps(bytes as f64, span),
                        utilization,
                        interval.drops as f64,
                        interval.marks as f64,
                        rate * 1e-6,
                    ],
                )],
            );
            index += 1;
        }
        let mut rows = std::mem::take(&mut self.rows);
        for (index, flow) in self.flows.iter_mut().enumerate() {
            let account = &mut self.network.accounts[index];
            let sojourn = account.sample_waits();
            let (Some(rank), true) = (
                self.ranks[index].0,
                account.start < now && from < account.stop,
            ) else {
                continue;
            };
            let row = match flow {
                Flow::Tcp(flow) if from < flow.completed_at => flow.sample(span, from, sojourn),
                Flow::Udp(flow) => {
                    let row = [
                        mbps((flow.bytes - flow.sampled_bytes) as f64, span),
                        mbps((flow.sent_bytes - flow.sampled_sent) as f64, span),
                        f64::NAN,
                        f64::NAN,
                        f64::NAN,
                        f64::NAN,
                        f64::NAN,
                        f64::NAN,
                        sojourn,
                    ];
                    flow.sampled_bytes = flow.bytes;
                    flow.sampled_sent = flow.sent_bytes;
                    if from >= flow.since {
                        flow.samples.add(row[0], f64::NAN);
                    }
                    row
                }
                _ => continue,
            };
            rows.push((rank, row));
        }
        self.flow_series.extend(time, &rows);
        rows.clear();
        self.rows = rows;
        self.sampled_at = now;
    }

    #[cold]
    pub(crate) fn on_warmup(&mut self) {
        let now = self.now();
        self.network.catch_up();
        for &place in &self.places {
            if let Some(station) = self.network.station_mut(place) {
                station.reset(now);
            }
        }
        for (account, flow) in self.network.accounts.iter_mut().zip(&mut self.flows) {
            account.reset();
            match flow {
                Flow::Tcp(flow) if account.start <= now && flow.stats.since == NEVER => {
                    flow.reset(now)
                }
                _ => {}
            }
        }
    }
}

impl TcpFlow {
    /// The row of an interval that began at `from` and lasted `span`.
    fn sample(&mut self, span: Nanos, from: Nanos, sojourn: f64) -> [f64; 9] {
        let (sent, arrived) = (self.sender_stats(), self.arrived());
        let sender = &self.ends[0].sender;
        let stats = &mut self.stats;
        let srtt = if sender.rtt.srtt > 0 {
            sender.rtt.srtt as f64 * 1e-6
        } else {
            f64::NAN
        };
        let samples = &mut stats.samples;
        let throughput = mbps((arrived - samples.arrived) as f64, span);
        let rates = stats.rates - samples.rates;
        let threshold = sender.window.ssthresh as f64;
        let row = [
            throughput,
            mbps((sent.bytes - samples.bytes_sent) as f64, span),
            if rates > 0 {
                (stats.rate_sum - samples.rate_sum) / rates as f64 * 8e3
            } else {
                f64::NAN
            },
            sender.window.cwnd as f64 / self.mss,
            // Before the first congestion there is no threshold.
            if threshold < 1e15 {
                threshold / self.mss
            } else {
                f64::NAN
            },
            sender.in_flight() as f64 / self.mss,
            srtt,
            sent.retransmissions as f64,
            sojourn,
        ];
        samples.arrived = arrived;
        samples.bytes_sent = sent.bytes;
        samples.rate_sum = stats.rate_sum;
        samples.rates = stats.rates;
        if from >= stats.since {
            samples.add(throughput, srtt);
        }
        row
    }
}
