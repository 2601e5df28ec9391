//! Buffers of several segments: where a queue counts them, the hosts must make them.

use std::sync::Arc;

use bloatlab_scenario::{Effect, Plan, PlanBoxKind, PlanFlow};
use bloatlab_tcp::SegmentationOffload;

/// The plan with segmentation and receive offload for all flows that cross a queue whose buffers hold several segments.
///
/// In simulation such a queue joins the segments that a sender hands over together. Real hosts join them themselves, and their frames stay whole.
pub(crate) fn with_buffers(plan: &Arc<Plan>) -> Arc<Plan> {
    let segments: Vec<u32> = plan.boxes.iter().map(|one| of_box(&one.kind)).collect();
    if segments.iter().all(|&count| count == 1) {
        return Arc::clone(plan);
    }
    let mut plan = Plan::clone(plan);
    let adapt = |flow: &mut PlanFlow| {
        let crossed = flow.forward.iter().chain(&flow.reverse);
        let most = crossed.map(|&number| segments[number]).max().unwrap_or(1);
        if most > 1 {
            flow.tcp.segmentation_offload = SegmentationOffload::On;
            flow.tcp.receive_offload = true;
            flow.tcp.gso_max_segs = flow.tcp.gso_max_segs.min(most);
        }
    };
    plan.flows.iter_mut().for_each(adapt);
    for change in &mut plan.timeline {
        for effect in &mut change.effects {
            if let Effect::Start(flow) = effect {
                adapt(flow);
            }
        }
    }
    Arc::new(plan)
}

/// Segments that a buffer of the box's queue may hold.
fn of_box(kind: &PlanBoxKind) -> u32 {
    match kind {
        PlanBoxKind::Link(link) => link.queue.segments_in_buffer(),
        _ => 1,
    }
}
