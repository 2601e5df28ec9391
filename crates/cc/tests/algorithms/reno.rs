use bloatlab_cc::{Ack, Signal};

use crate::harness::{Driver, MS, MSS};

#[test]
fn newreno_slow_start_adds_one_segment_per_ack_whatever_it_covers() {
    // RFC 5681 equation 2: min(N, SMSS).
    let mut d = Driver::new(r#""newreno""#, 10);
    d.on_ack(2 * MSS, 50 * MS);
    assert_eq!(d.window.cwnd, 11 * MSS);
    d.on_ack(300, 50 * MS);
    assert_eq!(d.window.cwnd, 11 * MSS + 300);
    d.on_ack(0, 50 * MS);
    assert_eq!(d.window.cwnd, 11 * MSS + 300);
}

#[test]
fn newreno_avoidance_adds_smss_squared_over_cwnd() {
    let mut d = Driver::new(r#""newreno""#, 10);
    d.window.ssthresh = 10 * MSS;
    // 1000 * 1000 / 10000 = 100, then 1000000 / 10100 = 99 (rounded down).
    d.on_ack(2 * MSS, 50 * MS);
    assert_eq!(d.window.cwnd, 10_100);
    d.on_ack(2 * MSS, 50 * MS);
    assert_eq!(d.window.cwnd, 10_199);
    d.window.cwnd = 2_000_000;
    d.on_ack(MSS, 50 * MS);
    assert_eq!(d.window.cwnd, 2_000_001, "at least one byte");
}

#[test]
fn newreno_halves_the_flight_and_not_the_window() {
    let mut d = Driver::new(r#""newreno""#, 40);
    let ack = Ack {
        prior_in_flight: 30 * MSS,
        ..Ack::default()
    };
    d.cc.on_congestion(&mut d.window, Signal::Loss, &ack);
    assert_eq!((d.window.ssthresh, d.window.cwnd), (15 * MSS, 40 * MSS));
    let ack = Ack {
        prior_in_flight: 3 * MSS,
        ..Ack::default()
    };
    d.cc.on_congestion(&mut d.window, Signal::Timeout, &ack);
    assert_eq!(d.window.ssthresh, 2 * MSS, "at least two segments");
}

#[test]
fn newreno_halves_the_pipe_if_asked() {
    let mut d = Driver::new(r#"{"kind": "newreno", "flight_size": "pipe"}"#, 40);
    let ack = Ack {
        prior_in_flight: 30 * MSS,
        in_flight: 28 * MSS,
        ..Ack::default()
    };
    d.cc.on_congestion(&mut d.window, Signal::Loss, &ack);
    assert_eq!(d.window.ssthresh, 14 * MSS);
    d.cc.on_congestion(&mut d.window, Signal::Timeout, &ack);
    assert_eq!(d.window.ssthresh, 15 * MSS);
}

#[test]
fn reno_counts_bytes_and_spills_over_into_avoidance() {
    let mut d = Driver::new(r#""reno""#, 10);
    d.on_ack(4 * MSS, 50 * MS);
    assert_eq!(d.window.cwnd, 14 * MSS);
    // 2 of 5 segments reach ssthresh. The other 3 count in congestion avoidance, which needs 16.
    d.window.ssthresh = 16 * MSS;
    d.on_ack(5 * MSS, 50 * MS);
    assert_eq!(d.window.cwnd, 16 * MSS);
    d.on_ack(12 * MSS, 50 * MS);
    assert_eq!(d.window.cwnd, 16 * MSS);
    d.on_ack(MSS, 50 * MS);
    assert_eq!(d.window.cwnd, 17 * MSS);
}

#[test]
fn reno_avoidance_is_one_segment_per_window() {
    let mut d = Driver::new(r#""reno""#, 10);
    d.window.ssthresh = 10 * MSS;
    let rounds = |d: &mut Driver, segments: u64| (0..segments).for_each(|_| d.on_ack(MSS, 50 * MS));
    rounds(&mut d, 10);
    assert_eq!(d.window.cwnd, 11 * MSS);
    rounds(&mut d, 11);
    assert_eq!(d.window.cwnd, 12 * MSS);
    d.congestion(Signal::Loss);
    assert_eq!((d.window.cwnd, d.window.ssthresh), (6 * MSS, 6 * MSS));
    rounds(&mut d, 6);
    assert_eq!(d.window.cwnd, 7 * MSS);
}

#[test]
fn reno_and_cubic_keep_a_window_that_is_not_used() {
    for kind in ["reno", "cubic"] {
        let mut d = Driver::new(&format!("{kind:?}"), 10);
        let ack = Ack {
            cwnd_limited: false,
            ..d.ack(MSS, 50 * MS)
        };
        d.cc.on_ack(&mut d.window, &ack);
        assert_eq!(d.window.cwnd, 10 * MSS, "{kind}");
    }
}

#[test]
fn fixed_never_moves() {
    let mut d = Driver::new(r#"{"kind": "fixed", "window": 7}"#, 10);
    assert_eq!(d.window.cwnd, 7 * MSS);
    d.on_ack(MSS, 50 * MS);
    d.congestion(Signal::Loss);
    d.congestion(Signal::Timeout);
    assert_eq!(d.window.cwnd, 7 * MSS);
}
