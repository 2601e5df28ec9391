use bloatlab_cc::{Ack, Signal};

use crate::harness::{Driver, MS, MSS};

#[test]
fn starts_with_rho_segments() {
    for (rtt, segments) in [(10, 1), (40, 1), (50, 2), (160, 6)] {
        let mut d = Driver::new(r#""hybla""#, 10);
        d.cc.on_handshake(&mut d.window, rtt * MS);
        assert_eq!(d.window.cwnd, segments * MSS, "{rtt} ms");
    }
}

#[test]
fn slow_start_adds_two_to_the_power_of_rho_less_one_per_ack() {
    // 25 ms and below: one segment per ACK.
    let mut d = Driver::new(r#""hybla""#, 10);
    d.on_ack(MSS, 10 * MS);
    assert_eq!((d.window.cwnd, d.state("rho")), (11 * MSS, 1.0));
    // The number of bytes that the ACK covers does not matter.
    d.on_ack(2 * MSS, 10 * MS);
    assert_eq!(d.window.cwnd, 12 * MSS);
    // 50 ms: three.
    let mut d = Driver::new(r#""hybla""#, 10);
    d.on_ack(MSS, 50 * MS);
    assert_eq!((d.window.cwnd, d.state("rho")), (13 * MSS, 2.0));
    // 40 ms: rho = 12 / 8, 2^1.5 - 1 = 1.828: 128ths are 2 * 181 - 128 = 234, one segment and 106 parts.
    let mut d = Driver::new(r#""hybla""#, 10);
    d.on_ack(MSS, 40 * MS);
    assert_eq!(d.window.cwnd, 11 * MSS);
    // 212 parts are another segment, and 84 parts are carried over.
    d.on_ack(MSS, 40 * MS);
    assert_eq!(d.window.cwnd, 13 * MSS);
}

#[test]
fn avoidance_adds_rho_squared_a_round_trip() {
    // 100 ms: rho = 4, 16 segments per window.
    let mut d = Driver::new(r#""hybla""#, 256);
    d.window.ssthresh = 256 * MSS;
    // 16 * 128 / 256 = 8 parts per ACK: 16 ACKs per segment.
    for _ in 0..15 {
        d.on_ack(MSS, 100 * MS);
    }
    assert_eq!(d.window.cwnd, 256 * MSS);
    d.on_ack(MSS, 100 * MS);
    assert_eq!(d.window.cwnd, 257 * MSS);
}

#[test]
fn a_window_beyond_rho_squared_times_128_still_grows_as_renos() {
    let mut d = Driver::new(r#""hybla""#, 200);
    d.window.ssthresh = 200 * MSS;
    // rho = 1: 128 / 200 is less than a part.
    for _ in 0..199 {
        d.on_ack(MSS, 20 * MS);
    }
    assert_eq!(d.window.cwnd, 200 * MSS);
    d.on_ack(MSS, 20 * MS);
    assert_eq!(d.window.cwnd, 201 * MSS);
}

#[test]
fn rho_follows_the_smallest_smoothed_rtt() {
    let mut d = Driver::new(r#""hybla""#, 10);
    d.on_ack(MSS, 200 * MS);
    assert_eq!(d.state("rho"), 8.0);
    d.on_ack(MSS, 100 * MS);
    assert_eq!(d.state("rho"), 4.0);
    d.on_ack(MSS, 200 * MS);
    assert_eq!(d.state("rho"), 4.0);
}

#[test]
fn a_loss_takes_half_of_the_whole_segments() {
    let mut d = Driver::new(r#""hybla""#, 21);
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, 10 * MSS);
}

#[test]
fn after_a_timeout_it_is_reno_until_all_is_repaired() {
    let mut d = Driver::new(r#""hybla""#, 20);
    d.on_ack(MSS, 100 * MS);
    d.congestion(Signal::Timeout);
    let mut ack = d.ack(MSS, 100 * MS);
    ack.in_recovery = true;
    d.tell(&ack);
    assert_eq!(d.window.cwnd, 2 * MSS);
    d.on_ack(MSS, 100 * MS);
    // 2^4 - 1 segments more, up to the threshold: 20 + 15 = 35 before the timeout, 17 after.
    assert_eq!(d.window.cwnd, 17 * MSS);
}

#[test]
fn while_segments_overtake_others_it_is_reno() {
    // 100 ms: 16 ACKs would add a segment.
    let mut d = Driver::new(r#""hybla""#, 256);
    d.window.ssthresh = 256 * MSS;
    for _ in 0..256 {
        let ack = d.ack(MSS, 100 * MS);
        d.tell(&Ack {
            disordered: true,
            ..ack
        });
    }
    assert_eq!(d.window.cwnd, 257 * MSS);
}
