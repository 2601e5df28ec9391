//! One bottleneck that every flow crosses.

use std::collections::{BTreeMap, HashSet};

use bloatlab_link::LoadedRate;
use bloatlab_link::impairment::loss;
use bloatlab_units::Nanos;

use super::boxes::{Boxes, Device, Network, Paths, link, varying};
use crate::check::{fail, span};
use crate::default_queue::fifo;
use crate::inputs::Inputs;
use crate::{Dumbbell, Flow, Part, PlanBox, Scenario, ScenarioError, Share, VaryDelay};

/// Packets in the queue of an access link. It is so long that the link does not drop: Linux, too, holds data back in the host while the device is
/// busy (net/ipv4/tcp_output.c tcp_small_queue_check).
const ACCESS_QUEUE: u64 = 100_000_000;

pub(super) struct DumbbellPaths<'a> {
    dumbbell: &'a Dumbbell,
    vary_rate: Option<LoadedRate>,
    vary_reverse_rate: Option<LoadedRate>,
    /// A timeline may set the probabilities of loss.
    may_change: bool,
    /// Whether all flows have the same RTT.
    equal: bool,
    /// Boxes that all flows cross, in the forward and in the reverse direction.
    shared: Option<Paths>,
    /// The delay boxes by RTT, if flows differ in it.
    delays: BTreeMap<Nanos, (usize, usize)>,
}

impl<'a> DumbbellPaths<'a> {
    pub(super) fn new(
        dumbbell: &'a Dumbbell,
        scenario: &Scenario,
        inputs: &mut Inputs,
    ) -> Result<Self, ScenarioError> {
        let rtts: HashSet<Nanos> = scenario
            .flows
            .iter()
            .map(|flow| flow.rtt.unwrap_or(dumbbell.rtt).0)
            .collect();
        let equal = rtts.len() <= 1;
        if dumbbell.vary.rtt.is_some() && !equal {
            let why = "needs the same RTT for all flows; remove `rtt` from the flows";
            return fail("dumbbell.vary.rtt", why);
        }
        Ok(Self {
            dumbbell,
            vary_rate: inputs.rate("dumbbell.vary.rate"),
            vary_reverse_rate: inputs.rate("dumbbell.vary.reverse_rate"),
            may_change: scenario.timeline.is_some(),
            equal,
            shared: None,
            delays: BTreeMap::new(),
        })
    }

    /// How a part of the RTT varies. Both directions use one random stream, so they vary together.
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
            shaper: false,
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
        // The propagation delay is in separate boxes, not on the links, if it differs between flows or between packets.
        let [there, back] = self.parts().map(|part| part.of(rtt));
        let on_link = |delay: Nanos, jitters: bool| match self.equal && !jitters {
            true => delay,
            false => 0,
        };
        let bottleneck = link(
            "bottleneck".to_owned(),
            d.rate,
            on_link(there, d.impair.jitter.is_some()),
            &d.queue,
            Device {
                shaper: d.shaper,
                ..self.device(d.device_packets)
            },
        );
        let [vary_there, vary_back] = self.parts().map(|part| self.vary_rtt(rtt, part));
        let (on_bottleneck, behind) = match d.impair.jitter {
            None => (vary_there, None),
            Some(_) => (None, vary_there),
        };
        let bottleneck = varying(bottleneck, self.vary_rate.clone(), on_bottleneck);
        let mut forward = vec![boxes.add(bottleneck)];
        let loss = loss::Params {
            spacing: d.loss_spacing,
            vary: d.vary.loss.clone(),
            ..loss::Params::random("loss".to_owned(), d.loss)
        };
        forward.extend(boxes.loss(loss, self.may_change));
        forward.extend(boxes.impair("", &d.impair));
        if self.equal && d.impair.jitter.is_some() {
            let name = "forward_delay".to_owned();
            forward.push(boxes.delay(name, there, behind, d.impair.jitter));
        }
        let jitter = d.reverse_impair.jitter;
        let own_box = d.reverse_rate.is_none() || jitter.is_some();
        let mut reverse = Vec::new();
        if let Some(rate) = d.reverse_rate {
            let way_back = link(
                "reverse".to_owned(),
                rate,
                on_link(back, jitter.is_some()),
                &d.reverse_queue,
                self.device(0),
            );
            let vary_back = vary_back.clone().filter(|_| !own_box);
            let way_back = varying(way_back, self.vary_reverse_rate.clone(), vary_back);
            reverse.push(boxes.add(way_back));
        }
        let loss = loss::Params::random("reverse_loss".to_owned(), d.reverse_loss);
        reverse.extend(boxes.loss(loss, self.may_change));
        reverse.extend(boxes.impair("reverse_", &d.reverse_impair));
        if self.equal && own_box {
            reverse.push(boxes.delay("delay".to_owned(), back, vary_back, jitter));
        }
        self.shared.insert((forward, reverse)).clone()
    }

    /// The parts of the RTT in the forward and in the reverse direction.
    fn parts(&self) -> [Part; 2] {
        let share = Share::new(self.dumbbell.forward_share);
        [Part::There(share), Part::Back(share)]
    }
}

impl Network for DumbbellPaths<'_> {
    fn paths(&mut self, boxes: &mut Boxes, _at: &str, flow: &Flow) -> Result<Paths, ScenarioError> {
        let rtt = flow.rtt.unwrap_or(self.dumbbell.rtt).0;
        let (mut forward, mut reverse) = self.shared(boxes, rtt);
        if !self.equal {
            let [there, back] = self.parts().map(|part| part.of(rtt));
            let d = self.dumbbell;
            let (there, back) = *self.delays.entry(rtt).or_insert_with(|| {
                let rtt = span(rtt);
                let names = [format!("delay_{rtt}"), format!("reverse_delay_{rtt}")];
                let [name, reverse_name] = names;
                (
                    boxes.delay(name, there, None, d.impair.jitter),
                    boxes.delay(reverse_name, back, None, d.reverse_impair.jitter),
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
