//! A session whose hosts are outside: packets and reports come in, orders and packets go out.

use std::sync::Arc;

use bloatlab_aqm::{Ecn, Packet as _};
use bloatlab_outcome::{HOST, PacketEvent, Protocol, Step};
use bloatlab_scenario::Plan;
use bloatlab_units::Nanos;

use crate::RunError;
use crate::application::{Actions, Writes};
use crate::control::Control;
use crate::engine::Engine;
use crate::flow::Flow;
use crate::outside::{Delivery, Entry, Order, Outside, Report};
use crate::packet::Packet;
use crate::packet_log::PacketLog;
use crate::plugins::Plugins;
use crate::schedule::application;
use crate::session::Session;

impl<'a> Session<'a> {
    /// Builds the network of a plan whose hosts are outside. No time has passed yet.
    ///
    /// The caller takes the [`orders`](Self::take_orders) and lets the hosts carry them out, brings what they [`report`](Self::report), lets their
    /// packets [`enter`](Self::enter), and takes the [`deliveries`](Self::take_deliveries). Congestion controls and TCP settings of the plan are up
    /// to the hosts.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_hosts_outside(
        plan: impl Into<Arc<Plan>>,
        seed: u64,
        record_packets: bool,
        plugins: &'a dyn Plugins,
        control: &'a Control,
    ) -> Result<Self, RunError> {
        let outside = Some(Outside::default());
        let log = PacketLog::new(record_packets);
        let engine = Engine::build(plan.into(), seed, plugins, control, log, outside)?;
        engine.check_changes()?;
        Ok(Self(engine))
    }

    /// The instant of the next event in the network or of an application. Nothing happens before it unless a packet or a report comes in.
    pub fn next_at(&mut self) -> Nanos {
        let timeline = self.0.plan.timeline.get(self.0.changes_applied);
        let change = timeline.map_or(self.0.end, |change| change.at);
        self.0.network.schedule.next_at().min(change)
    }

    /// Notes what happened to a packet at a link of a network that is outside too.
    pub fn passed(&mut self, at: Nanos, step: Step, place: u32, entry: &Entry) {
        self.0.network.log.note_outside(PacketEvent {
            at,
            step,
            place,
            flow: entry.flow as u32,
            connection: entry.connection,
            direction: entry.direction,
            protocol: entry.protocol,
            damaged: false,
            ecn: entry.ecn,
            dscp: entry.dscp,
            size: entry.size,
            segment: entry.segment,
        });
    }

    /// A packet of a host entered a network that is outside too.
    pub fn departed(&mut self, at: Nanos, entry: &Entry) {
        self.passed(at, Step::Send, HOST, entry);
        if let Flow::Outside(flow) = &mut self.0.flows[entry.flow] {
            flow.on_departure(at, &packet_of(entry));
        }
    }

    /// A packet reached a host through a network that is outside too. The receiver of a sender that never stops writing reads at once, so its reads are
    /// not reported.
    pub fn arrived(&mut self, at: Nanos, entry: &Entry) {
        self.passed(at, Step::Receive, HOST, entry);
        if let Flow::Outside(flow) = &mut self.0.flows[entry.flow] {
            let bytes = flow.on_arrival(at, &packet_of(entry));
            if bytes > 0 && flow.application_writes == Writes::Endlessly {
                let connection = flow.connection;
                self.0
                    .on_outside_read((entry.flow, connection), 1, at, bytes);
            }
        }
    }

    /// A packet of a host enters the network at the present instant.
    pub fn enter(&mut self, entry: &Entry) {
        let engine = &mut self.0;
        let now = engine.now();
        let mut packet = packet_of(entry);
        if entry.protocol == Protocol::Udp {
            packet.stamp(now);
        }
        if let Some(outside) = engine.network.log.outside() {
            outside.enter(entry.tag, entry.segment.window);
        }
        if let Flow::Outside(flow) = &mut engine.flows[entry.flow] {
            flow.on_departure(now, &packet);
        }
        engine.network.enter(&mut packet);
    }

    /// Appends the packets that reached the end of their paths, and the tags of those that were dropped and of those that were copied.
    pub fn take_deliveries(
        &mut self,
        deliveries: &mut Vec<Delivery>,
        lost: &mut Vec<u32>,
        copied: &mut Vec<u32>,
    ) {
        if let Some(outside) = &mut self.0.outside {
            deliveries.append(&mut outside.deliveries);
        }
        if let Some(outside) = self.0.network.log.outside() {
            lost.append(&mut outside.lost);
            copied.append(&mut outside.copied);
        }
    }

    /// Appends what the hosts are to do.
    pub fn take_orders(&mut self, orders: &mut Vec<Order>) {
        if let Some(outside) = &mut self.0.outside {
            orders.append(&mut outside.orders);
        }
    }

    /// A host reports something. The instants of a flow's reports may not decrease.
    pub fn report(&mut self, report: &Report) {
        self.0.on_report(report);
    }
}

/// The packet that a host sent.
fn packet_of(entry: &Entry) -> Packet {
    let flow = entry.flow as u32;
    let mut packet = Packet::new(flow, entry.connection, entry.direction, entry.protocol);
    packet.set_out(entry.size, entry.ecn, entry.follows);
    packet.set_dscp(entry.dscp);
    packet.segment = entry.segment;
    packet.segment.window = entry.tag;
    packet
}

impl Engine<'_> {
    /// Gives an order to the hosts outside.
    pub(crate) fn order(&mut self, order: Order) {
        if let Some(outside) = &mut self.outside {
            outside.orders.push(order);
        }
    }

    /// A packet reached a host outside.
    #[cold]
    pub(crate) fn deliver_outside(&mut self, packet: &Packet) {
        let at = self.now();
        if let Flow::Outside(flow) = &mut self.flows[packet.flow_index()] {
            flow.on_arrival(at, packet);
        }
        if let Some(outside) = &mut self.outside {
            outside.deliveries.push(Delivery {
                at,
                tag: packet.segment.window,
                is_marked: packet.ecn() == Ecn::Ce,
                is_damaged: packet.is_damaged(),
            });
        }
    }

    fn on_report(&mut self, report: &Report) {
        match *report {
            Report::Written { flow, at, bytes } => {
                if let Flow::Outside(flow) = &mut self.flows[flow] {
                    flow.log.write(at, bytes);
                }
            }
            Report::Read {
                flow,
                connection,
                end,
                at,
                bytes,
            } => self.on_outside_read((flow, connection), end, at, bytes),
            Report::Failed { flow, connection } => self.on_outside_failure(flow, connection),
            Report::Observed {
                flow,
                connection,
                at,
                state,
            } => {
                if let Flow::Outside(flow) = &mut self.flows[flow]
                    && flow.connection == connection
                {
                    flow.observe(at, state);
                }
            }
            Report::Datagram {
                flow,
                departure,
                at,
                size,
            } => {
                if let Flow::Udp(flow) = &mut self.flows[flow] {
                    flow.receive(departure, at, size);
                }
            }
            Report::Fetched { flow, at, took } => self.on_fetched(flow, at, took),
            Report::Ended { flow, at, .. } => {
                if let Flow::Outside(flow) = &mut self.flows[flow] {
                    flow.completed_at = flow.completed_at.min(at);
                }
            }
            Report::Echo {
                flow,
                departure,
                at,
            } => self.on_echo_reply(flow, departure, at),
        }
    }

    fn on_outside_read(
        &mut self,
        (index, connection): (usize, u64),
        end: usize,
        at: Nanos,
        bytes: u64,
    ) {
        let Flow::Outside(flow) = &mut self.flows[index] else {
            return;
        };
        if flow.connection != connection {
            return;
        }
        if end == 1 {
            flow.first_read_at = flow.first_read_at.min(at);
            flow.stats.delivered += bytes;
            flow.stats.delay_sum += flow.log.read(at, bytes);
        }
        if flow.application.reads() {
            let actions = flow.application.on_read(at, end, bytes);
            self.carry_out_outside(index, at, &actions);
        }
    }

    fn on_fetched(&mut self, index: usize, at: Nanos, took: Option<Nanos>) {
        let Flow::Outside(flow) = &mut self.flows[index] else {
            return;
        };
        match took {
            Some(took) if at.saturating_sub(took) >= self.warmup => {
                flow.on_fetched(took);
                self.push_probe(index, at, took);
            }
            Some(_) => {}
            None => flow.stats.failed_fetches += 1,
        }
    }

    fn on_outside_failure(&mut self, index: usize, connection: u64) {
        let now = self.now();
        let Flow::Outside(flow) = &mut self.flows[index] else {
            return;
        };
        if flow.connection == connection {
            flow.connections_failed += 1;
            let actions = flow.application.on_handshake_failure(now);
            self.carry_out_outside(index, now, &actions);
        }
    }

    /// Gives the hosts the orders for what the application of a flow wants done since `at`.
    pub(crate) fn carry_out_outside(&mut self, index: usize, at: Nanos, actions: &Actions) {
        let Flow::Outside(flow) = &mut self.flows[index] else {
            return;
        };
        flow.stats.failed_fetches += u64::from(actions.has_failed);
        if actions.is_complete {
            flow.completed_at = flow.completed_at.min(at);
        }
        let writes = flow.application_writes;
        if actions.write > 0 && writes != Writes::Endlessly {
            flow.log.write(at, actions.write);
        }
        if let Some(asked) = actions.answered.filter(|&asked| asked >= self.warmup) {
            let fetches = flow.stats.fetches.get_or_insert_default();
            fetches.record(at - asked);
            self.push_probe(index, at, at - asked);
        }
        let Flow::Outside(flow) = &mut self.flows[index] else {
            return;
        };
        if actions.ends_connection {
            flow.replace_connection();
        }
        let connection = flow.connection;
        if actions.ends_connection {
            self.order(Order::Forget { flow: index });
        }
        if let Some(from) = actions.open {
            self.order(Order::Open {
                flow: index,
                connection,
                from,
            });
        }
        if actions.write > 0 {
            self.order(Order::Write {
                flow: index,
                bytes: actions.write,
                last: writes == Writes::Once,
            });
        }
        if actions.request > 0 {
            self.order(Order::Request {
                flow: index,
                bytes: actions.request,
            });
        }
        if actions.starts_program {
            self.order(Order::Start { flow: index });
        }
        if let Some(at) = actions.wake_at {
            let now = self.now();
            let wake = application::WAKE;
            self.application_event(at.max(now), index, wake);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoPlugins;
    use bloatlab_outcome::metrics::F_MEAN_ONE_WAY_DELAY_L7;
    use bloatlab_scenario::{Disk, Limits, Scenario};
    use bloatlab_tcp::Segment;
    use bloatlab_units::MILLISECOND;

    #[test]
    fn a_receiver_reads_what_has_arrived_in_order() {
        let text = r#"{"duration": "1s", "flows": [{"cca": "reno"}], "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms"}}"#;
        let plan = Scenario::load(text, &Disk, &Limits::default());
        let plan = plan.expect("the scenario is valid").plan;
        let control = Control::default();
        let session = Session::with_hosts_outside(plan, 1, false, &NoPlugins, &control);
        let mut session = session.expect("the plan can be run");
        session.advance(MILLISECOND).expect("nothing stops it");
        session.report(&Report::Written {
            flow: 0,
            at: 0,
            bytes: 3000,
        });
        let segment = |seq| Entry {
            flow: 0,
            connection: 0,
            direction: 0,
            protocol: Protocol::Tcp,
            size: 1052,
            ecn: Ecn::NotEct,
            dscp: 0,
            follows: false,
            segment: Segment {
                seq,
                length: 1000,
                ..Segment::default()
            },
            tag: 0,
        };
        for seq in [0, 1000, 2000] {
            session.departed(0, &segment(seq));
        }
        // 2000 bytes can be read after 30 ms, and 1000 after 60 ms.
        for (at, seq) in [(20, 1000), (30, 0), (60, 2000), (70, 1000)] {
            session.arrived(at * MILLISECOND, &segment(seq));
        }
        session
            .advance(999 * MILLISECOND)
            .expect("nothing stops it");
        let outcome = session.finish().expect("nothing stops it");
        let mut values = outcome.flow_metrics.iter();
        let delay = values.find(|value| value.metric == F_MEAN_ONE_WAY_DELAY_L7);
        assert_eq!(delay.map(|delay| delay.value), Some(40.0));
    }
}
