//! The network of a plan in the kernel: every box is a veth pair, and rules and routes lead each packet from box to box.

use std::io;
use std::net::Ipv4Addr;

use bloatlab_link::{VaryDelay, VaryingDelay};
use bloatlab_scenario::{Plan, PlanBoxKind, PlanFlow};
use bloatlab_units::{Interrupt, MILLISECOND, Nanos, Streams};

use crate::kernel_link::{KernelLink, Timers, add_pair};
use crate::laid::Laid;
use crate::netlink::{Handle, Netem, Netlink, QdiscOptions};
use crate::places::{Place, Places, watch};
use crate::sysctl;
use crate::tap::Tap;

/// Packets that a delay holds at most: more than any path has in flight.
const HELD: u32 = 1_000_000;
/// Time between two changes of a delay that varies.
const DELAY_PERIOD: Nanos = 10 * MILLISECOND;
/// Number of the routing table of the device with index 0.
const FIRST_TABLE: u32 = 1000;
const NETEM: Handle = Handle::new(1, 0);

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
    /// Index of the link that it is, among the links; `None`: it only delays.
    pub link: Option<usize>,
}

/// A delay that varies.
struct Varied {
    device: u32,
    /// Index of the delay, if it is the last of a path.
    last: Option<usize>,
    delay: VaryingDelay,
    next_at: Nanos,
}

/// A step of a path, before it has devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The link of this box.
    Link(usize),
    /// The delay of this box.
    Delay(usize),
}

/// The network.
pub(crate) struct Routed {
    pub hops: Vec<Hop>,
    /// By flow and direction: the hops of its packets, in their order.
    pub paths: Vec<[Vec<usize>; 2]>,
    /// By flow and direction: the index of the last delay of the path, if the device that leads to the host has it.
    pub last: Vec<[Option<usize>; 2]>,
    /// The delays of the devices that lead to hosts, as they are now.
    pub last_delays: Vec<Nanos>,
    pub places: Places,
    pub tap: Tap,
    /// The longest time between two looks at the tap.
    pub longest_wait: Nanos,
    netlink: Netlink,
    varied: Vec<Varied>,
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
            last_delays: Vec::new(),
            places: Places::default(),
            tap: Tap::open(watch.places)?,
            longest_wait: watch.longest_wait,
            netlink: Netlink::open()?,
            varied: Vec::new(),
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
                Step::Delay(number) => {
                    let devices =
                        add_pair(&mut this.netlink, &format!("delay{number}"), laid.mtu())?;
                    this.add_delay((devices[0], None), (plan, number), &streams)?;
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
                let step = step.filter(|step| matches!(step, Step::Delay(_)));
                let known = last[namespace].get_or_insert(step);
                if *known != step {
                    *known = None;
                }
            }
        }
        let mut indices = Vec::with_capacity(last.len());
        for (end, step) in laid.ends.iter().zip(last) {
            let Some(Step::Delay(number)) = step.flatten() else {
                indices.push(None);
                continue;
            };
            let index = self.last_delays.len();
            self.last_delays.push(delay_of(plan, number).0);
            self.add_delay((end.index, Some(index)), (plan, number), streams)?;
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

    /// Lets a device delay packets as a box does.
    fn add_delay(
        &mut self,
        (device, last): (u32, Option<usize>),
        (plan, number): (&Plan, usize),
        streams: &Streams,
    ) -> io::Result<()> {
        let (delay, vary) = delay_of(plan, number);
        self.set_delay(device, delay)?;
        if let Some(vary) = vary {
            let delay = VaryingDelay::new(delay).varied(vary, streams, &Interrupt::default());
            self.varied.push(Varied {
                device,
                last,
                delay,
                next_at: 0,
            });
        }
        Ok(())
    }

    fn set_delay(&mut self, device: u32, delay: Nanos) -> io::Result<()> {
        let netem = QdiscOptions::Netem(Netem { delay, limit: HELD });
        self.netlink.set_qdisc(device, Handle::ROOT, NETEM, netem)
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

    /// When a delay is to be set next; the end of time if none varies.
    pub fn next_at(&self) -> Nanos {
        let instants = self.varied.iter().map(|varied| varied.next_at);
        instants.min().unwrap_or(Nanos::MAX)
    }

    /// Sets delays that are due.
    ///
    /// # Errors
    /// A device is gone.
    pub fn vary(&mut self, now: Nanos) -> io::Result<()> {
        let mut changes = Vec::new();
        for varied in self.varied.iter_mut().filter(|one| one.next_at <= now) {
            varied.next_at = now + DELAY_PERIOD;
            let delay = varied.delay.arrival(now) - now;
            changes.push((varied.device, varied.last, delay));
        }
        for (device, last, delay) in changes {
            self.set_delay(device, delay)?;
            if let Some(index) = last {
                self.last_delays[index] = delay;
            }
        }
        Ok(())
    }
}

/// The delay of a box, and how it varies.
fn delay_of(plan: &Plan, number: usize) -> (Nanos, Option<&VaryDelay>) {
    match &plan.boxes[number].kind {
        PlanBoxKind::Link(link) => (link.delay, link.vary_delay.as_ref()),
        PlanBoxKind::Delay { delay, vary, .. } => (*delay, vary.as_ref()),
        // `refusals` has refused them.
        PlanBoxKind::Impairment(_) => (0, None),
    }
}

/// The steps of a path. Delays that take no time are none.
fn steps(plan: &Plan, path: &[usize]) -> Vec<Step> {
    let of_box = |&number: &usize| {
        let is_link = matches!(plan.boxes[number].kind, PlanBoxKind::Link(_));
        let link = is_link.then_some(Step::Link(number));
        let delays = !matches!(delay_of(plan, number), (0, None));
        link.into_iter()
            .chain(delays.then_some(Step::Delay(number)))
    };
    path.iter().flat_map(of_box).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloatlab_scenario::{Disk, Limits, Scenario};

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
        assert!(matches!(reverse[..], [Step::Delay(_)]), "{reverse:?}");
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
        assert_eq!(forward[1], Step::Delay(first));
        assert_eq!(forward.len(), 4);
        assert_eq!(delay_of(&plan, first).0, 5 * MILLISECOND);
    }
}
