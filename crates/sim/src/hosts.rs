//! The hosts that flows join, as queues ask for them.

use std::sync::{Arc, PoisonError, RwLock};

use bloatlab_aqm::Hosts;

use crate::packet::flow_of;

/// Source and destination of each flow. Flows may be added while queues look them up.
#[derive(Clone, Default)]
pub(crate) struct FlowHosts(Arc<RwLock<Vec<[u32; 2]>>>);

impl FlowHosts {
    /// Adds the hosts of the next flow.
    pub fn add(&self, hosts: [u32; 2]) {
        let mut flows = self.0.write().unwrap_or_else(PoisonError::into_inner);
        flows.push(hosts);
    }

    /// The rule for queues.
    pub fn of_flows(&self) -> Hosts {
        let flows = self.clone();
        Hosts::new(move |id| {
            let (index, direction) = flow_of(id);
            let flows = flows.0.read().unwrap_or_else(PoisonError::into_inner);
            let [source, destination] = flows[index];
            if direction == 0 {
                [source, destination]
            } else {
                [destination, source]
            }
        })
    }
}
