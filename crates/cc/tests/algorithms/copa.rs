use bloatlab_cc::Signal;

use crate::harness::{Driver, MS, MSS};

/// A window of 100 segments after slow start, base RTT 100 ms, 10 ms of queue.
fn steady(json: &str) -> Driver {
    let mut d = Driver::new(json, 100);
    d.on_ack(MSS, 100 * MS);
    // Half an RTT later the standing RTT is 110 ms.
    d.now += 60 * MS;
    d.window.cwnd = 100 * MSS;
    d.on_ack(MSS, 110 * MS);
    assert_eq!(d.state("queueing"), 10e6);
    d.window.cwnd = 100 * MSS;
    d
}

/// A round trip of ten ACKs, in a window that only the congestion control changes.
fn round(d: &mut Driver, rtt: u64) {
    let per_ack = (d.window.cwnd / 10 / MSS).max(1) * MSS;
    for _ in 0..10 {
        d.now += rtt / 10;
        d.on_ack(per_ack, rtt);
    }
}

#[test]
fn slow_start_lasts_while_the_rate_is_below_the_target() {
    let mut d = Driver::new(r#""copa""#, 10);
    d.on_ack(10 * MSS, 100 * MS);
    assert_eq!(d.window.cwnd, 20 * MSS, "no queue, no bound");
    // Target rate with 20 ms of queue: 1 / (0.5 * 0.02) = 100 segments per second; 20 / 0.12 = 167.
    d.now += 61 * MS;
    d.on_ack(MSS, 120 * MS);
    assert!(d.window.cwnd < 20 * MSS);
}

#[test]
fn a_step_is_v_over_delta_cwnd() {
    let mut d = steady(r#""copa""#);
    // 100 / 0.11 = 909 segments per second against 200: decrease by 1 / (0.5 * 100) of a segment per acknowledged segment.
    d.on_ack(MSS, 110 * MS);
    assert_eq!(100 * MSS - d.window.cwnd, 20);
    d.on_ack(5 * MSS, 110 * MS);
    assert!((119..=121).contains(&(100 * MSS - d.window.cwnd)));
    // No queue: increase again.
    d.window.cwnd = 100 * MSS;
    d.on_ack(5 * MSS, 100 * MS);
    assert!((99..=101).contains(&(d.window.cwnd - 100 * MSS)));
}

#[test]
fn paces_at_twice_the_windows_rate() {
    let mut d = steady(r#""copa""#);
    d.on_ack(MSS, 110 * MS);
    let rate = 2.0 * d.window.cwnd as f64 / 0.110;
    assert!((d.window.pacing as f64 - rate).abs() < 1.0);
}

#[test]
fn the_velocity_doubles_once_the_direction_was_the_same_for_three_windows() {
    let mut d = Driver::new(r#""copa""#, 10);
    d.on_ack(10 * MSS, 100 * MS);
    d.now += 60 * MS;
    d.window.cwnd = 100 * MSS;
    // The velocities at the ends of windows that grew or shrank, after the direction changed.
    let (mut end, mut start) = (0, 0);
    let mut windows = |d: &mut Driver, rtt: u64, up: bool| {
        let mut velocities = Vec::new();
        while velocities.len() < 5 {
            d.now += rtt / 10;
            let ack = d.ack(d.window.cwnd / 10, rtt);
            d.tell(&ack);
            if ack.una > end {
                if (d.window.cwnd > start) == up {
                    velocities.push(d.state("velocity"));
                }
                (end, start) = (ack.next, d.window.cwnd);
            }
        }
        velocities
    };
    windows(&mut d, 110 * MS, false);
    assert_eq!(windows(&mut d, 100 * MS, true), [1.0, 1.0, 2.0, 4.0, 8.0]);
    assert_eq!(windows(&mut d, 110 * MS, false), [1.0, 1.0, 2.0, 4.0, 8.0]);
    // The other direction starts with velocity 1.
    d.now += 110 * MS;
    d.on_ack(MSS, 100 * MS);
    assert_eq!(d.state("velocity"), 1.0);
}

#[test]
fn competes_when_the_queue_was_never_nearly_empty_for_five_round_trips() {
    let mut d = steady(r#""copa""#);
    for _ in 0..5 {
        round(&mut d, 200 * MS);
    }
    assert_eq!(d.state("competing"), 0.0);
    round(&mut d, 200 * MS);
    assert_eq!(d.state("competing"), 1.0);
    // 1 / delta grows by one per round trip.
    assert_eq!(d.state("delta"), 1.0 / 3.0);
    round(&mut d, 200 * MS);
    assert_eq!(d.state("delta"), 0.25);
    while d.state("delta") > 0.13 {
        round(&mut d, 200 * MS);
    }
    assert!((d.state("delta") - 0.125).abs() < 1e-9);
    // A loss halves 1 / delta, and the round of the loss adds nothing. It never falls below the value of the default mode.
    d.congestion(Signal::Loss);
    assert!((d.state("delta") - 0.25).abs() < 1e-9);
    round(&mut d, 200 * MS);
    assert!((d.state("delta") - 0.25).abs() < 1e-9);
    d.congestion(Signal::Loss);
    d.congestion(Signal::Loss);
    assert_eq!(d.state("delta"), 0.5);
    // The queue is empty once, so the default mode returns.
    round(&mut d, 100 * MS);
    assert_eq!((d.state("competing"), d.state("delta")), (0.0, 0.5));
}

#[test]
fn never_competes_if_disabled() {
    let mut d = steady(r#"{"kind": "copa", "competitive": false}"#);
    for _ in 0..20 {
        round(&mut d, 200 * MS);
    }
    assert_eq!((d.state("competing"), d.state("delta")), (0.0, 0.5));
}

#[test]
fn losses_do_not_move_the_window_in_default_mode() {
    let mut d = steady(r#""copa""#);
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, 100 * MSS);
}
