//! Tests `docs/adding-a-queue.md`: the file on that page, with one line in the crate's own registry, is a working queue.

#[path = "../common/mod.rs"]
mod common;
#[macro_use]
#[path = "../../src/registry.rs"]
mod registry;

// Provides the `crate::` paths that a file of the crate uses, for the page's file here.
use bloatlab_aqm::{
    Capacity, Context, DropReason, Ecn, Packet, Qdisc, Ring, Sink, Slot, Tc, Verdict, mark, tc,
};
use registry::Factory;

registry! {
    Step => step,
}

use bloatlab_aqm_model::Episode;
use bloatlab_units::Streams;
use common::{Log, TestPacket, context, packet};
use proptest::prelude::*;
use serde_json::json;

#[test]
fn the_page_shows_this_file() {
    let page = include_str!("../../../../docs/adding-a-queue.md");
    let file = include_str!("step.rs");
    assert!(
        page.contains(&format!("```rust\n{file}```\n")),
        "docs/adding-a-queue.md must quote step.rs"
    );
    assert!(
        page.contains("\n    Step => step,\n"),
        "docs/adding-a-queue.md must show the registry line"
    );
}

#[test]
fn the_registry_line_makes_it_known() {
    let read =
        |value| serde_json::from_value::<QueueConfig>(value).map_err(|error| error.to_string());
    assert_eq!(
        read(json!("step")),
        Ok(QueueConfig::Step(step::Params::default()))
    );
    let message = read(json!({ "kind": "step", "treshold": "1kB" })).unwrap_err();
    assert!(
        message.contains("did you mean `threshold`? (allowed: ecn, limit, threshold)"),
        "{message}"
    );
    assert!(
        read(json!("stop"))
            .unwrap_err()
            .contains("did you mean `step`?")
    );
    let config = read(json!({ "kind": "step", "limit": "1000B" })).unwrap();
    assert_eq!(
        config.validate(),
        Err("threshold: 30kB must not be above the limit, which is 1000B".to_owned())
    );
    let config = read(json!({ "kind": "step", "threshold": "0B" })).unwrap();
    assert_eq!(
        config.validate(),
        Err("threshold: 0B is out of range (allowed: 1B to 1GB)".to_owned())
    );
    let description = &describe()[0];
    assert_eq!(description.kind, "step");
    assert_eq!(description.parameters[2].default, json!("30kB"));
    assert_eq!(QueueConfig::all()[0].kind(), "step");
}

#[test]
fn it_marks_above_the_threshold() {
    let config: QueueConfig =
        serde_json::from_value(json!({ "kind": "step", "threshold": "3000B" })).unwrap();
    let mut queue = config.build(context(1)).unwrap();
    let mut log = Log::default();
    (0..5).for_each(|id| {
        queue.enqueue(
            0,
            TestPacket {
                ecn: Ecn::Ect0,
                ..packet(id, 0)
            },
            &mut log,
        )
    });
    assert_eq!(
        log.marked
            .iter()
            .map(|packet| packet.id)
            .collect::<Vec<_>>(),
        [3, 4]
    );
    queue.enqueue(0, packet(5, 0), &mut log);
    assert_eq!(log.dropped_ids(), [5]);
}

proptest! {
    #[test]
    fn it_has_the_properties_of_the_trait(seed in any::<u64>(), limit in 1_u64..100) {
        let config = json!({ "kind": "step", "limit": format!("{limit}p") });
        let episode = Episode::draw(0, 60, &mut Streams::new(seed).stream("episode"));
        let queue: QueueConfig = serde_json::from_value(config.clone()).unwrap();
        episode.run_on(queue.build(episode.context()).unwrap(), &config);
    }
}
