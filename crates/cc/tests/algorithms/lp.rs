use bloatlab_cc::{Ack, Signal};

use crate::harness::{Driver, MS, MSS};

/// An ACK of a segment with this one-way delay, a millisecond after the last.
fn ack(d: &mut Driver, one_way: u64) {
    d.now += MS;
    let ack = Ack {
        one_way: one_way * MS,
        ..d.ack(MSS, 100 * MS)
    };
    d.tell(&ack);
}

/// 40 segments in congestion avoidance, with measured one-way delays from 50 to 150 ms, smoothed 50.
fn avoiding() -> Driver {
    let mut d = Driver::new(r#""lp""#, 40);
    d.window.ssthresh = 40 * MSS;
    ack(&mut d, 150);
    ack(&mut d, 50);
    // The sign of the second delay has expired after three round trips.
    (0..400).for_each(|_| ack(&mut d, 50));
    d.window.cwnd = 40 * MSS;
    d
}

#[test]
fn halves_where_the_smoothed_delay_passes_15_percent() {
    let mut d = avoiding();
    // 7/8 50 + 1/8 150 = 62.5, not above 50 + 0.15 * 100 = 65; then 73.4.
    ack(&mut d, 150);
    assert_eq!(d.window.cwnd, 40 * MSS);
    assert!((d.state("one_way") - 0.0625).abs() < 1e-6);
    ack(&mut d, 150);
    assert_eq!(d.window.cwnd, 20 * MSS);
}

#[test]
fn a_second_sign_within_three_round_trips_leaves_one_segment() {
    let mut d = avoiding();
    (0..2).for_each(|_| ack(&mut d, 150));
    // Data sent before the reaction do not show its effect. After that, the delay is still high.
    (0..39).for_each(|_| ack(&mut d, 150));
    assert_eq!(d.window.cwnd, 20 * MSS);
    ack(&mut d, 150);
    assert_eq!(d.window.cwnd, MSS);
}

#[test]
fn without_a_second_sign_it_pauses_for_three_round_trips_and_grows_again() {
    let mut d = avoiding();
    (0..2).for_each(|_| ack(&mut d, 150));
    // 3 * 100 ms after the sign, with one ACK per millisecond.
    (0..299).for_each(|_| ack(&mut d, 50));
    assert_eq!(d.window.cwnd, 20 * MSS);
    (0..20).for_each(|_| ack(&mut d, 50));
    assert_eq!(d.window.cwnd, 21 * MSS);
}

#[test]
fn a_loss_is_renos() {
    let mut d = avoiding();
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, 20 * MSS);
}

#[test]
fn a_delayed_ack_is_no_sign() {
    let mut d = avoiding();
    let pair = d.ack(2 * MSS, 100 * MS);
    d.tell(&Ack {
        one_way: 50 * MS,
        ..pair
    });
    ack(&mut d, 150);
    assert!(
        (d.state("one_way") - 0.05).abs() < 1e-6,
        "a lone segment may have waited"
    );
}

#[test]
fn the_first_slow_start_learns_how_long_delay_gets() {
    let mut d = Driver::new(r#""lp""#, 10);
    (0..30).for_each(|n| ack(&mut d, 50 + 5 * n));
    assert_eq!(d.window.cwnd, 40 * MSS);
}

/// ns-2's variant with 40 segments in congestion avoidance, measured one-way delays from 50 to 150 ms, smoothed about 50.
fn as_in_ns2() -> Driver {
    let mut d = Driver::new(r#"{"kind": "lp", "variant": "ns2"}"#, 40);
    d.window.ssthresh = 30 * MSS;
    ack(&mut d, 50);
    ack(&mut d, 150);
    // 7/8 50 + 1/8 150 = 62.5 is below 65, so there is no sign yet.
    assert_eq!(d.window.cwnd, 40 * MSS);
    (0..400).for_each(|_| ack(&mut d, 50));
    d.window.cwnd = 40 * MSS;
    d
}

#[test]
fn in_ns2_a_sign_moves_the_bounds_and_leaves_ssthresh() {
    let mut d = as_in_ns2();
    // 50 to 62.5 to 73.4, above 65: the bounds become 73.4 and 146.9.
    (0..2).for_each(|_| ack(&mut d, 150));
    assert_eq!(d.window.cwnd, 20 * MSS);
    assert_eq!(d.window.ssthresh, 30 * MSS);
    // A smoothed delay of 83 is not above 73.4 + 0.15 * 73.4 = 84.5. The next, 91.4, is, and it is the second sign within three round trips.
    ack(&mut d, 150);
    assert!((d.state("one_way") - 0.083).abs() < 1e-4);
    assert_eq!(d.window.cwnd, 20 * MSS);
    ack(&mut d, 150);
    assert_eq!(d.window.cwnd, MSS);
}

#[test]
fn in_ns2_slow_start_is_judged_too() {
    let mut d = Driver::new(r#"{"kind": "lp", "variant": "ns2"}"#, 10);
    (0..30).for_each(|n| ack(&mut d, 50 + 5 * n));
    assert!(d.window.cwnd < 40 * MSS, "{}", d.window.cwnd / MSS);
}
