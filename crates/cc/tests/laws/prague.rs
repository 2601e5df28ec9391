use bloatlab_cc::{Ack, EcnFeedback, Signal};

use crate::harness::{Driver, MS, MSS};

/// A driver past slow start, with this window.
fn steady(json: &str, segments: u64) -> Driver {
    let mut d = Driver::new(json, segments);
    d.window.ssthresh = segments * MSS;
    d
}

/// An ACK of whole segments, so many of them marked, in a round trip that ends with this stream offset.
fn ack(d: &mut Driver, segments: u64, marked: u64, rtt: u64, next: u64) {
    let told = d.ack(segments * MSS, rtt);
    let told = Ack {
        ecn_echo: marked > 0,
        marked_now: marked * MSS,
        next,
        ..told
    };
    d.tell(&told);
}

#[test]
fn needs_accecn_and_is_reno_without() {
    let mut d = steady(r#""prague""#, 10);
    assert_eq!(d.law.needs_ecn(), EcnFeedback::Accurate);
    assert!(d.law.is_l4s() && d.law.answers_marks());
    d.law.on_negotiated(EcnFeedback::Classic);
    assert!(!d.law.answers_marks());
    for _ in 0..5 {
        d.on_ack(2 * MSS, 50 * MS);
    }
    assert_eq!((d.window.cwnd, d.window.pacing), (11 * MSS, 0));
    d.congestion(Signal::Ecn);
    assert_eq!(d.window.cwnd, 5 * MSS);
}

#[test]
fn unmarked_bytes_open_the_window() {
    // Draft section 2.4.4: a segment a window, of the unmarked bytes only; whole segments are shown, rounded up.
    let mut d = steady(r#""prague""#, 10);
    ack(&mut d, 1, 0, 50 * MS, 100 * MSS);
    assert_eq!(d.window.cwnd, 11 * MSS);
    // 10.1 segments and nothing new: the paced rate is exact.
    assert_eq!(d.window.pacing, 10_100 * 20);
    for _ in 0..9 {
        ack(&mut d, 1, 0, 50 * MS, 100 * MSS);
    }
    let window = d.window.pacing as f64 / 20.0 / MSS as f64;
    assert!((10.95..11.0).contains(&window), "{window}");
}

#[test]
fn marks_close_it_once_a_round_trip_and_do_not_stop_growth() {
    let mut d = steady(r#"{"kind": "prague", "g": 0.5}"#, 100);
    // Alpha 1 and the first mark: the round trip of nothing ends with it, M = 1/2, alpha 3/4.
    ack(&mut d, 2, 1, 50 * MS, 100 * MSS);
    assert_eq!(d.state("alpha"), 0.75);
    // 100 segments, 1/100 opened, 3/8 closed: 62.5 and a bit.
    assert_eq!(d.window.cwnd, 63 * MSS);
    assert_eq!(d.window.ssthresh, (100.01 * 0.625 * MSS as f64) as u64);
    // More marks of the same round trip cost nothing; the unmarked segment opens.
    let before = d.window.pacing;
    ack(&mut d, 2, 1, 50 * MS, 200 * MSS);
    assert!(d.window.pacing > before);
    // The next round trip's: alpha is (3/4 + 1/2) / 2 when the 100th segment is acknowledged.
    ack(&mut d, 96, 48, 50 * MS, 200 * MSS);
    assert_eq!(d.state("alpha"), 0.625);
    let window = d.window.pacing as f64 / 20.0 / MSS as f64;
    let expected = (62.5 + 0.006 + 0.016 + 48.0 / 62.5) * (1.0 - 0.3125);
    assert!(
        (window / expected - 1.0).abs() < 1e-3,
        "{window} for {expected}"
    );
}

#[test]
fn alpha_waits_for_the_first_mark() {
    let mut d = steady(r#""prague""#, 10);
    for round in 1..20 {
        ack(&mut d, 10, 0, 50 * MS, round * 10 * MSS);
    }
    assert_eq!(d.state("alpha"), 1.0);
    let before = d.window.cwnd;
    ack(&mut d, 10, 10, 50 * MS, 300 * MSS);
    assert_eq!(d.window.cwnd, before.div_ceil(2 * MSS) * MSS, "halved");
}

#[test]
fn short_rtts_behave_like_the_reference_after_a_while() {
    // Segments that one window of unmarked ACKs adds at 5 ms, young and old.
    let gain = |rounds: u32| {
        let json = format!(r#"{{"kind": "prague", "rtt_rounds": {rounds}}}"#);
        let mut d = steady(&json, 10);
        // Leaves the round trip of nothing behind.
        ack(&mut d, 1, 0, 5 * MS, 1000 * MSS);
        let before = d.window.pacing;
        ack(&mut d, 1, 0, 5 * MS, 1000 * MSS);
        (d.window.pacing - before) as f64 / 200.0 / MSS as f64
    };
    assert!((gain(500) - 0.1).abs() < 0.002);
    // (5/25)^2 of it.
    assert!((gain(0) - 0.004).abs() < 0.0002, "{}", gain(0));
    // Marks are answered every 25 ms, not every round trip of 5.
    let reductions = |rounds: u32| {
        let json = format!(r#"{{"kind": "prague", "g": 1, "rtt_rounds": {rounds}}}"#);
        let mut d = steady(&json, 1000);
        let mut count = 0;
        for round in 1..=50 {
            d.now += 5 * MS;
            let before = d.window.pacing;
            // Reached by the first ACK of the next round trip.
            let next = d.una + 30 * MSS;
            ack(&mut d, 10, 1, 5 * MS, next);
            ack(&mut d, 10, 1, 5 * MS, next);
            count += u32::from(round > 1 && d.window.pacing < before);
        }
        count
    };
    assert_eq!(reductions(1_000_000), 49);
    assert_eq!(reductions(0), 10, "every 25 of 250 ms");
}

#[test]
fn a_loss_halves_the_window() {
    let mut d = steady(r#""prague""#, 30);
    ack(&mut d, 1, 0, 50 * MS, 100 * MSS);
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, 15 * MSS);
    // It goes on from there.
    ack(&mut d, 1, 0, 50 * MS, 100 * MSS);
    assert_eq!(d.window.pacing, 15_066 * 20 + 13);
}
