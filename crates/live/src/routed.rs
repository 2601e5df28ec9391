//! The network of a plan in the kernel: every box is a veth pair, and rules and routes lead each packet from box to box.

use std::io;
use std::net::Ipv4Addr;

use bloatlab_scenario::{Effect, Plan, PlanBoxKind, PlanFlow};
use bloatlab_units::{Nanos, Streams};

use crate::kernel_link::{KernelLink, Timers, add_pair};
use crate::laid::Laid;
use crate::netems::{Netems, delay_of};
use crate::netlink::Netlink;
use crate::places::{Place, Places, watch};
use crate::sysctl;
use crate::tap::Tap;

/// Number of the routing table of the device with index 0.
const FIRST_TABLE: u32 = 1000;

/// Settings of the namespace of the routers.
const ROUTER: [(&str, &str); 6] = [
    ("net.ipv4.ip_forward", "1"),
    // No packet is for a socket of theirs.
    ("net.ipv4.ip_early_demux", "0"),
    // The routes back to the senders are not looked up.
    ("net.ipv4.conf.all.accept_local", "1"),
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
    ("net.ipv4.conf.all.send_redirects", "0"),
];

/// A step of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    /// Indices of its devices: packets enter the first and come out of the second.
    devices: [u32; 2],
    /// Index of the link that it is, among the links; `None`: it is netem.
    pub link: Option<usize>,
}

/// A step of a path, before it has devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The link of this box.
    Link(usize),
    /// The delay or the impairment of this box.
    Netem(usize),
}

/// The network.
pub(crate) struct Routed {
    pub hops: Vec<Hop>,
    /// By flow and direction: the hops of its packets, in their order.
    pub paths: Vec<[Vec<usize>; 2]>,
    /// By flow and direction: the index of the last delay of the path, if the device that leads to the host has it.
    pub last: Vec<[Option<usize>; 2]>,
    pub places: Places,
    pub tap: Tap,
    /// The longest time between two looks at the tap.
    pub longest_wait: Nanos,
    pub netems: Netems,
    netlink: Netlink,
}

impl Routed {
    /// Makes the network in the calling thread's namespace, which has one end of each pair to the hosts. Returns it with its links.
    ///
    /// # Errors
    /// The kernel refuses something.
    pub fn make(
        plan: &Plan,
        flows: &[&PlanFlow],
        laid: &Laid,
        seed: u64,
    ) -> io::Result<(Self, Vec<KernelLink>)> {
        for (key, value) in ROUTER {
            sysctl::set(key, value)?;
        }
        let watch = watch(plan, flows);
        let mut this = Self {
            hops: Vec::new(),
            paths: Vec::new(),
            last: Vec::new(),
            places: Places::default(),
            tap: Tap::open(watch.places)?,
            longest_wait: watch.longest_wait,
            netems: Netems::open()?,
            netlink: Netlink::open()?,
        };
        let streams = Streams::new(seed);
        let mut paths: Vec<[Vec<Step>; 2]> = flows
            .iter()
            .map(|flow| [&flow.forward, &flow.reverse].map(|path| steps(plan, path)))
            .collect();
        let last = this.delay_at_ends((plan, &streams), flows, laid, &paths)?;
        for (flow, paths) in flows.iter().zip(&mut paths) {
            let ends = [flow.hosts[1], flow.hosts[0]];
            let ends = ends.map(|host| last[laid.hosts[host as usize].0]);
            for (path, end) in paths.iter_mut().zip(ends) {
                if end.is_some() {
                    path.pop();
                }
            }
            this.last.push(ends);
        }
        let mut links = Vec::new();
        let mut made: Vec<(Step, usize)> = Vec::new();
        for &step in paths.iter().flatten().flatten() {
            if made.iter().any(|&(one, _)| one == step) {
                continue;
            }
            let hop = match step {
                Step::Link(number) => {
                    let PlanBoxKind::Link(link) = &plan.boxes[number].kind else {
                        continue;
                    };
                    let (link, devices) = KernelLink::make(
                        plan,
                        number,
                        link,
                        &streams,
                        (Timers::Exact, laid.mtu()),
                    )?;
                    links.push(link);
                    this.add_hop(devices, Some(links.len() - 1))
                }
                Step::Netem(number) => {
                    let devices =
                        add_pair(&mut this.netlink, &format!("netem{number}"), laid.mtu())?;
                    this.netems.add(devices[0], (plan, number), &streams)?;
                    this.add_hop(devices, None)
                }
            };
            made.push((step, hop));
        }
        let hop_of = |step: &Step| {
            made.iter()
                .find(|(one, _)| one == step)
                .map(|&(_, hop)| hop)
        };
        for paths in &paths {
            let hops = |path: &Vec<Step>| path.iter().filter_map(hop_of).collect();
            this.paths.push([hops(&paths[0]), hops(&paths[1])]);
        }
        this.lead(flows, laid)?;
        Ok((this, links))
    }

    /// Lets the device that leads to a namespace of hosts delay packets, if all of their paths end with the same delay. This saves a hop. Returns the
    /// index of the delay of each namespace that has one.
    fn delay_at_ends(
        &mut self,
        (plan, streams): (&Plan, &Streams),
        flows: &[&PlanFlow],
        laid: &Laid,
        paths: &[[Vec<Step>; 2]],
    ) -> io::Result<Vec<Option<usize>>> {
        let mut last: Vec<Option<Option<Step>>> = vec![None; laid.ends.len()];
        for (flow, paths) in flows.iter().zip(paths) {
            for (path, host) in paths.iter().zip([flow.hosts[1], flow.hosts[0]]) {
                let (namespace, _) = laid.hosts[host as usize];
                let step = path.last().copied();
                let step = step.filter(|step| is_plain_delay(plan, *step));
                let known = last[namespace].get_or_insert(step);
                if *known != step {
                    *known = None;
                }
            }
        }
        let mut indices = Vec::with_capacity(last.len());
        for (end, step) in laid.ends.iter().zip(last) {
            let Some(Step::Netem(number)) = step.flatten() else {
                indices.push(None);
                continue;
            };
            let index = self.netems.add_last(end.index, (plan, number), streams)?;
            indices.push(Some(index));
        }
        Ok(indices)
    }

    fn add_hop(&mut self, devices: [u32; 2], link: Option<usize>) -> usize {
        let number = self.hops.len();
        self.hops.push(Hop { devices, link });
        self.places.put(devices[1], Place::Hop(number));
        number
    }

    /// Leads the packets of all flows along their paths: behind each device there is a table with a route to each host that packets go to.
    fn lead(&mut self, flows: &[&PlanFlow], laid: &Laid) -> io::Result<()> {
        let mut routes = Vec::new();
        for (flow, paths) in flows.iter().zip(&self.paths) {
            let hosts = flow.hosts.map(|host| laid.hosts[host as usize]);
            for (path, ends) in paths
                .iter()
                .zip([[hosts[0], hosts[1]], [hosts[1], hosts[0]]])
            {
                let [(from, _), (to, address)] = ends;
                let mut behind = laid.ends[from].index;
                for &hop in path {
                    let devices = self.hops[hop].devices;
                    routes.push((FIRST_TABLE + behind, address, devices[0]));
                    behind = devices[1];
                }
                routes.push((FIRST_TABLE + behind, address, laid.ends[to].index));
            }
        }
        routes.sort_unstable();
        routes.dedup();
        let same = |pair: &[(u32, Ipv4Addr, u32)]| pair[0].0 == pair[1].0 && pair[0].1 == pair[1].1;
        if let Some(pair) = routes.windows(2).find(|pair| same(pair)) {
            let host = pair[0].1;
            let why = format!(
                "packets from one host to another ({host}) take different paths; give the flows different hosts"
            );
            return Err(io::Error::other(why));
        }
        for end in &laid.ends {
            self.places.put(end.index, Place::Host);
            self.netlink.add_rule(&end.name, FIRST_TABLE + end.index)?;
        }
        for (name, index) in self.exits()? {
            self.netlink.add_rule(&name, FIRST_TABLE + index)?;
        }
        self.netlink.add_host_routes(routes)
    }

    /// Names and indices of the devices by which packets come out of the hops.
    fn exits(&mut self) -> io::Result<Vec<(String, u32)>> {
        let exits: Vec<u32> = self.hops.iter().map(|hop| hop.devices[1]).collect();
        let named = exits
            .into_iter()
            .map(|index| Ok((self.netlink.name_of(index)?, index)));
        named.collect()
    }
}

/// Whether a step delays all packets by the same time, so that it is known when each arrives.
fn is_plain_delay(plan: &Plan, step: Step) -> bool {
    let Step::Netem(number) = step else {
        return false;
    };
    match &plan.boxes[number].kind {
        PlanBoxKind::Link(_) => true,
        PlanBoxKind::Delay { jitter, .. } => jitter.is_none(),
        PlanBoxKind::Impairment(_) => false,
    }
}

/// Whether the timeline changes the delay of a box.
fn has_new_delay(plan: &Plan, changed: usize) -> bool {
    let mut effects = plan.timeline.iter().flat_map(|change| &change.effects);
    effects.any(|effect| matches!(effect, Effect::Delay { number, .. } if *number == changed))
}

/// The steps of a path. Delays that never take time are none.
fn steps(plan: &Plan, path: &[usize]) -> Vec<Step> {
    let of_box = |&number: &usize| {
        let (link, acts) = match &plan.boxes[number].kind {
            PlanBoxKind::Link(_) => (Some(Step::Link(number)), false),
            PlanBoxKind::Delay { jitter, .. } => (None, jitter.is_some()),
            PlanBoxKind::Impairment(_) => (None, true),
        };
        let delays = !matches!(delay_of(plan, number), (0, None)) || has_new_delay(plan, number);
        let netem = (acts || delays).then_some(Step::Netem(number));
        link.into_iter().chain(netem)
    };
    path.iter().flat_map(of_box).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_scenario::{Disk, Limits, Scenario};
    use bloatlab_units::MILLISECOND;

    fn plan(text: &str) -> Plan {
        let checked = Scenario::load(text, &Disk, &Limits::default());
        checked.expect("the scenario is valid").plan
    }

    #[test]
    fn a_delay_that_takes_no_time_is_no_step() {
        let plan = plan(
            r#"{"duration": "1s", "flows": [{"cca": "reno"}],
                "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms", "forward_share": 0}}"#,
        );
        let flow = &plan.flows[0];
        let forward = steps(&plan, &flow.forward);
        assert!(matches!(forward[..], [Step::Link(_)]), "{forward:?}");
        let reverse = steps(&plan, &flow.reverse);
        assert!(matches!(reverse[..], [Step::Netem(_)]), "{reverse:?}");
    }

    #[test]
    fn jitter_and_impairments_are_steps_whose_packets_are_seen_to_arrive() {
        let plan = plan(
            r#"{"duration": "1s", "flows": [{"cca": "reno"}],
                "dumbbell": {"rate": "10Mbit/s", "rtt": "20ms", "forward_share": 0.5, "loss": 0.01,
                             "impair": {"duplicate": 0.1, "jitter": {"size": "1ms"}}}}"#,
        );
        let forward = steps(&plan, &plan.flows[0].forward);
        let names = |step: &Step| match step {
            Step::Link(number) | Step::Netem(number) => plan.boxes[*number].name.clone(),
        };
        let named: Vec<String> = forward.iter().map(names).collect();
        assert_eq!(named, ["bottleneck", "loss", "duplicate", "forward_delay"]);
        assert!(forward.iter().all(|&step| !is_plain_delay(&plan, step)));
        let back = steps(&plan, &plan.flows[0].reverse);
        assert!(back.iter().all(|&step| is_plain_delay(&plan, step)));
    }

    #[test]
    fn a_delay_that_the_timeline_changes_is_a_step_from_the_start() {
        let text = |timeline: &str| {
            format!(
                r#"{{"duration": "2s", "flows": [{{"cca": "reno", "path": ["line", "wait"], "return_path": []}}],
                    "boxes": [{{"kind": "link", "name": "line", "rate": "1Mbit/s"}}, {{"kind": "delay", "name": "wait", "delay": "0s"}}],
                    "timeline": [{timeline}]}}"#
            )
        };
        let change = r#"{"at": "1s", "key": "boxes[1].delay", "value": "5ms"}"#;
        for (timeline, expected) in [("", 1), (change, 2)] {
            let plan = plan(&text(timeline));
            assert_eq!(steps(&plan, &plan.flows[0].forward).len(), expected);
        }
    }

    #[test]
    fn a_link_is_followed_by_its_delay() {
        let plan = plan(
            r#"{"duration": "1s", "flows": [{"cca": "reno"}],
                "parking_lot": {"hops": 2, "rate": "10Mbit/s", "hop_delay": "5ms"}}"#,
        );
        let forward = steps(&plan, &plan.flows[0].forward);
        let Step::Link(first) = forward[0] else {
            panic!("{forward:?}")
        };
        assert_eq!(forward[1], Step::Netem(first));
        assert_eq!(forward.len(), 4);
        assert_eq!(delay_of(&plan, first).0, 5 * MILLISECOND);
    }
}
