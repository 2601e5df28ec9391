use bloatlab_cc::Signal;

use crate::harness::{Driver, MS, MSS};

/// In congestion avoidance with this window.
fn avoiding(segments: u64) -> Driver {
    let mut d = Driver::new(r#""scalable""#, segments);
    d.window.ssthresh = segments * MSS;
    d
}

#[test]
fn a_hundred_segments_add_one() {
    let mut d = avoiding(400);
    for _ in 0..99 {
        d.on_ack(MSS, 50 * MS);
    }
    assert_eq!(d.window.cwnd, 400 * MSS);
    d.on_ack(MSS, 50 * MS);
    assert_eq!(d.window.cwnd, 401 * MSS);
    // 401 more segments: 400 of them add 4, and one is carried over.
    d.on_ack(401 * MSS, 50 * MS);
    assert_eq!(d.window.cwnd, 405 * MSS);
    d.on_ack(99 * MSS, 50 * MS);
    assert_eq!(d.window.cwnd, 406 * MSS);
}

#[test]
fn below_a_hundred_segments_it_is_reno() {
    let mut d = avoiding(20);
    for _ in 0..20 {
        d.on_ack(MSS, 50 * MS);
    }
    assert_eq!(d.window.cwnd, 21 * MSS);
}

#[test]
fn a_loss_takes_an_eighth_rounded_down() {
    let mut d = avoiding(407);
    d.congestion(Signal::Loss);
    // 407 / 8 = 50.9.
    assert_eq!(d.window.cwnd, 357 * MSS);
    let mut d = avoiding(2);
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, 2 * MSS);
}

#[test]
fn the_time_between_two_losses_does_not_depend_on_the_window() {
    // Kelly 2003 section 2: ln(1 / (1 - b)) / ln(1 + a) = 13.4 round trips at any rate.
    for segments in [1_000, 100_000] {
        let mut d = avoiding(segments);
        d.congestion(Signal::Loss);
        let mut rounds = 0;
        while d.window.cwnd < segments * MSS {
            let flight = d.window.cwnd;
            d.on_ack(flight, 50 * MS);
            rounds += 1;
        }
        assert_eq!(rounds, 14, "{segments}");
    }
}
