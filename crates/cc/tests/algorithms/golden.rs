//! Window per round trip on a fluid path, for every congestion control of the registry and every way to leave slow start.

use std::fmt::Write;

use bloatlab_cc::{CcConfig, Signal, describe};

use crate::harness::{Driver, MS, MSS, Path, config};

/// The bandwidth-delay product is 100 segments: 1 MB/s and 100 ms.
const fn path(buffer_segments: u64) -> Path {
    Path {
        rate: 1e6,
        base_rtt: 100 * MS,
        buffer: buffer_segments * MSS,
    }
}

/// One row per round trip: window and threshold in segments, RTT in ms, and the congestion signal.
fn table(
    cc: &CcConfig,
    path: &Path,
    rounds: u32,
    signal: impl Fn(u32) -> Option<Signal>,
) -> String {
    let mut driver = Driver::of(cc, 10);
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

/// The congestion control with its defaults, and with every other way to end slow start if it has that parameter.
fn variants(cc: &CcConfig) -> Vec<CcConfig> {
    let mut variants = vec![cc.clone()];
    let table = serde_json::to_value(cc).unwrap();
    for slow_start in ["standard", "hystart", "hystart++"] {
        if table
            .get("slow_start")
            .is_some_and(|default| default != slow_start)
        {
            let kind = cc.kind();
            variants.push(config(&format!(
                r#"{{"kind": "{kind}", "slow_start": "{slow_start}"}}"#
            )));
        }
    }
    variants
}

/// One snapshot per congestion control, so that a new one adds a file and changes no other.
#[test]
fn windows_per_round_trip() {
    let description = |kind| describe().iter().find(|cc| cc.kind == kind).unwrap();
    for cc in CcConfig::all() {
        let mut text = serde_json::to_string_pretty(&description(cc.kind())).unwrap() + "\n";
        for cc in variants(&cc) {
            let name = serde_json::to_string(&cc).unwrap();
            let mut add = |pattern: &str, table: String| {
                write!(text, "\n{name}\n{pattern}\n{table}").unwrap();
            };
            let marks = |round| (round % 10 == 0).then_some(Signal::Ecn);
            let timeout = |round| (round == 10).then_some(Signal::Timeout);
            add(
                "a queue of one bandwidth-delay product",
                table(&cc, &path(100), 60, |_| None),
            );
            add(
                "a queue of a tenth of it",
                table(&cc, &path(10), 40, |_| None),
            );
            add(
                "a mark every tenth round",
                table(&cc, &path(400), 40, marks),
            );
            add(
                "a timeout in the tenth round",
                table(&cc, &path(400), 30, timeout),
            );
        }
        insta::assert_snapshot!(cc.kind(), text);
    }
}
