//! Takes the samples at each sample interval, and ends the warm-up.

use bloatlab_units::{NEVER, SECOND};

use bloatlab_outcome::mbps;

use crate::control::Stopped;
use crate::engine::Engine;
use crate::flow::Flow;
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

    /// Adds a row for every link and every active flow.
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
                Flow::Tcp(flow) if from < flow.completed_at => {
                    let (totals, state) = (flow.totals(), flow.sender_state());
                    flow.stats.sample(&totals, &state, (from, span), sojourn)
                }
                Flow::Outside(flow) if from < flow.completed_at => {
                    let (totals, state) = (flow.totals(), flow.sender_state());
                    flow.stats.sample(&totals, &state, (from, span), sojourn)
                }
                Flow::Udp(flow) => {
                    let row = [
                        mbps((flow.arrived - flow.sampled_arrived) as f64, span),
                        mbps((flow.departed - flow.sampled_departed) as f64, span),
                        f64::NAN,
                        f64::NAN,
                        f64::NAN,
                        f64::NAN,
                        f64::NAN,
                        f64::NAN,
                        sojourn,
                    ];
                    flow.sampled_arrived = flow.arrived;
                    flow.sampled_departed = flow.departed;
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
            account.reset(now);
            match flow {
                Flow::Tcp(flow) if account.start <= now && flow.stats.since == NEVER => {
                    flow.reset(now)
                }
                Flow::Outside(flow) if account.start <= now && flow.stats.since == NEVER => {
                    flow.reset(now)
                }
                _ => {}
            }
        }
    }
}
