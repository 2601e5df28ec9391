//! One run in virtual time, inside a kernel whose clock jumps from event to event: the kernel carries every packet, and its computations take no time.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::{fs, io};

use bloatlab_outcome::{Outcome, Step};
use bloatlab_scenario::{Effect, Plan, PlanBoxKind, PlanFlow, Traffic};
use bloatlab_sim::{Control, NoPlugins, Order, Report, Session};
use bloatlab_tcp::LinuxSettings;
use bloatlab_units::{MILLISECOND, Nanos};

use crate::arriving::Arriving;
use crate::buffers::with_buffers;
use crate::clock::Clock;
use crate::directory::{Directory, Owner};
use crate::error::Error;
use crate::frame::Frame;
use crate::hosts::Hosts;
use crate::kernel_links::KernelLinks;
use crate::laid::{Carrier, lay};
use crate::layout::layout;
use crate::netlink::doing;
use crate::places::Place;
use crate::programs::Programs;
use crate::routed::Routed;
use crate::run::{directory, polling, refused};
use crate::sysctl;
use crate::waiting::wait;

/// Time from the end of the preparations to the start of the run.
const LEAD: Nanos = 20 * MILLISECOND;

/// Settings of the whole guest.
const GUEST: [(&str, &str); 2] = [
    // Packets that may reach a device at one instant. Linux's default of 1000 is made for computations that take time.
    ("net.core.netdev_max_backlog", "1000000"),
    // Pages of all connections together: no pressure below 1 GB, although the guest is small.
    ("net.ipv4.tcp_mem", "262144 262144 262144"),
];
/// Bytes of all send buffers together that a guest has memory for.
const MOST_IN_BUFFERS: u64 = 256 << 20;
/// Bytes of a send buffer at the start of its connection.
const FIRST_BUFFER: u64 = 1 << 20;

/// Longest time between two observations of a connection. Each costs system calls, which are what a run costs.
const LONGEST_POLL: Nanos = 50 * MILLISECOND;

/// Runs a plan in virtual time. The calling thread's network namespace becomes that of the routers. `tell` hears how far the run is, now and then.
///
/// # Errors
/// A plan that cannot be run, or something that the kernel refuses.
pub fn run_in_virtual_time(
    plan: Arc<Plan>,
    (seed, record_packets): (u64, bool),
    tell: &mut dyn FnMut(Nanos),
) -> Result<Outcome, Error> {
    let plan = with_buffers(&plan);
    let flows: Vec<&PlanFlow> = plan.all_flows().collect();
    let mut layout = layout(&plan).map_err(|found| refused(&plan, &found))?;
    if buffers(&flows) > MOST_IN_BUFFERS {
        layout.namespaces.iter_mut().for_each(let_buffers_grow);
    }
    for (key, value) in GUEST {
        sysctl::set(key, value)?;
    }
    let mut laid = lay(&layout, Carrier::Kernel)?;
    set_parameters(&flows)?;
    let (network, links) = Routed::make(&plan, &flows, &laid, seed)?;
    let (control, plugins) = (Control::default(), NoPlugins);
    let session = Session::with_hosts_outside(
        Arc::new(without_boxes(&plan)),
        seed,
        record_packets,
        &plugins,
        &control,
    )?;
    let programs = Programs {
        files: None,
        variables: &[],
        foreground: None,
        is_virtual: true,
        laid: &laid,
    };
    let clock = Clock::starting_in(LEAD);
    let (poll, phase) = polling(plan.sample_interval, LONGEST_POLL);
    let specs = flows.iter().enumerate();
    let specs = specs.map(|(index, flow)| programs.spec(index, flow));
    let mut run = Run {
        hosts: Hosts::start(clock, specs.collect(), poll, phase)?,
        directory: directory(&flows, &laid),
        links: KernelLinks::new(&plan, links),
        session,
        arriving: Arriving::new(network.netems.last_delays.len()),
        plan: &plan,
        changes: 0,
        network,
        clock,
        start: clock.realtime_at_start(),
        passages: Vec::new(),
        reports: Vec::new(),
        orders: Vec::new(),
    };
    run.to(plan.duration, tell)?;
    let missed = run.network.tap.missed()?;
    let dropped = laid.device_drops()?;
    let mut outcome = run.session.finish()?;
    run.links.finish(&plan, plan.duration, &mut outcome)?;
    let doubts = [
        (missed, "came by too fast to be seen"),
        (dropped, "were dropped outside of the queues"),
    ];
    let doubts = doubts.iter().filter(|(count, _)| *count > 0);
    let doubts: Vec<String> = doubts
        .map(|(count, what)| format!("{count} packets {what}"))
        .collect();
    outcome.suspect = (!doubts.is_empty()).then(|| doubts.join("; "));
    Ok(outcome)
}

/// Bytes that senders which never stop writing keep in their buffers, if these have their whole size from the start.
fn buffers(flows: &[&PlanFlow]) -> u64 {
    let endless = flows.iter();
    let endless = endless.filter(|flow| matches!(flow.traffic, Traffic::Greedy(_)));
    endless.map(|flow| flow.tcp.send_buffer.0).sum()
}

/// Lets send buffers begin small and grow up to their size, as Linux does unless it is told otherwise. The memory of a guest is limited, and senders
/// that never stop writing would fill their buffers.
fn let_buffers_grow(settings: &mut LinuxSettings) {
    for (key, value) in &mut settings.sysctls {
        let sizes: Vec<&str> = value.split(' ').collect();
        if let ("net.ipv4.tcp_wmem", [least, usual, most]) = (*key, sizes.as_slice()) {
            let usual = usual.parse().unwrap_or(FIRST_BUFFER).min(FIRST_BUFFER);
            *value = format!("{least} {usual} {most}");
        }
    }
}

/// Gives the congestion controls of all flows their parameters, which the whole kernel shares.
fn set_parameters(flows: &[&PlanFlow]) -> io::Result<()> {
    for flow in flows.iter().filter(|flow| flow.traffic.is_tcp()) {
        let algorithm = flow.cca.linux().map_err(io::Error::other)?;
        for parameter in &algorithm.parameters {
            if parameter.value != parameter.default {
                let written = fs::write(&parameter.file, parameter.value.to_string());
                doing(|| parameter.file.clone(), written)?;
            }
        }
    }
    Ok(())
}

/// The plan of a network through which packets pass at once, because the kernel carries them.
fn without_boxes(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for planned in &mut plan.boxes {
        planned.kind = PlanBoxKind::Delay {
            delay: 0,
            vary: None,
            jitter: None,
        };
    }
    plan
}

/// A packet that came by a device.
#[derive(Clone, Copy)]
struct Passage {
    at: Nanos,
    place: Place,
    owner: Owner,
    frame: Frame,
}

/// A run that is under way.
struct Run<'a> {
    plan: &'a Plan,
    /// Number of changes of the timeline that have been made.
    changes: usize,
    session: Session<'a>,
    hosts: Hosts,
    directory: Directory,
    links: KernelLinks,
    network: Routed,
    arriving: Arriving<(Owner, Frame)>,
    clock: Clock,
    /// The realtime clock at the start of the run. In virtual time the difference between the clocks is constant.
    start: Nanos,
    /// Used again in each turn.
    passages: Vec<Passage>,
    reports: Vec<Report>,
    orders: Vec<Order>,
}

impl Run<'_> {
    /// Runs until the end of the run.
    fn to(&mut self, end: Nanos, tell: &mut dyn FnMut(Nanos)) -> Result<(), Error> {
        self.clock.sleep_until(0);
        loop {
            let now = self.clock.now();
            self.turn(now.min(end - 1))?;
            if now >= end {
                return Ok(());
            }
            tell(now);
            let due = self.session.next_at().min(self.links.next_at());
            let due = due.min(self.network.netems.next_at()).min(end);
            wait(
                &[self.hosts.as_fd()],
                due.saturating_sub(now).min(self.network.longest_wait),
            )?;
        }
    }

    /// Counts the packets that came by, processes reports and due events, and gives the hosts their orders.
    fn turn(&mut self, now: Nanos) -> Result<(), Error> {
        // What arrives must have been written.
        self.hosts.receive(&mut self.reports)?;
        for report in self.reports.drain(..) {
            self.session.report(&report);
        }
        self.count(now);
        self.change(now)?;
        self.session.advance(now)?;
        self.network.netems.turn(now)?;
        self.links.turn(now)?;
        self.session.take_orders(&mut self.orders);
        if !self.orders.is_empty() {
            self.hosts.send(&self.orders);
            self.orders.clear();
        }
        Ok(())
    }

    /// Makes the changes of the timeline that are due, as far as they are the kernel's. Those of flows are the session's.
    fn change(&mut self, now: Nanos) -> io::Result<()> {
        let due = self.plan.timeline[self.changes..].iter();
        for change in due.take_while(|change| change.at <= now) {
            self.changes += 1;
            for effect in &change.effects {
                match effect {
                    Effect::Rate { number, rate } => {
                        self.links
                            .of_box(*number, |link| link.set_rate(now, rate.0 as f64))?;
                    }
                    Effect::Queue { number, queue } => {
                        self.links
                            .of_box(*number, |link| link.set_queue(now, queue))?;
                    }
                    Effect::Delay { number, delay } => {
                        self.network.netems.set_delay(*number, *delay)?;
                    }
                    Effect::Probability {
                        number,
                        probability,
                    } => {
                        let netems = &mut self.network.netems;
                        netems.set_probability((self.plan, *number), *probability)?;
                    }
                    Effect::Start(_) | Effect::Stop { .. } => {}
                }
            }
        }
        Ok(())
    }

    /// Counts the packets that have come by and those that have reached their hosts since the last turn.
    fn count(&mut self, now: Nanos) {
        let mut passages = std::mem::take(&mut self.passages);
        let Self {
            directory,
            network,
            start,
            ..
        } = self;
        let places = &network.places;
        network.tap.drain(|seen| {
            let frame = Frame::read_headers(seen.bytes);
            let owner = frame.and_then(|frame| directory.owner(&frame));
            if let (Some(frame), Some(owner), Some(place)) = (frame, owner, places.of(seen.device))
            {
                let at = seen.at.saturating_sub(*start);
                passages.push(Passage {
                    at,
                    place,
                    owner,
                    frame,
                });
            }
        });
        for passage in passages.drain(..) {
            self.count_arrivals(passage.at);
            self.count_one(&passage);
        }
        self.passages = passages;
        self.count_arrivals(now);
    }

    /// Counts the packets that have reached their hosts until an instant.
    fn count_arrivals(&mut self, until: Nanos) {
        while let Some((at, (owner, frame))) = self.arriving.next(until) {
            for index in 0..frame.segments() {
                self.session.arrived(at, &owner.entry(&frame, index));
            }
        }
    }

    /// Counts a packet where it has come to.
    fn count_one(&mut self, passage: &Passage) {
        let Passage {
            at,
            place,
            owner,
            frame,
        } = *passage;
        let (flow, direction) = (owner.flow, usize::from(owner.direction));
        let path = &self.network.paths[flow][direction];
        let (hops, links) = (&self.network.hops, &mut self.links);
        let (mut left, mut entered) = (None, None);
        let passed = match place {
            Place::Host => Some(0),
            Place::Hop(hop) => {
                if let Some(link) = hops[hop].link {
                    links.link(link).leave(at, &owner, &frame);
                    left = Some((Step::Dequeue, links.link(link).number as u32));
                }
                path.iter().position(|&one| one == hop).map(|at| at + 1)
            }
        };
        let next = passed.and_then(|passed| path.get(passed));
        if let Some(link) = next.and_then(|&next| hops[next].link) {
            links.link(link).enter(at, &owner, &frame);
            entered = Some((Step::Enqueue, links.link(link).number as u32));
        }
        let has_passed_all = passed == Some(path.len());
        let last = self.network.last[flow][direction].filter(|_| has_passed_all);
        if let Some(last) = last {
            let delay = self.network.netems.last_delays[last];
            self.arriving.add(last, at + delay, (owner, frame));
        }
        for index in 0..frame.segments() {
            let entry = owner.entry(&frame, index);
            if passed == Some(0) {
                self.session.departed(at, &entry);
            }
            for (step, place) in left.into_iter().chain(entered) {
                self.session.passed(at, step, place, &entry);
            }
            if has_passed_all && last.is_none() {
                self.session.arrived(at, &entry);
            }
        }
    }
}
