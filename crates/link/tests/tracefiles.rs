//! Traces as files: a written trace is read back, and its statistics are right.

use std::path::PathBuf;

use bloatlab_link::tracefile::{Format, Reading, TraceFile, Unit};
use bloatlab_link::{Disk, RateVariation};
use bloatlab_units::{Duration, MILLISECOND, Rate, SECOND, Streams};
use proptest::prelude::*;
use serde_json::{Value, json};

const TENTH: Duration = Duration(100 * MILLISECOND);

struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let name = format!("bloatlab-tracefile-{}-{name}", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, text).expect("written");
        Self(file)
    }

    fn read(&self, how: &Reading) -> Result<TraceFile, String> {
        let name = self.0.display().to_string();
        let found = TraceFile::read(&Disk, &name, how);
        found.map_err(|why| why.replace(&name, "FILE"))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).expect("removed");
    }
}

fn made(document: Value, seconds: u64) -> TraceFile {
    let mut how: RateVariation = serde_json::from_value(document).expect("a variation");
    TraceFile::make(
        &Disk,
        &mut how,
        Rate(12_000_000),
        7,
        Duration(seconds * SECOND),
    )
    .expect("a trace")
}

fn text(trace: &TraceFile, format: Format) -> String {
    trace.text(format, Unit::Megabit, TENTH).expect("a text")
}

#[test]
fn every_format_is_recognised() {
    let steps = json!({ "kind": "steps", "steps": [
        { "at": "500ms", "value": "2.5Mbit/s" }, { "at": "1250ms", "value": "0bit/s" }, { "at": "1750ms", "value": "24Mbit/s" }
    ] });
    let trace = made(steps, 2);
    assert_eq!(
        text(&trace, Format::RateInterval),
        "12,0.5\n2.5,0.75\n0,0.5\n24,0.25\n"
    );
    // The last line lasts as long as the one before it, so it was halved.
    assert_eq!(
        text(&trace, Format::TimeRate),
        "0 12\n0.5 2.5\n1.25 0\n1.75 24\n1.875 24\n"
    );
    assert_eq!(
        trace
            .text(Format::RateInterval, Unit::Kilobit, TENTH)
            .expect("a text"),
        "12000,0.5\n2500,0.75\n0,0.5\n24000,0.25\n"
    );
    let deliveries: Vec<u64> = text(&trace, Format::Mahimahi)
        .lines()
        .map(|l| l.parse().expect("ms"))
        .collect();
    // One per ms; one per 4.8 ms; none; two per ms. After 156, 0.25 of 1.875 Mbit are left. They are sent first, at 24 Mbit/s.
    assert_eq!(
        deliveries[..501],
        *(1..=500).chain([505]).collect::<Vec<u64>>()
    );
    assert_eq!(deliveries[500 + 155], 1249);
    assert_eq!(deliveries[656..660], [1751, 1751, 1752, 1752]);
    assert_eq!(deliveries.len(), 500 + 156 + 500);
    assert_eq!(deliveries.last(), Some(&2000));
}

#[test]
fn a_generated_trace_equals_the_bottleneck_with_that_seed() {
    let document = json!({ "kind": "mmwave", "preset": "lb" });
    let trace = made(document.clone(), 120);
    assert_eq!(
        (trace.format, trace.entries(), trace.span()),
        (Format::RateInterval, 400, 120 * SECOND)
    );
    let mut how: RateVariation = serde_json::from_value(document).expect("a variation");
    let rng = Streams::new(7).stream("vary/bottleneck/rate");
    let loaded = how.load(&Disk).expect("in range");
    let horizon = 100 * SECOND;
    let mut link = loaded.carrier(Rate(1), &rng, horizon);
    let file = File::new("lb", &text(&trace, Format::TimeRate));
    let mut from_file: RateVariation =
        serde_json::from_value(json!({ "kind": "file", "file": file.0 })).expect("a variation");
    let mut replayed = from_file
        .load(&Disk)
        .expect("a trace")
        .carrier(Rate(1), &rng, horizon);
    let mut now = [0, 0];
    for _ in 0..100_000 {
        now = [link.transmit(now[0], 1500), replayed.transmit(now[1], 1500)];
        assert_eq!(now[0], now[1]);
    }
}

#[test]
fn deliveries_are_counted_and_read_back() {
    let lines = "0\n3\n3\n100\n101\n250\n";
    let file = File::new("mahimahi", lines);
    let trace = file.read(&Reading::default()).expect("a trace");
    assert_eq!(
        (trace.format, trace.entries(), trace.span()),
        (Format::Mahimahi, 6, 250 * MILLISECOND)
    );
    assert_eq!(text(&trace, Format::Mahimahi), lines);
    // Four until 100 ms, one until 200 ms, one in the last 50 ms.
    assert_eq!(
        text(&trace, Format::RateInterval),
        "0.48,0.1\n0.12,0.1\n0.24,0.05\n"
    );
    let poisson = made(json!({ "kind": "poisson" }), 10);
    let count = poisson.entries() as f64;
    assert!((count - 10_000.0).abs() < 400.0, "{count}");
    let looped = made(json!({ "kind": "mahimahi", "deliveries": [1, 3] }), 1);
    assert_eq!(
        text(&looped, Format::Mahimahi)
            .lines()
            .take(4)
            .collect::<Vec<_>>(),
        ["1", "3", "4", "6"]
    );
}

#[test]
fn statistics_of_a_trace() {
    let file = File::new("info", "100,1\n40,0.5\n30,0.5\n90,1\n100,1\n10,2");
    let info = file
        .read(&Reading::default())
        .expect("a trace")
        .info(None, TENTH)
        .expect("few intervals");
    assert_eq!((info.entries, info.seconds), (6, 6.0));
    assert!((info.mean - (100.0 + 35.0 + 190.0 + 20.0) / 6.0).abs() < 1e-9);
    // Half of the time, the rate is at most 40. Dips are below 20.
    assert_eq!(
        [info.median, info.least, info.most, info.below],
        [40.0, 10.0, 100.0, 20.0]
    );
    assert_eq!(info.dips.len(), 1);
    let info = file
        .read(&Reading::default())
        .expect("a trace")
        .info(Some(Rate(50_000_000)), TENTH)
        .expect("few intervals");
    let dips: Vec<[f64; 3]> = info
        .dips
        .iter()
        .map(|d| [d.at, d.seconds, d.least])
        .collect();
    assert_eq!(dips, [[1.0, 1.0, 30.0], [4.0, 2.0, 10.0]]);
    assert_eq!(info.share_below, 0.5);
}

#[test]
fn infinite_intervals_are_refused() {
    let trace = File::new("long", "333333333\n").read(&Reading::default());
    let trace = trace.expect("a trace");
    let why = "interval: 1ms makes 333333333 intervals of this trace; at most 10000000 are counted: give at least 33333334ns";
    let short = Duration(MILLISECOND);
    assert_eq!(trace.rates(short).expect_err("refused"), why);
    assert_eq!(trace.info(None, short).expect_err("refused"), why);
    let text = trace.text(Format::RateInterval, Unit::Megabit, short);
    assert_eq!(text.expect_err("refused"), why);
    assert!(trace.info(None, TENTH).is_ok());
}

#[test]
fn refusals() {
    let refusal =
        |text: &str, how: Reading| File::new("refused", text).read(&how).expect_err("refused");
    let plain = |text: &str| refusal(text, Reading::default());
    assert_eq!(
        plain("10,1\nx,1\n"),
        "`FILE` line 2: the rate must be a number from 0 to 10000000 Mbit/s"
    );
    assert_eq!(
        plain("1\n2\n1\n"),
        "`FILE` line 3: must not be earlier than the delivery before it"
    );
    assert_eq!(plain(""), "`FILE` holds no line");
    let keeps = Reading {
        zero_keeps_rate: true,
        ..Reading::default()
    };
    assert_eq!(
        refusal("0,1\n3,1\n", keeps.clone()),
        "`FILE` begins with a rate of 0, and there is no previous rate to keep"
    );
    assert!(refusal("1\n2\n", keeps).contains("quirks of rate files do not apply"));
    let missing =
        TraceFile::read(&Disk, "/nowhere/at.all", &Reading::default()).expect_err("refused");
    assert!(missing.starts_with("`/nowhere/at.all` cannot be read"));
    let nothing = made(
        json!({ "kind": "steps", "steps": [{ "at": "0s", "value": "0bit/s" }] }),
        1,
    );
    assert!(
        nothing
            .text(Format::Mahimahi, Unit::Megabit, TENTH)
            .expect_err("refused")
            .contains("carries no 1500 bytes")
    );
    let mut how: RateVariation =
        serde_json::from_value(json!({ "kind": "mmwave" })).expect("a variation");
    assert_eq!(
        TraceFile::make(&Disk, &mut how, Rate(1), 1, Duration(0)).expect_err("refused"),
        "duration: must be above 0s"
    );
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(pieces in proptest::collection::vec((0_u64..5_000_000_000, 2_u64..3_000_000_000), 2..40), format in prop_oneof![Just(Format::RateInterval), Just(Format::TimeRate)]) {
        let lines: String = pieces.iter().map(|(rate, span)| format!("{},{}\n", *rate as f64 * 1e-6, *span as f64 * 1e-9)).collect();
        let how = Reading { format: Some(Format::RateInterval), ..Reading::default() };
        let trace = File::new("there", &lines).read(&how).expect("a trace");
        let expected: Vec<(u64, Rate)> = pieces.iter().map(|(rate, span)| (*span, Rate(*rate))).collect();
        prop_assert_eq!(trace.rates(TENTH), Ok(expected.clone()));
        let how = Reading { format: Some(format), ..Reading::default() };
        let again = File::new("back", &text(&trace, format)).read(&how).expect("a trace");
        // Halving the last line may lose an odd nanosecond.
        prop_assert!(trace.span() - again.span() <= u64::from(format == Format::TimeRate));
        if format == Format::RateInterval {
            prop_assert_eq!(again.rates(TENTH), Ok(expected));
        }
    }

    /// Up to any time, deliveries carry what the rate carried, minus at most one delivery and the rounding to a millisecond.
    #[test]
    fn deliveries_carry_what_the_rate_does(pieces in proptest::collection::vec((0_u64..100, 1_u64..300), 1..20)) {
        let lines: String = pieces.iter().map(|(rate, span)| format!("{rate},{}\n", *span as f64 * 1e-3)).collect();
        let how = Reading { format: Some(Format::RateInterval), ..Reading::default() };
        let trace = File::new("rates", &format!("12,0.01\n{lines}")).read(&how).expect("a trace");
        let deliveries: Vec<u64> = text(&trace, Format::Mahimahi).lines().map(|l| l.parse().expect("ms")).collect();
        let (mut at, mut bits) = (10, 120_000);
        for (rate, span) in pieces {
            at += span;
            bits += rate * 1000 * span;
            // Whole milliseconds, so the ends of pieces are not rounded.
            let carried = deliveries.iter().filter(|d| **d <= at).count() as u64;
            prop_assert_eq!(carried, bits / 12_000);
        }
    }
}
