//! A transmitter whose rate varies, compared with a count of bits per nanosecond and with values computed by hand.

mod common;

use bloatlab_link::{Carrier, Disk, RateVariation};
use bloatlab_units::{MILLISECOND, Nanos, Rate, SECOND, Streams};
use proptest::prelude::*;
use serde_json::{Value, json};

const MBIT: u64 = 1_000_000;

fn carrier(document: Value, nominal: u64) -> Carrier {
    let mut how: RateVariation = serde_json::from_value(document).expect("a variation");
    let rng = Streams::new(3).stream("link");
    how.load(&Disk)
        .expect("in range")
        .carrier(Rate(nominal), &rng, 100 * SECOND)
}

#[test]
fn a_change_in_the_middle_of_a_packet_counts_for_the_bits_after_it() {
    // 1500 bytes at 12 Mbit/s take 1 ms. After 250 us 9000 bits are left, which take 9 ms at 1 Mbit/s.
    let steps = json!({ "kind": "steps", "steps": [{ "at": "250us", "value": "1Mbit/s" }, { "at": "5ms", "value": "12Mbit/s" }] });
    let mut link = carrier(steps, 12 * MBIT);
    // 9000 bits minus the 4750 sent until 5 ms: the other 4250 bits take 354166.67 ns at 12 Mbit/s.
    assert_eq!(link.transmit(0, 1500), 5_354_166);
    // The fraction is kept: the next 12000 bits end at 6354166.67.
    assert_eq!(link.transmit(5_354_166, 1500), 6_354_166);
    assert_eq!(link.transmit(6_354_166, 1500), 7_354_166);
    assert_eq!(link.transmit(7_354_166, 3000), 9_354_166);
    // Capacity until 10 ms: 3000 + 4750 + 60000 bits, of which 60000 were used.
    let reading = link.read(10 * MILLISECOND);
    assert_eq!(reading.offered, 67_750_000_000_000);
    assert_eq!(reading.used, 60_000_000_000_000);
}

#[test]
fn an_outage_holds_the_packet_in_transmission() {
    let steps = json!({ "kind": "steps", "steps": [{ "at": "1ms", "value": "0bit/s" }, { "at": "1s", "value": "6Mbit/s" }] });
    let mut link = carrier(steps, 6 * MBIT);
    assert_eq!(link.transmit(0, 1500), SECOND + MILLISECOND);
    let half = link.read(500 * MILLISECOND);
    assert_eq!(
        (half.offered, half.used),
        (6_000_000_000_000, 6_000_000_000_000)
    );
    // The outage does not end: the transmission ends after the run.
    let steps = json!({ "kind": "steps", "steps": [{ "at": "1ms", "value": "0bit/s" }] });
    assert!(carrier(steps, 6 * MBIT).transmit(0, 1500) > 100 * SECOND);
}

#[test]
fn a_trace_is_exact_to_the_delivery_and_repeats() {
    let trace = json!({ "kind": "mahimahi", "deliveries": [0, 2, 2, 5, 10] });
    let mut link = carrier(trace, MBIT);
    let ms = |at: Nanos| at * MILLISECOND;
    // The delivery at 0 has passed when the first packet arrives.
    assert_eq!(link.transmit(0, 1500), ms(2));
    // A waiting packet uses the second delivery of the same instant. The next one uses half of a delivery, and the one after it the other half.
    assert_eq!(link.transmit(ms(2), 1500), ms(2));
    assert_eq!(link.transmit(ms(2), 750), ms(5));
    assert_eq!(link.transmit(ms(5), 750), ms(5));
    assert_eq!(link.transmit(ms(5), 100), ms(10));
    // The trace repeats at 10 ms. A packet of 3100 bytes uses the 1400 left, the delivery at 10, and 200 bytes of the one at 12.
    assert_eq!(link.transmit(ms(10), 3100), ms(12));
    link.rest();
    // A packet that finds the link idle does not get the rest of a delivery, even at the same instant.
    assert_eq!(link.transmit(ms(12), 40), ms(15));
    link.rest();
    assert_eq!(link.transmit(ms(15), 40), ms(20));
    // A reading excludes its instant: the two deliveries at 20 ms, and the packet that uses one.
    assert_eq!(link.read(ms(20)).offered, 9 * 12_000_000_000_000);
    let reading = link.read(ms(20) + 1);
    // Deliveries until 20 ms: 0 2 2 5 10 10 12 12 15 20 20.
    assert_eq!(reading.offered, 11 * 12_000_000_000_000);
    assert_eq!(
        reading.used,
        (1500 + 1500 + 1500 + 100 + 3100 + 80) * 8_000_000_000
    );
}

/// Every delivery of a measured trace carries a waiting packet, over two passes.
#[test]
fn replay_is_exact_on_measured_traces() {
    let Some(folder) = common::traces() else {
        return;
    };
    for name in [
        "ATT-LTE-driving-2016.down",
        "ATT-LTE-driving-2016.up",
        "Verizon-LTE-short.down",
        "Verizon-LTE-short.up",
        "TMobile-LTE-short.down",
    ] {
        let file = folder.join("mahimahi").join(name);
        let text = std::fs::read_to_string(&file).expect("a trace");
        let lines: Vec<u64> = text.lines().map(|line| line.parse().expect("ms")).collect();
        let last = lines[lines.len() - 1];
        let mut how: RateVariation =
            serde_json::from_value(json!({ "kind": "mahimahi", "file": file })).expect("a trace");
        let rng = Streams::new(3).stream("link");
        let loaded = how.load(&Disk).expect("a trace");
        let mut link = loaded.carrier(Rate(MBIT), &rng, 10 * last * MILLISECOND);
        // The packet arrives at 0, after the deliveries of that instant.
        let passes = [0, last].map(|origin| lines.iter().map(move |at| origin + at));
        let (mut now, mut count) = (0, 0);
        for at in passes.into_iter().flatten().filter(|at| *at > 0) {
            now = link.transmit(now, 1500);
            assert_eq!(now, at * MILLISECOND, "{name}, delivery {count}");
            count += 1;
        }
        let at_once = lines.iter().filter(|at| **at == 0).count();
        assert_eq!(count, 2 * lines.len() - at_once);
        // Unused are the deliveries at 0, and those at the start of the third pass.
        let reading = link.read(now + 1);
        let unused = 2 * at_once as u128 * 12_000_000_000_000;
        assert_eq!(reading.offered - reading.used, unused);
    }
}

#[test]
fn poisson_deliveries_have_the_mean_rate_and_its_spread() {
    let mut link = carrier(json!({ "kind": "poisson" }), 12 * MBIT);
    // 1000 deliveries per second are expected. Over 100 windows of 100 ms, the variance equals the mean of 100.
    let mut counts = Vec::new();
    let mut before = 0;
    for window in 1..=1000 {
        let offered = link.read(window * 100 * MILLISECOND).offered / 12_000_000_000_000;
        counts.push((offered - before) as f64);
        before = offered;
    }
    let mean = counts.iter().sum::<f64>() / 1000.0;
    let variance = counts.iter().map(|c| (c - mean) * (c - mean)).sum::<f64>() / 999.0;
    assert!(
        (mean - 100.0).abs() < 4.0 * 10.0 / 1000_f64.sqrt(),
        "{mean}"
    );
    assert!(
        (variance / 100.0 - 1.0).abs() < 4.0 * (2.0_f64 / 999.0).sqrt(),
        "{variance}"
    );
}

#[test]
fn invalid_traces_are_refused() {
    let folder = std::env::temp_dir().join(format!("bloatlab-traces-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let refusal = |text: &[u8]| {
        let file = folder.join("trace");
        std::fs::write(&file, text).expect("written");
        let document = json!({ "kind": "mahimahi", "file": file });
        let mut how: RateVariation = serde_json::from_value(document).expect("a variation");
        let why = how.load(&Disk).expect_err("refused");
        assert!(!why.contains('\n'), "{why}");
        why.replace(&file.display().to_string(), "FILE")
    };
    assert_eq!(refusal(b""), "file: `FILE` holds no delivery");
    assert_eq!(
        refusal(b"0\n0\n"),
        "file: `FILE` must end after 0 ms, where it starts again"
    );
    assert_eq!(
        refusal(b"1\n2.5\n"),
        "file: `FILE` line 2: must be a whole number of milliseconds"
    );
    assert_eq!(
        refusal(b"1\n\n2\n"),
        "file: `FILE` line 2: must be a whole number of milliseconds"
    );
    assert_eq!(
        refusal(b"1\n7\n5\n"),
        "file: `FILE` line 3: must not be earlier than the delivery before it"
    );
    assert!(
        refusal(&[0xff, 0xfe, 0, 10]).starts_with("file: `FILE` line 1: must be a whole number")
    );
    // A different file than the stored scenario was run with.
    let file = folder.join("good");
    std::fs::write(&file, "1\r\n2\r\n").expect("written");
    let mut how: RateVariation =
        serde_json::from_value(json!({ "kind": "mahimahi", "file": file })).expect("a variation");
    how.load(&Disk).expect("a trace");
    let noted = serde_json::to_value(&how).expect("a table");
    assert_eq!(noted["digest"].as_str().map(str::len), Some(32));
    how.load(&Disk).expect("the same file");
    std::fs::write(&file, "1\n3\n").expect("written");
    assert!(
        how.load(&Disk)
            .expect_err("refused")
            .contains("is another file now")
    );
    std::fs::remove_dir_all(&folder).expect("removed");
    assert!(
        how.load(&Disk)
            .expect_err("refused")
            .contains("cannot be read")
    );
}

proptest! {
    #[test]
    fn a_rate_that_never_changes_is_a_constant_one(rate in 1_000_u64..100_000_000_000, sizes in proptest::collection::vec(1_u64..65_536, 1..100), cuts in proptest::collection::btree_set(1_u64..1_000_000, 1..20)) {
        let steps: Vec<Value> = cuts.iter().map(|at| json!({ "at": format!("{at}us"), "value": format!("{rate}bit/s") })).collect();
        let mut link = carrier(json!({ "kind": "steps", "steps": steps }), rate);
        let (mut now, mut remainder) = (0, 0);
        for size in sizes {
            let (time, rest) = Rate(rate).transmit(size, remainder);
            if now + time > 100 * SECOND {
                break;
            }
            prop_assert_eq!(link.transmit(now, size), now + time);
            now += time;
            remainder = rest;
        }
    }

    /// Packets back to back and with gaps: the bits sent between begin and end are those of the packet, except for the last nanosecond.
    #[test]
    fn the_bits_of_a_packet_are_those_of_its_time(levels in proptest::collection::vec(0_u64..50, 2..30), packets in proptest::collection::vec((40_u64..3000, 0_u64..5_000_000), 1..60)) {
        let length = MILLISECOND * 3 / 2;
        let steps: Vec<Value> = levels.iter().enumerate().map(|(i, level)| json!({ "at": format!("{}ns", i as u64 * length + 1), "value": format!("{}Mbit/s", level) })).collect();
        let last = levels.len() as u64 * length + 1;
        let mut steps = steps;
        steps.push(json!({ "at": format!("{last}ns"), "value": "10Mbit/s" }));
        let mut link = carrier(json!({ "kind": "steps", "steps": steps }), 5 * MBIT);
        let rate = |at: Nanos| match at {
            0 => 5 * MBIT,
            at if at >= last => 10 * MBIT,
            at => levels[((at - 1) / length) as usize] * MBIT,
        };
        // bit/s times ns, summed over segments.
        let integral = |from: Nanos, to: Nanos| -> u128 {
            let mut edges: Vec<Nanos> = (0..=levels.len() as u64).map(|i| i * length + 1).filter(|e| (from..to).contains(e)).collect();
            edges.push(to);
            let mut at = from;
            edges.iter().map(|&edge| { let work = u128::from(rate(at)) * u128::from(edge - at); at = edge; work }).sum()
        };
        let (mut now, mut used) = (0, 0_u128);
        let mut run = (0, 0_u128);
        for (size, gap) in packets {
            if gap > 2_500_000 {
                now += gap - 2_500_000;
                link.rest();
                run = (now, 0);
            }
            let done = link.transmit(now, size);
            prop_assert!(done >= now);
            used += u128::from(size) * 8_000_000_000;
            run.1 += u128::from(size) * 8_000_000_000;
            // Since the transmitter was last idle, all bits of packets were sent, except for less than a nanosecond at the current rate.
            let sent = integral(run.0, done);
            prop_assert!(sent <= run.1 && run.1 < sent + u128::from(50 * MBIT), "{sent} {}", run.1);
            let half = link.read(now + (done - now) / 2);
            prop_assert!(half.used <= used);
            now = done;
            let reading = link.read(now);
            prop_assert!(reading.used <= used && used < reading.used + u128::from(50 * MBIT));
            prop_assert_eq!(reading.offered, integral(0, now));
        }
    }
}
