//! What a user may write for a queue, and what is said of what may not be written.

use bloatlab_aqm::{QueueConfig, describe};
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
            // A name of tc's may bring defaults of its own: `bfifo` counts bytes.
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
    assert!(message.starts_with(
        "kind: unknown queue `fifoo`; did you mean `fifo`? (allowed: fifo, head_drop"
    ));
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
