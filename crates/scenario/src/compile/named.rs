//! A network given box by box. Flows name the boxes on their paths.

use std::collections::{HashMap, HashSet};

use bloatlab_link::DelayVariation;
use bloatlab_units::Duration;

use super::boxes::{Boxes, Device, Network, Paths, link, of_host, varying};
use crate::check::fail;
use crate::error::suggest;
use crate::inputs::Inputs;
use crate::{BoxSpec, Flow, Part, PlanBox, PlanBoxKind, ScenarioError, VaryDelay};

/// The boxes of the network, which the plan lists in the order of the document.
pub(super) struct NamedPaths<'a> {
    indices: HashMap<&'a str, usize>,
    names: Vec<&'a str>,
    /// The links that belong to hosts.
    hosts: HashSet<usize>,
}

impl<'a> NamedPaths<'a> {
    pub(super) fn new(specs: &'a [BoxSpec], inputs: &mut Inputs, boxes: &mut Boxes) -> Self {
        for (place, spec) in specs.iter().enumerate() {
            let vary_delay = |nominal: Duration, how: Option<&DelayVariation>| {
                how.map(|how| VaryDelay {
                    how: how.clone(),
                    nominal: nominal.0,
                    part: Part::Whole,
                    stream: format!("vary/{}/delay", spec.name()),
                })
            };
            boxes.add(match spec {
                BoxSpec::Link(given) => {
                    let device = Device {
                        shaper: given.shaper,
                        packets: given.device_packets,
                        overhead: given.overhead,
                        header: given.header,
                    };
                    let vary_rate = inputs.rate(&format!("boxes[{place}].vary.rate"));
                    let vary_delay = vary_delay(given.delay, given.vary.delay.as_ref());
                    let name = given.name.clone();
                    let link = link(name, given.rate, given.delay.0, &given.queue, device);
                    of_host(varying(link, vary_rate, vary_delay), given.host)
                }
                BoxSpec::Delay(given) => PlanBox {
                    name: given.name.clone(),
                    kind: PlanBoxKind::Delay {
                        delay: given.delay.0,
                        vary: vary_delay(given.delay, given.vary.as_ref()),
                        jitter: given.jitter,
                    },
                },
                BoxSpec::Impairment(given) => given.clone().into(),
            });
        }
        let names: Vec<&str> = specs.iter().map(BoxSpec::name).collect();
        Self {
            indices: names
                .iter()
                .enumerate()
                .map(|(i, &name)| (name, i))
                .collect(),
            names,
            hosts: specs
                .iter()
                .enumerate()
                .filter(|(_, spec)| matches!(spec, BoxSpec::Link(link) if !link.host.is_none()))
                .map(|(index, _)| index)
                .collect(),
        }
    }

    fn resolve(&self, at: &str, names: &[String]) -> Result<Vec<usize>, ScenarioError> {
        let mut path: Vec<usize> = Vec::with_capacity(names.len());
        for (place, name) in names.iter().enumerate() {
            let Some(&index) = self.indices.get(name.as_str()) else {
                let why = format!("no box is named `{name}`{}", suggest(name, &self.names));
                return fail(format!("{at}[{place}]"), why);
            };
            if path.contains(&index) {
                return fail(
                    format!("{at}[{place}]"),
                    format!("`{name}` is already on this path; a path must not cross a box twice"),
                );
            }
            if place > 0 && self.hosts.contains(&index) {
                let why = format!(
                    "`{name}` is a host's own link (`host`), so it must be the first box of a path; put it first or leave `host` out"
                );
                return fail(format!("{at}[{place}]"), why);
            }
            path.push(index);
        }
        Ok(path)
    }
}

impl Network for NamedPaths<'_> {
    fn paths(&mut self, _boxes: &mut Boxes, at: &str, flow: &Flow) -> Result<Paths, ScenarioError> {
        let forward = self.resolve(
            &format!("{at}.path"),
            flow.path.as_deref().unwrap_or_default(),
        )?;
        let reverse = self.resolve(
            &format!("{at}.return_path"),
            flow.return_path.as_deref().unwrap_or_default(),
        )?;
        Ok((forward, reverse))
    }
}
