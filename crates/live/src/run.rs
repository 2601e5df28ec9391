//! One run in real time, from the plan to the outcome.

use std::path::PathBuf;
use std::sync::Arc;

use bloatlab_outcome::metrics::{
    N_CPU_STEAL, N_DEVICE_DROPS, N_LINK_CPU, N_MAX_LATENESS, N_P50_LATENESS, N_P99_LATENESS,
};
use bloatlab_outcome::{Distribution, MS, Outcome, Sheet};
use bloatlab_scenario::{Plan, PlanFlow};
use bloatlab_sim::{Control, NoPlugins, RunError, Session};
use bloatlab_units::{MILLISECOND, Nanos};

use crate::buffers::with_buffers;
use crate::clock::{Clock, thread_cpu_time};
use crate::directory::{Directory, FIRST_PORT};
use crate::error::Error;
use crate::hosts::{End, FlowKind, FlowSpec, Hosts};
use crate::kernel_link::without_links;
use crate::kernel_links::KernelLinks;
use crate::laid::{Laid, lay};
use crate::lateness::Lateness;
use crate::layout::{FlowRefusal, flows_of, layout};
use crate::link::Link;
use crate::packet_socket::PacketSocket;
use crate::steal::CpuTime;
use crate::waiting::Hurry;

/// Time from the end of the preparations to the start of the run.
const LEAD: Nanos = 20 * MILLISECOND;
/// Longest time between two observations of a connection.
const LONGEST_POLL: Nanos = 10 * MILLISECOND;

/// How a scenario is run in real time.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Seed of everything random in the network and in the applications.
    pub seed: u64,
    /// Record every packet.
    pub record_packets: bool,
    /// Whose link and queues are used.
    pub link: LinkKind,
    /// Directory for the files that programs print.
    pub files: Option<PathBuf>,
}

/// Whose link and queues are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkKind {
    /// Ours: the network of the simulator in real time.
    #[default]
    Userspace,
    /// The kernel's: HTB and the kernel's queue disciplines. Our network only delays packets.
    Kernel,
}

/// Runs a plan in real time. The process must be in namespaces of its own.
///
/// # Errors
/// A plan that cannot be run, a run that is cancelled, or something that the operating system refuses.
pub fn run(plan: Arc<Plan>, options: &RunOptions, control: &Control) -> Result<Outcome, Error> {
    let plan = with_buffers(&plan);
    let flows: Vec<&PlanFlow> = flows_of(&plan).collect();
    let mut laid = lay(&layout(&plan).map_err(|found| refused(&plan, &found))?)?;
    let is_kernels = options.link == LinkKind::Kernel;
    let sockets = laid.ends.iter().map(|end| PacketSocket::open(end.index));
    let mut sockets = sockets.collect::<Result<Vec<_>, _>>()?;
    let mut kernel = KernelLinks::default();
    let mut network = Arc::clone(&plan);
    if is_kernels {
        let (links, exits) = KernelLinks::make(&plan, &flows, sockets.len(), options.seed)?;
        sockets.extend(exits);
        kernel = links;
        network = Arc::new(without_links(&plan));
    }
    let session = Session::with_hosts_outside(
        network,
        options.seed,
        options.record_packets,
        &NoPlugins,
        control,
    )?;
    let before = CpuTime::now();
    let clock = Clock::starting_in(LEAD);
    let (poll, phase) = polling(plan.sample_interval);
    let specs = flows.iter().enumerate();
    let specs = specs
        .map(|(index, flow)| spec(index, flow, &laid))
        .collect();
    let mut link = Link {
        session,
        hosts: Hosts::start(clock, specs, poll, phase)?,
        directory: directory(&flows, &laid),
        keeps_buffers: flows
            .iter()
            .map(|flow| flow.tcp.segmentation_offload)
            .collect(),
        sockets,
        clock,
        lateness: Lateness::default(),
        kernel,
        work: Default::default(),
    };
    let cpu = thread_cpu_time();
    let hurry = Hurry::now();
    link.run(plan.duration)?;
    drop(hurry);
    let mut lateness = link.lateness;
    lateness.link_cpu = (thread_cpu_time() - cpu) as f64 / plan.duration as f64;
    lateness.device_drops += laid.device_drops()?;
    for socket in &mut link.sockets {
        lateness.device_drops += socket.drops()?;
    }
    lateness.steal = before
        .zip(CpuTime::now())
        .map(|(before, after)| after.steal_since(&before));
    let mut outcome = link.session.finish()?;
    link.kernel.finish(&plan, &mut outcome)?;
    add_accuracy(&mut outcome, lateness);
    Ok(outcome)
}

/// Time between two observations of a connection, and by how much they precede the samples.
fn polling(sample_interval: Nanos) -> (Nanos, Nanos) {
    let poll = sample_interval / sample_interval.div_ceil(LONGEST_POLL).max(1);
    (poll, (poll / 10).min(MILLISECOND))
}

fn spec(index: usize, flow: &PlanFlow, laid: &Laid) -> FlowSpec {
    let ends = flow.hosts.map(|host| {
        let (namespace, address) = laid.hosts[host as usize];
        End {
            namespace: Arc::clone(&laid.namespaces[namespace]),
            address,
        }
    });
    let kind = if flow.traffic.is_tcp() {
        FlowKind::Tcp {
            cca: linux_name(flow),
        }
    } else if flow.traffic.has_data() {
        FlowKind::Udp
    } else {
        FlowKind::Echo
    };
    FlowSpec {
        name: flow.name.clone(),
        kind,
        ends,
        port: FIRST_PORT + index as u16,
        dscp: flow.dscp,
    }
}

/// Linux's name of a flow's congestion control.
fn linux_name(flow: &PlanFlow) -> String {
    let kind = flow.cca.kind();
    let names = bloatlab_cc::elsewhere();
    let found = names.into_iter().find(|(known, _)| *known == kind);
    let linux = found.and_then(|(_, elsewhere)| elsewhere.linux);
    linux.map_or(kind, |linux| linux.name).to_owned()
}

fn directory(flows: &[&PlanFlow], laid: &Laid) -> Directory {
    let mut directory = Directory::default();
    for flow in flows {
        let hosts = flow.hosts.map(|host| laid.hosts[host as usize]);
        let is_program = flow.traffic.programs("").is_some();
        directory.add(
            hosts.map(|host| host.1),
            hosts.map(|host| host.0),
            is_program,
        );
    }
    directory
}

/// The error for flows that cannot be laid out: the first of them.
fn refused(plan: &Plan, found: &[FlowRefusal]) -> Error {
    let message = found.first().map_or_else(String::new, |first| {
        let name = flows_of(plan).nth(first.flow);
        let name = name.map_or("", |flow| flow.name.as_str());
        format!("flows: {}: {} (flow `{name}`)", first.key, first.reason)
    });
    Error::Run(RunError::Plan(message))
}

/// Adds what the run recorded of its own accuracy.
fn add_accuracy(outcome: &mut Outcome, lateness: Lateness) {
    let mut sheet = Sheet::default();
    let quantiles = [(0.5, N_P50_LATENESS), (0.99, N_P99_LATENESS)];
    sheet.quantiles(0, &lateness.late, &quantiles);
    let latest = lateness.late.max().map(|late| late as f64 * MS);
    sheet.put(0, N_MAX_LATENESS, latest);
    sheet.put(0, N_DEVICE_DROPS, lateness.device_drops as f64);
    sheet.put(0, N_LINK_CPU, lateness.link_cpu);
    sheet.put(0, N_CPU_STEAL, lateness.steal);
    outcome.network_metrics.append(&mut sheet.0);
    outcome.suspect = lateness.doubt();
    outcome.distributions.push(Distribution {
        scope: "network",
        entity: 0,
        quantity: "lateness",
        histogram: lateness.late,
    });
}
