//! The configurations that a user may write for a queue, and the error messages for invalid ones.

#[path = "common/mod.rs"]
mod common;

use bloatlab_aqm::{QueueConfig, describe};
use bloatlab_units::MILLISECOND;
use common::{Log, TestPacket, context, packet};
use serde_json::{Value, json};

fn read(value: Value) -> Result<QueueConfig, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn error(value: Value) -> String {
    match read(value.clone()) {
        Ok(config) => config.validate().expect_err(&value.to_string()),
        Err(message) => message,
    }
}

#[test]
fn every_algorithm_survives_writing_and_reading_and_its_own_schema() {
    let schema = serde_json::to_value(schemars::schema_for!(QueueConfig)).unwrap();
    for (config, description) in QueueConfig::all().into_iter().zip(describe()) {
        let kind = config.kind();
        let written = serde_json::to_value(&config).unwrap();
        assert_eq!(written["kind"], kind);
        assert_eq!(read(written), Ok(config.clone()));
        assert_eq!(read(json!(kind)), Ok(config.clone()));
        assert_eq!(config.validate(), Ok(()));
        assert_eq!(description.kind, kind);
        assert!(!description.summary.is_empty() && !description.source.is_empty());
        assert!(
            kind == "python" || description.details.len() > 200,
            "{kind}: how, when, and what to watch out for"
        );
        for parameter in &description.parameters {
            assert!(
                !parameter.description.is_empty(),
                "{kind}.{}",
                parameter.name
            );
        }
        for alias in description.aliases {
            let named = read(json!(alias)).unwrap();
            assert_eq!(read(json!({ "kind": alias })), Ok(named.clone()));
            // An alias from tc may have its own defaults: `bfifo` counts bytes.
            let mut tc = config.tc().iter();
            if tc.any(|tc| tc.name == *alias && !tc.presets.is_empty()) {
                assert_eq!(named.kind(), kind);
            } else {
                assert_eq!(named, config);
            }
        }
        let table = schema["anyOf"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["properties"]["kind"]["default"] == kind)
            .expect("the schema has every kind");
        assert_eq!(table["additionalProperties"], false);
        assert_eq!(table["required"], json!(["kind"]));
    }
}

#[test]
fn unknown_kinds_are_refused_with_the_nearest() {
    let message = error(json!("fifoo"));
    assert!(
        message.starts_with("kind: unknown queue `fifoo`; did you mean `fifo`? (allowed: fifo, ")
    );
    assert!(error(json!({ "kind": "FIFOQueueDisc" })).contains("did you mean `FifoQueueDisc`?"));
    assert!(error(json!({ "limit": "10p" })).starts_with("kind: is needed (allowed: fifo"));
    assert!(error(json!({ "kind": 3 })).starts_with("kind: must be the name of a queue, not 3"));
    assert!(error(json!(3)).starts_with("must be the name of a queue or a table"));
}

#[test]
fn unknown_parameters_are_refused_with_the_nearest() {
    let message = error(json!({ "kind": "fifo", "limt": "10p" }));
    let expected = "limt: unknown parameter of `fifo`; did you mean `limit`? (allowed: limit, segments_per_buffer)";
    assert_eq!(message, expected);
}

#[test]
fn wrong_values_name_their_parameter() {
    let fifo = |name: &str, value: Value| error(json!({ "kind": "fifo", name: value }));
    assert!(fifo("limit", json!("10")).starts_with("limit: no unit (allowed: p, packets, buffers"));
    assert!(
        fifo("limit", json!(10))
            .starts_with("limit: invalid type: integer `10`, expected a queue limit")
    );
    assert_eq!(
        fifo("limit", json!("0B")),
        "limit: 0B is out of range (allowed: at least 1p)"
    );
    let range = "segments_per_buffer: 0 is out of range (allowed: 1 to 65536)";
    assert_eq!(fifo("segments_per_buffer", json!(0)), range);
    assert!(
        fifo("segments_per_buffer", json!(-1)).starts_with("segments_per_buffer: invalid value")
    );
}

#[test]
fn a_python_queue_is_carried_and_not_built() {
    let config =
        read(json!({ "kind": "python", "class": "mine:Queue", "params": { "depth": 3 } })).unwrap();
    assert_eq!(config.validate(), Ok(()));
    assert_eq!(config.kind(), "python");
    assert!(error(json!("python")).starts_with("class: is needed"));
    assert!(
        error(json!({ "kind": "python", "class": "Q", "params": 3 }))
            .starts_with("params: must be a table")
    );
    assert!(QueueConfig::all().iter().all(|one| one.kind() != "python"));
}

#[test]
fn errors_in_inner_queues_name_the_path() {
    let inner = |queue: Value| error(json!({ "kind": "htb", "queue": queue }));
    assert!(
        inner(json!("fifoo"))
            .starts_with("queue.kind: unknown queue `fifoo`; did you mean `fifo`?")
    );
    assert!(inner(json!({ "limit": "3p" })).starts_with("queue.kind: is needed"));
    assert!(inner(json!(3)).starts_with("queue: must be the name of a queue or a table"));
    let limit = json!({ "kind": "fifo", "limit": "0p" });
    assert_eq!(
        inner(limit),
        "queue.limit: 0p is out of range (allowed: at least 1p)"
    );
    let deep = json!({ "kind": "tbf", "queue": { "kind": "codel", "target": "5" } });
    assert!(inner(deep).starts_with("queue.queue.target: no unit"));
    let list =
        |queue: Value| error(json!({ "kind": "priority", "bands": 2, "queues": ["fifo", queue] }));
    assert!(list(json!("fifoo")).starts_with("queues[1].kind: unknown queue"));
    assert_eq!(
        list(json!({ "kind": "codel", "interval": "0s" })),
        "queues[1].interval: 0ns is out of range (allowed: 1us to 1h)"
    );
    assert!(
        list(json!({ "kind": "htb", "queue": { "kind": "fifo", "limt": 3 } }))
            .starts_with("queues[1].queue.limt: unknown")
    );
}

#[test]
fn python_queues_cannot_be_nested() {
    let python = json!({ "kind": "python", "class": "mine:Queue" });
    let message =
        |name: &str| format!("{name}: a queue of kind `python` cannot stand inside another queue");
    for kind in ["tbf", "htb", "policer", "priority"] {
        assert_eq!(
            error(json!({ "kind": kind, "queue": python })),
            message("queue")
        );
    }
    let list = json!({ "kind": "priority", "queues": ["fifo", "fifo", python] });
    assert_eq!(error(list), message("queues[2]"));
    let deep = json!({ "kind": "htb", "queue": { "kind": "tbf", "queue": python } });
    assert_eq!(error(deep), message("queue.queue"));
}

#[test]
fn queues_are_nested_to_a_maximum_depth() {
    let nested = |levels: usize, name: &str| {
        (1..levels).fold(json!({ "kind": "fifo" }), |inner, _| match name {
            "queue" => json!({ "kind": "tbf", "queue": inner }),
            _ => json!({ "kind": "priority", "bands": 2, "queues": ["fifo", inner] }),
        })
    };
    for name in ["queue", "queues"] {
        assert_eq!(read(nested(8, name)).unwrap().validate(), Ok(()));
        assert_eq!(
            error(nested(9, name)),
            "queues may be nested at most 8 deep"
        );
        assert_eq!(
            error(nested(100, name)),
            "queues may be nested at most 8 deep"
        );
    }
}

#[test]
fn wrappers_refuse_invalid_combinations() {
    let tbf =
        |name: &str, value: Value| error(json!({ "kind": "tbf", "latency": "5ms", name: value }));
    assert!(tbf("limit", json!("5kB")).starts_with("latency: cannot be combined with `limit`"));
    assert!(tbf("queue", json!("fifo")).starts_with("queue: cannot be combined with `limit`"));
    assert!(
        tbf("mpu", json!("16kB"))
            .starts_with("mpu: 16kB must not be above the burst, which is 15kB")
    );
    assert!(
        tbf("peakrate", json!("10Mbit/s")).starts_with("peakrate: 10Mbit/s must be above the rate")
    );
    assert!(tbf("rate", json!("0bit/s")).starts_with("rate: 0bit/s is out of range"));
    let htb = |name: &str, value: Value| error(json!({ "kind": "htb", name: value }));
    assert!(
        htb("ceil", json!("9Mbit/s"))
            .starts_with("ceil: 9Mbit/s must not be below the rate, which is 10Mbit/s")
    );
    let steps = |at: &str, rate: &str| {
        let table = json!([{ "at": "2s", "rate": "1Mbit/s" }, { "at": at, "rate": rate }]);
        error(json!({ "kind": "htb", "ceil": "20Mbit/s", "rate_steps": table }))
    };
    assert!(steps("2s", "1Mbit/s").starts_with("rate_steps[1].at: 2s must be later than 2s"));
    assert!(steps("3s", "0bit/s").starts_with("rate_steps[1].rate: 0bit/s is out of range"));
    assert!(
        steps("3s", "21Mbit/s")
            .starts_with("rate_steps[1].rate: 21Mbit/s must not be above the ceil")
    );
    let police = |value: Value| error(json!({ "kind": "policer", "peakrate": value }));
    assert!(police(json!("20Mbit/s")).starts_with("mtu: is missing: `peakrate` needs it"));
    let prio = |name: &str, value: Value| error(json!({ "kind": "prio", name: value }));
    assert!(prio("bands", json!(1)).starts_with("bands: 1 is out of range"));
    assert!(prio("priomap", json!([0, 1])).starts_with("priomap: has 2 bands, but must have 16"));
    assert!(
        prio("priomap", json!(vec![3; 16]))
            .starts_with("priomap: band 3 does not exist: there are 3 bands")
    );
    assert!(prio("queues", json!(["fifo"])).starts_with("queues: has 1 queues, but must have 3"));
}

/// A link does not dequeue from an empty queue that does not observe idleness, so such a call must have no effect.
#[test]
fn queues_that_do_not_observe_idleness_ignore_a_dequeue_while_empty() {
    for config in QueueConfig::all() {
        let build = || config.build::<TestPacket>(context(1));
        let (Some(mut asked), Some(mut spared)) = (build(), build()) else {
            continue;
        };
        if asked.observes_idleness() {
            continue;
        }
        let (mut first, mut second) = (Log::default(), Log::default());
        for step in 0..300_u64 {
            let now = step * MILLISECOND;
            if step * step % 7 < 3 {
                asked.enqueue(now, packet(step, step % 3), &mut first);
                spared.enqueue(now, packet(step, step % 3), &mut second);
            }
            let left = asked.dequeue(now, &mut first);
            if left.is_some() || spared.packets() > 0 {
                assert_eq!(left, spared.dequeue(now, &mut second), "{config:?}");
            }
        }
        assert_eq!(asked.stats(), spared.stats());
    }
}
