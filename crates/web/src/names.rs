//! Names of what the rows of series and the events belong to, by index.

use bloatlab_scenario::{Plan, PlanBoxKind};

/// Names by index. Flows that the timeline adds come after the others.
#[derive(Clone, Default)]
pub struct Names {
    /// All flows, by the index that packets carry.
    pub all: Vec<String>,
    /// Flows of data.
    pub flows: Vec<String>,
    /// Links.
    pub links: Vec<String>,
    /// Probes.
    pub probes: Vec<String>,
}

impl Names {
    /// The names of a plan.
    pub fn of(plan: &Plan) -> Self {
        let mut names = Self::default();
        for item in &plan.boxes {
            if matches!(item.kind, PlanBoxKind::Link(_)) {
                names.links.push(item.name.clone());
            }
        }
        for flow in plan.all_flows() {
            names.all.push(flow.name.clone());
            if flow.traffic.has_data() {
                names.flows.push(flow.name.clone());
            }
            if flow.traffic.probe().is_some() {
                names.probes.push(flow.name.clone());
            }
        }
        names
    }
}
