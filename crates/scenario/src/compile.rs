//! Compiles a document to a plan: a network such as a dumbbell becomes boxes, and flows get paths through them.

mod boxes;
mod cell;
mod dumbbell;
mod named;
mod parking_lot;

use std::collections::{HashMap, HashSet};

use bloatlab_link::{Disk, Files};
use bloatlab_units::Nanos;

use self::boxes::{Boxes, Network};
use self::cell::CellPaths;
use self::dumbbell::DumbbellPaths;
use self::named::NamedPaths;
use self::parking_lot::ParkingLotPaths;
use crate::check::{self, fail};
use crate::inputs::Inputs;
use crate::{
    Direction, Flow, Limits, Plan, PlanBox, PlanBoxKind, PlanFlow, Scenario, ScenarioError, cost,
    timeline,
};

impl Scenario {
    /// Checks everything that [`compile`](Self::compile) would refuse.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        self.compile().map(|_| ())
    }

    /// Checks the scenario and compiles it, within the default limits.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn compile(&self) -> Result<Plan, ScenarioError> {
        self.compile_within(&Limits::default())
    }

    /// Checks the scenario and compiles it, with files from the disk. Refuses a run that would exceed the limits.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn compile_within(&self, limits: &Limits) -> Result<Plan, ScenarioError> {
        self.clone().plan(Some(&Disk), limits)
    }

    /// Checks the scenario, reads its files, notes their digests in the scenario, and compiles it. Without `files`, rates from files keep their constant
    /// value.
    pub(crate) fn plan(
        &mut self,
        files: Option<&dyn Files>,
        limits: &Limits,
    ) -> Result<Plan, ScenarioError> {
        check::scenario(self, files)?;
        let mut inputs = Inputs::read(self, files)?;
        let mut boxes = Boxes::default();
        let names = flow_names(&self.flows)?;
        let flows = match (&self.dumbbell, &self.parking_lot, &self.cell) {
            (Some(dumbbell), _, _) => self.on_each(
                &names,
                &mut boxes,
                DumbbellPaths::new(dumbbell, self, &mut inputs)?,
            )?,
            (None, Some(lot), _) => self.on_each(&names, &mut boxes, ParkingLotPaths::new(lot))?,
            (None, None, Some(cell)) => {
                let paths = CellPaths::new(cell, &mut boxes)?;
                self.on_each(&names, &mut boxes, paths)?
            }
            (None, None, None) => {
                let paths = NamedPaths::new(&self.boxes, &mut inputs, &mut boxes);
                self.on_each(&names, &mut boxes, paths)?
            }
        };
        let mut plan = Plan {
            name: self.name.clone(),
            duration: self.duration.0,
            sample_interval: self.sample_interval.0,
            warmup: self.warmup.0,
            boxes: boxes.list,
            cell: self
                .cell
                .as_ref()
                .map(|cell| cell::plan(cell, inputs.channels)),
            flows,
            may_change: self.timeline.is_some(),
            timeline: Vec::new(),
        };
        cost::check(&plan, self, limits)?;
        plan.timeline = timeline::compile(self, &plan, files, limits)?;
        Ok(plan)
    }

    fn on_each(
        &self,
        names: &[String],
        boxes: &mut Boxes,
        mut network: impl Network,
    ) -> Result<Vec<PlanFlow>, ScenarioError> {
        let mut plan = Vec::with_capacity(names.len());
        let mut hosts = Hosts::default();
        for (place, flow) in self.flows.iter().enumerate() {
            for copy in 0..u64::from(flow.count) {
                let name = &names[plan.len()];
                let (mut forward, mut reverse) =
                    network.paths(boxes, &format!("flows[{place}]"), flow)?;
                // The access link of the sender comes first, in either direction.
                if flow.direction == Direction::Reverse {
                    std::mem::swap(&mut forward, &mut reverse);
                }
                if let Some(access) = network.access(name) {
                    forward.insert(0, boxes.add(access));
                }
                let base_rtt = forward
                    .iter()
                    .chain(&reverse)
                    .map(|&i| boxes.list[i].propagation())
                    .sum();
                plan.push(PlanFlow {
                    name: name.clone(),
                    hosts: [
                        hosts.number(flow.source.as_deref()),
                        hosts.number(flow.destination.as_deref()),
                    ],
                    dscp: flow.dscp.0,
                    start: flow.start.0 + copy * flow.start_interval.0,
                    stop: flow.stop.unwrap_or(self.duration).min(self.duration).0,
                    start_jitter: flow.start_jitter.0,
                    forward,
                    reverse,
                    base_rtt,
                    cca: flow.cca.clone(),
                    traffic: flow.traffic.clone(),
                    tcp: flow.tcp.clone(),
                });
            }
        }
        Ok(plan)
    }
}

/// Numbers the hosts: one number per name, and a new one for each host without a name.
#[derive(Default)]
struct Hosts<'a> {
    named: HashMap<&'a str, u32>,
    count: u32,
}

impl<'a> Hosts<'a> {
    fn number(&mut self, name: Option<&'a str>) -> u32 {
        let next = self.count;
        let number = match name {
            Some(name) => *self.named.entry(name).or_insert(next),
            None => next,
        };
        self.count += u32::from(number == next);
        number
    }
}

impl PlanBox {
    /// The propagation delay: the time in the box without queueing and transmission. The delay of a `netem` queue counts.
    pub fn propagation(&self) -> Nanos {
        match &self.kind {
            PlanBoxKind::Link(link) => link.delay.saturating_add(link.queue.delay()),
            PlanBoxKind::Delay { delay, .. } => *delay,
            PlanBoxKind::Impairment(_) => 0,
        }
    }

    /// The smallest and the largest propagation delay. Jitter adds its largest draw to the largest delay. It does not lower the smallest delay, because
    /// it does not change the mean.
    pub fn propagation_bounds(&self) -> (Nanos, Nanos) {
        let (vary, in_queue) = match &self.kind {
            PlanBoxKind::Link(link) => (link.vary_delay.as_ref(), link.queue.delay()),
            PlanBoxKind::Delay { vary, .. } => (vary.as_ref(), 0),
            PlanBoxKind::Impairment(_) => (None, 0),
        };
        let constant = self.propagation();
        let (least, most) = vary.map_or((constant, constant), |vary| {
            let (least, most) = vary.bounds();
            (
                least.saturating_add(in_queue),
                most.saturating_add(in_queue),
            )
        });
        match &self.kind {
            PlanBoxKind::Delay {
                jitter: Some(jitter),
                ..
            } => (least, most + jitter.latest()),
            _ => (least, most),
        }
    }
}

/// The names of all flows. Refuses equal ones.
fn flow_names(flows: &[Flow]) -> Result<Vec<String>, ScenarioError> {
    let mut names: Vec<String> = Vec::new();
    let mut taken: HashSet<String> = HashSet::new();
    for (place, flow) in flows.iter().enumerate() {
        for copy in 1..=flow.count {
            let name = match &flow.name {
                Some(name) if flow.count == 1 => name.clone(),
                Some(name) => format!("{name}_{copy}"),
                None => format!("flow_{}", names.len() + 1),
            };
            if !taken.insert(name.clone()) {
                return fail(
                    format!("flows[{place}].name"),
                    format!("`{name}` is already the name of an earlier flow"),
                );
            }
            names.push(name);
        }
    }
    Ok(names)
}
