//! The flows of a plan, with their paths and endpoints.

use bloatlab_cc::CcConfig;
use bloatlab_scenario::{HostLink, PlanBoxKind, PlanFlow, Traffic};
use bloatlab_tcp::{EcnPlan, Endpoint, SmallQueues};
use bloatlab_units::NEVER;

use crate::RunError;
use crate::application::{Application, Sender};
use crate::datagrams::{EchoFlow, UdpFlow};
use crate::engine::Engine;
use crate::flow::{Flow, TcpFlow};
use crate::flow_account::FlowAccount;
use crate::outside_tcp::OutsideTcp;
use crate::own_queue::OwnLink;
use crate::place::Place;
use crate::schedule::{application, event};
use crate::tcp_stats::TcpStats;
use crate::traffic;
use crate::write_log::WriteLog;
use bloatlab_outcome::Histogram;
use bloatlab_outcome::NOT_GREEDY;

/// What `Packet::hop` counts.
const MAX_HOPS: usize = u8::MAX as usize;

impl Engine<'_> {
    /// Adds the next flow of the plan and schedules its start.
    pub(crate) fn add_flow(&mut self, planned: &PlanFlow) -> Result<(), RunError> {
        let index = self.flows.len();
        let mut account = FlowAccount {
            stop: planned.stop.min(self.end),
            dscp: planned.dscp,
            greedy_rtt: match planned.traffic {
                Traffic::Greedy(_) => planned.base_rtt,
                _ => NOT_GREEDY,
            },
            ..FlowAccount::default()
        };
        for (direction, path) in [&planned.forward, &planned.reverse].into_iter().enumerate() {
            account.routes[direction] = self.add_route(path);
            let boxes = self.network.routes.len() - 1 - account.routes[direction] as usize;
            if boxes > MAX_HOPS {
                let name = &planned.name;
                return Err(RunError::Plan(format!(
                    "flows: a path of `{name}` has {boxes} boxes, and at most {MAX_HOPS} are allowed; leave some out"
                )));
            }
        }
        let mut start = self.streams.stream(&format!("start/{}", planned.name));
        account.start = planned.start + start.below(planned.start_jitter.max(1));
        self.schedule(
            account.start,
            event::APPLICATION,
            index as u32 * application::KINDS + application::START,
        );
        self.network.accounts.push(account);
        self.hosts.add(planned.hosts);
        let probe = planned.traffic.probe().is_some();
        let data = planned.traffic.has_data();
        let (datas, probes) = self.ranked;
        self.ranks
            .push((data.then_some(datas), probe.then_some(probes)));
        self.ranked = (datas + u32::from(data), probes + u32::from(probe));
        let flow = self.make_flow(index, planned)?;
        self.flows.push(flow);
        Ok(())
    }

    /// Writes a path into the route table. Returns the index of its first entry.
    fn add_route(&mut self, path: &[usize]) -> u32 {
        let first = self.network.routes.len() as u32;
        let places: Vec<Place> = path.iter().map(|&number| self.places[number]).collect();
        if places.iter().all(|place| place.takes_no_time()) {
            // A path without any delay still takes an event, so that no host receives while it sends.
            let place = self.nothing.unwrap_or_else(|| {
                let place = self.add_delay("(nothing)", 0, None, None);
                self.places.push(place);
                self.box_names.push(String::from("(nothing)"));
                place
            });
            self.nothing = Some(place);
            self.network.routes.push(place);
        }
        let boxes = &self.plan.boxes;
        let corrupts = path.iter().any(|&number| boxes[number].kind.corrupts());
        self.network.routes.extend(places);
        let end = if corrupts {
            Place::CheckingHost
        } else {
            Place::Host
        };
        self.network.routes.push(end);
        first
    }

    fn make_flow(&self, index: usize, planned: &PlanFlow) -> Result<Flow, RunError> {
        let rng = self.streams.stream(&format!("traffic/{}", planned.name));
        let application = match traffic::sender(&planned.traffic, rng) {
            Sender::Tcp(application) => application,
            Sender::Program(application) => {
                return self.make_program(application, planned);
            }
            Sender::Udp(source) => return Ok(Flow::Udp(Box::new(UdpFlow::new(source)))),
            Sender::Echo { intervals, size } => {
                return Ok(Flow::Echo(Box::new(EchoFlow {
                    intervals,
                    size,
                    next_seq: 0,
                    sent: 0,
                    rtt: Histogram::default(),
                })));
            }
        };
        if self.outside.is_some() {
            let flow = OutsideTcp::new(application, planned);
            return Ok(Flow::Outside(Box::new(flow)));
        }
        Ok(Flow::Tcp(Box::new(TcpFlow {
            ends: self.make_ends(index, 0)?,
            application_writes: application.writes(),
            application_reads: application.reads(),
            application,
            connection: 0,
            is_over: false,
            packets: TcpFlow::blank_packets(index, 0),
            scheduled: [NEVER; 2],
            releases: Default::default(),
            own_links: self.own_links(index, planned),
            mss: f64::from(planned.tcp.mss),
            pending: 0,
            log: WriteLog::default(),
            completed_at: NEVER,
            first_read_at: NEVER,
            past: None,
            handshakes_given_up: 0,
            stats: TcpStats {
                since: NEVER,
                last_departure: NEVER,
                ..TcpStats::default()
            },
        })))
    }

    /// The hosts' own links at the beginning of a flow's paths.
    fn own_links(&self, index: usize, planned: &PlanFlow) -> [Option<OwnLink>; 2] {
        [(0, &planned.forward), (1, &planned.reverse)].map(|(end, path)| {
            let &first = path.first()?;
            let (Place::Link(link), PlanBoxKind::Link(planned_link)) =
                (self.places[first], &self.plan.boxes[first].kind)
            else {
                return None;
            };
            let rules = match planned_link.host {
                HostLink::None => return None,
                HostLink::Device => SmallQueues::new(&planned.tcp),
                HostLink::Netem => None,
            };
            Some(OwnLink {
                link: link as usize,
                id: index * 2 + end,
                segments: planned_link.queue.segments_in_buffer(),
                rules,
            })
        })
    }

    /// A flow of programs, which only real hosts can run.
    fn make_program(
        &self,
        application: Box<dyn Application>,
        planned: &PlanFlow,
    ) -> Result<Flow, RunError> {
        if self.outside.is_none() {
            let (name, kind) = (&planned.name, planned.traffic.kind());
            return Err(RunError::Plan(format!(
                "flows: the traffic `{kind}` of `{name}` is a program, which only an engine in real time runs; use --engine linux"
            )));
        }
        let flow = OutsideTcp::of_program(application, planned);
        Ok(Flow::Outside(Box::new(flow)))
    }

    /// The two endpoints of a flow's connection: the sender of data with its congestion control, and the receiver, which sends few bytes and uses
    /// Reno.
    pub fn make_ends(&self, index: usize, connection: u8) -> Result<[Endpoint; 2], RunError> {
        let planned = &self.plan.flows[index];
        let stream = |end: usize| {
            self.streams
                .stream(&format!("cc/{}/{connection}/{end}", planned.name))
        };
        let missing = |kind: &str| {
            let name = &planned.name;
            RunError::Plan(format!(
                "flows: `{name}` has no congestion control: none is named `{kind}`"
            ))
        };
        let cca = match &planned.cca {
            CcConfig::Python(params) => {
                let made = self.plugins.congestion_control(params);
                made.map_err(RunError::Plugin)?
            }
            known => known
                .build(stream(0))
                .ok_or_else(|| missing(known.kind()))?,
        };
        let other = CcConfig::Reno(Default::default())
            .build(stream(1))
            .ok_or_else(|| missing("reno"))?;
        // The receiving end gives the feedback that the sender's algorithm needs.
        let ecn = EcnPlan::of(&planned.tcp, cca.as_ref());
        let mut ends = [cca, other].map(|cca| Endpoint::with_ecn(&planned.tcp, cca, ecn));
        if !self.control.fast_paths() {
            ends.iter_mut().for_each(Endpoint::avoid_fast_paths);
        }
        Ok(ends)
    }
}
