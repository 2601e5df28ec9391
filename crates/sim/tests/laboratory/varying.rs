//! Links whose rate, delay and loss vary, checked by what arrives.

use bloatlab_outcome::{Outcome, Step};
use bloatlab_scenario::{LossSpacing, Scenario};
use bloatlab_units::MILLISECOND;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::{compiled, config, logged, measured, value};

fn dumbbell(rate: &str, vary: Value, flows: Value) -> Scenario {
    let document = json!({
        "duration": "10s",
        "dumbbell": { "rate": rate, "rtt": "40ms", "queue": { "kind": "fifo", "limit": "100p" }, "vary": vary },
        "flows": flows
    });
    Scenario::from_value(document).unwrap_or_else(|error| panic!("{error}"))
}

fn column<'a>(outcome: &'a Outcome, name: &str) -> &'a [f64] {
    let found = outcome.link_series.columns.iter().find(|(n, _)| *n == name);
    &found.expect("a column").1
}

#[test]
fn a_variation_without_changes_equals_a_constant() {
    let steps = |value: &str| json!({ "kind": "steps", "steps": [{ "at": "3333us", "value": value }, { "at": "1s", "value": value }] });
    let (rate, rtt) = (steps("12345678bit/s"), steps("40ms"));
    let flows = json!([{ "cca": "cubic", "count": 2 }, { "traffic": "ping" }]);
    let constant = measured(
        &compiled(&dumbbell("12345678bit/s", json!({}), flows.clone())),
        1,
    );
    let varying = measured(
        &compiled(&dumbbell(
            "12345678bit/s",
            json!({ "rate": rate, "rtt": rtt }),
            flows,
        )),
        1,
    );
    assert!(column(&constant, "rate_mbps").iter().all(|v| v.is_nan()));
    assert!(
        column(&varying, "rate_mbps")
            .iter()
            .all(|v| (v - 12.345678).abs() < 1e-9)
    );
    // Compared as text, because NaN, which means a missing value, does not equal itself.
    let text = |outcome: &Outcome| {
        format!(
            "{:?} {:?}",
            outcome.flow_series.columns, outcome.probe_series.columns
        )
    };
    assert!(text(&varying) == text(&constant));
    assert_eq!(varying.events, constant.events);
    for (ours, theirs) in varying.link_metrics.iter().zip(&constant.link_metrics) {
        assert!(
            (ours.value - theirs.value).abs() <= 1e-6 * theirs.value.abs(),
            "{ours:?} {theirs:?}"
        );
    }
}

#[test]
fn utilization_refers_to_the_varying_capacity() {
    let pulse = json!({ "rate": { "kind": "pulse", "lower": "5Mbit/s", "upper": "20Mbit/s", "period": "2s" } });
    let mut scenario = dumbbell("20Mbit/s", pulse, json!([{ "cca": "cubic" }]));
    scenario.warmup = "2500ms".parse().expect("a duration");
    let outcome = measured(&compiled(&scenario), 1);
    // From 2.5 s to 10 s: 3.5 s at 20 Mbit/s and 4 s at 5 Mbit/s.
    let mean = (20.0 * 3.5 + 5.0 * 4.0) / 7.5;
    let throughput = value(&outcome.link_metrics, 0, "throughput").expect("a throughput");
    let utilization = value(&outcome.link_metrics, 0, "utilization").expect("a utilization");
    assert!(
        (utilization - throughput / mean).abs() < 2e-3,
        "{utilization} {throughput}"
    );
    assert!(utilization > 0.9 && utilization <= 1.0);
    let share = value(&outcome.network_metrics, 0, "capacity_share").expect("a share");
    let total = value(&outcome.network_metrics, 0, "agg_throughput").expect("a sum");
    assert!((share - total / mean).abs() < 1e-9);
    for (time, rate) in outcome
        .link_series
        .times()
        .zip(column(&outcome, "rate_mbps"))
    {
        let upper = (time - 0.05).rem_euclid(2.0) < 1.0;
        assert!(
            (rate - if upper { 20.0 } else { 5.0 }).abs() < 1e-9,
            "{time} {rate}"
        );
    }
    for (throughput, (rate, used)) in column(&outcome, "throughput_mbps").iter().zip(
        column(&outcome, "rate_mbps")
            .iter()
            .zip(column(&outcome, "utilization")),
    ) {
        assert!((0.0..=1.0 + 1e-9).contains(used));
        assert!(
            (throughput / rate - used).abs() < 0.03,
            "{throughput} {rate} {used}"
        );
    }
}

#[test]
fn a_shorter_delay_does_not_reorder() {
    let flows = json!([{ "traffic": { "kind": "cbr", "rate": "4Mbit/s", "packet": "500B" } }]);
    let walk = json!({ "rtt": { "kind": "random_walk", "min": "1ms", "max": "300ms", "sigma": "40ms", "interval": "5ms" } });
    let outcome = logged(&compiled(&dumbbell("10Mbit/s", walk, flows)), 1);
    let arrivals: Vec<(u64, u32)> = outcome
        .packets
        .iter()
        .filter(|e| e.step == Step::Receive)
        .map(|e| (e.at, e.segment.seq))
        .collect();
    assert!(arrivals.len() > 5000);
    assert!(
        arrivals
            .windows(2)
            .all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 < pair[1].1)
    );
    let spans: Vec<u64> = arrivals
        .windows(2)
        .map(|pair| pair[1].0 - pair[0].0)
        .collect();
    // Some packets wait for the one before, and some gaps open, so the delay did vary.
    assert!(spans.iter().filter(|&&span| span == 0).count() > 50);
    assert!(spans.iter().any(|&span| span > 10 * MILLISECOND));
}

/// Times of the drops.
fn drops(outcome: &Outcome) -> Vec<u64> {
    let dropped = outcome.packets.iter().filter(|e| e.step == Step::Drop);
    dropped.map(|e| e.at).collect()
}

#[test]
fn loss_follows_its_trajectory() {
    let flows = json!([{ "traffic": { "kind": "cbr", "rate": "4Mbit/s", "packet": "500B" } }]);
    let pulse = json!({ "loss": { "kind": "pulse", "lower": 0.0, "upper": 0.4, "period": "2s" } });
    let outcome = logged(&compiled(&dumbbell("10Mbit/s", pulse, flows)), 1);
    let drops = drops(&outcome);
    // 5 s with 1000 packets per second and a loss of 0.4.
    assert!(
        (drops.len() as f64 - 2000.0).abs() < 4.0 * (5000.0 * 0.24_f64).sqrt(),
        "{}",
        drops.len()
    );
    assert!(drops.iter().all(|&at| at % 2_000_000_000 < 1_000_000_000));
}

#[test]
fn even_losses_have_equal_distances() {
    let flows = json!([{ "traffic": { "kind": "cbr", "rate": "4Mbit/s", "packet": "500B" } }]);
    let mut scenario = dumbbell("10Mbit/s", json!({}), flows);
    let path = scenario.dumbbell.as_mut().expect("a dumbbell");
    path.loss = 0.125;
    path.loss_spacing = LossSpacing::Even;
    let outcome = logged(&compiled(&scenario), 1);
    let drops = drops(&outcome);
    // One packet per millisecond, of which every eighth is lost.
    assert!(drops.len() > 1000);
    assert!(
        drops
            .windows(2)
            .all(|pair| pair[1] - pair[0] == 8 * MILLISECOND)
    );
}

#[test]
fn packets_leave_at_the_deliveries_of_a_trace() {
    let trace: Vec<u64> = (0..400).map(|i| i * i % 7 + i * 3).collect();
    let mut sorted = trace.clone();
    sorted.sort_unstable();
    let flows = json!([{ "traffic": { "kind": "cbr", "rate": "10Mbit/s", "packet": "1472B" } }]);
    let outcome = logged(
        &compiled(&dumbbell(
            "4Mbit/s",
            json!({ "rate": { "kind": "mahimahi", "deliveries": sorted } }),
            flows,
        )),
        1,
    );
    let period = sorted[sorted.len() - 1];
    let mut expected = Vec::new();
    for pass in 0..=10_000 / period {
        expected.extend(
            sorted
                .iter()
                .map(|at| (pass * period + at + 20) * MILLISECOND),
        );
    }
    let arrivals: Vec<u64> = outcome
        .packets
        .iter()
        .filter(|e| e.step == Step::Receive)
        .map(|e| e.at)
        .collect();
    // Packets of 1500 bytes, and the queue is never empty: every delivery after the first instant carries one packet.
    let expected: Vec<u64> = expected
        .into_iter()
        .filter(|&at| at >= arrivals[0])
        .collect();
    assert!(arrivals.len() > 3000);
    assert_eq!(arrivals, expected[..arrivals.len()]);
    let used = value(&outcome.link_metrics, 0, "utilization").expect("a utilization");
    assert!(used > 0.999, "{used}");
}

#[test]
fn equal_seeds_give_equal_bytes_and_streams_are_independent() {
    let flows = json!([{ "cca": "cubic" }, { "traffic": "ping" }]);
    let walk = |sigma: &str| json!({ "kind": "random_walk", "min": "2Mbit/s", "max": "20Mbit/s", "sigma": sigma });
    let vary = json!({ "rate": walk("1Mbit/s"), "rtt": { "kind": "random_walk", "min": "10ms", "max": "90ms", "sigma": "5ms" }, "loss": { "kind": "random_walk", "min": 0.0, "max": 0.02, "sigma": 0.002 } });
    let plan = compiled(&dumbbell("10Mbit/s", vary.clone(), flows.clone()));
    let digest = measured(&plan, 1).digest();
    assert_eq!(measured(&plan, 1).digest(), digest);
    assert_ne!(measured(&plan, 2).digest(), digest);
    // The random walk of the rate is the same without the other variations.
    let alone = compiled(&dumbbell(
        "10Mbit/s",
        json!({ "rate": vary["rate"] }),
        flows,
    ));
    assert_eq!(
        column(&measured(&alone, 1), "rate_mbps"),
        column(&measured(&plan, 1), "rate_mbps")
    );
}

/// Any variation of a rate, with outages.
fn rate() -> impl Strategy<Value = Value> {
    let mbit = |value: u64| format!("{value}Mbit/s");
    prop_oneof![
        vec((1_u64..800, 0_u64..30), 1..8).prop_map(move |steps| {
            let mut at = 0;
            let steps: Vec<Value> = steps
                .into_iter()
                .map(|(gap, value)| {
                    at += gap;
                    json!({ "at": format!("{at}ms"), "value": mbit(value) })
                })
                .collect();
            json!({ "kind": "steps", "steps": steps })
        }),
        (0_u64..10, 1_u64..30, 1_u64..900).prop_map(move |(lower, more, period)| {
            let (lower, upper) = (mbit(lower), mbit(lower + more));
            json!({ "kind": "pulse", "lower": lower, "upper": upper, "period": format!("{period}ms") })
        }),
        (0_u64..5, 5_u64..30, 0_u64..8).prop_map(move |(min, max, sigma)| {
            let (min, max, sigma) = (mbit(min), mbit(max), mbit(sigma));
            json!({ "kind": "random_walk", "min": min, "max": max, "sigma": sigma, "rho": 0.4, "interval": "7ms" })
        }),
        Just(json!({ "kind": "poisson" })),
        vec(0_u64..20, 1..200).prop_map(|gaps| {
            let mut at = 0;
            let mut deliveries: Vec<u64> = gaps
                .into_iter()
                .map(|gap| {
                    at += gap;
                    at
                })
                .collect();
            deliveries.push(at + 1);
            json!({ "kind": "mahimahi", "deliveries": deliveries })
        }),
    ]
}

#[test]
fn under_any_variation_packets_are_counted_and_no_link_exceeds_its_capacity() {
    let cases = (rate(), 1_u64..60, 0_u64..20, 0_u32..4, any::<u64>());
    let mut runner = TestRunner::new(config(60));
    let verdict = runner.run(&cases, |(rate, upper, sigma, device, seed)| {
        let walk = json!({ "kind": "random_walk", "min": "1ms", "max": format!("{upper}ms"), "sigma": format!("{sigma}ms"), "interval": "3ms" });
        let document = json!({
            "duration": "3s", "warmup": "700ms", "sample_interval": "90ms",
            "boxes": [
                { "kind": "link", "name": "out", "rate": "8Mbit/s", "queue": "codel", "shaper": device == 3, "device_packets": device % 3,
                    "vary": { "rate": rate, "delay": walk } },
                { "kind": "delay", "name": "back", "delay": "5ms", "vary": walk },
                { "kind": "loss", "name": "air", "probability": 0.0,
                    "vary": { "kind": "pulse", "lower": 0.0, "upper": 0.05, "period": "400ms" } }
            ],
            "flows": [
                { "path": ["out", "air"], "return_path": ["back"] },
                { "path": ["out"], "return_path": ["back"], "traffic": { "kind": "poisson", "rate": "1Mbit/s", "packet": "3000B" } }
            ]
        });
        let scenario = Scenario::from_value(document);
        let plan = compiled(&scenario.map_err(|error| TestCaseError::fail(error.to_string()))?);
        let outcome = logged(&plan, seed);
        for (name, count) in &outcome.counts {
            prop_assert_eq!(count.arrivals, count.departures + count.drops + count.held, "{}", name);
        }
        // A bit that is sent within a nanosecond of a sample may count on either side of it.
        prop_assert!(column(&outcome, "utilization").iter().all(|v| v.is_nan() || (0.0..=1.000_001).contains(v)));
        prop_assert!(column(&outcome, "rate_mbps").iter().all(|&v| v >= 0.0));
        // Packets are received in the order in which they leave the queue. Only the lossy part removes some.
        for flow in 0..2 {
            let of = |wanted: Step| {
                outcome.packets.iter().filter(move |e| e.step == wanted && e.direction == 0 && e.flow as usize == flow)
            };
            let mut left = of(Step::Dequeue).map(|e| e.segment.seq);
            for received in of(Step::Receive) {
                prop_assert!(left.any(|seq| seq == received.segment.seq));
            }
        }
        prop_assert_eq!(outcome.digest(), logged(&plan, seed).digest());
        Ok(())
    });
    verdict.unwrap_or_else(|error| panic!("{error}"));
}
