//! One bottleneck that every flow crosses.

use std::collections::{BTreeMap, HashSet};

use bloatlab_link::LoadedRate;
use bloatlab_units::Nanos;

use super::{Boxes, Device, Network, Paths, link, loaded, varying};
use crate::check::{fail, span};
use crate::document::fifo;
use crate::{Dumbbell, Flow, LossSpacing, Part, PlanBox, PlanBoxKind, ScenarioError, VaryDelay};

/// A host holds back what its own link cannot take (as Linux does, net/ipv4/tcp_output.c tcp_small_queue_check), so an access
/// link's queue drops nothing in practice.
const ACCESS_QUEUE: u64 = 100_000_000;

pub(super) struct DumbbellPaths<'a> {
    dumbbell: &'a Dumbbell,
    vary_rate: Option<LoadedRate>,
    /// All flows have the same two-way propagation.
    equal: bool,
    /// Boxes that all flows cross: the bottleneck's side, and the way back.
    shared: Option<Paths>,
    /// The delay boxes of flows with this two-way propagation, when flows differ in it.
    delays: BTreeMap<Nanos, (usize, usize)>,
}

impl<'a> DumbbellPaths<'a> {
    pub(super) fn new(dumbbell: &'a Dumbbell, flows: &[Flow]) -> Result<Self, ScenarioError> {
        let rtts: HashSet<Nanos> = flows
            .iter()
            .map(|flow| flow.rtt.unwrap_or(dumbbell.rtt).0)
            .collect();
        let equal = rtts.len() <= 1;
        if dumbbell.vary.rtt.is_some() && !equal {
            let why = "needs flows with one RTT; some have an `rtt` of their own";
            return fail("dumbbell.vary.rtt", why);
        }
        Ok(Self {
            dumbbell,
            vary_rate: loaded("dumbbell.vary.rate", dumbbell.vary.rate.as_ref())?,
            equal,
            shared: None,
            delays: BTreeMap::new(),
        })
    }

    /// How this half of the propagation changes: both halves by one draw.
    fn vary_rtt(&self, rtt: Nanos, part: Part) -> Option<VaryDelay> {
        self.dumbbell.vary.rtt.as_ref().map(|how| VaryDelay {
            how: how.clone(),
            nominal: rtt,
            part,
            stream: "vary/rtt".to_owned(),
        })
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
        let there = self.vary_rtt(rtt, Part::There);
        let bottleneck = varying(bottleneck, self.vary_rate.clone(), there);
        let mut forward = vec![boxes.add(bottleneck)];
        forward.extend(boxes.loss("loss", d.loss, d.loss_spacing, d.vary.loss.as_ref()));
        let mut reverse = Vec::new();
        if let Some(rate) = d.reverse_rate {
            let way_back = link(
                "reverse".to_owned(),
                rate,
                back,
                &d.reverse_queue,
                self.device(0),
            );
            let vary = self.vary_rtt(rtt, Part::Back);
            reverse.push(boxes.add(varying(way_back, None, vary)));
        }
        reverse.extend(boxes.loss("reverse_loss", d.reverse_loss, LossSpacing::Random, None));
        if self.equal && d.reverse_rate.is_none() {
            reverse.push(boxes.add(PlanBox {
                name: "delay".to_owned(),
                kind: PlanBoxKind::Delay {
                    delay: back,
                    vary: self.vary_rtt(rtt, Part::Back),
                },
            }));
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
