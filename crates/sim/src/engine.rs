//! The event loop: takes the earliest event, passes packets to the hosts that they reach, and fires timers.
//!
//! The code that most packets take is inlined into the loop, from box to box and through both hosts. Rare code is not. Otherwise a tenth of all
//! instructions would be calls.

use std::sync::Arc;

use bloatlab_scenario::Plan;
use bloatlab_units::{NEVER, Nanos, Streams};

use crate::RunError;
use crate::control::{Control, Stall, Stopped};
use crate::flow::{Flow, TcpFlow};
use crate::hosts::FlowHosts;
use crate::network::Network;
use crate::outside::Outside;
use crate::packet::Packet;
use crate::packet_log::PacketLog;
use crate::place::Place;
use crate::plugins::Plugins;
use crate::schedule::{application, clock, event};
use crate::watchdog::Watchdog;
use bloatlab_outcome::Protocol;
use bloatlab_outcome::Series;

/// Number of events between two checks whether the run must stop.
const CONTROL_PERIOD: u64 = 1 << 14;

/// A running simulation.
pub(crate) struct Engine<'a> {
    pub plan: Arc<Plan>,
    /// Changes of the plan's timeline that have been applied.
    pub changes_applied: usize,
    /// The run is at its end, or on the way there.
    pub has_ended: bool,
    pub plugins: &'a dyn Plugins,
    pub control: &'a Control,
    pub watchdog: Watchdog,
    pub streams: Streams,
    /// A connection of the run could not be made.
    pub failure: Option<RunError>,
    pub end: Nanos,
    pub warmup: Nanos,
    pub sample_interval: Nanos,
    pub events: u64,
    /// Boxes in the plan's order.
    pub places: Vec<Place>,
    pub box_names: Vec<String>,
    pub network: Network,
    pub hosts: FlowHosts,
    pub flows: Vec<Flow>,
    pub sampled_at: Nanos,
    /// Scratch space for the rows of one sample.
    pub rows: Vec<(u32, [f64; 9])>,
    pub flow_series: Series,
    pub link_series: Series,
    pub probe_series: Series,
    /// Rank of each plan flow among flows of data, and among probes.
    pub ranks: Vec<(Option<u32>, Option<u32>)>,
    /// Number of flows of data, and of probes.
    pub ranked: (u32, u32),
    /// What is handed over to and from hosts outside, if the hosts are.
    pub outside: Option<Outside>,
    /// The delay of no time that paths without a box that takes time have.
    pub nothing: Option<Place>,
}

impl<'a> Engine<'a> {
    /// An engine without boxes and flows, which `build` adds.
    pub fn empty(
        plan: Arc<Plan>,
        plugins: &'a dyn Plugins,
        control: &'a Control,
        seed: u64,
        log: PacketLog,
    ) -> Self {
        Self {
            watchdog: Watchdog::new(plan.flows.len() as u64),
            end: plan.duration,
            warmup: plan.warmup,
            sample_interval: plan.sample_interval,
            plan,
            changes_applied: 0,
            has_ended: false,
            plugins,
            control,
            streams: Streams::new(seed),
            failure: None,
            events: 0,
            places: Vec::new(),
            box_names: Vec::new(),
            network: Network::new(log),
            hosts: FlowHosts::default(),
            flows: Vec::new(),
            sampled_at: 0,
            rows: Vec::new(),
            flow_series: Series::default(),
            link_series: Series::default(),
            probe_series: Series::default(),
            ranks: Vec::new(),
            ranked: (0, 0),
            outside: None,
            nothing: None,
        }
    }

    /// Runs to the next pause or to the end, or until told to stop.
    pub fn run(&mut self) -> Result<(), RunError> {
        self.control.check(self.now(), self.end)?;
        while let Some((kind, index)) = self.network.schedule.next() {
            // The flow and end that may send now. They are pumped in one place, because the code for sending is long, and paced flows send on two
            // occasions.
            let mut woken = None;
            match kind {
                event::LINK_DONE => {
                    // `Network::ends` counts it.
                    self.network.on_link_done(index as usize);
                    continue;
                }
                event::LINK_FLIGHT | event::DELAY => {
                    let (arrived, next) = if kind == event::LINK_FLIGHT {
                        self.network.on_link_flight(index as usize)
                    } else {
                        self.network.on_delay(index as usize)
                    };
                    if let Some(mut packet) = arrived {
                        woken = self.forward_at_once(next, &mut packet);
                    }
                }
                event::TIMER => self.on_timer(index as usize / 2, index as usize % 2),
                event::APPLICATION => {
                    self.on_application(
                        (index / application::KINDS) as usize,
                        index % application::KINDS,
                    );
                }
                event::WAKE => self.network.on_wake(self.places[index as usize]),
                event::RELEASE => {
                    woken = self.on_release(index as usize / 2, index as usize % 2);
                    if woken.is_none() {
                        // An outdated event does not count. If it had a register, it would have been replaced.
                        continue;
                    }
                }
                _ if index == clock::CELL => self.on_cell()?,
                _ if index >= clock::REORDERING => self.on_rare_box(index),
                _ if index >= clock::GATE => self.network.on_tick((index - clock::GATE) as usize),
                _ if index == clock::SAMPLE => self.on_sample()?,
                _ if index == clock::WARMUP => self.on_warmup(),
                _ if index == clock::PAUSE => return Ok(()),
                _ => break,
            }
            if let Some((index, end)) = woken
                && let Some(flow) = self.flows[index].tcp()
            {
                flow.pump(&mut self.network, index, end);
            }
            self.events += 1;
            if self.events.is_multiple_of(CONTROL_PERIOD) {
                self.look()?;
            }
        }
        self.control.check(self.now(), self.end)?;
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Checks whether the run must stop, has failed, or stalls.
    #[cold]
    fn look(&mut self) -> Result<(), RunError> {
        self.control.check(self.now(), self.end)?;
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if self.watchdog.moves(self.now()) {
            return Ok(());
        }
        let stall = Stall {
            at: self.now(),
            events: self.watchdog.looks() * CONTROL_PERIOD,
            what: self.name_next(),
        };
        Err(Stopped::Stalled(stall).into())
    }

    /// A packet leaves a delay with jitter, or is a copy that follows its original.
    #[cold]
    fn on_rare_box(&mut self, index: u32) {
        let number = (index & ((1 << clock::BOX_BITS) - 1)) as usize;
        let packet = if index & clock::COPY != 0 {
            self.network.on_copy(number)
        } else {
            self.network.on_reordering_delay(number)
        };
        if let Some(mut packet) = packet {
            self.forward(&mut packet);
        }
    }

    /// The instant.
    pub fn now(&self) -> Nanos {
        self.network.schedule.now
    }

    /// Puts an event into the calendar.
    pub fn schedule(&mut self, at: Nanos, kind: u32, index: u32) {
        self.network.schedule.at(at, kind, index);
    }

    /// A packet left a box: it goes to the next one, or the host at the end of its path receives it.
    fn forward(&mut self, packet: &mut Packet) {
        if let Some((index, end)) = self.forward_at_once(None, packet) {
            self.pump(index, end);
        }
    }

    /// As `forward`, but inlined into the event loop. `next` is the next place, if it is known. Returns the flow and end to pump afterwards.
    #[inline(always)]
    fn forward_at_once(
        &mut self,
        next: Option<Place>,
        packet: &mut Packet,
    ) -> Option<(usize, usize)> {
        packet.cross();
        if !self.network.forward_ahead(next, packet) {
            return None;
        }
        match packet.protocol() {
            Protocol::Tcp => return self.receive_tcp(packet),
            Protocol::Udp => self.receive_datagram(packet),
            Protocol::Echo => self.receive_echo(packet),
        }
        None
    }

    /// The next slot of the radio cell begins, or a block has arrived.
    #[inline(never)]
    fn on_cell(&mut self) -> Result<(), Stopped> {
        let mut crossed = self.network.on_cell();
        for packet in &mut crossed {
            self.forward(packet);
        }
        crossed.clear();
        self.network.take_back(crossed);
        // A slot of many UEs is as much work as many events.
        self.control.heed()
    }

    /// A segment reached end 1 (data direction) or end 0.
    #[inline(always)]
    fn receive_tcp(&mut self, packet: &Packet) -> Option<(usize, usize)> {
        let now = self.now();
        let index = packet.flow_index();
        let Some(flow) = self.flows[index].tcp() else {
            self.deliver_outside(packet);
            return None;
        };
        if packet.connection() != flow.connection {
            return None;
        }
        let end = 1 - packet.direction();
        let bytes = flow.on_segment(now, end, packet);
        if bytes > 0 && flow.application_reads {
            // The host acknowledges before its application can answer.
            flow.send_control(&mut self.network, end);
            self.on_read(index, end, bytes);
        }
        Some((index, end))
    }

    /// Lets an endpoint send what it may send, and sets its timer.
    #[inline(never)]
    pub fn pump(&mut self, index: usize, end: usize) {
        if let Some(flow) = self.flows[index].tcp() {
            flow.pump(&mut self.network, index, end);
        }
    }

    /// The pacing clock releases a segment of this flow and end, unless the event is outdated.
    #[inline(always)]
    fn on_release(&mut self, index: usize, end: usize) -> Option<(usize, usize)> {
        let now = self.now();
        let flow = self.flows[index].tcp()?;
        let is_due = flow.releases[end].at == now;
        is_due.then(|| {
            flow.releases[end].at = NEVER;
            (index, end)
        })
    }

    /// A timer event. Outdated events are ignored, and a deadline that has moved to a later time is scheduled again.
    #[inline(never)]
    fn on_timer(&mut self, index: usize, end: usize) {
        let now = self.now();
        let is_current = |flow: &&mut TcpFlow| flow.scheduled[end] == now;
        let Some(flow) = self.flows[index].tcp().filter(is_current) else {
            return;
        };
        flow.scheduled[end] = NEVER;
        if flow.ends[end].deadline() > now {
            // Nothing may leave that waits for an ACK or for a timer.
            return flow.set_timers(&mut self.network.schedule, index, end);
        }
        flow.ends[end].on_timer(now);
        if flow.ends[end].failed() {
            self.on_handshake_failure(index, end);
        }
        self.pump(index, end);
    }
}
