//! What Linux, or this machine, cannot run of a scenario.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

use bloatlab_aqm::QueueConfig;
use bloatlab_cc::CcConfig;
use bloatlab_link::ImpairmentConfig;
use bloatlab_scenario::{Effect, Plan, PlanBoxKind, PlanFlow, PlanLink, Scenario, Traffic};
use bloatlab_tcp::SegmentationOffload;

use crate::buffers::with_buffers;
use crate::kernel_queue::KernelQueue;
use crate::layout::layout;
use crate::netlink::MOST_JITTER;
use crate::probe::{congestion_controls, find, queue_error};
use crate::run::LinkKind;

/// Something that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The path of the key, such as `flows.0.cca`.
    pub path: String,
    /// Why it cannot be run.
    pub reason: String,
}

/// The kernel that is to run a scenario.
#[derive(Clone, Copy, Debug)]
pub enum Kernel<'a> {
    /// That of this machine, in real time.
    Here(LinkKind),
    /// One in virtual time, with the congestion controls and queue disciplines that it has.
    Virtual {
        /// Names of congestion controls.
        congestion_controls: &'a [String],
        /// Names of queue disciplines.
        queues: &'a [String],
    },
}

impl Kernel<'_> {
    fn congestion_controls(&self) -> &[String] {
        match self {
            Self::Here(_) => congestion_controls(),
            Self::Virtual {
                congestion_controls,
                ..
            } => congestion_controls,
        }
    }
}

/// What cannot be run of a scenario, each key once.
pub fn refusals(scenario: &Scenario, plan: Plan, kernel: Kernel<'_>) -> Vec<Refusal> {
    let plan = &*with_buffers(&Arc::new(plan));
    let paths = flow_paths(scenario, plan);
    let path_of = |flow: usize, key: &str| match (paths.get(flow), key) {
        (None, _) => "flows".to_owned(),
        (Some(path), "") => path.clone(),
        (Some(path), key) => format!("{path}.{key}"),
    };
    let mut found: Vec<Refusal> = Vec::new();
    for (index, flow) in plan.all_flows().enumerate() {
        if flow.traffic.is_tcp()
            && let Err((key, reason)) = check_congestion_control(flow, &kernel)
        {
            let path = path_of(index, &key);
            found.push(Refusal { path, reason });
        }
    }
    for (index, flow) in plan.all_flows().enumerate() {
        for (key, reason) in check_programs(flow, &kernel) {
            let path = path_of(index, key);
            found.push(Refusal { path, reason });
        }
    }
    for refusal in layout(plan).err().unwrap_or_default() {
        found.push(Refusal {
            path: path_of(refusal.flow, &refusal.key),
            reason: refusal.reason,
        });
    }
    found.extend(check_python_queues(scenario, plan));
    let of_flow = |(index, key, reason): (usize, String, String)| Refusal {
        path: path_of(index, &key),
        reason,
    };
    found.extend(check_reads(plan).into_iter().map(of_flow));
    match kernel {
        Kernel::Here(LinkKind::Userspace) => {}
        Kernel::Here(LinkKind::Kernel) => found.extend(check_kernel_links(scenario, plan)),
        Kernel::Virtual { queues, .. } => {
            found.extend(check_routed(scenario, plan, queues));
            let of_flows = check_shared_parameters(plan).into_iter();
            found.extend(of_flows.chain(check_offload(plan)).map(of_flow));
        }
    }
    // Equal flows of one table give equal refusals.
    found.dedup();
    let mut seen = std::collections::HashSet::new();
    found.retain(|refusal| seen.insert(refusal.path.clone()));
    found
}

/// The paths of the flows in the document, by the index of the flow: those that exist from the start, then those that the timeline adds.
fn flow_paths(scenario: &Scenario, plan: &Plan) -> Vec<String> {
    let flows = scenario.flows.iter().enumerate();
    let first =
        flows.flat_map(|(index, flow)| (0..flow.count).map(move |_| format!("flows.{index}")));
    let changes = plan.timeline.iter().enumerate();
    let later = changes.flat_map(|(index, change)| {
        let added = change.effects.iter();
        let added = added.filter(|effect| matches!(effect, Effect::Start(_)));
        added.map(move |_| format!("timeline.{index}.value"))
    });
    first.chain(later).collect()
}

/// Refuses queues in Python, which only the simulator runs.
fn check_python_queues(scenario: &Scenario, plan: &Plan) -> Vec<Refusal> {
    let is_python = |queue: &QueueConfig| matches!(queue, QueueConfig::Python(_));
    let links = links(plan).filter(|(_, _, link)| is_python(&link.queue));
    let first = links.map(|(index, name, link)| queue_path(scenario, index, name, link));
    let changes = plan.timeline.iter().enumerate();
    let later = changes.filter(|(_, change)| {
        let mut effects = change.effects.iter();
        effects.any(|effect| matches!(effect, Effect::Queue { queue, .. } if is_python(queue)))
    });
    let later = later.map(|(index, _)| format!("timeline.{index}.value"));
    let refuse = |path| Refusal {
        path,
        reason: "is a Python class, which only the simulator runs".to_owned(),
    };
    first.chain(later).map(refuse).collect()
}

/// The links of a plan with their indices and names.
fn links(plan: &Plan) -> impl Iterator<Item = (usize, &str, &PlanLink)> {
    let boxes = plan.boxes.iter().enumerate();
    boxes.filter_map(|(index, planned)| match &planned.kind {
        PlanBoxKind::Link(link) => Some((index, planned.name.as_str(), &**link)),
        _ => None,
    })
}

/// Where the document has the queue of a link, or what gives the link its queue.
fn queue_path(scenario: &Scenario, index: usize, name: &str, link: &PlanLink) -> String {
    let path = scenario.queue_path(index, name, link);
    path.unwrap_or_else(|| match scenario.dumbbell {
        Some(_) => "dumbbell.access_rate".to_owned(),
        None => "boxes".to_owned(),
    })
}

/// Refuses a congestion control that Linux or this kernel lacks, and parameters that are not the kernel's.
fn check_congestion_control(flow: &PlanFlow, kernel: &Kernel<'_>) -> Result<(), (String, String)> {
    let at = |key: &str| {
        if key == "kind" {
            "cca".to_owned()
        } else {
            format!("cca.{key}")
        }
    };
    if let CcConfig::Python(_) = flow.cca {
        return Err((
            at("kind"),
            "is a Python class, which only the simulator runs".into(),
        ));
    }
    let algorithm = flow.cca.linux().map_err(|why| {
        let (key, reason) = why.split_once(": ").unwrap_or(("kind", &why));
        (at(key), reason.to_owned())
    })?;
    let available = kernel.congestion_controls();
    if !available.iter().any(|name| name == algorithm.name) {
        let name = algorithm.name;
        let module = match (algorithm.module, kernel) {
            (Some(module), Kernel::Here(_)) => {
                format!("; `modprobe {module}` as root may load it")
            }
            _ => String::new(),
        };
        let known = available.join(", ");
        let why =
            format!("this kernel has no congestion control `{name}` (it has {known}){module}");
        return Err((at("kind"), why));
    }
    if let Kernel::Virtual { .. } = kernel {
        // Its parameters are set before the run.
        return Ok(());
    }
    for parameter in &algorithm.parameters {
        let file = fs::read_to_string(&parameter.file).ok();
        let now = file.and_then(|text| text.trim().parse().ok());
        let now: u32 = now.unwrap_or(parameter.default);
        if now != parameter.value {
            let value = parameter.value;
            let why = format!(
                "is {value} in Linux, where it is {now} for all connections of this machine; a run may not change that"
            );
            return Err((at(parameter.ours), why));
        }
    }
    Ok(())
}

/// Refuses parameters of a congestion control in which flows differ, because a kernel has one set of them.
fn check_shared_parameters(plan: &Plan) -> Vec<(usize, String, String)> {
    let mut first: HashMap<String, (u32, &str)> = HashMap::new();
    let mut found = Vec::new();
    let flows = plan.all_flows().enumerate();
    for (index, flow) in flows.filter(|(_, flow)| flow.traffic.is_tcp()) {
        let parameters = flow.cca.linux().map(|algorithm| algorithm.parameters);
        for parameter in parameters.unwrap_or_default() {
            let own = (parameter.value, flow.name.as_str());
            let (value, name) = *first.entry(parameter.file).or_insert(own);
            if value != parameter.value {
                let why =
                    format!("is {value} for flow `{name}`; a kernel has one value for all flows");
                found.push((index, format!("cca.{}", parameter.ours), why));
            }
        }
    }
    found
}

/// Refuses programs that are not installed, and a code point that they would not use.
fn check_programs(flow: &PlanFlow, kernel: &Kernel<'_>) -> Vec<(&'static str, String)> {
    let Some(programs) = flow.traffic.programs("") else {
        return Vec::new();
    };
    if let Kernel::Virtual { .. } = kernel {
        let why = "is a program, which only an engine in real time runs; use --engine linux";
        return vec![("traffic", why.to_owned())];
    }
    let mut found = Vec::new();
    for words in [&programs.client, &programs.server] {
        if let Some(program) = words.first()
            && !program.contains(['/', '$'])
            && find(program).is_none()
        {
            let why = format!("the program `{program}` is not installed");
            found.push(("traffic", why));
        }
    }
    if flow.dscp != 0 {
        let why = "programs choose their code points themselves; leave it out";
        found.push(("dscp", why.to_owned()));
    }
    found
}

/// Refuses what a network in the kernel cannot do.
fn check_routed(scenario: &Scenario, plan: &Plan, queues: &[String]) -> Vec<Refusal> {
    let refusal = |path: String, why: &str| Refusal {
        path,
        reason: format!("{why}; use --engine sim"),
    };
    if scenario.cell.is_some() {
        return vec![refusal("cell".into(), "the kernel has no 5G cell")];
    }
    let lacks = |words: &str| {
        let kind = words.split(' ').next().unwrap_or_default();
        let known = queues.join(", ");
        let is_known = queues.iter().any(|known| known == kind);
        (!is_known)
            .then(|| format!("this kernel has no queue discipline `{kind}` (it has {known})"))
    };
    let mut found = check_queues(scenario, plan, "--engine sim", lacks);
    found.extend(check_later_queues(plan, lacks));
    for (index, planned) in plan.boxes.iter().enumerate() {
        let (key, why) = match &planned.kind {
            PlanBoxKind::Impairment(ImpairmentConfig::Corrupt(_)) => {
                let why =
                    "the kernel damages the headers of packets, too, so that routers drop some";
                ("corrupt", why)
            }
            PlanBoxKind::Impairment(ImpairmentConfig::Loss(loss)) if !loss.spacing.is_default() => {
                ("spacing", "the kernel loses packets at random")
            }
            PlanBoxKind::Delay {
                jitter: Some(jitter),
                ..
            } if jitter.size.0 > MOST_JITTER => ("jitter.size", "the kernel's is at most 2147 ms"),
            _ => continue,
        };
        let is_back = planned.name.starts_with("reverse");
        let path = match (&scenario.dumbbell, key) {
            (None, "corrupt") => format!("boxes.{index}"),
            (None, key) => format!("boxes.{index}.{key}"),
            (Some(_), "spacing") => "dumbbell.loss_spacing".into(),
            (Some(_), key) if is_back => format!("dumbbell.reverse_impair.{key}"),
            (Some(_), key) => format!("dumbbell.impair.{key}"),
        };
        found.push(refusal(path, why));
    }
    found
}

/// Refuses queues of the timeline that Linux lacks, or that `refused` does not accept by their words in tc.
fn check_later_queues(plan: &Plan, refused: impl Fn(&str) -> Option<String>) -> Vec<Refusal> {
    let mut found = Vec::new();
    for (index, change) in plan.timeline.iter().enumerate() {
        for effect in &change.effects {
            let Effect::Queue { number, queue } = effect else {
                continue;
            };
            let (PlanBoxKind::Link(link), false) = (
                &plan.boxes[*number].kind,
                matches!(queue, QueueConfig::Python(_)),
            ) else {
                continue;
            };
            let link = PlanLink {
                queue: queue.clone(),
                ..(**link).clone()
            };
            let reason = match KernelQueue::of(&link) {
                Ok(queue) => queue.all_words().iter().find_map(|words| refused(words)),
                Err(reason) => Some(reason),
            };
            found.extend(reason.map(|reason| Refusal {
                path: format!("timeline.{index}.value"),
                reason,
            }));
        }
    }
    found
}

/// Refuses segmentation offload on paths with losses and duplicates, because the kernel would lose whole buffers.
fn check_offload(plan: &Plan) -> Vec<(usize, String, String)> {
    let impairs = |number: &usize| match &plan.boxes[*number].kind {
        PlanBoxKind::Impairment(_) => true,
        PlanBoxKind::Delay { jitter, .. } => jitter.is_some(),
        PlanBoxKind::Link(_) => false,
    };
    let flows = plan.all_flows().enumerate();
    let offloading = flows.filter(|(_, flow)| {
        let mut path = flow.forward.iter().chain(&flow.reverse);
        let is_on = flow.tcp.segmentation_offload == SegmentationOffload::On;
        flow.traffic.is_tcp() && is_on && path.any(impairs)
    });
    let why = "the kernel's impairments act on whole buffers; set it to false or use --engine sim";
    let key = "tcp.segmentation_offload";
    let refused = offloading.map(|(index, _)| (index, key.to_owned(), why.to_owned()));
    refused.collect()
}

/// Refuses receivers that wait for more than a sender may send. In the simulator, the application knows what has arrived before it reads.
fn check_reads(plan: &Plan) -> Vec<(usize, String, String)> {
    let flows = plan.all_flows().enumerate();
    let waiting = flows.filter(|(_, flow)| {
        let is_endless = matches!(flow.traffic, Traffic::Greedy(_));
        flow.traffic.is_tcp() && flow.tcp.read_size.0 > 0 && !is_endless
    });
    let why = "only the receiver of a flow with traffic `greedy` may wait for more; set it to 0B or use --engine sim";
    let refused = waiting.map(|(index, _)| (index, "tcp.read_size".to_owned(), why.to_owned()));
    refused.collect()
}

/// Refuses rings of devices, and queues that Linux lacks or that `refused` does not accept by their words in tc. `instead` is what to use for them.
fn check_queues(
    scenario: &Scenario,
    plan: &Plan,
    instead: &str,
    refused: impl Fn(&str) -> Option<String>,
) -> Vec<Refusal> {
    let mut found = Vec::new();
    let in_linux = links(plan).filter(|(.., link)| !matches!(link.queue, QueueConfig::Python(_)));
    for (index, name, link) in in_linux {
        let queue = queue_path(scenario, index, name, link);
        let place = queue.rsplit_once('.').map_or("boxes", |(place, _)| place);
        if link.device_packets > 1 {
            found.push(Refusal {
                path: format!("{place}.device_packets"),
                reason: format!("HTB has no ring of a device; use 0 or 1, or {instead}"),
            });
        }
        let reason = match KernelQueue::of(link) {
            Ok(queue) => queue.all_words().iter().find_map(|words| refused(words)),
            Err(reason) => Some(reason),
        };
        if let Some(reason) = reason {
            found.push(Refusal {
                path: queue,
                reason,
            });
        }
    }
    found
}

/// Refuses what the kernel's links cannot do.
fn check_kernel_links(scenario: &Scenario, plan: &Plan) -> Vec<Refusal> {
    let mut found = Vec::new();
    let mut refuse = |path: String, reason: String| found.push(Refusal { path, reason });
    if scenario.cell.is_some() {
        let why = "the kernel has no 5G cell; use the link userspace";
        refuse("cell".into(), why.into());
        return found;
    }
    if !plan.timeline.is_empty() {
        let why = "changes during a run are only made to our own links; use the link userspace";
        refuse("timeline".into(), why.into());
    }
    if scenario
        .dumbbell
        .as_ref()
        .is_some_and(|given| given.access_rate.is_some())
    {
        let why =
            "a path crosses several links, and the kernel's link is one; use the link userspace";
        refuse("dumbbell.access_rate".into(), why.into());
        return found;
    }
    let queues = check_queues(scenario, plan, "the link userspace", |words| {
        let why = queue_error(words)?;
        Some(format!(
            "this kernel refuses `tc qdisc add ... {words}` ({why})"
        ))
    });
    for one in queues {
        refuse(one.path, one.reason);
    }
    let mut paths = plan
        .all_flows()
        .flat_map(|flow| [&flow.forward, &flow.reverse]);
    let crossed = |path: &&Vec<usize>| {
        let is_link = |&&number: &&usize| matches!(plan.boxes[number].kind, PlanBoxKind::Link(_));
        path.iter().filter(is_link).count()
    };
    if paths.any(|path| crossed(&path) > 1) {
        let why =
            "a path crosses several links, and the kernel's link is one; use the link userspace";
        let key = if scenario.parking_lot.is_some() {
            "parking_lot"
        } else {
            "boxes"
        };
        refuse(key.into(), why.into());
    }
    found
}
