//! From a plan to an engine ready to run.

use std::collections::VecDeque;

use bloatlab_aqm::{Context, Hosts, Qdisc};
use bloatlab_cc::{CcConfig, CongestionControl};
use bloatlab_link::jitter;
use bloatlab_radio::cell::Cell;
use bloatlab_radio::sizing::L4Span;
use bloatlab_scenario::{
    Connection, Plan, PlanBox, PlanBoxKind, PlanCell, PlanFlow, PlanLink, Traffic, Transport,
    VaryDelay,
};
use bloatlab_tcp::{EcnPlan, Endpoint};
use bloatlab_units::{NEVER, Nanos};

use crate::application::{Application, Fetch, WriteLog};
use crate::boxes::{Count, DelayLine, Fate, Flight, Link, LinkStats};
use crate::engine::Engine;
use crate::flow::{EchoFlow, Flow, Monitor, Samples, TcpFlow, TcpStats, UdpFlow};
use crate::gate::{Descent, Gate, Keeper};
use crate::histogram::Histogram;
use crate::loss_events::NOT_GREEDY;
use crate::network::{Network, Passage, Place};
use crate::outcome::Series;
use crate::packet::{MAX_FLOWS, Packet, flow_of};
use crate::radio::RadioCell;
use crate::scatter::Scatter;
use crate::schedule::{Slot, application, clock, event};
use crate::stretch::{Duplicator, Stretch};
use crate::varying::{VaryingDelay, VaryingLink};

/// Largest frame a queue is told to expect: Ethernet's 1500 bytes and its 14 of header.
const MTU: u32 = 1514;

/// What `Packet::hop` counts.
const MAX_HOPS: usize = u8::MAX as usize;

/// Where a user's own algorithms come from.
pub trait Plugins: Sync {
    /// A congestion control for one connection.
    ///
    /// # Errors
    /// Why it could not be made, in one line.
    fn congestion_control(
        &self,
        params: &bloatlab_cc::PythonParams,
    ) -> Result<Box<dyn CongestionControl>, String>;

    /// A queue discipline for one link.
    ///
    /// # Errors
    /// Why it could not be made, in one line.
    fn queue(&self, params: &bloatlab_aqm::PythonParams) -> Result<Box<dyn Qdisc<Packet>>, String>;
}

/// No algorithm of the user's own.
pub struct NoPlugins;

impl Plugins for NoPlugins {
    fn congestion_control(
        &self,
        params: &bloatlab_cc::PythonParams,
    ) -> Result<Box<dyn CongestionControl>, String> {
        Err(format!(
            "congestion control `{}` is written in Python and needs Python to run",
            params.class
        ))
    }

    fn queue(&self, params: &bloatlab_aqm::PythonParams) -> Result<Box<dyn Qdisc<Packet>>, String> {
        Err(format!(
            "queue `{}` is written in Python and needs Python to run",
            params.class
        ))
    }
}

impl<'a> Engine<'a> {
    /// Builds every box and flow of the plan and schedules what starts them.
    pub fn build(
        plan: &'a Plan,
        seed: u64,
        plugins: &'a dyn Plugins,
        log: bool,
    ) -> Result<Self, String> {
        if plan.flows.len() > MAX_FLOWS {
            return Err(format!("flows: at most {MAX_FLOWS}"));
        }
        let mut engine = Self::empty(plan, plugins, seed, log);
        let hosts = hosts(plan);
        for (number, planned) in plan.boxes.iter().enumerate() {
            engine.box_names.push(planned.name.clone());
            let place = match &planned.kind {
                PlanBoxKind::Link(link) => engine.add_link(number, &planned.name, link, &hosts)?,
                PlanBoxKind::Delay {
                    delay,
                    vary,
                    jitter,
                } => engine.add_delay(&planned.name, *delay, vary.as_ref(), *jitter),
                PlanBoxKind::Loss { .. }
                | PlanBoxKind::Corrupt { .. }
                | PlanBoxKind::Duplicate { .. } => engine.add_stretch(number, planned),
            };
            engine.places.push(place);
        }
        engine.add_cell(plan)?;
        engine.add_flows(plan)?;
        engine.assign_registers(plan);
        engine.start_clock();
        Ok(engine)
    }

    fn add_link(
        &mut self,
        number: usize,
        name: &str,
        link: &PlanLink,
        hosts: &Hosts,
    ) -> Result<Place, String> {
        let context = Context {
            rng: self.streams.stream(&format!("queue/{name}")),
            mtu: MTU,
            header: link.header,
            rate: link.rate,
            delay: link.delay,
            hosts: hosts.clone(),
        };
        let queue = match &link.queue {
            bloatlab_aqm::QueueConfig::Python(params) => self.plugins.queue(params)?,
            known => known
                .build(context)
                .ok_or_else(|| format!("no queue named {}", known.kind()))?,
        };
        let index = self.network.links.len() as u32;
        let varying = VaryingLink::new(name, link, &self.streams, self.end);
        let (is_gate, transit) = (link.gate.is_some(), link.transit);
        let mut link = Link {
            number: number as u32,
            rate: link.rate,
            delay: link.delay,
            varying,
            overhead: link.overhead,
            header: link.header,
            queue,
            fate: Fate::default(),
            device: VecDeque::with_capacity(link.device_packets as usize),
            device_packets: link.device_packets as usize,
            bearer: link.radio.map(|port| (port.bearer as usize, port.buffer)),
            gate: 0,
            transit,
            taken: 0,
            remainder: 0,
            busy_until: 0,
            busy: link.radio.is_some() || is_gate,
            sending: 0,
            flight: Flight::new(event::LINK_FLIGHT, index),
            packets: 0,
            bytes: 0,
            changed_at: 0,
            wake_at: NEVER,
            busy_sampled: 0,
            done_slot: Slot::CALENDAR,
            count: Count::default(),
            stats: LinkStats::default(),
        };
        link.arrange_wake(&mut self.network.schedule);
        let bearer = link.bearer;
        self.network.links.push(link);
        Ok(match bearer {
            Some(_) => Place::Bearer(index),
            None if is_gate => Place::Gate(index),
            None => Place::Link(index),
        })
    }

    /// The radio cell behind the bearers.
    fn add_cell(&mut self, plan: &Plan) -> Result<(), String> {
        let Some(PlanCell {
            params,
            channels,
            marking,
        }) = &plan.cell
        else {
            return Ok(());
        };
        let mut links: Vec<usize> = vec![0; 2 * params.ues.len()];
        for (index, link) in self.network.links.iter().enumerate() {
            if let Some((bearer, _)) = link.bearer {
                links[bearer] = index;
            }
        }
        let mut descents: Vec<Descent> = Vec::new();
        for place in 0..params.ues.len() {
            descents.push(Descent {
                base: base_delay(plan, &self.places, links[2 * place]),
                marker: marking.as_ref().map(L4Span::new),
                ..Descent::default()
            });
        }
        let slot = params.slot()?;
        let mut gates = Vec::new();
        for (planned, place) in plan.boxes.iter().zip(&self.places) {
            let (PlanBoxKind::Link(link), Place::Gate(index)) = (&planned.kind, place) else {
                continue;
            };
            let Some(plan) = &link.gate else { continue };
            let gate = Gate::new(plan, *index as usize, slot);
            let descent = &mut descents[gate.ue];
            match gate.keeper {
                Keeper::Sdap(_) => descent.sdap = Some(gates.len()),
                Keeper::Upf { .. } => descent.upf = Some(gates.len()),
            }
            self.network.links[*index as usize].gate = gates.len();
            gates.push(gate);
        }
        self.network.radio = Some(Box::new(RadioCell {
            cell: Cell::new(params, channels, &self.streams)?,
            links,
            slot,
            scheduled: NEVER,
            out: Vec::new(),
            gates,
            descents,
            filled: Vec::new(),
            rng: self.streams.stream("radio/marking"),
        }));
        Ok(())
    }

    fn add_delay(
        &mut self,
        name: &str,
        delay: Nanos,
        vary: Option<&VaryDelay>,
        jitter: Option<jitter::Params>,
    ) -> Place {
        let mut varying = VaryingDelay::new(delay);
        if let Some(vary) = vary {
            varying = varying.varied(vary, &self.streams);
        }
        if let Some(jitter) = jitter {
            let rng = self.streams.stream(&format!("jitter/{name}"));
            varying = varying.jittered(jitter, rng);
        }
        if jitter.is_some_and(|jitter| jitter.reorder) {
            let index = self.network.scatters.len() as u32;
            self.network.scatters.push(Scatter::new(varying, index));
            return Place::Scatter(index);
        }
        let index = self.network.delays.len() as u32;
        let varies = vary.is_some() || jitter.is_some();
        self.network.delays.push(DelayLine {
            delay,
            varying: varies.then(|| Box::new(varying)),
            flight: Flight::new(event::DELAY, index),
            count: Count::default(),
        });
        Place::Delay(index)
    }

    /// Adds a box at which packets are hit by chance.
    fn add_stretch(&mut self, number: usize, planned: &PlanBox) -> Place {
        let stretch = Stretch::new(number, planned, &self.streams);
        let network = &mut self.network;
        match (stretch, &planned.kind) {
            (Some(stretch), PlanBoxKind::Duplicate { .. }) => {
                let index = network.duplicators.len() as u32;
                network.duplicators.push(Duplicator::new(stretch, index));
                Place::Duplicate(index)
            }
            (Some(stretch), PlanBoxKind::Corrupt { .. }) => {
                network.corrupters.push(stretch);
                Place::Corrupt(network.corrupters.len() as u32 - 1)
            }
            (stretch, _) => {
                network.losses.extend(stretch);
                Place::Loss(network.losses.len() as u32 - 1)
            }
        }
    }

    fn add_flows(&mut self, plan: &'a Plan) -> Result<(), String> {
        let (mut data, mut probes) = (0, 0);
        let mut nothing = None;
        for (index, planned) in plan.flows.iter().enumerate() {
            let mut passage = Passage {
                stop: planned.stop.min(plan.duration),
                dscp: planned.dscp,
                greedy_rtt: match planned.traffic {
                    Traffic::Greedy => planned.base_rtt,
                    _ => NOT_GREEDY,
                },
                ..Passage::default()
            };
            for (direction, path) in [&planned.forward, &planned.reverse].into_iter().enumerate() {
                passage.routes[direction] = self.add_route(path, &mut nothing);
                let boxes = self.network.routes.len() - 1 - passage.routes[direction] as usize;
                if boxes > MAX_HOPS {
                    let name = &planned.name;
                    return Err(format!(
                        "flows: a way of `{name}` has {boxes} boxes; at most {MAX_HOPS} are counted by a packet"
                    ));
                }
            }
            let mut start = self.streams.stream(&format!("start/{}", planned.name));
            passage.start = planned.start + start.below(planned.start_jitter.max(1));
            self.schedule(
                passage.start,
                event::APPLICATION,
                index as u32 * application::KINDS + application::START,
            );
            self.network.passages.push(passage);
            let probe = matches!(
                planned.traffic,
                Traffic::Ping { .. } | Traffic::Fetch { .. }
            );
            let flow = !matches!(planned.traffic, Traffic::Ping { .. });
            self.ranks
                .push((flow.then_some(data), probe.then_some(probes)));
            data += u32::from(flow);
            probes += u32::from(probe);
            let flow = self.make_flow(index, planned)?;
            self.flows.push(flow);
        }
        Ok(())
    }

    /// Writes a path into the route table; returns its first entry.
    fn add_route(&mut self, path: &[usize], nothing: &mut Option<Place>) -> u32 {
        let first = self.network.routes.len() as u32;
        let places: Vec<Place> = path.iter().map(|&number| self.places[number]).collect();
        if places.iter().all(|place| place.takes_no_time()) {
            // A path on which nothing takes time still takes an event, so that no host is reached while it sends.
            let place = *nothing.get_or_insert_with(|| {
                let place = self.add_delay("(nothing)", 0, None, None);
                self.places.push(place);
                self.box_names.push(String::from("(nothing)"));
                place
            });
            self.network.routes.push(place);
        }
        let corrupts = places
            .iter()
            .any(|place| matches!(place, Place::Corrupt(_)));
        self.network.routes.extend(places);
        let end = if corrupts {
            Place::CheckingHost
        } else {
            Place::Host
        };
        self.network.routes.push(end);
        first
    }

    fn make_flow(&mut self, index: usize, planned: &PlanFlow) -> Result<Flow, String> {
        let rng = self.streams.stream(&format!("traffic/{}", planned.name));
        let application = match &planned.traffic {
            Traffic::Ping { interval, size } => {
                return Ok(Flow::Echo(Box::new(EchoFlow {
                    interval: interval.0.max(1),
                    size: size.0 as u32,
                    next_seq: 0,
                    sent: 0,
                    rtt: Histogram::default(),
                })));
            }
            Traffic::Greedy => Application::Greedy,
            Traffic::Finite { bytes } => Application::Finite { bytes: bytes.0 },
            Traffic::Fetch {
                request,
                response,
                interval,
                connection,
            } => Application::Fetch(Fetch {
                request: request.0,
                response: response.0,
                interval: interval.0,
                persistent: *connection == Connection::Persistent,
                began: 0,
                asked: 0,
                answered: 0,
                active: false,
            }),
            messages => match crate::traffic::Source::new(messages, rng) {
                Some((source, Transport::Udp)) => return Ok(Flow::Udp(Box::new(udp(source)))),
                Some((source, Transport::Tcp)) => Application::Messages(source),
                None => return Err(format!("flows[{index}].traffic: not a source of messages")),
            },
        };
        Ok(Flow::Tcp(Box::new(TcpFlow {
            ends: self.make_ends(index, 0)?,
            application,
            connection: 0,
            scheduled: [NEVER; 2],
            releases: Default::default(),
            send_buffer: planned.tcp.send_buffer.0,
            mss: f64::from(planned.tcp.mss),
            pending: 0,
            log: WriteLog::default(),
            completed_at: NEVER,
            first_read_at: NEVER,
            past: bloatlab_tcp::SenderStats::default(),
            past_arrived: 0,
            stats: TcpStats {
                since: NEVER,
                last_departure: NEVER,
                ..TcpStats::default()
            },
        })))
    }

    /// The two endpoints of a flow's connection: the sender of data with its congestion control, and the receiver, whose few bytes of its own go by Reno.
    pub fn make_ends(&self, index: usize, connection: u8) -> Result<[Endpoint; 2], String> {
        let planned = &self.plan.flows[index];
        let stream = |end: usize| {
            self.streams
                .stream(&format!("cc/{}/{connection}/{end}", planned.name))
        };
        let missing = |kind: &str| format!("no congestion control named {kind}");
        let law = match &planned.cca {
            CcConfig::Python(params) => self.plugins.congestion_control(params)?,
            known => known
                .build(stream(0))
                .ok_or_else(|| missing(known.kind()))?,
        };
        let other = CcConfig::Reno(Default::default())
            .build(stream(1))
            .ok_or_else(|| missing("reno"))?;
        // The receiving end gives the feedback that the sender's law needs.
        let ecn = EcnPlan::of(&planned.tcp, law.as_ref());
        Ok([
            Endpoint::with_ecn(&planned.tcp, law, ecn),
            Endpoint::with_ecn(&planned.tcp, other, ecn),
        ])
    }

    /// The sources that most flows share get the registers.
    fn assign_registers(&mut self, plan: &Plan) {
        let mut uses = vec![0_u32; self.places.len()];
        for flow in &plan.flows {
            for &number in flow.forward.iter().chain(&flow.reverse) {
                uses[number] += 1;
            }
        }
        let mut order: Vec<usize> = (0..self.places.len()).collect();
        order.sort_by_key(|&number| std::cmp::Reverse(uses[number]));
        let Network {
            schedule,
            links,
            delays,
            ..
        } = &mut self.network;
        for number in order {
            match self.places[number] {
                Place::Link(i) => {
                    let link = &mut links[i as usize];
                    link.done_slot = schedule.reserve();
                    link.flight.reserve(schedule);
                }
                Place::Delay(i) => delays[i as usize].flight.reserve(schedule),
                _ => {}
            }
        }
    }

    fn start_clock(&mut self) {
        self.schedule(self.end, event::CLOCK, clock::END);
        if self.warmup > 0 {
            self.schedule(self.warmup, event::CLOCK, clock::WARMUP);
        }
        if self.sample_interval < self.end {
            self.schedule(self.sample_interval, event::CLOCK, clock::SAMPLE);
        }
        self.flow_series = Series::new(&[
            "throughput_mbps",
            "sending_rate_mbps",
            "delivery_rate_mbps",
            "cwnd",
            "ssthresh",
            "in_flight",
            "srtt_ms",
            "retransmissions",
            "sojourn_ms",
        ]);
        self.link_series = Series::new(&[
            "queue_packets",
            "queue_bytes",
            "sojourn_ms",
            "throughput_mbps",
            "utilization",
            "drops",
            "marks",
            "rate_mbps",
        ]);
        self.probe_series = Series::new(&["rtt_ms"]);
    }
}

/// Half of the propagation both ways of the first flow whose data crosses this link.
fn base_delay(plan: &Plan, places: &[Place], link: usize) -> Nanos {
    let crosses = |flow: &&PlanFlow| {
        let bearer =
            |&number: &usize| matches!(places[number], Place::Bearer(i) if i as usize == link);
        flow.forward.iter().any(bearer)
    };
    plan.flows
        .iter()
        .find(crosses)
        .map_or(0, |flow| flow.base_rtt / 2)
}

/// The hosts that the plan's flows join, as queues ask for them.
fn hosts(plan: &Plan) -> Hosts {
    let of_flows: Vec<[u32; 2]> = plan.flows.iter().map(|flow| flow.hosts).collect();
    Hosts::new(move |id| {
        let (index, direction) = flow_of(id);
        let [source, destination] = of_flows[index];
        if direction == 0 {
            [source, destination]
        } else {
            [destination, source]
        }
    })
}

fn udp(source: crate::traffic::Source) -> UdpFlow {
    UdpFlow {
        source,
        next_seq: 0,
        sent: 0,
        sent_bytes: 0,
        bytes: 0,
        bytes_by_stop: None,
        delay: Histogram::default(),
        jitter: 0.0,
        last_transit: None,
        monitor: Monitor::default(),
        since: NEVER,
        sampled_bytes: 0,
        sampled_sent: 0,
        samples: Samples::default(),
    }
}
