use bloatlab_cc::{Ack, Signal};

use crate::harness::{Driver, MS, MSS};

fn acks(d: &mut Driver, count: u64, rtt: u64) {
    (0..count).for_each(|_| d.on_ack(MSS, rtt * MS));
}

/// 20 segments in congestion avoidance, with measured RTTs from 100 to 200 ms, at the end of a round trip.
fn avoiding() -> Driver {
    let mut d = Driver::new(r#""nice""#, 20);
    d.window.ssthresh = 20 * MSS;
    acks(&mut d, 1, 100);
    acks(&mut d, 1, 200);
    acks(&mut d, 19, 105);
    d.window.cwnd = 20 * MSS;
    d
}

/// The window after a round trip with `long` RTTs of 111 ms and the rest 109 ms. An RTT is long above 100 + 0.1 * 100.
fn after(long: u64) -> u64 {
    let mut d = avoiding();
    acks(&mut d, long, 111);
    acks(&mut d, 20 - long, 109);
    d.window.cwnd / MSS
}

#[test]
fn more_than_half_long_rtts_halve_the_window() {
    assert_eq!(after(10), 20);
    assert_eq!(after(11), 10);
}

#[test]
fn vegas_steers_while_the_path_is_quiet() {
    let mut d = avoiding();
    // 20 * 4 / 100 = 0 segments queued, less than 1.
    acks(&mut d, 20, 104);
    assert_eq!(d.window.cwnd, 21 * MSS);
}

#[test]
fn falls_to_a_segment_in_48_round_trips_and_comes_back() {
    let mut d = avoiding();
    let shares: Vec<f64> = (0..200)
        .map(|_| {
            acks(&mut d, 1, 190);
            d.cwnd_segments() * d.state("share")
        })
        .collect();
    assert!(shares.windows(2).all(|pair| pair[1] <= pair[0]));
    assert_eq!(d.window.cwnd, MSS);
    assert_eq!(d.state("share"), 1.0 / 48.0);
    // 1000 B in 48 round trips of 190 ms.
    assert_eq!(d.window.pacing, 109);
    for share in [2.0, 4.0, 8.0, 16.0, 32.0, 48.0] {
        acks(&mut d, 1, 100);
        assert_eq!(d.state("share"), share / 48.0);
    }
    assert_eq!(d.window.pacing, 0);
    acks(&mut d, 8, 100);
    assert!(d.window.cwnd > MSS);
}

#[test]
fn delayed_acks_are_not_long() {
    let mut d = avoiding();
    for _ in 0..30 {
        let pair = d.ack(2 * MSS, 105 * MS);
        d.tell(&pair);
    }
    let before = d.window.cwnd;
    acks(&mut d, 25, 150);
    assert!(d.window.cwnd >= before - MSS, "Vegas's step at most");
}

#[test]
fn a_loss_is_vegass() {
    let mut d = avoiding();
    acks(&mut d, 150, 190);
    assert!(d.window.pacing > 0);
    d.window.cwnd = 20 * MSS;
    d.cc.on_congestion(&mut d.window, Signal::Loss, &Ack::default());
    assert_eq!((d.window.ssthresh, d.window.pacing), (10 * MSS, 0));
}

#[test]
fn the_first_slow_start_learns_how_long_delay_gets() {
    let mut d = Driver::new(r#""nice""#, 10);
    acks(&mut d, 1, 100);
    acks(&mut d, 9, 101);
    // Half of the range, but less than one segment for Vegas: 0.1 * 20.
    acks(&mut d, 20, 100);
    assert_eq!(d.window.cwnd, 40 * MSS);
}
