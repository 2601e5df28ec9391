//! Builds an engine from a plan.

use std::sync::Arc;

use bloatlab_aqm::{BufferDecision, Context, Qdisc, QueueConfig};
use bloatlab_link::{ImpairmentConfig, VaryingDelay, VaryingRate, jitter};
use bloatlab_outcome::{Count, Series};
use bloatlab_port::{Backlog, Port, Transmitter};
use bloatlab_scenario::{Plan, PlanBoxKind, PlanLink, VaryDelay};
use bloatlab_units::{Nanos, Rate};

use crate::RunError;
use crate::control::Control;
use crate::delay_line::DelayLine;
use crate::engine::Engine;
use crate::flight::Flight;
use crate::impairment::ImpairmentBox;
use crate::link::Link;
use crate::network::Network;
use crate::outside::Outside;
use crate::packet::{MAX_FLOWS, Packet};
use crate::packet_log::PacketLog;
use crate::place::Place;
use crate::plugins::Plugins;
use crate::reordering_delay::ReorderingDelay;
use crate::schedule::{Slot, clock, event};

/// Largest frame a queue is told to expect: Ethernet's 1500 bytes and its 14 of header.
const MTU: u32 = 1514;

/// Where packets go from a box, as far as the paths examined so far say.
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
    /// Builds every box and flow of the plan, and schedules their first events.
    pub fn build(
        plan: Arc<Plan>,
        seed: u64,
        plugins: &'a dyn Plugins,
        control: &'a Control,
        log: PacketLog,
        outside: Option<Outside>,
    ) -> Result<Self, RunError> {
        let flows = plan.flows.len();
        if flows > MAX_FLOWS {
            let message = format!("flows: at most {MAX_FLOWS} in all, not {flows}; use fewer");
            return Err(RunError::Plan(message));
        }
        let mut engine = Self::empty(Arc::clone(&plan), plugins, control, seed, log);
        if outside.is_some() {
            engine.network.log = engine.network.log.with_outside();
        }
        engine.outside = outside;
        let mut gates = 0;
        for (number, planned) in plan.boxes.iter().enumerate() {
            control.heed()?;
            engine.box_names.push(planned.name.clone());
            let place = match &planned.kind {
                PlanBoxKind::Link(link) => match (link.radio, &link.gate) {
                    (Some(port), _) => Place::Bearer(port.bearer),
                    (None, Some(_)) => {
                        gates += 1;
                        Place::Gate(gates - 1)
                    }
                    (None, None) => engine.add_link(number, &planned.name, link)?,
                },
                PlanBoxKind::Delay {
                    delay,
                    vary,
                    jitter,
                } => engine.add_delay(&planned.name, *delay, vary.as_ref(), *jitter),
                PlanBoxKind::Impairment(config) => engine.add_impairment(number, config),
            };
            engine.places.push(place);
        }
        engine.add_cell(&plan)?;
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
        let index = self.network.links.len() as u32;
        let backlog = self.backlog(number, name, link)?;
        let queue = &backlog.queue;
        // A packet log lists its entries in the order of time, which a lazy link does not keep.
        let may_be_lazy = self.control.fast_paths() && !self.network.log.is_on();
        // Behind a shaper, a packet may arrive before its time on the link ends.
        let lazy = may_be_lazy && queue.is_work_conserving() && link.host.is_none() && !link.shaper;
        let stores_packets = lazy && link.device_packets == 0;
        let tail_drop = queue.tail_drop().filter(|_| stores_packets);
        let interrupt = self.control.interrupt();
        let varying_rate = link.vary_rate.as_ref().map(|vary| {
            let rng = self.streams.stream(&format!("vary/{name}/rate"));
            VaryingRate::new(vary, link.rate, &rng, self.end, interrupt)
        });
        let varying_delay = link
            .vary_delay
            .as_ref()
            .map(|vary| VaryingDelay::new(link.delay).varied(vary, &self.streams, interrupt));
        let mut transmitter =
            Transmitter::new((link.rate, varying_rate), (link.delay, varying_delay))
                .as_shaper(link.shaper);
        if self.plan.may_change {
            transmitter = transmitter.with_mean_rate();
        }
        // If queues may be replaced, rates and utilization are those of the link.
        let shaping = match link.capacity().0 {
            _ if self.plan.may_change => 1.0,
            0 => 1.0,
            capacity => link.rate.0 as f64 / capacity as f64,
        };
        let mut link = Link {
            port: Port::new(backlog, transmitter, link.device_packets, link.overhead),
            flight: Flight::new(event::LINK_FLIGHT, index),
            lazy,
            tail_drop,
            refused: BufferDecision::new(()),
            end_is_planned: false,
            done_slot: Slot::CALENDAR,
            own: (!link.host.is_none()).then(Box::default),
            shaping,
            queues_replaced: 0,
        };
        link.plan_wake(&mut self.network.schedule);
        self.network.links.push(link);
        Ok(Place::Link(index))
    }

    /// The empty queue of a link, bearer or gate.
    pub(crate) fn backlog(
        &self,
        number: usize,
        name: &str,
        link: &PlanLink,
    ) -> Result<Backlog<Packet>, RunError> {
        let context = self.context(name, link.header, link.rate, link.delay);
        let queue = self.make_queue(name, &link.queue, context)?;
        Ok(Backlog::new(
            number as u32,
            link.transit,
            queue,
            link.header,
        ))
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

    /// Assigns the registers to the sources that most flows share.
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

    /// Finds links and delays whose packets all go to the same place, and stores that place in them.
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
