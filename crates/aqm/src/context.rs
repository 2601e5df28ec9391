//! What a queue may know about its link and about the hosts of its flows.

use std::fmt;
use std::sync::Arc;

use bloatlab_units::{Nanos, Rate, Rng};

/// The surroundings of a queue.
#[derive(Clone, Debug)]
pub struct Context {
    /// The random stream of the queue.
    pub rng: Rng,
    /// Size of the largest packet on the link, bytes.
    pub mtu: u32,
    /// Bytes of the link-layer header that [`Packet::size`](crate::Packet::size) includes.
    pub header: u32,
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link.
    pub delay: Nanos,
    /// The hosts of each flow.
    pub hosts: Hosts,
}

impl Context {
    /// The surroundings of a queue on a link of this rate. Every flow has its own pair of hosts.
    pub fn new(rng: Rng, mtu: u32, rate: Rate) -> Self {
        Self {
            rng,
            mtu,
            header: 0,
            rate,
            delay: 0,
            hosts: Hosts::default(),
        }
    }
}

/// The hosts of each flow, for queues that share capacity between hosts. Flows are identified as in [`Packet::flow`](crate::Packet::flow).
#[derive(Clone)]
pub struct Hosts(Arc<dyn Fn(u64) -> [u32; 2] + Send + Sync>);

impl Hosts {
    /// Creates it from a function that maps a flow to its source and destination. Both use the same numbering.
    pub fn new(of: impl Fn(u64) -> [u32; 2] + Send + Sync + 'static) -> Self {
        Self(Arc::new(of))
    }

    /// Source and destination of a flow.
    #[inline]
    pub fn of(&self, flow: u64) -> [u32; 2] {
        (self.0)(flow)
    }
}

impl Default for Hosts {
    /// Every flow has its own pair of hosts.
    fn default() -> Self {
        Self::new(|flow| [2 * flow as u32, 2 * flow as u32 + 1])
    }
}

impl fmt::Debug for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hosts")
    }
}
