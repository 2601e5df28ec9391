//! Tests that the cases are valid, varied and short.

use std::collections::BTreeMap;

use bloatlab_cc::CcConfig;
use bloatlab_scenario::{PlanBoxKind, QueueConfig};
use bloatlab_units::Streams;

use crate::choices::Choices;
use crate::{congestion_control, scenario};

/// The random bytes of case `number`.
fn bytes(number: u64) -> Vec<u8> {
    let mut rng = Streams::new(number).stream("bytes");
    (0..600).map(|_| rng.bits() as u8).collect()
}

#[test]
fn nearly_every_document_becomes_valid_and_together_they_have_all_kinds() {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut count = |name: &str| *seen.entry(name.to_owned()).or_default() += 1;
    let mut given_up = 0;
    for number in 0..1_500 {
        let document = scenario::document(&mut Choices::new(&bytes(number)));
        let Some((document, plan)) = scenario::valid(document) else {
            given_up += 1;
            continue;
        };
        for network in ["dumbbell", "parking_lot", "cell", "boxes"] {
            if document.get(network).is_some() {
                count(network);
            }
        }
        for flow in &plan.flows {
            count(flow.cca.kind());
            count(flow.traffic.kind());
        }
        for item in &plan.boxes {
            if let PlanBoxKind::Link(link) = &item.kind {
                count(link.queue.kind());
            }
        }
    }
    assert!(given_up < 75, "{given_up} of 1500 documents are given up");
    let networks = ["dumbbell", "parking_lot", "cell", "boxes"];
    let queues: Vec<_> = QueueConfig::all();
    let algorithms: Vec<_> = CcConfig::all();
    let wanted = networks
        .into_iter()
        .chain(queues.iter().map(QueueConfig::kind))
        .chain(algorithms.iter().map(CcConfig::kind));
    for name in wanted {
        let count = seen.get(name).copied().unwrap_or(0);
        assert!(count >= 5, "`{name}` is in {count} documents: {seen:?}");
    }
}

#[test]
fn every_congestion_control_is_chosen_with_several_parameters() {
    let mut changed: BTreeMap<&str, u32> = BTreeMap::new();
    for number in 0..3_000 {
        let config = congestion_control::config(&mut Choices::new(&bytes(number)));
        let config = config.expect("a valid algorithm");
        let all = CcConfig::all();
        let default = all.iter().find(|one| one.kind() == config.kind());
        *changed.entry(config.kind()).or_default() += u32::from(default != Some(&config));
    }
    assert_eq!(changed.len(), CcConfig::all().len());
    assert!(changed.values().all(|&count| count > 10), "{changed:?}");
}
