//! What one flow of a plan can put on the network at most.

use bloatlab_units::Nanos;

use crate::traffic::{Bounds, Load, seconds};
use crate::{Plan, PlanBoxKind, PlanFlow, PlanLink};

/// The load of a flow, with the packets that boxes duplicate.
pub(super) fn of_flow(plan: &Plan, flow: &PlanFlow) -> Load {
    let copies = copies(plan, flow);
    let mut load = flow.traffic.load(&bounds(plan, flow));
    load.open *= copies;
    load.open_in_flight *= copies;
    load.window *= copies;
    load.replies *= copies;
    load.elastic = load.elastic.map(|(size, packets)| (size, packets * copies));
    load
}

/// What bounds the load of a flow.
fn bounds(plan: &Plan, flow: &PlanFlow) -> Bounds {
    let links = flow.forward.iter().filter_map(|&i| link(plan, i));
    let delays = flow
        .forward
        .iter()
        .map(|&i| plan.boxes[i].propagation_bounds().1);
    Bounds {
        active: seconds(flow.stop - flow.start),
        mss: flow.tcp.mss,
        send_buffer: flow.tcp.send_buffer,
        receive_buffer: flow.tcp.receive_buffer,
        slowest: links.map(PlanLink::greatest_rate).min(),
        one_way: seconds(delays.sum()),
        rtt: seconds(rtts(plan, flow).0),
    }
}

/// The largest mean number of packets that boxes on the path make of one.
fn copies(plan: &Plan, flow: &PlanFlow) -> f64 {
    let boxes = flow.forward.iter().chain(&flow.reverse);
    let factors = boxes.map(|&i| match &plan.boxes[i].kind {
        PlanBoxKind::Impairment(impairment) => impairment.params().copies(),
        PlanBoxKind::Link(_) | PlanBoxKind::Delay { .. } => 1.0,
    });
    factors.product()
}

/// A box of the plan, if it is a link.
pub(super) fn link(plan: &Plan, index: usize) -> Option<&PlanLink> {
    match &plan.boxes[index].kind {
        PlanBoxKind::Link(link) => Some(link),
        _ => None,
    }
}

/// The smallest and the largest propagation delay of both directions together.
pub(super) fn rtts(plan: &Plan, flow: &PlanFlow) -> (Nanos, Nanos) {
    let boxes = flow.forward.iter().chain(&flow.reverse);
    let bounds = boxes.map(|&i| plan.boxes[i].propagation_bounds());
    bounds.fold((0, 0), |sum, (least, greatest)| {
        (sum.0 + least, sum.1 + greatest)
    })
}
