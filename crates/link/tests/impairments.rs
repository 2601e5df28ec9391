//! Statistics of loss bursts and jitter.

use bloatlab_link::{Action, ImpairmentConfig, gilbert_elliott, jitter};
use bloatlab_units::{Interrupt, MILLISECOND, Streams};
use serde_json::{Value, json};

fn bursts(document: Value) -> gilbert_elliott::Params {
    serde_json::from_value(document).expect("a model")
}

/// Which of `count` packets are lost.
fn losses(params: gilbert_elliott::Params, count: usize) -> Vec<bool> {
    let mut rng = Streams::new(9).stream("loss");
    let mut chain = params.chain();
    (0..count).map(|_| chain.loses(&mut rng)).collect()
}

#[test]
fn bursts_have_the_length_and_share_of_the_model() {
    // Gilbert's model, where every packet is lost in the bad state: bursts are geometric with mean 1/r, and p / (p + r) is lost.
    let params = bursts(json!({ "p": 0.01, "r": 0.25 }));
    assert!((params.mean() - 0.01 / 0.26).abs() < 1e-12);
    let lost = losses(params, 2_000_000);
    assert!(!lost[0], "it begins in the good state");
    let share = lost.iter().filter(|lost| **lost).count() as f64 / 2e6;
    // 19,231 bursts are expected. Their number and their length vary by 1 % together.
    assert!((share / params.mean() - 1.0).abs() < 0.04, "{share}");
    let runs: Vec<usize> = lost
        .chunk_by(|a, b| a == b)
        .filter(|r| r[0])
        .map(<[bool]>::len)
        .collect();
    let length = runs.iter().sum::<usize>() as f64 / runs.len() as f64;
    assert!((length / 4.0 - 1.0).abs() < 0.03, "{length}");
}

#[test]
fn elliott_loses_in_both_states() {
    let params = bursts(json!({ "p": 0.1, "r": 0.3, "h": 0.5, "k": 0.98 }));
    // A quarter of the time is bad: 0.75 x 0.02 + 0.25 x 0.5.
    assert!((params.mean() - 0.14).abs() < 1e-12);
    let lost = losses(params, 1_000_000);
    let share = lost.iter().filter(|lost| **lost).count() as f64 / 1e6;
    assert!((share - 0.14).abs() < 0.003, "{share}");
    // Without `r`, states are independent, and so are losses.
    let lost = losses(bursts(json!({ "p": 0.2 })), 1_000_000);
    let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / 1e6;
    assert!((pairs - 0.04).abs() < 0.001, "{pairs}");
}

#[test]
fn refusals() {
    let burst = |text: Value| bursts(text).validate().expect_err("refused");
    assert_eq!(
        burst(json!({ "p": 0 })),
        "p: must be above 0 and at most 1, not 0"
    );
    assert_eq!(
        burst(json!({ "p": 1 })),
        "p: needs `r` above 0 if it is 1, because the chain would never leave the bad state"
    );
    assert_eq!(
        burst(json!({ "p": 0.1, "r": 1.1 })),
        "r: must be above 0 and at most 1, not 1.1"
    );
    assert_eq!(
        burst(json!({ "p": 0.1, "h": -1 })),
        "h: must be between 0 and 1, not -1"
    );
    assert_eq!(
        burst(json!({ "p": 0.1, "k": 0 })),
        "k: with this `h`, every packet would be lost; raise `h` or `k`"
    );
    let size: jitter::Params = serde_json::from_value(json!({ "size": "0s" })).expect("a jitter");
    assert_eq!(
        size.validate().expect_err("refused"),
        "size: must be between 1ns and 3600s, not 0ns"
    );
}

#[test]
fn jitter_has_the_moments_of_its_distribution() {
    for (name, variance, below) in [
        // Variance in units of the squared size, and share of draws below the mean.
        ("uniform", 1.0 / 3.0, 0.5),
        ("normal", 1.0, 0.5),
        // Below 1.5: 1 - (2/3)^3.
        ("pareto", 1.0, 19.0 / 27.0),
        ("paretonormal", 0.0625 + 0.5625, f64::NAN),
    ] {
        let params: jitter::Params =
            serde_json::from_value(json!({ "size": "2ms", "distribution": name }))
                .expect("a jitter");
        params.validate().expect("in range");
        let mut rng = Streams::new(4).stream(name);
        let n = 400_000;
        let draws: Vec<f64> = (0..n)
            .map(|_| params.draw(&mut rng) / (2 * MILLISECOND) as f64)
            .collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let square = draws.iter().map(|d| d * d).sum::<f64>() / f64::from(n);
        let early = draws.iter().filter(|d| **d < 0.0).count() as f64 / f64::from(n);
        assert!(mean.abs() < 0.01, "{name}: mean {mean}");
        // The fourth moment of a Pareto distribution with shape 3 is infinite, so its variance converges slowly.
        assert!(
            (square / variance - 1.0).abs() < 0.1,
            "{name}: variance {square}"
        );
        assert!(
            below.is_nan() || (early - below).abs() < 0.005,
            "{name}: {early}"
        );
        let latest = params.latest() as f64 / (2 * MILLISECOND) as f64;
        assert!(draws.iter().all(|d| *d <= latest), "{name}");
    }
}

/// What happens to packets at these times, in ms.
fn actions(document: Value, times: &[u64]) -> Vec<Action> {
    let config: ImpairmentConfig = serde_json::from_value(document).expect("an impairment");
    let params = config.params();
    params.validate().expect("in range");
    let mut impairment = params.build(&Streams::new(1), &Interrupt::default());
    let times = times.iter().map(|time| time * MILLISECOND);
    times.map(|time| impairment.pass(time)).collect()
}

#[test]
fn an_outage_drops_from_its_first_instant_up_to_its_end() {
    use Action::{Drop, Forward};
    let once = json!({ "kind": "outage", "name": "x", "first": "10ms", "length": "5ms" });
    assert_eq!(
        actions(once.clone(), &[0, 9, 10, 14, 15, 60]),
        [Forward, Forward, Drop, Drop, Forward, Forward]
    );
    let mut repeated = once;
    repeated["interval"] = json!("20ms");
    assert_eq!(
        actions(repeated, &[29, 30, 34, 35, 50, 54, 55]),
        [Forward, Drop, Drop, Forward, Drop, Drop, Forward]
    );
}

#[test]
fn an_outage_out_of_range_is_refused() {
    let refused = |first: &str, length: &str, interval: &str| {
        let table = json!({ "kind": "outage", "name": "x", "first": first, "length": length, "interval": interval });
        let config: ImpairmentConfig = serde_json::from_value(table).expect("an impairment");
        config.params().validate().expect_err("refused")
    };
    assert_eq!(
        refused("25h", "1s", "1min"),
        "first: must be between 0ns and 86400s, not 90000s"
    );
    assert_eq!(
        refused("0s", "0s", "1min"),
        "length: must be between 1ns and 3600s, not 0ns"
    );
    assert_eq!(
        refused("0s", "1s", "2h"),
        "interval: must be between 1ms and 3600s, not 7200s"
    );
    assert_eq!(
        refused("0s", "1s", "1s"),
        "interval: must be above `length`, 1s, not 1s"
    );
}
