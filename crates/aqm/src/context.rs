//! What a queue may know of the link that it stands before, and of the hosts that its packets join.

use std::fmt;
use std::sync::Arc;

use bloatlab_units::{Nanos, Rate, Rng};

/// Where a queue stands.
#[derive(Clone, Debug)]
pub struct Context {
    /// The queue's own random stream.
    pub rng: Rng,
    /// Largest packet of the link, bytes.
    pub mtu: u32,
    /// Bytes of link-layer header that [`Packet::size`](crate::Packet::size) contains.
    pub header: u32,
    /// Rate of the link behind the queue.
    pub rate: Rate,
    /// Propagation of that link.
    pub delay: Nanos,
    /// Which hosts the flows join.
    pub hosts: Hosts,
}

impl Context {
    /// The place of a queue on a link of this rate, whose flows each have hosts of their own.
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

/// The hosts of each flow, for queues that share between hosts; flows are named as [`Packet::flow`](crate::Packet::flow) names them.
#[derive(Clone)]
pub struct Hosts(Arc<dyn Fn(u64) -> [u32; 2] + Send + Sync>);

impl Hosts {
    /// Hosts by this rule: the numbers of source and destination, in one numbering.
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
    /// Every flow joins two hosts of its own.
    fn default() -> Self {
        Self::new(|flow| [2 * flow as u32, 2 * flow as u32 + 1])
    }
}

impl fmt::Debug for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hosts")
    }
}
