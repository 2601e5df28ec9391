//! Values over time, compared with values computed by hand and with their statistics.

use bloatlab_link::{DelayVariation, Probability, Trajectory, Variation};
use bloatlab_units::{MILLISECOND, Nanos, SECOND, Streams};
use serde_json::{Value, json};

fn read(document: Value) -> DelayVariation {
    let how: DelayVariation = serde_json::from_value(document).expect("a variation");
    how.validate().expect("in range");
    how
}

fn trajectory(how: &DelayVariation, nominal: Nanos, seed: u64) -> Trajectory {
    how.trajectory(nominal as f64, Streams::new(seed).stream("delay"))
}

#[test]
fn steps_hold_from_their_instant_on() {
    let how = read(
        json!({ "kind": "steps", "steps": [{ "at": "1s", "value": "30ms" }, { "at": "2s", "value": "5ms" }] }),
    );
    let mut trajectory = trajectory(&how, 10 * MILLISECOND, 1);
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
        .map(|&at| trajectory.at(at) as u64 / MILLISECOND)
        .collect();
    assert_eq!(values, [10, 10, 30, 30, 5, 5]);
    assert_eq!(how.bounds(10e6), (5e6, 30e6));
}

#[test]
fn a_pulse_spends_half_its_period_at_each_level() {
    let text = json!({ "kind": "pulse", "lower": "10ms", "upper": "40ms", "period": "3000001ns" });
    let how = read(text.clone());
    let mut trajectory_down = trajectory(&how, 20 * MILLISECOND, 1);
    // An odd nanosecond belongs to the second half, and the third period begins at 6000002 ns.
    let at = [
        0, 1_499_999, 1_500_000, 3_000_000, 3_000_001, 4_500_001, 6_000_001, 6_000_002,
    ];
    let values: Vec<u64> = at
        .iter()
        .map(|&at| trajectory_down.at(at) as u64 / MILLISECOND)
        .collect();
    assert_eq!(values, [40, 40, 10, 10, 40, 10, 10, 40]);
    let mut text = text;
    text["first"] = json!("lower");
    let mut trajectory_up = trajectory(&read(text), 20 * MILLISECOND, 1);
    assert_eq!(trajectory_up.at(0), 10e6);
    assert_eq!(trajectory_up.at(1_500_000), 40e6);
}

#[test]
fn a_random_walk_follows_its_equation() {
    // The bounds are out of reach, so the walk is a first-order autoregression.
    let text = json!({ "kind": "random_walk", "min": "0s", "max": "1h", "sigma": "1ms", "rho": 0.6, "interval": "10ms" });
    let how = read(text);
    let start = 1800 * SECOND;
    let mut walk = trajectory(&how, start, 5);
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
    let last = |seed| trajectory(&how, start, seed).at(SECOND);
    assert_eq!(last(5), values[100]);
    assert_ne!(last(6), values[100]);
}

#[test]
fn a_random_walk_stays_within_its_bounds_and_reaches_them() {
    let text = json!({ "kind": "random_walk", "min": 0.1, "max": 0.3, "sigma": 0.05, "rho": 0.5, "interval": "1ms" });
    let how: Variation<Probability> = serde_json::from_value(text).expect("a variation");
    how.validate().expect("in range");
    // The constant value is outside: it is clipped at once.
    let mut walk = how.trajectory(0.9, Streams::new(1).stream("loss"));
    let values: Vec<f64> = (0..5000).map(|i| walk.at(i * MILLISECOND)).collect();
    assert_eq!(values[0], 0.3);
    assert!(values.iter().all(|v| (0.1..=0.3).contains(v)));
    assert!(values.contains(&0.1) && values.contains(&0.3));
}

#[test]
fn a_markov_chain_follows_its_dwell_times_and_weights() {
    let text = json!({ "kind": "markov", "states": [
        { "value": "10ms", "dwell": "50ms" },
        { "value": "20ms", "dwell": "100ms", "to": [1, 0, 3] },
        { "value": "30ms", "dwell": "20ms", "to": [2, 0, 0] },
    ] });
    let how = read(text);
    assert_eq!(how.bounds(1e6), (10e6, 30e6));
    // Jumps: from 1 to 2 or 3 equally; from 2 to 1 or 3 as 1 to 3; from 3 to 1. Per 10 visits to 1 there are 5 to 2, and 5 + 3.75 to 3.
    let visits = [10.0, 5.0, 8.75];
    let weights: Vec<f64> = visits
        .iter()
        .zip([50.0, 100.0, 20.0])
        .map(|(n, t)| n * t)
        .collect();
    let mut chain = trajectory(&how, 1, 11);
    assert_eq!(chain.at(0), 10e6);
    let mut times = [0_u32; 3];
    let n: u32 = 400_000;
    for i in 0..u64::from(n) {
        let value = chain.at(i * 5 * MILLISECOND);
        times[(value / 10e6) as usize - 1] += 1;
    }
    for (time, weight) in times.iter().zip(&weights) {
        let share = f64::from(*time) / f64::from(n);
        let expected = weight / weights.iter().sum::<f64>();
        // 400,000 reads are 2000 s, which is about 15,000 rounds.
        assert!((share / expected - 1.0).abs() < 0.05, "{share} {expected}");
    }
}

#[test]
fn a_sinusoid_is_read_at_each_interval_and_does_not_drift() {
    let text = json!({ "kind": "sinusoid", "mean": "30ms", "amplitude": "20ms", "period": "4s", "interval": "1s" });
    let how = read(text.clone());
    assert_eq!(how.bounds(0.0), (10e6, 50e6));
    let mut swing = trajectory(&how, 1, 1);
    let at = [
        0,
        SECOND,
        2 * SECOND - 1,
        2 * SECOND,
        3 * SECOND,
        4000 * SECOND + SECOND,
    ];
    let values: Vec<f64> = at.iter().map(|&at| swing.at(at).round()).collect();
    assert_eq!(values, [30e6, 50e6, 50e6, 30e6, 10e6, 50e6]);
    let mut text = text;
    text["phase"] = json!(0.75);
    assert_eq!(trajectory(&read(text), 1, 1).at(0).round(), 10e6);
}

#[test]
fn a_handover_pauses_and_chooses_a_delay() {
    let text = json!({ "kind": "handover", "min": "20ms", "max": "60ms", "pause": "100ms", "first": "12s" });
    let how = read(text);
    assert_eq!(how.bounds(10e6), (10e6, 160e6));
    let mut delay = trajectory(&how, 10 * MILLISECOND, 3);
    assert_eq!(delay.at(12 * SECOND - 1), 10e6);
    let drawn: Vec<f64> = (0..2000)
        .map(|i| delay.at((12 + 15 * i) * SECOND))
        .collect();
    assert!(drawn.iter().all(|d| (20e6..=60e6).contains(d)));
    let mean = drawn.iter().sum::<f64>() / 2000.0;
    assert!((mean - 40e6).abs() < 4.0 * 40e6 / 12_f64.sqrt() / 2000_f64.sqrt());
    assert_eq!(delay.at(30_012 * SECOND - 1), drawn[1999]);
    let pauses = how.pauses().expect("a pause");
    let at = |ms: u64| pauses.arrival(ms * MILLISECOND) / MILLISECOND;
    assert_eq!(
        [
            at(0),
            at(11_999),
            at(12_000),
            at(12_099),
            at(12_100),
            at(27_001)
        ],
        [0, 11_999, 12_100, 12_100, 12_100, 27_100]
    );
    let smooth = read(json!({ "kind": "handover", "min": "20ms", "max": "60ms" }));
    assert_eq!(smooth.pauses(), None);
}

#[test]
fn refusals() {
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
    let state =
        |value: f64, dwell: &str, to: Value| json!({ "value": value, "dwell": dwell, "to": to });
    let markov = |states: Vec<Value>| refusal(json!({ "kind": "markov", "states": states }));
    let fine = || state(0.1, "1s", json!([]));
    assert_eq!(markov(vec![fine()]), "states: must be 2 to 1000, not 1");
    assert_eq!(
        markov(vec![fine(), state(0.1, "1s", json!([1.0]))]),
        "states[1].to: must have a weight for each of the 2 states, not 1"
    );
    assert_eq!(
        markov(vec![fine(), state(0.1, "1s", json!([0.0, 0.0]))]),
        "states[1].to: must be 0 for the state itself, and above 0 for one of the others"
    );
    assert_eq!(
        markov(vec![fine(), state(0.1, "1s", json!([-1.0, 0.0]))]),
        "states[1].to: weights must be from 0 to 1e9"
    );
    assert_eq!(
        markov(vec![fine(), state(0.1, "1ns", json!([]))]),
        "states[1].dwell: must be between 1us and 3600s, not 1ns"
    );
    let sinusoid = |mean: f64, amplitude: f64, phase: f64| {
        refusal(
            json!({ "kind": "sinusoid", "mean": mean, "amplitude": amplitude, "period": "1s", "phase": phase }),
        )
    };
    assert_eq!(
        sinusoid(0.3, 0.4, 0.0),
        "amplitude: must be at most `mean`, 0.3, not 0.4"
    );
    assert_eq!(
        sinusoid(0.7, 0.4, 0.0),
        "amplitude: with `mean` the value exceeds 1, the greatest allowed value"
    );
    assert_eq!(
        sinusoid(0.7, 0.1, 1.0),
        "phase: must be at least 0 and below 1, not 1"
    );
    let handover = |text: Value| {
        let how: DelayVariation = serde_json::from_value(text).expect("a variation");
        how.validate().expect_err("refused")
    };
    assert_eq!(
        handover(json!({ "kind": "handover", "min": "2ms", "max": "1ms" })),
        "min: must be at most `max`, 1ms, not 2ms"
    );
    assert_eq!(
        handover(json!({ "kind": "handover", "min": "1ms", "max": "2ms", "pause": "15s" })),
        "pause: must be below `interval`, 15s, not 15s"
    );
}
