//! The boxes of a plan that are netem in the kernel: delays and impairments, and how they change during the run.

use std::io;

use bloatlab_link::impairment::outage;
use bloatlab_link::{ImpairmentConfig, VaryDelay, VaryingDelay, VaryingProbability};
use bloatlab_scenario::{Plan, PlanBoxKind};
use bloatlab_units::{Interrupt, MILLISECOND, Nanos, Rng, Streams};

use crate::netlink::{Handle, Netem, Netlink, QdiscOptions};

/// Packets that netem holds at most: more than any path has in flight.
const HELD: u32 = 1_000_000;
/// Time between two changes of a value that varies.
const PERIOD: Nanos = 10 * MILLISECOND;
const NETEM: Handle = Handle::new(1, 0);

/// How a box changes by itself.
enum Change {
    Never,
    Delay(VaryingDelay),
    Loss(VaryingProbability),
    Duplicates(VaryingProbability),
    Outage(outage::Params),
}

/// The netem of a box.
struct OfBox {
    /// Index of the box.
    number: usize,
    /// Index of its device.
    device: u32,
    /// Index of the delay, if it is the last of a path.
    last: Option<usize>,
    options: Netem,
    /// Draws seeds for the kernel's own random numbers, if it needs some.
    seeds: Option<Rng>,
    change: Change,
    next_at: Nanos,
}

/// The netems of a network.
pub(crate) struct Netems {
    netlink: Netlink,
    all: Vec<OfBox>,
    /// The delays of the devices that lead to hosts, as they are now.
    pub last_delays: Vec<Nanos>,
}

impl Netems {
    /// None yet, in the calling thread's namespace.
    ///
    /// # Errors
    /// The kernel has no netlink.
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            netlink: Netlink::open()?,
            all: Vec::new(),
            last_delays: Vec::new(),
        })
    }

    /// Lets a device do what the box `number` does to packets.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn add(
        &mut self,
        device: u32,
        (plan, number): (&Plan, usize),
        streams: &Streams,
    ) -> io::Result<()> {
        let (options, change) = of_box(plan, number, streams);
        let is_random = options.jitter.is_some()
            || matches!(
                plan.boxes[number].kind,
                PlanBoxKind::Impairment(ImpairmentConfig::Loss(_) | ImpairmentConfig::Duplicate(_))
            );
        let seeds = format!("netem/{}", plan.boxes[number].name);
        let next_at = match change {
            Change::Never => Nanos::MAX,
            _ => 0,
        };
        self.all.push(OfBox {
            number,
            device,
            last: None,
            options,
            seeds: is_random.then(|| streams.stream(&seeds)),
            change,
            next_at,
        });
        let index = self.all.len() - 1;
        self.set(index)
    }

    /// Lets a device that leads to hosts delay packets as the box `number` does. Returns the index of the delay.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn add_last(
        &mut self,
        device: u32,
        (plan, number): (&Plan, usize),
        streams: &Streams,
    ) -> io::Result<usize> {
        self.add(device, (plan, number), streams)?;
        let index = self.last_delays.len();
        self.last_delays.push(delay_of(plan, number).0);
        if let Some(added) = self.all.last_mut() {
            added.last = Some(index);
        }
        Ok(index)
    }

    /// When something changes next by itself; the end of time if nothing does.
    pub fn next_at(&self) -> Nanos {
        let instants = self.all.iter().map(|one| one.next_at);
        instants.min().unwrap_or(Nanos::MAX)
    }

    /// Makes the changes that are due.
    ///
    /// # Errors
    /// A device is gone.
    pub fn turn(&mut self, now: Nanos) -> io::Result<()> {
        for index in 0..self.all.len() {
            let one = &mut self.all[index];
            if one.next_at <= now && one.change_at(now) {
                self.set(index)?;
            }
        }
        Ok(())
    }

    /// A box has another delay from now on.
    ///
    /// # Errors
    /// A device is gone.
    pub fn set_delay(&mut self, number: usize, delay: Nanos) -> io::Result<()> {
        self.change(number, |options| options.delay = delay)
    }

    /// A box loses or duplicates packets with another probability from now on.
    ///
    /// # Errors
    /// A device is gone.
    pub fn set_probability(
        &mut self,
        (plan, number): (&Plan, usize),
        probability: f64,
    ) -> io::Result<()> {
        let duplicates = matches!(
            plan.boxes[number].kind,
            PlanBoxKind::Impairment(ImpairmentConfig::Duplicate(_))
        );
        self.change(number, |options| {
            if duplicates {
                options.duplicate = probability;
            } else {
                options.loss = probability;
            }
        })
    }

    /// Changes every device of a box.
    fn change(&mut self, number: usize, change: impl Fn(&mut Netem)) -> io::Result<()> {
        for index in 0..self.all.len() {
            if self.all[index].number == number {
                change(&mut self.all[index].options);
                self.set(index)?;
            }
        }
        Ok(())
    }

    /// Gives the kernel the options as they are now.
    fn set(&mut self, index: usize) -> io::Result<()> {
        let one = &mut self.all[index];
        // The kernel starts its random numbers again with every change.
        one.options.seed = one.seeds.as_mut().map(Rng::bits);
        let options = QdiscOptions::Netem(one.options.clone());
        self.netlink
            .set_qdisc(one.device, Handle::ROOT, NETEM, options)?;
        if let Some(last) = one.last {
            self.last_delays[last] = one.options.delay;
        }
        Ok(())
    }
}

impl OfBox {
    /// Changes the options by themselves. Returns whether they differ now.
    fn change_at(&mut self, now: Nanos) -> bool {
        let before = self.options.clone();
        self.next_at = now + PERIOD;
        match &mut self.change {
            Change::Never => self.next_at = Nanos::MAX,
            Change::Delay(delay) => self.options.delay = delay.arrival(now) - now,
            Change::Loss(probability) => self.options.loss = probability.at(now),
            Change::Duplicates(probability) => self.options.duplicate = probability.at(now),
            Change::Outage(outage) => {
                let (is_out, until) = outage.at(now);
                self.options.loss = f64::from(u8::from(is_out));
                self.next_at = until;
            }
        }
        self.options != before
    }
}

/// The delay of a box, and how it varies.
pub(crate) fn delay_of(plan: &Plan, number: usize) -> (Nanos, Option<&VaryDelay>) {
    match &plan.boxes[number].kind {
        PlanBoxKind::Link(link) => (link.delay, link.vary_delay.as_ref()),
        PlanBoxKind::Delay { delay, vary, .. } => (*delay, vary.as_ref()),
        PlanBoxKind::Impairment(_) => (0, None),
    }
}

/// What a box does at the start of the run, and how that changes.
fn of_box(plan: &Plan, number: usize, streams: &Streams) -> (Netem, Change) {
    let never = Interrupt::default();
    let (delay, vary) = delay_of(plan, number);
    let mut options = Netem {
        delay,
        limit: HELD,
        ..Netem::default()
    };
    let mut change = Change::Never;
    if let Some(vary) = vary {
        change = Change::Delay(VaryingDelay::new(delay).varied(vary, streams, &never));
    }
    match &plan.boxes[number].kind {
        PlanBoxKind::Link(_) => {}
        PlanBoxKind::Delay { jitter, .. } => options.jitter = *jitter,
        PlanBoxKind::Impairment(impairment) => match impairment {
            ImpairmentConfig::Loss(loss) => {
                (options.loss, options.bursts) = (loss.probability, loss.gilbert_elliott);
                if loss.vary.is_some() {
                    change = Change::Loss(loss.over_time(streams, &never));
                }
            }
            ImpairmentConfig::Duplicate(duplicate) => {
                options.duplicate = duplicate.probability;
                if duplicate.vary.is_some() {
                    change = Change::Duplicates(duplicate.over_time(streams, &never));
                }
            }
            ImpairmentConfig::Outage(outage) => change = Change::Outage(outage.clone()),
            // `refusals` has refused it.
            ImpairmentConfig::Corrupt(_) => {}
        },
    }
    (options, change)
}
