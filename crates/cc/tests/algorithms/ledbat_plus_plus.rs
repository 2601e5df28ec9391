use bloatlab_cc::Signal;

use crate::harness::{Driver, MS, MSS};

/// ACKs of single segments a millisecond apart.
fn acks(d: &mut Driver, count: u64, rtt: u64) {
    for _ in 0..count {
        d.now += MS;
        d.on_ack(MSS, rtt * MS);
    }
}

const STEADY: &str = r#"{"kind": "ledbat++", "interval": 0}"#;

/// A window after slow start, base RTT 40 ms, four samples of this RTT in the filter.
fn at(segments: u64, rtt: u64) -> Driver {
    let mut d = Driver::new(STEADY, segments);
    d.window.ssthresh = segments * MSS;
    acks(&mut d, 1, 40);
    acks(&mut d, 4, rtt);
    d.window.cwnd = segments * MSS;
    d
}

#[test]
fn the_gain_follows_the_base() {
    // 1 / min(16, ceil(2 * 60 / base)).
    for (base, gain) in [
        (40, 1.0 / 3.0),
        (41, 1.0 / 3.0),
        (39, 0.25),
        (4, 0.0625),
        (200, 1.0),
    ] {
        let mut d = Driver::new(STEADY, 10);
        acks(&mut d, 1, base);
        assert_eq!(d.state("gain"), gain, "{base} ms");
    }
}

#[test]
fn a_third_of_a_segment_a_round_trip_below_the_target() {
    let mut d = at(30, 100);
    acks(&mut d, 30, 100);
    assert!(
        (d.cwnd_segments() - 30.33).abs() < 0.01,
        "{}",
        d.cwnd_segments()
    );
}

#[test]
fn beyond_the_target_it_falls_in_proportion_but_not_below_half_a_round_trip() {
    // 66 ms at a target of 60 ms: 1/3 - 30 * 0.1 = -2.67 segments per round trip.
    let mut d = at(30, 106);
    acks(&mut d, 1, 106);
    assert!((d.cwnd_segments() - (30.0 - 2.667 / 30.0)).abs() < 0.002);
    // 240 ms at a target of 60 ms: 1/3 - 90, limited to -15.
    let mut d = at(30, 280);
    acks(&mut d, 1, 280);
    assert!((d.cwnd_segments() - 29.5).abs() < 0.002);
}

#[test]
fn slow_start_is_slower_by_the_gain_and_ends_at_three_quarters() {
    let mut d = Driver::new(r#""ledbat++""#, 10);
    acks(&mut d, 9, 40);
    assert!(d.window.cwnd.abs_diff(13 * MSS) <= 1);
    // 45 ms of queueing delay end slow start: 40 + 45.
    acks(&mut d, 4, 85);
    assert!(d.window.in_slow_start());
    acks(&mut d, 4, 86);
    assert!(!d.window.in_slow_start());
}

#[test]
fn pauses_two_round_trips_after_slow_start_and_nine_times_their_length_later() {
    let mut d = Driver::new(r#""ledbat++""#, 10);
    acks(&mut d, 1, 40);
    acks(&mut d, 4, 90);
    let window = d.window.cwnd;
    assert!(!d.window.in_slow_start());
    // Two round trips of 90 ms, then a pause.
    acks(&mut d, 180, 90);
    assert_eq!(d.window.cwnd, 2 * MSS);
    let (paused, threshold) = (d.now, d.window.ssthresh);
    assert!(threshold >= window);
    acks(&mut d, 179, 40);
    assert_eq!(d.window.cwnd, 2 * MSS, "for two round trips");
    let mut back = 0;
    while d.window.cwnd < threshold {
        acks(&mut d, 1, 40);
        back += 1;
    }
    assert!(
        back > 3 * (threshold / MSS - 2),
        "slow start, a third of a segment an ACK"
    );
    let length = (d.now - paused) / MS;
    acks(&mut d, 9 * length - 1, 40);
    assert!(d.window.cwnd > 2 * MSS);
    acks(&mut d, 1, 40);
    assert_eq!(d.window.cwnd, 2 * MSS);
}

#[test]
fn a_loss_halves_and_in_a_pause_halves_what_was_before() {
    let mut d = at(30, 100);
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, 15 * MSS);
    let mut d = Driver::new(r#""ledbat++""#, 10);
    acks(&mut d, 1, 40);
    acks(&mut d, 184, 90);
    assert_eq!(d.window.cwnd, 2 * MSS);
    let threshold = d.window.ssthresh;
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, threshold / 2);
}
