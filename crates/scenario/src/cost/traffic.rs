//! An upper bound of the packets of all flows: in total, in flight at the same time, and waiting in queues.

use std::collections::BTreeMap;

use bloatlab_units::{Limit, Nanos};
use serde_json::Value;

use super::load::{link, rtts};
use crate::traffic::{Load, per_second, seconds};
use crate::{Plan, PlanFlow, PlanLink};

/// The packets that arrive at a link.
#[derive(Clone, Default)]
struct Arrivals {
    /// Elastic packets, by size.
    elastic: BTreeMap<u32, f64>,
    /// Sum of the windows of flows whose slowest link this is, and their longest RTT. They fill the queue of this link and the path after it.
    window: f64,
    rtt: Nanos,
    /// Open packets, which come whatever links let through; their bytes; and the smallest size of any packet.
    open: f64,
    open_bytes: f64,
    smallest: f64,
}

impl Arrivals {
    /// The most elastic packets that the link forwards in this time: the smallest first.
    fn passed(&self, link: &PlanLink, duration: Nanos) -> f64 {
        let (mut left, mut passed) = (seconds(duration), 0.0);
        for (&size, &packets) in &self.elastic {
            let size = f64::from(size) + f64::from(link.overhead + link.header);
            let rate = per_second(link.greatest_rate(), size);
            let fit = packets.min(rate * left);
            passed += fit;
            left = (left - fit / rate).max(0.0);
        }
        passed
    }

    /// Elastic packets that propagate after the link at the same time.
    fn in_flight(&self, link: &PlanLink) -> f64 {
        let smallest = self.elastic.keys().next().map_or(1, |&size| size.max(1));
        let rate = per_second(link.greatest_rate(), f64::from(smallest));
        self.window.min(rate * seconds(self.rtt) + 1.0)
    }

    /// Packets that wait in the link's queue at the same time.
    fn queued(&self, link: &PlanLink, duration: Nanos) -> f64 {
        let needed = self.open_bytes * 8.0 / link.rate.0 as f64;
        let excess = match (link.vary_rate.is_some(), seconds(duration) / needed) {
            // A varying rate may be 0 all the time.
            (true, _) => self.open,
            (false, share) => self.open * (1.0 - share).max(0.0),
        };
        let room = capacity(&serde_json::json!(link.queue), self.smallest);
        let buffer = link
            .radio
            .map_or(f64::INFINITY, |port| port.buffer as f64 / self.smallest);
        (self.window + excess).min(room).min(buffer)
    }
}

/// The capacity of a queue in packets, from its parameters.
fn capacity(queue: &Value, smallest: f64) -> f64 {
    let limit = queue["limit"].as_str().and_then(|text| text.parse().ok());
    match (limit, queue["queues"].as_array()) {
        (Some(Limit::Packets(n) | Limit::Buffers(n)), _) => n as f64,
        (Some(Limit::Bytes(n)), _) => n as f64 / smallest,
        (None, Some(inner)) => inner.iter().map(|queue| capacity(queue, smallest)).sum(),
        (None, None) if queue["queue"].is_object() => capacity(&queue["queue"], smallest),
        (None, None) => f64::INFINITY,
    }
}

/// Packets of all flows.
pub(super) struct Packets<'a> {
    plan: &'a Plan,
    links: Vec<Arrivals>,
    /// Packets on all links, and packets of flows that cross no link.
    pub total: f64,
    /// Packets that propagate at the same time.
    pub in_flight: f64,
}

impl<'a> Packets<'a> {
    pub fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            links: vec![Arrivals::default(); plan.boxes.len()],
            total: 0.0,
            in_flight: 0.0,
        }
    }

    /// Adds a flow. [`Self::settle`] adds the packets that wait in queues.
    pub fn add(&mut self, flow: &PlanFlow, load: &Load) {
        let links = flow.forward.iter();
        let links = links.filter_map(|&i| link(self.plan, i).map(|link| (i, link)));
        match links.clone().min_by_key(|(_, link)| link.greatest_rate()) {
            Some((slowest, _)) => {
                let sum = &mut self.links[slowest];
                sum.window += load.window;
                sum.rtt = sum.rtt.max(rtts(self.plan, flow).1);
            }
            None => {
                let elastic = load.elastic.iter().map(|(_, packets)| packets);
                self.total += load.open + elastic.sum::<f64>();
                self.in_flight += load.window;
            }
        }
        for (i, _) in links {
            self.total += load.open;
            let sum = &mut self.links[i];
            sum.open += load.open;
            sum.open_bytes += load.open * load.open_size;
            let sizes = load.elastic.iter().filter(|(_, packets)| *packets > 0.0);
            let open = (load.open > 0.0).then_some(load.open_size);
            let smallest = sizes.clone().map(|(size, _)| f64::from(*size)).chain(open);
            sum.smallest = smallest.fold(sum.smallest, |least, size| match least > 0.0 {
                true => least.min(size),
                false => size,
            });
            for &(size, packets) in sizes {
                *sum.elastic.entry(size).or_default() += packets;
            }
        }
        self.in_flight += load.open_in_flight;
    }

    /// Adds the packets that links forward, and returns how many packets wait in queues at the same time.
    pub fn settle(&mut self) -> f64 {
        let mut queued = 0.0;
        for (i, sum) in self.links.iter().enumerate() {
            let Some(link) = link(self.plan, i).filter(|_| sum.smallest > 0.0) else {
                continue;
            };
            self.total += sum.passed(link, self.plan.duration);
            self.in_flight += sum.in_flight(link);
            queued += sum.queued(link, self.plan.duration);
        }
        queued
    }
}
