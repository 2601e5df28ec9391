use bloatlab_cc::{CcConfig, cubic, describe, newreno, reno};
use bloatlab_units::Streams;
use serde_json::json;

use crate::harness::{Driver, MS, MSS, Path, config};

fn refusal(json: &str) -> String {
    serde_json::from_str::<CcConfig>(json)
        .unwrap_err()
        .to_string()
}

#[test]
fn reads_names_tables_and_ns3_names() {
    assert_eq!(
        config(r#""cubic""#),
        CcConfig::Cubic(cubic::Params::default())
    );
    let CcConfig::Cubic(params) =
        config(r#"{"kind": "TcpCubic", "beta": 0.5, "slow_start": "hystart"}"#)
    else {
        panic!("not cubic");
    };
    assert_eq!((params.beta, params.c), (0.5, 0.4));
    assert_eq!(
        config(r#""TcpNewReno""#),
        CcConfig::Newreno(newreno::Params::default())
    );
    assert_eq!(
        config(r#""TcpLinuxReno""#),
        CcConfig::Reno(reno::Params::default())
    );
    assert_eq!(config(r#""TcpBbr""#).kind(), "bbr");
    assert!(refusal(r#""tcpbbr""#).contains("unknown congestion control"));
}

#[test]
fn writes_what_it_reads() {
    for cc in CcConfig::all() {
        let text = serde_json::to_value(&cc).unwrap();
        assert_eq!(text["kind"], cc.kind());
        assert_eq!(serde_json::from_value::<CcConfig>(text).unwrap(), cc);
        assert_eq!(cc.validate(), Ok(()));
        assert!(cc.build(Streams::new(1).stream("cc")).is_some());
    }
}

#[test]
fn refuses_in_one_clear_line() {
    insta::assert_snapshot!(
        [
            r#"{"beta": 0.7}"#,
            r#"{"kind": 3}"#,
            r#"7"#,
            r#"{"kind": "cubic", "bta": 0.7}"#,
            r#"{"kind": "cubic", "beta": "fast"}"#,
            r#"{"kind": "cubic", "beta": 1.5}"#,
            r#"{"kind": "cubic", "slow_start": "quick"}"#,
            r#"{"kind": "cubic", "fast_convergence": 1}"#,
            r#"{"kind": "fixed", "window": 0}"#,
            r#"{"kind": "fixed", "window": -4}"#,
            r#"{"kind": "bbr", "probe_rtt": "200"}"#,
            r#"{"kind": "python", "class": "mine"}"#,
            r#"{"kind": "python"}"#,
            r#"{"kind": "python", "class": "m:C", "size": 1}"#,
        ]
        .map(|json| format!("{json}\n    {}", refusal(json)))
        .join("\n")
    );
}

#[test]
fn an_unknown_name_gets_the_nearest_and_the_list() {
    let message = refusal(r#""cubik""#);
    let start = "unknown congestion control: `cubik`; did you mean `cubic`? (allowed: reno, newreno, cubic, bbr, ";
    assert!(
        message.starts_with(start) && message.ends_with(", python)"),
        "{message}"
    );
}

#[test]
fn a_value_that_is_not_a_number_is_refused() {
    let cc = CcConfig::Cubic(cubic::Params {
        c: f64::NAN,
        ..cubic::Params::default()
    });
    assert!(cc.validate().unwrap_err().starts_with("c: "));
}

#[test]
fn python_is_left_to_the_engine() {
    let cc = config(r#"{"kind": "python", "class": "mine:Factory", "params": {"gain": 2}}"#);
    assert_eq!(cc.kind(), "python");
    assert_eq!(cc.validate(), Ok(()));
    assert!(cc.build(Streams::new(1).stream("cc")).is_none());
}

#[test]
fn describes_every_parameter() {
    for cc in describe() {
        assert!(
            !cc.summary.is_empty() && !cc.source.is_empty(),
            "{}",
            cc.kind
        );
        // Its page must say how it works, when to use it and what it does badly.
        assert!(cc.details.len() > 200, "{}: {}", cc.kind, cc.details);
        for parameter in &cc.parameters {
            let name = format!("{}.{}", cc.kind, parameter.name);
            assert!(
                !parameter.description.is_empty(),
                "{name} has no description"
            );
            assert!(!parameter.kind.is_empty(), "{name} has no type");
            let numeric = matches!(parameter.kind.as_str(), "number" | "integer");
            assert!(
                !numeric || parameter.range.is_some(),
                "{name} needs a range"
            );
        }
    }
}

#[test]
fn the_schema_takes_names_aliases_and_tables() {
    let schema = serde_json::to_value(schemars::schema_for!(CcConfig)).unwrap();
    let variants = schema["oneOf"].as_array().unwrap();
    let names = variants
        .iter()
        .find(|variant| variant["type"] == "string")
        .unwrap();
    assert!(
        names["enum"]
            .as_array()
            .unwrap()
            .contains(&json!("TcpCubic"))
    );
    let tables = variants
        .iter()
        .filter(|variant| variant["properties"]["kind"] != json!(null));
    assert_eq!(tables.count(), CcConfig::all().len() + 1);
}

/// A sender calls `on_send` only if `observes_sends` returns true, so nothing else may depend on `on_send`.
#[test]
fn algorithms_that_do_not_observe_sends_ignore_them() {
    let path = Path {
        rate: 1e6,
        base_rtt: 40 * MS,
        buffer: 20 * MSS,
    };
    let mut observing = Vec::new();
    for config in CcConfig::all() {
        let (mut told, mut untold) = (Driver::of(&config, 10), Driver::of(&config, 10));
        if told.cc.observes_sends() {
            observing.push(config.kind());
            continue;
        }
        for _ in 0..100 {
            path.round(&mut told, None);
            path.round(&mut untold, None);
            told.cc.on_send(&mut told.window, told.now, MSS, true);
            assert_eq!(told.window, untold.window, "{}", config.kind());
        }
    }
    assert_eq!(observing, ["bbr", "bbr3", "vivace"]);
}
