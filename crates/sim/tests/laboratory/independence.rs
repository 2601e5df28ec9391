//! Parts of a network that share nothing do not influence each other, in any order of their events.

use bloatlab_outcome::Outcome;
use bloatlab_scenario::Scenario;
use proptest::prelude::*;

use crate::generator::boxes;
use crate::{compiled, config, measured};

/// Both networks in one plan, optionally with the boxes of the second one first. The order of flows stays, because queues hash it as the address.
fn beside(a: &Scenario, b: &Scenario, swap: bool) -> Scenario {
    let (first, second) = if swap { (b, a) } else { (a, b) };
    let mut both = a.clone();
    both.boxes = [first.boxes.clone(), second.boxes.clone()].concat();
    both.flows = [a.flows.clone(), b.flows.clone()].concat();
    both
}

/// Every metric of flows and links by name, as bits.
fn metrics(outcome: &Outcome, prefix: &str) -> Vec<(String, u64)> {
    let flows = outcome.flow_metrics.iter().map(|v| {
        let name = &outcome.flows[v.entity as usize].name;
        (format!("{name} {}", v.metric.name), v.value.to_bits())
    });
    let links = outcome.link_metrics.iter().map(|v| {
        let name = &outcome.links[v.entity as usize].name;
        (format!("{name} {}", v.metric.name), v.value.to_bits())
    });
    let mut all: Vec<_> = flows
        .chain(links)
        .filter(|(name, _)| name.starts_with(prefix))
        .collect();
    all.sort();
    all
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn a_network_does_not_feel_another_one(a in boxes("a_"), b in boxes("b_"), seed in any::<u64>()) {
        // Both have the same length, so that the times of every flow are within it.
        let mut b = b;
        b.duration = b.duration.max(a.duration);
        let mut a = a;
        a.duration = b.duration;
        (b.sample_interval, b.warmup) = (a.sample_interval, a.warmup);
        let expected = metrics(&measured(&compiled(&a), seed), "a_");
        for swap in [false, true] {
            let both = compiled(&beside(&a, &b, swap));
            prop_assert_eq!(&expected, &metrics(&measured(&both, seed), "a_"));
        }
    }
}
