//! Computes the outcome from the counts of a run.

use bloatlab_scenario::PlanBoxKind;

use crate::RunError;
use crate::engine::Engine;
use crate::flow::Flow;
use crate::place::Place;
use bloatlab_outcome::Count;
use bloatlab_outcome::{FlowInfo, Handshake, LinkInfo, MS, Outcome, ProbeInfo};

impl Engine<'_> {
    /// Ends the run: takes the last sample, and computes the averages and metrics.
    pub(crate) fn finish(mut self) -> Result<Outcome, RunError> {
        self.network.schedule.now = self.end;
        let end = self.end;
        self.sample();
        for &place in &self.places {
            if let Some(station) = self.network.station_mut(place) {
                station.end(end);
            }
        }
        for flow in &mut self.flows {
            let completed_at = match flow {
                Flow::Tcp(flow) => flow.completed_at,
                Flow::Outside(flow) => flow.completed_at,
                Flow::Udp(_) | Flow::Echo(_) => continue,
            };
            if let Some(stats) = flow.tcp_stats()
                && stats.since <= end
            {
                stats.averages.advance(end.min(completed_at));
            }
        }
        let mut outcome = Outcome {
            events: self.events + self.network.ends,
            ..Outcome::default()
        };
        let stages: [fn(&mut Self, &mut Outcome); 5] = [
            |engine, outcome| engine.describe(outcome),
            |engine, outcome| engine.measure_flows(outcome),
            Self::hand_over_distributions,
            Self::measure_links,
            |engine, outcome| engine.measure_network(outcome),
        ];
        for stage in stages {
            // A stage of a run that is cancelled ends early.
            stage(&mut self, &mut outcome);
            self.control.heed()?;
        }
        outcome.flow_series = self.flow_series;
        outcome.link_series = self.link_series;
        outcome.probe_series = self.probe_series;
        outcome.packets = self.network.log.into_events();
        Ok(outcome)
    }

    fn describe(&self, outcome: &mut Outcome) {
        for (index, planned) in self.plan.flows.iter().enumerate() {
            if self.control.heed().is_err() {
                return;
            }
            let account = &self.network.accounts[index];
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
            if let Some(probe) = planned.traffic.probe() {
                outcome.probes.push(ProbeInfo {
                    name: planned.name.clone(),
                    interval: probe.interval.0 as f64 * MS,
                    size: probe.size.0,
                });
            }
            if self.ranks[index].0.is_some() {
                let tcp = matches!(self.flows[index], Flow::Tcp(_) | Flow::Outside(_));
                outcome.flows.push(FlowInfo {
                    name: planned.name.clone(),
                    cca: if tcp {
                        planned.cca.kind().to_owned()
                    } else {
                        String::new()
                    },
                    traffic: planned.traffic.kind(),
                    start: account.start as f64 * 1e-9,
                    stop: account.stop.min(self.end) as f64 * 1e-9,
                    base_rtt: planned.base_rtt as f64 * MS,
                    mss: planned.tcp.mss,
                });
            }
        }
        for planned in &self.plan.boxes {
            if let PlanBoxKind::Link(link) = &planned.kind {
                outcome.links.push(LinkInfo {
                    name: planned.name.clone(),
                    rate: link.capacity().0 as f64 * 1e-6,
                    delay: link.delay as f64 * MS,
                    queue: link.queue.kind(),
                    bearer: link.radio.map(|port| (port.ue, port.bearer % 2 == 1)),
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
            Place::Link(_) | Place::Bearer(_) | Place::Gate(_) => {
                let station = self.network.station(place);
                station.map_or(Count::default(), |station| Count {
                    held: station.held(),
                    ..station.backlog().count
                })
            }
            Place::Delay(i) => {
                let line = &self.network.delays[i as usize];
                Count {
                    held: line.flight.len() as u64,
                    ..line.count
                }
            }
            Place::ReorderingDelay(i) => {
                let reordering_delay = &self.network.reordering_delays[i as usize];
                Count {
                    held: reordering_delay.len() as u64,
                    ..reordering_delay.count
                }
            }
            Place::Impairment(i) => self.network.impairments[i as usize].count(),
            Place::Host | Place::CheckingHost => Count::default(),
        }
    }
}
