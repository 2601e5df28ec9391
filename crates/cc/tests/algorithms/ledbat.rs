use bloatlab_cc::{Ack, Signal};

use crate::harness::{Driver, MS, MSS};

/// An ACK of a segment with this one-way delay.
fn ack(d: &mut Driver, one_way: u64) {
    d.now += MS;
    let ack = Ack {
        one_way: one_way * MS,
        ..d.ack(MSS, 2 * one_way * MS)
    };
    d.tell(&ack);
}

/// Ten segments, base delay 50 ms, without slow start. Four samples fill the filter with this delay.
fn at(one_way: u64) -> Driver {
    let mut d = Driver::new(r#"{"kind": "ledbat", "startup": false}"#, 10);
    ack(&mut d, 50);
    (0..4).for_each(|_| ack(&mut d, one_way));
    d.window.cwnd = 10 * MSS;
    d
}

#[test]
fn the_window_follows_the_distance_to_the_target() {
    // RFC 6817 section 2.4.2, per ACK of 1000 B at 10000 B: 100 B times off_target of 1, 1/2, 0, -1.
    for (one_way, step) in [(50, 100), (100, 50), (150, 0), (250, -100)] {
        let mut d = at(one_way);
        ack(&mut d, one_way);
        let moved = d.window.cwnd as i64 - 10 * MSS as i64;
        assert!((moved - step).abs() <= 1, "{one_way} ms: {moved}");
    }
}

#[test]
fn the_smallest_of_four_samples_counts() {
    let mut d = at(150);
    ack(&mut d, 50);
    (0..3).for_each(|_| ack(&mut d, 250));
    assert_eq!(d.state("queueing_delay"), 0.0);
    ack(&mut d, 250);
    assert!((d.state("queueing_delay") - 0.2).abs() < 1e-9);
}

#[test]
fn a_base_older_than_ten_minutes_is_forgotten() {
    let mut d = at(100);
    d.now = 10 * 60_000 * MS;
    ack(&mut d, 100);
    assert!((d.state("base_delay") - 0.1).abs() < 1e-9);
}

#[test]
fn slow_start_ends_at_the_target() {
    let mut d = Driver::new(r#""ledbat""#, 10);
    (0..10).for_each(|_| ack(&mut d, 50));
    assert_eq!(d.window.cwnd, 20 * MSS);
    (0..4).for_each(|_| ack(&mut d, 151));
    assert!(
        d.window.cwnd < 24 * MSS,
        "the fourth of them is beyond the target"
    );
    let reached = d.window.cwnd;
    (0..8).for_each(|_| ack(&mut d, 50));
    assert!(d.window.cwnd < reached + MSS, "it does not start again");
}

#[test]
fn a_loss_halves_down_to_two_segments() {
    let mut d = at(50);
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, 5 * MSS);
    d.congestion(Signal::Loss);
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, 2 * MSS);
    (0..100).for_each(|_| ack(&mut d, 2000));
    assert_eq!(d.window.cwnd, 2 * MSS, "delay takes it no lower");
}

#[test]
fn an_unused_window_is_reduced() {
    let mut d = at(50);
    let unused = Ack {
        cwnd_limited: false,
        prior_in_flight: 4 * MSS,
        ..d.ack(MSS, 100 * MS)
    };
    d.tell(&unused);
    assert_eq!(d.window.cwnd, 5 * MSS, "what was in flight and one");
}
