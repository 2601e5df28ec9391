use bloatlab_cc::Signal;

use crate::harness::{Driver, MS, MSS};

/// In congestion avoidance after a loss at `last_max`.
fn after_loss(last_max: u64) -> Driver {
    let mut d = started(last_max);
    d.congestion(Signal::Loss);
    d
}

/// In congestion avoidance from the start, after ACKs of one segment each. Linux's integer average of segments per ACK starts at 32/16 and ends at
/// 31/16, so every price is divided by 31/16.
fn started(segments: u64) -> Driver {
    let mut d = Driver::new(r#""bic""#, segments);
    d.window.ssthresh = segments * MSS;
    observe(&mut d, MSS);
    d
}

fn observe(d: &mut Driver, acked: u64) {
    for _ in 0..200 {
        let ack = d.ack(acked, 50 * MS);
        d.cc.observe(&d.window, &ack);
    }
}

/// Sends ACKs of one segment each until the window has grown.
fn price(d: &mut Driver) -> u64 {
    let before = d.window.cwnd;
    let mut acks = 0;
    while d.window.cwnd == before {
        d.now += MS;
        d.on_ack(MSS, 50 * MS);
        acks += 1;
    }
    assert_eq!(d.window.cwnd, before + MSS);
    acks
}

#[test]
fn a_loss_leaves_four_fifths() {
    // 819 / 1024 of 500 is 399.9.
    let d = after_loss(500);
    assert_eq!(d.window.cwnd, 399 * MSS);
    assert_eq!(d.state("last_max"), 500.0);
}

#[test]
fn far_from_the_maximum_it_grows_by_the_largest_step() {
    // A quarter of 101 is 25, above 16: 399 / 16 = 24 segments add one, 24 * 16 / 31 = 12.
    let mut d = after_loss(500);
    assert_eq!(price(&mut d), 12);
}

#[test]
fn near_the_old_maximum_it_grows_by_a_quarter_of_the_distance() {
    let mut d = after_loss(500);
    // (500 - 460) / 4 = 10: 460 / 10 = 46, 46 * 16 / 31 = 23.
    d.window.cwnd = 460 * MSS;
    assert_eq!(price(&mut d), 23);
    // (500 - 495) / 4 = 1: 495 * 20 / 4 = 2475, 2475 * 16 / 31 = 1277.
    d.window.cwnd = 495 * MSS;
    assert_eq!(price(&mut d), 1277);
}

#[test]
fn beyond_the_old_maximum_it_starts_slowly_and_ends_with_the_largest_step() {
    let mut d = after_loss(500);
    // Less than four segments beyond: 502 * 20 / 4 = 2510, 2510 * 16 / 31 = 1295.
    d.window.cwnd = 502 * MSS;
    assert_eq!(price(&mut d), 1295);
    // 20 beyond: 520 * 3 / 20 = 78, 78 * 16 / 31 = 40.
    d.window.cwnd = 520 * MSS;
    assert_eq!(price(&mut d), 40);
    // 48 or more segments beyond: 560 / 16 = 35, 35 * 16 / 31 = 18.
    d.window.cwnd = 560 * MSS;
    assert_eq!(price(&mut d), 18);
}

#[test]
fn fast_convergence_aims_lower() {
    let mut d = after_loss(500);
    d.congestion(Signal::Loss);
    // 399 * (1024 + 819) / 2048 = 359.1.
    assert_eq!(d.state("last_max"), 359.0);
    assert_eq!(d.window.cwnd, 319 * MSS);
}

#[test]
fn up_to_14_segments_it_is_reno() {
    let mut d = after_loss(14);
    assert_eq!(d.window.cwnd, 7 * MSS);
    assert_eq!(price(&mut d), 7);
}

#[test]
fn before_a_loss_a_round_trip_adds_five_percent_at_least() {
    // 100 / 16 = 6 is less than 20: 6 * 16 / 31 = 3.
    assert_eq!(price(&mut started(100)), 3);
    // 1000 / 16 = 62 is not: 20 * 16 / 31 = 10.
    assert_eq!(price(&mut started(1000)), 10);
}

#[test]
fn acks_of_eight_segments_make_the_steps_eight_times_as_large() {
    let mut d = after_loss(500);
    observe(&mut d, 8 * MSS);
    // 24 * 16 / 128.
    assert_eq!(price(&mut d), 3);
}

#[test]
fn a_timeout_forgets_the_maximum() {
    let mut d = after_loss(500);
    d.congestion(Signal::Timeout);
    assert_eq!(d.state("last_max"), 0.0);
    assert_eq!(d.window.ssthresh, 319 * MSS);
}
