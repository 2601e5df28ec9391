//! Quantities that all estimates share.

use bloatlab_units::{Nanos, Rate};

use crate::{Plan, PlanBoxKind, PlanLink};

/// A box of the plan, if it is a link.
pub(super) fn link(plan: &Plan, index: usize) -> Option<&PlanLink> {
    match &plan.boxes[index].kind {
        PlanBoxKind::Link(link) => Some(link),
        _ => None,
    }
}

pub(super) fn seconds(nanos: Nanos) -> f64 {
    nanos as f64 * 1e-9
}

/// Packets of this size per second at this rate.
pub(super) fn per_second(rate: Rate, bytes: f64) -> f64 {
    rate.0 as f64 / (8.0 * bytes)
}
