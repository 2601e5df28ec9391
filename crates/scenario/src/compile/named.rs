//! A network given box by box, which flows cross by name.

use std::collections::HashMap;

use super::{Boxes, Device, Network, Paths, link};
use crate::check::fail;
use crate::error::suggest;
use crate::{BoxSpec, Flow, PlanBox, PlanBoxKind, ScenarioError};

/// The boxes of a network given box by box; the plan has them in the document's order.
pub(super) struct NamedPaths<'a> {
    indices: HashMap<&'a str, usize>,
    names: Vec<&'a str>,
}

impl<'a> NamedPaths<'a> {
    pub(super) fn new(specs: &'a [BoxSpec], boxes: &mut Boxes) -> Self {
        for spec in specs {
            boxes.add(match spec {
                BoxSpec::Link {
                    name,
                    rate,
                    delay,
                    queue,
                    device_packets,
                    overhead,
                    header,
                } => link(
                    name.clone(),
                    *rate,
                    delay.0,
                    queue,
                    Device {
                        packets: *device_packets,
                        overhead: *overhead,
                        header: *header,
                    },
                ),
                BoxSpec::Delay { name, delay } => PlanBox {
                    name: name.clone(),
                    kind: PlanBoxKind::Delay { delay: delay.0 },
                },
                BoxSpec::Loss { name, probability } => PlanBox {
                    name: name.clone(),
                    kind: PlanBoxKind::Loss {
                        probability: *probability,
                    },
                },
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
                    format!("`{name}` is on this path already; paths have no loops"),
                );
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
