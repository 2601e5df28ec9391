//! One run in real time, from the plan to the outcome.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use bloatlab_outcome::metrics::{
    N_CPU_STEAL, N_DEVICE_DROPS, N_LINK_CPU, N_MAX_LATENESS, N_P50_LATENESS, N_P99_LATENESS,
};
use bloatlab_outcome::{Distribution, MS, Outcome, Series, Sheet};
use bloatlab_scenario::{Plan, PlanBoxKind, PlanFlow};
use bloatlab_sim::{Control, NoPlugins, RunError, Session};
use bloatlab_tcp::SegmentationOffload;
use bloatlab_units::{MILLISECOND, Nanos};

use crate::buffers::with_buffers;
use crate::clock::{Clock, thread_cpu_time};
use crate::directory::Directory;
use crate::error::Error;
use crate::hosts::Hosts;
use crate::kernel_feed::KernelFeed;
use crate::kernel_link::without_links;
use crate::laid::{Carrier, Laid, lay};
use crate::lateness::Lateness;
use crate::layout::{FlowRefusal, layout};
use crate::link::Link;
use crate::packet_socket::PacketSocket;
use crate::programs::{Foreground, Programs};
use crate::samples::{Names, Samples};
use crate::steal::CpuTime;
use crate::uplink;
use crate::waiting::Hurry;

/// Time from the end of the preparations to the start of the run.
const LEAD: Nanos = 20 * MILLISECOND;
/// Longest time between two observations of a connection.
const LONGEST_POLL: Nanos = 10 * MILLISECOND;

/// How a scenario is run in real time.
#[derive(Debug, Default)]
pub struct RunOptions {
    /// Seed of everything random in the network and in the applications.
    pub seed: u64,
    /// Record every packet.
    pub record_packets: bool,
    /// Whose link and queues are used.
    pub link: LinkKind,
    /// Directory for what programs print; `None`: it is not kept.
    pub files: Option<PathBuf>,
    /// Variables for the environment and the arguments of programs.
    pub variables: Vec<(String, String)>,
    /// The program that has the standard streams of this process. The run ends with it.
    pub foreground: Option<Foreground>,
    /// Where the samples of the links go while the run lasts.
    pub samples: Option<Samples>,
    /// A socket to a process outside, which connects the server of the flow in the foreground with the world.
    pub uplink: Option<OwnedFd>,
}

/// A run that has ended.
#[derive(Debug)]
pub struct Finished {
    /// What it gave.
    pub outcome: Outcome,
    /// When it ended.
    pub at: Nanos,
    /// The exit code of the program in the foreground; `None`: there was none, or the time limit ended it.
    pub code: Option<i32>,
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

/// Runs a plan in real time. The process must have entered new namespaces.
///
/// # Errors
/// A plan that cannot be run, a run that is cancelled, or something that the operating system refuses.
pub fn run(plan: Arc<Plan>, options: &RunOptions, control: &Control) -> Result<Finished, Error> {
    let plan = with_buffers(&plan);
    let flows: Vec<&PlanFlow> = plan.all_flows().collect();
    let layout = layout(&plan).map_err(|found| refused(&plan, &found))?;
    let mut laid = lay(&layout, Carrier::Emulator)?;
    let sockets = laid.ends.iter().map(|end| PacketSocket::open(end.index));
    let mut sockets = sockets.collect::<Result<Vec<_>, _>>()?;
    let mut kernel = KernelFeed::default();
    let mut network = Arc::clone(&plan);
    if options.link == LinkKind::Kernel {
        let (links, exits) =
            KernelFeed::make(&plan, &flows, sockets.len(), laid.mtu(), options.seed)?;
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
    let mut directory = directory(&flows, &laid);
    let foreground = options.foreground.as_ref();
    let foreground = foreground.and_then(|wanted| {
        let mut flows = flows.iter();
        flows.position(|flow| flow.name == wanted.flow)
    });
    if let (Some(socket), Some(flow)) = (&options.uplink, foreground) {
        uplink::open(socket, &flows[flow].hosts, &mut laid)?;
        directory.open_outward(flow);
    }
    if let Some(samples) = &options.samples {
        samples.name(names(&plan, session.link_series()));
    }
    let programs = Programs {
        files: options.files.as_deref(),
        variables: &options.variables,
        foreground: options.foreground.as_ref(),
        is_virtual: false,
        laid: &laid,
    };
    // They are killed after everything else has ended.
    let _servers = programs.servers(&flows)?;
    let before = CpuTime::now();
    let clock = Clock::starting_in(LEAD);
    let (poll, phase) = polling(plan.sample_interval, LONGEST_POLL);
    let specs = flows.iter().enumerate();
    let specs = specs
        .map(|(index, flow)| programs.spec(index, flow))
        .collect();
    let mut link = Link {
        session,
        hosts: Hosts::start(clock, specs, poll, phase)?,
        directory,
        keeps_buffers: flows
            .iter()
            .map(|flow| flow.tcp.segmentation_offload == SegmentationOffload::On)
            .collect(),
        sockets,
        clock,
        lateness: Lateness::default(),
        foreground,
        ended: Vec::new(),
        samples: options.samples.clone(),
        kernel,
        work: Default::default(),
    };
    let cpu = thread_cpu_time();
    let hurry = Hurry::now();
    link.run(plan.duration)?;
    drop(hurry);
    let code = link.foreground_code();
    let at = match code {
        Some(_) => link.session.now().max(1),
        None => plan.duration,
    };
    let mut lateness = link.lateness;
    lateness.link_cpu = (thread_cpu_time() - cpu) as f64 / at as f64;
    lateness.device_drops += laid.device_drops()?;
    for socket in &mut link.sockets {
        lateness.device_drops += socket.drops()?;
    }
    lateness.steal = before
        .zip(CpuTime::now())
        .map(|(before, after)| after.steal_since(&before));
    let mut outcome = match code {
        Some(_) => link.session.finish_now()?,
        None => link.session.finish()?,
    };
    link.kernel.links.finish(&plan, at, &mut outcome)?;
    let failed = link
        .ended
        .iter()
        .filter(|ended| ended.code != 0 && Some(ended.flow) != foreground);
    let failed = failed.map(|ended| {
        let name = &flows[ended.flow].name;
        format!(
            "the program of flow `{name}` ended with exit code {}",
            ended.code
        )
    });
    let doubts: Vec<String> = lateness.doubt().into_iter().chain(failed).collect();
    outcome.suspect = (!doubts.is_empty()).then(|| doubts.join("; "));
    add_accuracy(&mut outcome, lateness);
    Ok(Finished { outcome, at, code })
}

/// What the numbers of samples stand for.
fn names(plan: &Plan, series: &Series) -> Names {
    let boxes = plan.boxes.iter();
    let links = boxes.filter(|planned| matches!(planned.kind, PlanBoxKind::Link(_)));
    Names {
        links: links.map(|planned| planned.name.clone()).collect(),
        columns: series.columns.iter().map(|(name, _)| *name).collect(),
    }
}

/// Time between two observations of a connection, and by how much they precede the samples.
pub(crate) fn polling(sample_interval: Nanos, longest: Nanos) -> (Nanos, Nanos) {
    let poll = sample_interval / sample_interval.div_ceil(longest).max(1);
    (poll, (poll / 10).min(MILLISECOND))
}

pub(crate) fn directory(flows: &[&PlanFlow], laid: &Laid) -> Directory {
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
pub(crate) fn refused(plan: &Plan, found: &[FlowRefusal]) -> Error {
    let message = found.first().map_or_else(String::new, |first| {
        let name = plan.all_flows().nth(first.flow);
        let name = name.map_or("", |flow| flow.name.as_str());
        format!("flows: {}: {} (flow `{name}`)", first.key, first.reason)
    });
    Error::Run(RunError::Plan(message))
}

/// Adds the metrics of how late packets left.
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
    outcome.distributions.push(Distribution {
        scope: "network",
        entity: 0,
        quantity: "lateness",
        histogram: lateness.late,
    });
}
