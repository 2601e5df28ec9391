use bloatlab_cc::Signal;

use crate::harness::{Driver, MS, MSS};

/// Sends ACKs of one segment each, with these RTTs in turn.
fn acks(d: &mut Driver, count: usize, rtts: &[u64]) {
    for rtt in rtts.iter().cycle().take(count) {
        d.on_ack(MSS, rtt * MS);
    }
}

/// A window of 20 segments in congestion avoidance. The first round trip ends at the 21st ACK.
fn avoiding(rtts: &[u64]) -> Driver {
    let mut d = Driver::new(r#""illinois""#, 20);
    d.window.ssthresh = 20 * MSS;
    acks(&mut d, 1, &[100]);
    acks(&mut d, 20, rtts);
    d
}

#[test]
fn half_of_the_largest_delay_slows_down() {
    let d = avoiding(&[200, 100]);
    // d is 50 of 100 ms: 99 * 10 / (99 + 49 * 9.7 / 0.3) = 0.588, in 128ths 75.3; 1/8 + 3/8 * 40 / 70 = 0.3393, in 64ths 21.7.
    assert_eq!(d.state("alpha"), 75.0 / 128.0);
    assert_eq!(d.state("beta"), 21.0 / 64.0);
}

#[test]
fn ends_of_the_range() {
    // The mean is 195 ms: 95 of 100.
    let d = avoiding(&[
        200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200,
        200, 100,
    ]);
    assert_eq!(d.state("beta"), 0.5);
    // 990 / (99 + 94 * 9.7 / 0.3) = 0.3155, in 128ths 40.4.
    assert_eq!(d.state("alpha"), 40.0 / 128.0);
    let d = avoiding(&[100]);
    assert_eq!((d.state("alpha"), d.state("beta")), (10.0, 0.125));
}

#[test]
fn ten_segments_a_round_trip_on_an_empty_queue() {
    let mut d = Driver::new(r#""illinois""#, 100);
    d.window.ssthresh = 100 * MSS;
    acks(&mut d, 100, &[100]);
    // One segment per ten acknowledged, then per eleven: 10 * 10 = 100, 11 * 10 >= 101..=109.
    assert_eq!(d.window.cwnd, 109 * MSS);
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, (109 - 13) * MSS, "an eighth less");
}

#[test]
fn small_windows_are_renos() {
    let mut d = Driver::new(r#""illinois""#, 14);
    d.window.ssthresh = 14 * MSS;
    acks(&mut d, 14, &[100]);
    assert_eq!(d.window.cwnd, 15 * MSS);
    d.window.cwnd = 14 * MSS;
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, 7 * MSS);
}

#[test]
fn an_empty_queue_must_stay_so_for_theta_round_trips() {
    let mut d = avoiding(&[200, 100]);
    let slow = d.state("alpha");
    for round in 1..=5 {
        let segments = (d.window.cwnd / MSS) as usize;
        acks(&mut d, segments + 1, &[100]);
        let alpha = d.state("alpha");
        assert_eq!(alpha, if round < 5 { slow } else { 10.0 }, "round {round}");
    }
}

#[test]
fn a_timeout_makes_it_reno_again() {
    let mut d = avoiding(&[100]);
    d.congestion(Signal::Timeout);
    assert_eq!((d.state("alpha"), d.state("beta")), (1.0, 0.5));
}
