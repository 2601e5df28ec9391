//! Every queue of the registry, with any parameters its schema allows, under any operations.

mod common;

use bloatlab_aqm::{Parameter, QueueConfig, describe};
use bloatlab_units::Limit;
use common::context;
use common::model::{drive, drive_in_any_order, operations};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A value of the parameter's type; whether it is allowed is for the queue to say.
fn value(parameter: &Parameter) -> BoxedStrategy<Value> {
    match parameter.kind.as_str() {
        "limit" => prop_oneof![
            (1_u64..200).prop_map(|n| json!(format!("{n}p"))),
            (1_u64..300_000).prop_map(|n| json!(format!("{n}B"))),
            (1_u64..50).prop_map(|n| json!(format!("{n}buffers"))),
        ]
        .boxed(),
        "duration" => (0_u64..200_000)
            .prop_map(|n| json!(format!("{n}us")))
            .boxed(),
        "bytes" => (1_u64..100_000)
            .prop_map(|n| json!(format!("{n}B")))
            .boxed(),
        "rate" => (1_u64..1_000_000)
            .prop_map(|n| json!(format!("{n}kbit/s")))
            .boxed(),
        "integer" => (1_u64..70).prop_map(|n| json!(n)).boxed(),
        "number" => prop_oneof![0.0..1.0_f64, 0.0..10.0_f64]
            .prop_map(|x| json!(x))
            .boxed(),
        "boolean" => any::<bool>().prop_map(|b| json!(b)).boxed(),
        _ => Just(parameter.default.clone()).boxed(),
    }
}

/// Any valid configuration of any algorithm: values that are refused one by one fall back to their default.
fn config() -> impl Strategy<Value = Value> {
    let kinds = QueueConfig::all().into_iter().map(|config| config.kind());
    let descriptions: Vec<_> = kinds.zip(describe()).collect();
    proptest::sample::select(descriptions).prop_flat_map(|(kind, description)| {
        let strategies: Vec<_> = description
            .parameters
            .iter()
            .map(|parameter| proptest::option::weighted(0.7, value(parameter)))
            .collect();
        let names: Vec<String> = description
            .parameters
            .iter()
            .map(|p| p.name.clone())
            .collect();
        strategies.prop_map(move |values| {
            let mut table = Map::from_iter([("kind".to_owned(), json!(kind))]);
            for (name, value) in names.iter().zip(values) {
                let Some(value) = value else { continue };
                let mut extended = table.clone();
                extended.insert(name.clone(), value);
                let read = serde_json::from_value::<QueueConfig>(Value::Object(extended.clone()));
                if read.is_ok_and(|config| config.validate().is_ok()) {
                    table = extended;
                }
            }
            Value::Object(table)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(768))]

    #[test]
    fn every_queue_keeps_the_promises_of_the_trait(
        config in config(),
        operations in operations(),
        seed in any::<u64>(),
    ) {
        let limit = config.get("limit").and_then(Value::as_str).map(|text| text.parse::<Limit>().unwrap());
        let segments = config.get("segments_per_buffer").and_then(Value::as_u64).unwrap_or(1);
        let config: QueueConfig = serde_json::from_value(config).unwrap();
        let mut queue = config.build(context(seed)).unwrap();
        let limit = limit.map(|limit| (limit, segments));
        // A flow that becomes a heavy hitter changes queues.
        let drive = if config.kind() == "hhf" { drive_in_any_order } else { drive };
        drive(queue.as_mut(), limit, &operations);
    }
}
