//! Values over time, by hand and by their statistics.

use bloatlab_link::{Course, Probability, Quantity, Variation};
use bloatlab_units::{Duration, MILLISECOND, Nanos, SECOND, Streams};
use serde_json::{Value, json};

fn read<Q: Quantity>(document: Value) -> Variation<Q> {
    let how: Variation<Q> = serde_json::from_value(document).expect("a variation");
    how.validate().expect("in range");
    how
}

fn course(how: &Variation<Duration>, nominal: Nanos, seed: u64) -> Course {
    how.course(nominal as f64, Streams::new(seed).stream("delay"))
}

#[test]
fn steps_hold_from_their_instant_on() {
    let how = read(
        json!({ "kind": "steps", "steps": [{ "at": "1s", "value": "30ms" }, { "at": "2s", "value": "5ms" }] }),
    );
    let mut course = course(&how, 10 * MILLISECOND, 1);
    let at = [
        0,
        SECOND - 1,
        SECOND,
        2 * SECOND - 1,
        2 * SECOND,
        9 * SECOND,
    ];
    let values: Vec<u64> = at
        .iter()
        .map(|&at| course.at(at) as u64 / MILLISECOND)
        .collect();
    assert_eq!(values, [10, 10, 30, 30, 5, 5]);
    assert_eq!(how.bounds(10e6), (5e6, 30e6));
}

#[test]
fn a_pulse_spends_half_its_period_at_each_level() {
    let text = json!({ "kind": "pulse", "lower": "10ms", "upper": "40ms", "period": "3000001ns" });
    let how = read(text.clone());
    let mut course_down = course(&how, 20 * MILLISECOND, 1);
    // An odd nanosecond belongs to the second half, and the third period begins at 6000002 ns.
    let at = [
        0, 1_499_999, 1_500_000, 3_000_000, 3_000_001, 4_500_001, 6_000_001, 6_000_002,
    ];
    let values: Vec<u64> = at
        .iter()
        .map(|&at| course_down.at(at) as u64 / MILLISECOND)
        .collect();
    assert_eq!(values, [40, 40, 10, 10, 40, 10, 10, 40]);
    let mut text = text;
    text["first"] = json!("lower");
    let mut course_up = course(&read(text), 20 * MILLISECOND, 1);
    assert_eq!(course_up.at(0), 10e6);
    assert_eq!(course_up.at(1_500_000), 40e6);
}

#[test]
fn a_random_walk_moves_as_its_equation_says() {
    // Bounds out of reach: the moves are an autoregression of order one.
    let text = json!({ "kind": "random_walk", "min": "0s", "max": "1h", "sigma": "1ms", "rho": 0.6, "interval": "10ms" });
    let how = read(text);
    let start = 1800 * SECOND;
    let mut walk = course(&how, start, 5);
    assert_eq!(walk.at(10 * MILLISECOND - 1), start as f64);
    let n = 50_000;
    let values: Vec<f64> = (0..n).map(|i| walk.at(i * 10 * MILLISECOND)).collect();
    let moves: Vec<f64> = values
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) / 1e6)
        .collect();
    let noise: Vec<f64> = moves
        .windows(2)
        .map(|pair| pair[1] - 0.6 * pair[0])
        .collect();
    let mean = noise.iter().sum::<f64>() / noise.len() as f64;
    let variance = noise.iter().map(|x| x * x).sum::<f64>() / noise.len() as f64;
    let product: f64 = noise.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let spread = 1.0 / (n as f64).sqrt();
    assert!(mean.abs() < 4.0 * spread, "{mean}");
    assert!(
        (variance - 1.0).abs() < 4.0 * 2_f64.sqrt() * spread,
        "{variance}"
    );
    assert!((product / n as f64).abs() < 4.0 * spread, "{product}");
    // The same seed gives the same walk, another seed another.
    let last = |seed| course(&how, start, seed).at(SECOND);
    assert_eq!(last(5), values[100]);
    assert_ne!(last(6), values[100]);
}

#[test]
fn a_random_walk_stays_within_its_bounds_and_reaches_them() {
    let how = read::<Probability>(
        json!({ "kind": "random_walk", "min": 0.1, "max": 0.3, "sigma": 0.05, "rho": 0.5, "interval": "1ms" }),
    );
    // The constant value is outside: it is clipped at once.
    let mut walk = how.course(0.9, Streams::new(1).stream("loss"));
    let values: Vec<f64> = (0..5000).map(|i| walk.at(i * MILLISECOND)).collect();
    assert_eq!(values[0], 0.3);
    assert!(values.iter().all(|v| (0.1..=0.3).contains(v)));
    assert!(values.contains(&0.1) && values.contains(&0.3));
}

#[test]
fn what_is_refused() {
    let refusal = |document: Value| {
        let how: Variation<Probability> = serde_json::from_value(document).expect("a variation");
        how.validate().expect_err("refused")
    };
    let step = |at: &str, value: f64| json!({ "at": at, "value": value });
    let steps = |list: Vec<Value>| refusal(json!({ "kind": "steps", "steps": list }));
    assert_eq!(steps(vec![]), "steps: must be 1 to 1000000, not 0");
    assert_eq!(
        steps(vec![step("1s", 1.5)]),
        "steps[0].value: must be at least 0 and at most 1, not 1.5"
    );
    assert_eq!(
        steps(vec![step("1s", 0.5), step("1s", 0.6)]),
        "steps[1].at: must be after 1s, the step before it, not 1s"
    );
    let pulse = |lower: f64, upper: f64, period: &str| {
        refusal(json!({ "kind": "pulse", "lower": lower, "upper": upper, "period": period }))
    };
    assert_eq!(
        pulse(0.5, 0.4, "1s"),
        "lower: must be at most `upper`, 0.4, not 0.5"
    );
    assert_eq!(
        pulse(0.1, 0.4, "1us"),
        "period: must be between 1ms and 3600s, not 1us"
    );
    assert_eq!(
        pulse(-0.1, 0.4, "1s"),
        "lower: must be at least 0 and at most 1, not -0.1"
    );
    let walk = |sigma: f64, rho: f64| {
        refusal(
            json!({ "kind": "random_walk", "min": 0.0, "max": 1.0, "sigma": sigma, "rho": rho }),
        )
    };
    assert_eq!(walk(0.1, 1.0), "rho: must be at least 0 and below 1, not 1");
    assert_eq!(
        walk(-0.1, 0.5),
        "sigma: must be at least 0 and at most 1, not -0.1"
    );
}
