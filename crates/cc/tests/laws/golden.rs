//! Window per round trip on a fluid path, for every law of the registry and every way to leave slow start.

use std::fmt::Write;

use bloatlab_cc::{CcConfig, Signal};

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

fn laws() -> Vec<CcConfig> {
    let mut laws = CcConfig::all();
    for slow_start in ["hystart", "hystart++", "standard"] {
        for kind in ["reno", "cubic"] {
            let law = config(&format!(
                r#"{{"kind": "{kind}", "slow_start": "{slow_start}"}}"#
            ));
            if !laws.contains(&law) {
                laws.push(law);
            }
        }
    }
    laws
}

fn check(pattern: &str, path: &Path, rounds: u32, signal: impl Fn(u32) -> Option<Signal> + Copy) {
    let text: String = laws()
        .iter()
        .map(|law| {
            let name = serde_json::to_string(law).unwrap();
            format!("{name}\n{}\n", table(law, path, rounds, signal))
        })
        .collect();
    insta::assert_snapshot!(pattern, text);
}

#[test]
fn a_deep_buffer_overflows() {
    check("deep_buffer", &path(100), 60, |_| None);
}

#[test]
fn a_shallow_buffer_overflows() {
    check("shallow_buffer", &path(10), 40, |_| None);
}

#[test]
fn a_mark_every_tenth_round() {
    check("marks", &path(400), 40, |round| {
        (round % 10 == 0).then_some(Signal::Ecn)
    });
}

#[test]
fn a_timeout_in_the_tenth_round() {
    check("timeout", &path(400), 30, |round| {
        (round == 10).then_some(Signal::Timeout)
    });
}
