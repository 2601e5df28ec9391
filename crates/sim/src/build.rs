//! From a plan to an engine ready to run.

use std::collections::VecDeque;
use std::sync::Arc;

use bloatlab_aqm::{Context, Qdisc, QueueConfig};
use bloatlab_link::{ImpairmentConfig, jitter};
use bloatlab_scenario::{Plan, PlanBoxKind, PlanLink, VaryDelay};
use bloatlab_units::{NEVER, Nanos, Rate};

use crate::RunError;
use crate::boxes::{DelayLine, Link, LinkStats, Signals};
use crate::control::Control;
use crate::engine::Engine;
use crate::flight::Flight;
use crate::impairment::ImpairmentBox;
use crate::mean_rate::MeanRate;
use crate::network::Network;
use crate::packet::{MAX_FLOWS, Packet};
use crate::place::Place;
use crate::plugins::Plugins;
use crate::reordering_delay::ReorderingDelay;
use crate::schedule::{Slot, clock, event};
use crate::serialization::Serialization;
use crate::varying::{VaryingDelay, VaryingLink};
use bloatlab_outcome::Count;
use bloatlab_outcome::Series;

/// Largest frame a queue is told to expect: Ethernet's 1500 bytes and its 14 of header.
const MTU: u32 = 1514;

/// Where packets go from a box, as far as the paths have been looked through.
#[derive(Clone, Copy)]
enum Way {
    Unknown,
    Only(Place),
    Several,
}

impl Way {
    fn and(self, place: Place) -> Self {
        match self {
            Self::Unknown => Self::Only(place),
            Self::Only(known) if known == place => self,
            _ => Self::Several,
        }
    }

    fn only(self) -> Option<Place> {
        match self {
            Self::Only(place) => Some(place),
            _ => None,
        }
    }
}

impl<'a> Engine<'a> {
    /// Builds every box and flow of the plan and schedules what starts them.
    pub fn build(
        plan: Arc<Plan>,
        seed: u64,
        plugins: &'a dyn Plugins,
        control: &'a Control,
        log: bool,
    ) -> Result<Self, RunError> {
        let flows = plan.flows.len();
        if flows > MAX_FLOWS {
            let message = format!("flows: at most {MAX_FLOWS} in all, not {flows}; use fewer");
            return Err(RunError::Plan(message));
        }
        let mut engine = Self::empty(Arc::clone(&plan), plugins, control, seed, log);
        for (number, planned) in plan.boxes.iter().enumerate() {
            control.heed()?;
            engine.box_names.push(planned.name.clone());
            let place = match &planned.kind {
                PlanBoxKind::Link(link) => engine.add_link(number, &planned.name, link)?,
                PlanBoxKind::Delay {
                    delay,
                    vary,
                    jitter,
                } => engine.add_delay(&planned.name, *delay, vary.as_ref(), *jitter),
                PlanBoxKind::Impairment(config) => engine.add_impairment(number, config),
            };
            engine.places.push(place);
        }
        engine.add_cell(&plan).map_err(RunError::Plan)?;
        for flow in &plan.flows {
            control.heed()?;
            engine.add_flow(flow)?;
        }
        engine.assign_registers(&plan);
        if control.fast_paths() {
            engine.find_common_ways();
        }
        engine.start_clock();
        Ok(engine)
    }

    fn add_link(&mut self, number: usize, name: &str, link: &PlanLink) -> Result<Place, RunError> {
        let context = self.context(name, link.header, link.rate, link.delay);
        let queue = self.make_queue(name, &link.queue, context)?;
        let index = self.network.links.len() as u32;
        let interrupt = self.control.interrupt();
        let varying = VaryingLink::new(name, link, &self.streams, self.end, interrupt);
        let (is_gate, transit) = (link.gate.is_some(), link.transit);
        let transmits = link.radio.is_none() && !is_gate;
        // A packet log lists its entries in the order of time, which a lazy link does not keep.
        let may_be_lazy = self.control.fast_paths() && !self.network.log.is_on();
        let lazy = !transmits || may_be_lazy && queue.is_work_conserving();
        let is_plain = transmits && lazy && link.device_packets == 0;
        let mut link = Link {
            number: number as u32,
            wire: Serialization::new(link.rate),
            delay: link.delay,
            mean_rate: (self.plan.may_change && transmits)
                .then(|| Box::new(MeanRate::start(link.rate, 0, 0))),
            queues_replaced: 0,
            varying,
            overhead: link.overhead,
            header: link.header,
            observes_idleness: queue.observes_idleness(),
            tail_drop: queue.tail_drop().filter(|_| is_plain),
            queue,
            signals: Signals::default(),
            device: VecDeque::with_capacity(link.device_packets as usize),
            device_packets: link.device_packets as usize,
            bearer: link.radio.map(|port| (port.bearer as usize, port.buffer)),
            gate: 0,
            transit,
            taken: 0,
            busy_until: 0,
            busy: !transmits,
            sending: 0,
            flight: Flight::new(event::LINK_FLIGHT, index),
            packets: 0,
            bytes: 0,
            changed_at: 0,
            wake_at: NEVER,
            busy_sampled: 0,
            bytes_sampled: 0,
            done_slot: Slot::CALENDAR,
            lazy,
            end_is_planned: false,
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

    /// What a queue discipline is told of its link; `stream` names its random stream.
    pub(crate) fn context(&self, stream: &str, header: u32, rate: Rate, delay: Nanos) -> Context {
        Context {
            rng: self.streams.stream(&format!("queue/{stream}")),
            mtu: MTU,
            header,
            rate,
            delay,
            hosts: self.hosts.of_flows(),
        }
    }

    /// The queue discipline of a link.
    pub(crate) fn make_queue(
        &self,
        name: &str,
        queue: &QueueConfig,
        context: Context,
    ) -> Result<Box<dyn Qdisc<Packet>>, RunError> {
        match queue {
            QueueConfig::Python(params) => self.plugins.queue(params).map_err(RunError::Plugin),
            known => known.build(context).ok_or_else(|| {
                let kind = known.kind();
                RunError::Plan(format!("{name}: no queue discipline is named `{kind}`"))
            }),
        }
    }

    pub(crate) fn add_delay(
        &mut self,
        name: &str,
        delay: Nanos,
        vary: Option<&VaryDelay>,
        jitter: Option<jitter::Params>,
    ) -> Place {
        let mut varying = VaryingDelay::new(delay);
        if let Some(vary) = vary {
            varying = varying.varied(vary, &self.streams, self.control.interrupt());
        }
        if let Some(jitter) = jitter {
            let rng = self.streams.stream(&format!("jitter/{name}"));
            varying = varying.jittered(jitter, rng);
        }
        if jitter.is_some_and(|jitter| jitter.reorder) {
            let index = self.network.reordering_delays.len() as u32;
            self.network
                .reordering_delays
                .push(ReorderingDelay::new(varying, index));
            return Place::ReorderingDelay(index);
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

    fn add_impairment(&mut self, number: usize, config: &ImpairmentConfig) -> Place {
        let interrupt = self.control.interrupt();
        let impairment = config.params().build(&self.streams, interrupt);
        let impairments = &mut self.network.impairments;
        let index = impairments.len() as u32;
        impairments.push(ImpairmentBox::new(number as u32, index, impairment));
        Place::Impairment(index)
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
                    if !link.lazy {
                        link.done_slot = schedule.reserve();
                    }
                    link.flight.reserve(schedule);
                }
                Place::Delay(i) => delays[i as usize].flight.reserve(schedule),
                _ => {}
            }
        }
    }

    /// Tells a link or delay whose packets all go to the same place where that is.
    pub(crate) fn find_common_ways(&mut self) {
        let network = &mut self.network;
        let mut links = vec![Way::Unknown; network.links.len()];
        let mut delays = vec![Way::Unknown; network.delays.len()];
        for pair in network.routes.windows(2) {
            let way = match pair[0] {
                Place::Link(i) => &mut links[i as usize],
                Place::Delay(i) => &mut delays[i as usize],
                _ => continue,
            };
            *way = way.and(pair[1]);
        }
        for (link, way) in network.links.iter_mut().zip(links) {
            link.flight.next = way.only();
        }
        for (line, way) in network.delays.iter_mut().zip(delays) {
            line.flight.next = way.only();
        }
    }

    fn start_clock(&mut self) {
        self.network.schedule.measure_at(self.end, clock::END);
        if self.warmup > 0 {
            self.network.schedule.measure_at(self.warmup, clock::WARMUP);
        }
        if self.sample_interval < self.end {
            self.network
                .schedule
                .measure_at(self.sample_interval, clock::SAMPLE);
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
