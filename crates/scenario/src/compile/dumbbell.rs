//! One bottleneck that every flow crosses.

use std::collections::{BTreeMap, HashSet};

use bloatlab_units::Nanos;

use super::{Boxes, Device, Network, Paths, link};
use crate::check::span;
use crate::document::fifo;
use crate::{Dumbbell, Flow, PlanBox, ScenarioError};

/// A host holds back what its own link cannot take (as Linux does, net/ipv4/tcp_output.c tcp_small_queue_check), so an access
/// link's queue drops nothing in practice.
const ACCESS_QUEUE: u64 = 100_000_000;

pub(super) struct DumbbellPaths<'a> {
    dumbbell: &'a Dumbbell,
    /// All flows have the same two-way propagation.
    equal: bool,
    /// Boxes that all flows cross: the bottleneck's side, and the way back.
    shared: Option<Paths>,
    /// The delay boxes of flows with this two-way propagation, when flows differ in it.
    delays: BTreeMap<Nanos, (usize, usize)>,
}

impl<'a> DumbbellPaths<'a> {
    pub(super) fn new(dumbbell: &'a Dumbbell, flows: &[Flow]) -> Self {
        let rtts: HashSet<Nanos> = flows
            .iter()
            .map(|flow| flow.rtt.unwrap_or(dumbbell.rtt).0)
            .collect();
        Self {
            dumbbell,
            equal: rtts.len() <= 1,
            shared: None,
            delays: BTreeMap::new(),
        }
    }

    fn device(&self, packets: u32) -> Device {
        Device {
            packets,
            overhead: self.dumbbell.overhead,
            header: self.dumbbell.header,
        }
    }

    fn shared(&mut self, boxes: &mut Boxes, rtt: Nanos) -> Paths {
        if let Some(shared) = &self.shared {
            return shared.clone();
        }
        let d = self.dumbbell;
        // Where propagation differs between flows, shared links carry none of it, so that any RTT is possible.
        let (there, back) = if self.equal { halves(rtt) } else { (0, 0) };
        let bottleneck = link(
            "bottleneck".to_owned(),
            d.rate,
            there,
            &d.queue,
            self.device(d.device_packets),
        );
        let mut forward = vec![boxes.add(bottleneck)];
        forward.extend(boxes.loss("loss", d.loss));
        let mut reverse = Vec::new();
        if let Some(rate) = d.reverse_rate {
            reverse.push(boxes.add(link(
                "reverse".to_owned(),
                rate,
                back,
                &d.reverse_queue,
                self.device(0),
            )));
        }
        reverse.extend(boxes.loss("reverse_loss", d.reverse_loss));
        if self.equal && d.reverse_rate.is_none() {
            reverse.push(boxes.delay("delay".to_owned(), back));
        }
        self.shared.insert((forward, reverse)).clone()
    }
}

impl Network for DumbbellPaths<'_> {
    fn paths(&mut self, boxes: &mut Boxes, _at: &str, flow: &Flow) -> Result<Paths, ScenarioError> {
        let rtt = flow.rtt.unwrap_or(self.dumbbell.rtt).0;
        let (mut forward, mut reverse) = self.shared(boxes, rtt);
        if !self.equal {
            let (there, back) = *self.delays.entry(rtt).or_insert_with(|| {
                let (there, back) = halves(rtt);
                let rtt = span(rtt);
                (
                    boxes.delay(format!("delay_{rtt}"), there),
                    boxes.delay(format!("reverse_delay_{rtt}"), back),
                )
            });
            forward.push(there);
            reverse.push(back);
        }
        Ok((forward, reverse))
    }

    fn access(&self, name: &str) -> Option<PlanBox> {
        let rate = self.dumbbell.access_rate?;
        Some(link(
            format!("access_{name}"),
            rate,
            0,
            &fifo(ACCESS_QUEUE),
            self.device(0),
        ))
    }
}

/// There and back; an odd nanosecond goes to the way back.
fn halves(rtt: Nanos) -> (Nanos, Nanos) {
    (rtt / 2, rtt - rtt / 2)
}
