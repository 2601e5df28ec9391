//! Links of the kernel: HTB with a queue discipline on a veth device. What enters the device at one end leaves the pair at the other.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use bloatlab_aqm::{Ecn, QueueConfig};
use bloatlab_link::VaryingRate;
use bloatlab_outcome::{LinkAtEnd, LinkStats, mbps};
use bloatlab_scenario::{Effect, Plan, PlanBoxKind, PlanLink};
use bloatlab_units::{Interrupt, MILLISECOND, Nanos, SECOND, Streams};
use rustc_hash::FxHashMap;

use crate::directory::Owner;
use crate::frame::Frame;
use crate::kernel_queue::KernelQueue;
use crate::namespace::Namespace;
use crate::netlink::{
    Handle, Htb, HtbClass, Netlink, QdiscOptions, Statistics, TrafficCounters, VethEnd, doing,
    statistics_below,
};

/// Time between two changes of a rate that varies.
const RATE_PERIOD: Nanos = 10 * MILLISECOND;
/// A frame that has not come back after this time was dropped.
const FORGOTTEN: Nanos = 30 * SECOND;
/// Bytes of an Ethernet header, which the kernel counts.
const ETHERNET: u64 = 14;
/// Bytes of the IP packet for which the rate is exact, because our links count other headers than the kernel.
const FULL: f64 = 1500.0;
/// MAC address of both ends of a link's veth pair.
const PAIR_MAC: [u8; 6] = [2, 0, 0, 0, 1, 1];
const HTB: Handle = Handle::new(1, 0);
const CLASS: Handle = Handle::new(1, 1);

/// The plan of our network when the kernel has the links: each link only delays.
pub(crate) fn without_links(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for planned in &mut plan.boxes {
        if let PlanBoxKind::Link(link) = &planned.kind {
            planned.kind = PlanBoxKind::Delay {
                delay: link.delay,
                vary: link.vary_delay.clone(),
                jitter: None,
            };
        }
    }
    plan
}

/// When the kernel's timers fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timers {
    /// A fraction of a millisecond late, in real time.
    Late,
    /// At the instant for which they are set, in virtual time.
    Exact,
}

/// A link of the kernel.
pub(crate) struct KernelLink {
    /// Its index among the plan's boxes.
    pub number: usize,
    netlink: Netlink,
    /// Index of the device with the queue.
    device: u32,
    timers: Timers,
    link: PlanLink,
    /// Its queue discipline now.
    queue: KernelQueue,
    varying: Option<VaryingRate>,
    /// The rate now, bit/s.
    rate: f64,
    next_rate_at: Nanos,
    /// Frames inside, or dropped, with the instant of their entrance.
    inside: FxHashMap<Key, (Nanos, Ecn)>,
    /// Packets that entered.
    arrivals: u64,
    seen: TrafficCounters,
    observed_at: Nanos,
    /// Whether the rate changes during the run.
    has_rates: bool,
    /// What is counted, as at our own links.
    pub stats: LinkStats,
    /// Time integrals of the rate, bits: since the warm-up, and since the last sample.
    capacity: f64,
    capacity_of_sample: f64,
    /// Until when the integrals were taken.
    integrated_to: Nanos,
    sampled_at: Nanos,
}

/// What tells the frames inside apart: flow, direction, sequence numbers, time stamp and size.
type Key = (usize, u8, [u32; 3], u32);

fn key(owner: &Owner, frame: &Frame) -> Key {
    let (size, header) = frame.segment(0);
    let numbers = [header.seq, header.ack, header.tsval];
    (owner.flow, owner.direction, numbers, size)
}

impl KernelLink {
    /// Makes the link of box `number` in the calling thread's namespace. Returns it with the indices of its devices: packets enter the first and come
    /// out of the second.
    ///
    /// # Errors
    /// The kernel refuses something, or does not keep a setting.
    pub fn make(
        plan: &Plan,
        number: usize,
        link: &PlanLink,
        streams: &Streams,
        (timers, mtu): (Timers, u32),
    ) -> io::Result<(Self, [u32; 2])> {
        let mut netlink = Netlink::open()?;
        let name = format!("link{number}");
        let devices = add_pair(&mut netlink, &name, mtu)?;
        let device = devices[0];
        let htb = QdiscOptions::Htb(Htb {
            default: CLASS.minor,
        });
        netlink.set_qdisc(device, Handle::ROOT, HTB, htb)?;
        let mut this = Self {
            number,
            timers,
            device,
            netlink,
            varying: link.vary_rate.as_ref().map(|vary| {
                let name = &plan.boxes[number].name;
                let rng = streams.stream(&format!("vary/{name}/rate"));
                VaryingRate::new(vary, link.rate, &rng, plan.duration, &Interrupt::default())
            }),
            rate: link.rate.0 as f64,
            link: link.clone(),
            queue: KernelQueue::of(link).map_err(io::Error::other)?,
            next_rate_at: 0,
            inside: FxHashMap::default(),
            arrivals: 0,
            seen: TrafficCounters::default(),
            observed_at: 0,
            has_rates: link.vary_rate.is_some() || has_new_rate(plan, number),
            stats: LinkStats::default(),
            capacity: 0.0,
            capacity_of_sample: 0.0,
            integrated_to: 0,
            sampled_at: 0,
        };
        let class = this.class();
        this.netlink.add_class(device, HTB, CLASS, class)?;
        call_tc(&this.queue.commands(&name, &CLASS.to_string()))?;
        Ok((this, devices))
    }

    /// HTB's class for the present rate. The kernel counts Ethernet headers, our links those of the scenario.
    fn class(&self) -> HtbClass {
        let ours = FULL + f64::from(self.link.header + self.link.overhead);
        let bytes_per_second = self.rate / 8.0 * (FULL + ETHERNET as f64) / ours;
        let rate = (bytes_per_second as u64).max(1);
        let frame = FULL as u32 + ETHERNET as u32;
        match self.timers {
            Timers::Late => HtbClass::of_rate(rate, frame),
            Timers::Exact => HtbClass::exact(rate, frame),
        }
    }

    /// A frame enters.
    pub fn enter(&mut self, at: Nanos, owner: &Owner, frame: &Frame) {
        self.arrivals += frame.segments() as u64;
        self.inside.insert(key(owner, frame), (at, frame.ecn));
    }

    /// A frame came out.
    pub fn leave(&mut self, at: Nanos, owner: &Owner, frame: &Frame) {
        let segments = frame.segments();
        let bytes: u64 = (0..segments)
            .map(|index| u64::from(frame.segment(index).0))
            .sum();
        let headers = u64::from(self.link.header + self.link.overhead) * segments as u64;
        self.stats.sent_bytes += bytes + headers;
        let Some((entered, ecn)) = self.inside.remove(&key(owner, frame)) else {
            return;
        };
        self.stats.sojourn.record(at.saturating_sub(entered));
        self.stats.interval.sojourns += 1;
        if frame.ecn == Ecn::Ce && ecn != Ecn::Ce {
            self.stats.marks += segments as u64;
            self.stats.interval.marks += segments as u64;
        }
    }

    /// When the rate is to be set next; the end of time if it is constant.
    pub fn next_at(&self) -> Nanos {
        if self.varying.is_some() {
            self.next_rate_at
        } else {
            Nanos::MAX
        }
    }

    /// Sets the rate, if it is time to.
    pub fn vary(&mut self, now: Nanos) -> io::Result<()> {
        if now < self.next_rate_at {
            return Ok(());
        }
        let Some(varying) = &mut self.varying else {
            return Ok(());
        };
        self.next_rate_at = now + RATE_PERIOD;
        let (rate, _) = varying.sample(self.next_rate_at);
        self.set_rate(now, rate)
    }

    /// The link has another rate, bit/s, from now on.
    ///
    /// # Errors
    /// The device is gone.
    pub fn set_rate(&mut self, now: Nanos, rate: f64) -> io::Result<()> {
        if rate == self.rate {
            return Ok(());
        }
        self.integrate(now);
        self.rate = rate;
        let class = self.class();
        self.netlink.change_class(self.device, HTB, CLASS, class)
    }

    /// The link has another queue discipline from now on. If the kernel can change the old one into it, the packets that wait stay. Otherwise the
    /// kernel drops them, which no queue discipline counts.
    ///
    /// # Errors
    /// The kernel refuses the queue.
    pub fn set_queue(&mut self, now: Nanos, queue: &QueueConfig) -> io::Result<()> {
        self.observe(now)?;
        let link = PlanLink {
            queue: queue.clone(),
            ..self.link.clone()
        };
        let new = KernelQueue::of(&link).map_err(io::Error::other)?;
        let old = std::mem::replace(&mut self.queue, new);
        let new = &self.queue;
        let [device, parent] = [format!("link{}", self.number), CLASS.to_string()];
        if new.sets_all_of(&old) && call_tc(&[new.change(&device, &parent)]).is_ok() {
            return Ok(());
        }
        self.stats.drops += self.seen.backlog;
        self.stats.interval.drops += self.seen.backlog;
        self.netlink.remove_qdisc(self.device, CLASS)?;
        call_tc(&new.commands(&device, &parent))?;
        self.seen = TrafficCounters::default();
        Ok(())
    }

    /// Takes the integrals of the rate.
    fn integrate(&mut self, now: Nanos) {
        let bits = self.rate * (now - self.integrated_to) as f64 / SECOND as f64;
        self.capacity += bits;
        self.capacity_of_sample += bits;
        self.integrated_to = now;
    }

    /// Reads the kernel's counters and returns the row of the interval that ends now.
    pub fn sample(&mut self, now: Nanos) -> io::Result<[f64; 8]> {
        let span = (now - self.sampled_at).max(1);
        self.sampled_at = now;
        self.observe(now)?;
        let (seen, interval) = (self.seen, self.stats.take_interval());
        let throughput = mbps(self.stats.take_bytes() as f64, span);
        let rate = std::mem::take(&mut self.capacity_of_sample) * SECOND as f64 / span as f64;
        Ok([
            seen.backlog as f64,
            self.backlog_bytes() as f64,
            interval.mean_sojourn(),
            throughput,
            (throughput * 1e6 / rate.max(1.0)).min(1.0),
            interval.drops as f64,
            interval.marks as f64,
            if self.has_rates {
                rate * 1e-6
            } else {
                f64::NAN
            },
        ])
    }

    fn observe(&mut self, now: Nanos) -> io::Result<()> {
        let queues = self.netlink.qdiscs(self.device)?;
        let queue = queues.iter().find(|queue| queue.parent == CLASS);
        let counters = queue.map_or(self.seen, |queue| queue.counters);
        let drops = counters.drops - self.seen.drops;
        let span = now - self.observed_at;
        self.stats.length.add(self.seen.backlog, span);
        self.integrate(now);
        self.seen = counters;
        self.observed_at = now;
        let bytes = self.backlog_bytes();
        self.stats.bytes.set(now, bytes);
        self.stats.max_bytes = self.stats.max_bytes.max(bytes);
        self.stats.drops += drops;
        self.stats.interval.drops += drops;
        // A frame may have entered after the clock was read.
        self.inside
            .retain(|_, (entered, _)| now.saturating_sub(*entered) < FORGOTTEN);
        Ok(())
    }

    /// Bytes that wait, counted as at our own links.
    fn backlog_bytes(&self) -> u64 {
        let headers = self.seen.backlog * ETHERNET;
        self.seen.backlog_bytes.saturating_sub(headers)
            + self.seen.backlog * u64::from(self.link.header)
    }

    /// Ends the warm-up.
    pub fn reset(&mut self, now: Nanos) -> io::Result<()> {
        self.observe(now)?;
        self.stats
            .reset(now, self.arrivals, self.backlog_bytes(), 0);
        self.capacity = 0.0;
        Ok(())
    }

    /// What is known at the end of the run, `span` after the warm-up.
    pub fn at_end(&mut self, end: Nanos, span: Nanos) -> io::Result<LinkAtEnd> {
        self.observe(end)?;
        self.stats.bytes.advance(end);
        let used = self.stats.sent_bytes as f64 * 8.0 / self.capacity.max(1.0);
        Ok(LinkAtEnd {
            arrivals: self.arrivals,
            backlog: (self.seen.backlog, self.backlog_bytes()),
            span,
            utilization: Some(used.min(1.0)),
            greedy_flows: 0,
        })
    }

    /// What the queue discipline counted in the whole run, and its state at the end.
    ///
    /// # Errors
    /// The device is gone.
    pub fn queue_statistics(&mut self) -> io::Result<Statistics> {
        Ok(statistics_below(&self.netlink.qdiscs(self.device)?, CLASS))
    }

    /// Mean rate of the measured time of `span` ns, bit/s.
    pub fn mean_rate(&self, span: Nanos) -> f64 {
        self.capacity * SECOND as f64 / span as f64
    }

    /// The link of the plan.
    pub fn planned(&self) -> &PlanLink {
        &self.link
    }
}

/// Makes a veth pair, `name` and `name` with the suffix `out`, in the calling thread's namespace, and puts both ends up. Returns their indices.
///
/// The MTU is that of the hosts, because queue disciplines derive parameters from it, such as the quantum of fq_codel.
pub(crate) fn add_pair(netlink: &mut Netlink, name: &str, mtu: u32) -> io::Result<[u32; 2]> {
    let ends = [name.to_owned(), format!("{name}out")].map(|name| VethEnd {
        name,
        // Every frame has this destination (`Netlink::set_up`), and both ends are to take it.
        mac: PAIR_MAC,
        mtu,
        gso_max_segs: 65_535,
    });
    netlink.add_veth(&ends[0], &ends[1], &Namespace::current()?)?;
    let devices = [
        Netlink::index_of(&ends[0].name)?,
        Netlink::index_of(&ends[1].name)?,
    ];
    for device in devices {
        netlink.set_up(device, true)?;
    }
    Ok(devices)
}

/// Whether the timeline changes the rate of a link.
fn has_new_rate(plan: &Plan, changed: usize) -> bool {
    let mut effects = plan.timeline.iter().flat_map(|change| &change.effects);
    effects.any(|effect| matches!(effect, Effect::Rate { number, .. } if *number == changed))
}

/// Sets a queue discipline up, or changes it, by these lines of `tc -batch`.
fn call_tc(commands: &[String]) -> io::Result<()> {
    let tc = Command::new("tc")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut tc = doing(|| "starting tc".to_owned(), tc)?;
    let mut lines = tc.stdin.take().expect("it is a pipe");
    // If tc ends early, its message says why.
    let _ = lines.write_all((commands.join("\n") + "\n").as_bytes());
    drop(lines);
    let done = tc.wait_with_output()?;
    if done.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&done.stderr).into_owned();
    // tc ends its message with `Command failed -:2`, the number of the line.
    let failed = why.rsplit_once("failed -:");
    let number = failed.and_then(|(_, number)| number.trim().parse::<usize>().ok());
    let line = number.and_then(|number| commands.get(number.checked_sub(1)?));
    let command = line.map_or("-batch", String::as_str);
    Err(io::Error::other(format!("tc {command}: {}", why.trim())))
}
