//! Which hosts share a network namespace, and their addresses.

use std::collections::{HashMap, HashSet};
use std::net::Ipv4Addr;

use bloatlab_scenario::traffic::Transport;
use bloatlab_scenario::{Plan, PlanFlow, Traffic};
use bloatlab_tcp::LinuxSettings;

use crate::directory::MAX_FLOWS;

/// Most namespaces of hosts.
pub const MOST_NAMESPACES: usize = 64;
/// Hosts per value of the second byte of an address, and per value of the third.
const SECOND: u32 = 62_500;
const THIRD: u32 = 250;
/// Bytes of IP and UDP header.
const UDP_HEADERS: u64 = 28;

/// Network namespaces and the hosts in them. The two ends of each flow are in different ones, and the hosts of a namespace have equal TCP settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The hosts by their numbers in the plan.
    pub hosts: Vec<Host>,
    /// The settings of each namespace.
    pub namespaces: Vec<LinuxSettings>,
}

/// A host of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// Index of its namespace.
    pub namespace: usize,
    /// Its address.
    pub address: Ipv4Addr,
    /// It runs programs, which choose no address, so it has the one that the kernel chooses in its namespace. No other such host is there.
    pub runs_programs: bool,
}

/// A flow that cannot be laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRefusal {
    /// Number of the flow.
    pub flow: usize,
    /// The key of the flow that causes it, such as `tcp.pacing`. Empty: the flow as a whole.
    pub key: String,
    /// Why it cannot be laid out.
    pub reason: String,
}

/// Distributes the hosts of a plan over network namespaces.
///
/// # Errors
/// The flows that cannot be laid out.
pub fn layout(plan: &Plan) -> Result<Layout, Vec<FlowRefusal>> {
    let flows: Vec<&PlanFlow> = plan.all_flows().collect();
    check_flows(&flows)?;
    let settings = settings(&flows)?;
    colour(&flows, &settings)
}

/// Refuses flows that have no two hosts, and those that have no port.
fn check_flows(flows: &[&PlanFlow]) -> Result<(), Vec<FlowRefusal>> {
    let why =
        "is the same host as `source`; on Linux the packets of such a flow never leave the host";
    let mut refused: Vec<FlowRefusal> = flows
        .iter()
        .enumerate()
        .filter(|(_, flow)| flow.hosts[0] == flow.hosts[1])
        .map(|(number, _)| refusal(number, "destination", why))
        .collect();
    if flows.len() > MAX_FLOWS {
        let count = flows.len();
        let why = format!("{count} flows are too many; at most {MAX_FLOWS} have a port");
        refused.push(refusal(MAX_FLOWS, "", &why));
    }
    if refused.is_empty() {
        Ok(())
    } else {
        Err(refused)
    }
}

/// Gives each host the first namespace with its settings that holds no peer of it.
fn colour(flows: &[&PlanFlow], settings: &[LinuxSettings]) -> Result<Layout, Vec<FlowRefusal>> {
    let mut peers: Vec<Vec<u32>> = vec![Vec::new(); settings.len()];
    let mut runs_programs = vec![false; settings.len()];
    for flow in flows {
        let [from, to] = flow.hosts;
        peers[from as usize].push(to);
        peers[to as usize].push(from);
        runs_programs[to as usize] |= flow.traffic.programs("").is_some();
    }
    let mut namespaces: Vec<LinuxSettings> = Vec::new();
    let mut has_programs: Vec<bool> = Vec::new();
    let mut of_settings: HashMap<&LinuxSettings, Vec<usize>> = HashMap::new();
    let mut hosts: Vec<Host> = Vec::with_capacity(settings.len());
    for (number, wanted) in settings.iter().enumerate() {
        let placed = peers[number]
            .iter()
            .filter_map(|&peer| hosts.get(peer as usize));
        let taken: HashSet<usize> = placed.map(|host| host.namespace).collect();
        let alike = of_settings.entry(wanted).or_default();
        let runs_programs = runs_programs[number];
        let conflicts =
            |index: usize| taken.contains(&index) || (runs_programs && has_programs[index]);
        let free = alike.iter().copied().find(|&index| !conflicts(index));
        let namespace = free.unwrap_or_else(|| {
            namespaces.push(wanted.clone());
            has_programs.push(false);
            alike.push(namespaces.len() - 1);
            namespaces.len() - 1
        });
        if namespace >= MOST_NAMESPACES {
            let flow = flows
                .iter()
                .position(|flow| flow.hosts.contains(&(number as u32)));
            let why = format!(
                "needs more than {MOST_NAMESPACES} network namespaces; give more flows equal `tcp` settings, start fewer programs, or give fewer hosts several peers"
            );
            return Err(vec![refusal(flow.unwrap_or_default(), "", &why)]);
        }
        has_programs[namespace] |= runs_programs;
        hosts.push(Host {
            namespace,
            address: address(number as u32),
            runs_programs,
        });
    }
    Ok(Layout { hosts, namespaces })
}

/// The address of a host.
pub fn address(host: u32) -> Ipv4Addr {
    Ipv4Addr::new(
        10,
        (host / SECOND + 64) as u8,
        ((host / THIRD) % THIRD) as u8,
        (host % THIRD + 1) as u8,
    )
}

/// The settings that each host needs.
fn settings(flows: &[&PlanFlow]) -> Result<Vec<LinuxSettings>, Vec<FlowRefusal>> {
    let count = flows.iter().flat_map(|flow| flow.hosts).max();
    let mut of_tcp: Vec<Option<(usize, LinuxSettings)>> =
        vec![None; count.map_or(0, |most| most as usize + 1)];
    let mut datagrams: Vec<u32> = vec![0; of_tcp.len()];
    let mut refused = Vec::new();
    for (number, flow) in flows.iter().enumerate() {
        let ends = flow.hosts.map(|host| host as usize);
        if let Some(size) = datagram(&flow.traffic) {
            for end in ends {
                datagrams[end] = datagrams[end].max(size);
            }
            continue;
        }
        let wanted = match flow.tcp.linux() {
            Ok(mut wanted) => {
                if flow.traffic.programs("").is_some() {
                    wanted.congestion_control = Some(linux_name(flow));
                }
                wanted
            }
            Err(why) => {
                let (key, reason) = why.split_once(": ").unwrap_or(("", &why));
                refused.push(refusal(number, &format!("tcp.{key}"), reason));
                continue;
            }
        };
        for end in ends {
            match &mut of_tcp[end] {
                Some((first, other)) => {
                    if let Err((key, what)) = agree(other, &wanted) {
                        let name = &flows[*first].name;
                        let why = format!(
                            "differs from that of flow `{name}`, which shares a host with it; on Linux a host has one {what}"
                        );
                        refused.push(refusal(number, key, &why));
                    }
                }
                None => of_tcp[end] = Some((number, wanted.clone())),
            }
        }
    }
    for (number, flow) in flows.iter().enumerate() {
        let ends = flow.hosts.map(|host| &of_tcp[host as usize]);
        let mtus = ends.into_iter().flatten().map(|(_, settings)| settings.mtu);
        let (Some(size), Some(mtu)) = (datagram(&flow.traffic), mtus.min()) else {
            continue;
        };
        if size > mtu {
            let why = format!(
                "its packets of {size} bytes do not fit into the MTU of {mtu} bytes that the `mss` of another flow gives its host; use smaller packets, a larger `mss` or another host"
            );
            refused.push(refusal(number, "traffic", &why));
        }
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    Ok(of_tcp
        .iter()
        .zip(datagrams)
        .map(|(tcp, size)| match tcp {
            Some((_, settings)) => settings.clone(),
            None => without_tcp(of_tcp.iter().flatten().map(|(_, settings)| settings), size),
        })
        .collect())
}

/// Lets a host have the settings of another flow, too. Otherwise returns the key that differs, and what a host has only one of.
fn agree(
    host: &mut LinuxSettings,
    other: &LinuxSettings,
) -> Result<(), (&'static str, &'static str)> {
    // Only programs use it, and senders of ours choose their own.
    let of_programs = host.congestion_control.take();
    let wanted = LinuxSettings {
        congestion_control: None,
        ..other.clone()
    };
    let is_equal = *host == wanted;
    let differs = of_programs.is_some()
        && other.congestion_control.is_some()
        && of_programs != other.congestion_control;
    host.congestion_control = of_programs.or_else(|| other.congestion_control.clone());
    match (is_equal, differs) {
        (false, _) => Err(("tcp", "set of TCP settings")),
        (true, true) => Err(("cca", "congestion control for its programs")),
        (true, false) => Ok(()),
    }
}

/// The settings of a host without TCP: any will do whose MTU suffices.
fn without_tcp<'a>(mut used: impl Iterator<Item = &'a LinuxSettings>, size: u32) -> LinuxSettings {
    let usual = LinuxSettings::default();
    let own = || LinuxSettings {
        mtu: usual.mtu.max(size),
        ..usual.clone()
    };
    let fitting = used.find(|settings| settings.mtu >= size);
    fitting.cloned().unwrap_or_else(own)
}

/// Linux's name of a flow's congestion control.
pub(crate) fn linux_name(flow: &PlanFlow) -> String {
    let kind = flow.cca.kind();
    let names = bloatlab_cc::elsewhere();
    let found = names.into_iter().find(|(known, _)| *known == kind);
    let linux = found.and_then(|(_, elsewhere)| elsewhere.linux);
    linux.map_or(kind, |linux| linux.name).to_owned()
}

/// Bytes of the largest IP packet that a kind of traffic without TCP sends.
fn datagram(traffic: &Traffic) -> Option<u32> {
    let size = match traffic {
        Traffic::Cbr(params) => (params.transport, params.packet),
        Traffic::Poisson(params) => (params.transport, params.packet),
        Traffic::OnOff(params) => (params.transport, params.packet),
        Traffic::Ping(params) => return Some(params.size.0 as u32),
        _ => return None,
    };
    match size {
        (Transport::Udp, payload) => Some((payload.0 + UDP_HEADERS) as u32),
        (Transport::Tcp, _) => None,
    }
}

fn refusal(flow: usize, key: &str, reason: &str) -> FlowRefusal {
    FlowRefusal {
        flow,
        key: key.to_owned(),
        reason: reason.to_owned(),
    }
}
