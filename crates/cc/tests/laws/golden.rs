//! Window per round trip on a fluid path, for every law of the registry and every way to leave slow start.

use std::fmt::Write;

use bloatlab_cc::{CcConfig, Signal, describe};

use crate::harness::{Driver, MS, MSS, Path, config};

/// 100 segments of bandwidth-delay product at 1 MB/s and 100 ms.
const fn path(buffer_segments: u64) -> Path {
    Path {
        rate: 1e6,
        base_rtt: 100 * MS,
        buffer: buffer_segments * MSS,
    }
}

/// A table of the round trips: window and threshold in segments, RTT in ms, and what was signalled.
fn table(
    law: &CcConfig,
    path: &Path,
    rounds: u32,
    signal: impl Fn(u32) -> Option<Signal>,
) -> String {
    let mut driver = Driver::of(law, 10);
    let mut text = String::from("round     cwnd ssthresh    rtt\n");
    for round in 1..=rounds {
        let done = path.round(&mut driver, signal(round));
        let ssthresh = match driver.window.ssthresh {
            bytes if bytes > 1 << 40 => "inf".to_owned(),
            bytes => format!("{:.1}", bytes as f64 / MSS as f64),
        };
        let signal = done
            .signal
            .map(|signal| format!("  {signal:?}"))
            .unwrap_or_default();
        let rtt = done.rtt as f64 / MS as f64;
        let cwnd = driver.cwnd_segments();
        writeln!(text, "{round:5} {cwnd:8.1} {ssthresh:>8} {rtt:6.1}{signal}").unwrap();
    }
    text
}

/// The law as the registry has it, and with each other way to end slow start if it has that parameter.
fn variants(law: &CcConfig) -> Vec<CcConfig> {
    let mut variants = vec![law.clone()];
    let table = serde_json::to_value(law).unwrap();
    for slow_start in ["standard", "hystart", "hystart++"] {
        if table
            .get("slow_start")
            .is_some_and(|default| default != slow_start)
        {
            let kind = law.kind();
            variants.push(config(&format!(
                r#"{{"kind": "{kind}", "slow_start": "{slow_start}"}}"#
            )));
        }
    }
    variants
}

/// One snapshot a law, so that a new law is a new file and changes no other.
#[test]
fn windows_per_round_trip() {
    let description = |kind| describe().iter().find(|law| law.kind == kind).unwrap();
    for law in CcConfig::all() {
        let mut text = serde_json::to_string_pretty(&description(law.kind())).unwrap() + "\n";
        for law in variants(&law) {
            let name = serde_json::to_string(&law).unwrap();
            let mut add = |pattern: &str, table: String| {
                write!(text, "\n{name}\n{pattern}\n{table}").unwrap();
            };
            let marks = |round| (round % 10 == 0).then_some(Signal::Ecn);
            let timeout = |round| (round == 10).then_some(Signal::Timeout);
            add(
                "a queue of one bandwidth-delay product",
                table(&law, &path(100), 60, |_| None),
            );
            add(
                "a queue of a tenth of it",
                table(&law, &path(10), 40, |_| None),
            );
            add(
                "a mark every tenth round",
                table(&law, &path(400), 40, marks),
            );
            add(
                "a timeout in the tenth round",
                table(&law, &path(400), 30, timeout),
            );
        }
        insta::assert_snapshot!(law.kind(), text);
    }
}
