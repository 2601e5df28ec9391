use bloatlab_cc::Signal;
use bloatlab_units::Streams;

use crate::harness::{Driver, MS, MSS, config};

/// The gradient of one round trip is used at once, and a back-off is certain above 40 ms.
const SURE: &str = r#"{"kind": "cdg", "window": 1, "backoff_factor": 1000}"#;

/// ACKs of single segments, spread over their RTT.
fn acks(d: &mut Driver, count: u64, rtt: u64) {
    for _ in 0..count {
        d.now += rtt * MS / count;
        d.on_ack(MSS, rtt * MS);
    }
}

/// 100 segments in congestion avoidance. The first round trip has no gradient; the second ends with the next ACK.
fn avoiding(json: &str, rtts: [u64; 2]) -> Driver {
    let mut d = Driver::new(json, 100);
    d.window.ssthresh = 100 * MSS;
    for rtt in rtts {
        acks(&mut d, 100, rtt);
    }
    d
}

#[test]
fn the_gradient_is_summed_over_the_window_and_extrapolated() {
    let mut d = avoiding(r#"{"kind": "cdg", "backoff_factor": 0}"#, [100, 100]);
    acks(&mut d, 1, 103);
    assert_eq!(d.state("gradient"), 0.0);
    acks(&mut d, 101, 103);
    // One of the two gradients is 3 ms, because the largest RTT of the first round trip was already 103 ms.
    assert!((d.state("gradient") - 3e-3).abs() < 1e-9);
    for rtt in 104..111 {
        acks(&mut d, 104, rtt);
    }
    assert!(d.state("gradient") > 7e-3);
}

/// A connection at the ACK that made it back off from 102 segments.
fn backing_off() -> Driver {
    let mut d = avoiding(SURE, [100, 100]);
    while d.window.ssthresh == 100 * MSS {
        acks(&mut d, 1, 200);
    }
    d
}

#[test]
fn a_certain_gradient_removes_three_tenths_in_step_with_deliveries() {
    let mut d = backing_off();
    // 724 / 1024 of 102 segments: 72.
    assert_eq!((d.window.ssthresh, d.window.cwnd), (72 * MSS, 102 * MSS));
    acks(&mut d, 51, 200);
    assert_eq!(d.window.cwnd, 87 * MSS);
    acks(&mut d, 50, 200);
    assert_eq!(d.window.cwnd, 102_000 - 30_000 * 101 / 102);
    acks(&mut d, 1, 200);
    assert_eq!(d.window.cwnd, 72 * MSS);
}

#[test]
fn a_falling_or_constant_delay_never_backs_off() {
    for rtts in [[200, 100], [100, 100]] {
        let mut d = avoiding(SURE, rtts);
        acks(&mut d, 102, rtts[1]);
        assert!(d.window.cwnd > 100 * MSS);
    }
}

#[test]
fn back_offs_are_as_likely_as_the_gradient_says() {
    let json = r#"{"kind": "cdg", "window": 1}"#;
    let trials = 4000;
    let reduced = (0..trials)
        .filter(|&seed| {
            let mut d = Driver::new(json, 20);
            d.cc = config(json).build(Streams::new(seed).stream("cc")).unwrap();
            d.window.ssthresh = 20 * MSS;
            acks(&mut d, 30, 100);
            acks(&mut d, 60, 108);
            d.window.ssthresh != 20 * MSS
        })
        .count();
    // The largest RTT rises by 8 ms, and one round trip later the smallest does: 1 - exp(-2 * 42 * 0.008).
    let share = reduced as f64 / trials as f64;
    assert!((share - 0.4893).abs() < 0.025, "{share}");
}

#[test]
fn back_offs_without_effect_are_given_up() {
    let mut d = Driver::new(SURE, 100);
    d.window.ssthresh = 100 * MSS;
    let mut rtt = 100;
    let mut windows = Vec::new();
    for _ in 0..40 {
        let segments = d.window.cwnd / MSS;
        acks(&mut d, segments, rtt);
        rtt += 50;
        windows.push(d.window.cwnd);
    }
    let falls = windows.windows(2).filter(|pair| pair[1] < pair[0]).count();
    assert!(falls > 0);
    assert_eq!(d.state("ineffective"), d.state("ineffective").max(6.0));
    assert!(
        windows[35..].windows(2).all(|pair| pair[1] > pair[0]),
        "{windows:?}"
    );
}

#[test]
fn the_shadow_window_takes_the_loss() {
    let mut d = backing_off();
    acks(&mut d, 102, 200);
    assert_eq!((d.window.cwnd, d.state("shadow")), (72 * MSS, 102.0));
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, 51 * MSS, "half of 102, not of 72");
}

#[test]
fn slow_start_ends_at_a_train_of_half_a_round_trip() {
    let mut d = Driver::new(r#"{"kind": "cdg", "hystart_delay": false}"#, 100);
    d.on_ack(MSS, 100 * MS);
    let mut end = 0;
    while d.window.in_slow_start() {
        d.now += MS;
        d.on_ack(MSS, 100 * MS);
        end += 1;
    }
    // The train starts at the second ACK, because the first one ended a round trip. It is over when it has lasted for more than 50 ms.
    assert_eq!(end, 52);
}

#[test]
fn slow_start_ends_at_a_delay_of_an_eighth() {
    let delays = |rtt| {
        let mut d = Driver::new(r#"{"kind": "cdg", "hystart_train": false}"#, 10);
        acks(&mut d, 11, 100);
        acks(&mut d, 12, rtt);
        d.window.in_slow_start()
    };
    assert!(delays(112));
    assert!(!delays(113));
}
