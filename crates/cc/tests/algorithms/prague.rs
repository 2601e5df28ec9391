use bloatlab_cc::{Ack, EcnFeedback, Signal};

use crate::harness::{Driver, MS, MSS};

/// A driver past slow start, with this window.
fn steady(json: &str, segments: u64) -> Driver {
    let mut d = Driver::new(json, segments);
    d.window.ssthresh = segments * MSS;
    d
}

/// An ACK of whole segments, `marked` of them with a mark, in a round trip that ends at this stream offset.
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
    assert_eq!(d.cc.needs_ecn(), EcnFeedback::Accurate);
    assert!(d.cc.is_l4s() && d.cc.responds_to_marks());
    d.cc.on_negotiated(EcnFeedback::Classic);
    assert!(!d.cc.responds_to_marks());
    for _ in 0..5 {
        d.on_ack(2 * MSS, 50 * MS);
    }
    assert_eq!((d.window.cwnd, d.window.pacing), (11 * MSS, 0));
    d.congestion(Signal::Ecn);
    assert_eq!(d.window.cwnd, 5 * MSS);
}

#[test]
fn unmarked_bytes_open_the_window() {
    // Draft section 2.4.4: one segment per window of unmarked bytes. The sender uses whole segments, rounded up.
    let mut d = steady(r#""prague""#, 10);
    ack(&mut d, 1, 0, 50 * MS, 100 * MSS);
    assert_eq!(d.window.cwnd, 11 * MSS);
    // 10.1 segments and an ACK of nothing: the pacing rate is exact.
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
    // Alpha is 1 at the first mark. It ends an empty round trip: M = 1/2, alpha = 3/4.
    ack(&mut d, 2, 1, 50 * MS, 100 * MSS);
    assert_eq!(d.state("alpha"), 0.75);
    // 100 segments, 1/100 added, 3/8 removed: slightly more than 62.5.
    assert_eq!(d.window.cwnd, 63 * MSS);
    assert_eq!(d.window.ssthresh, (100.01 * 0.625 * MSS as f64) as u64);
    // More marks in the same round trip change nothing; the unmarked segment grows the window.
    let before = d.window.pacing;
    ack(&mut d, 2, 1, 50 * MS, 200 * MSS);
    assert!(d.window.pacing > before);
    // The next reduction: alpha is (3/4 + 1/2) / 2 when the 100th segment is acknowledged.
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
    // Segments that one window of unmarked ACKs adds at 5 ms, for a young and an old flow.
    let gain = |rounds: u32| {
        let json = format!(r#"{{"kind": "prague", "rtt_rounds": {rounds}}}"#);
        let mut d = steady(&json, 10);
        // Ends the empty first round trip.
        ack(&mut d, 1, 0, 5 * MS, 1000 * MSS);
        let before = d.window.pacing;
        ack(&mut d, 1, 0, 5 * MS, 1000 * MSS);
        (d.window.pacing - before) as f64 / 200.0 / MSS as f64
    };
    assert!((gain(500) - 0.1).abs() < 0.002);
    // (5/25)^2 of a segment.
    assert!((gain(0) - 0.004).abs() < 0.0002, "{}", gain(0));
    // The window reacts to marks every 25 ms, not every round trip of 5 ms.
    let reductions = |rounds: u32| {
        let json = format!(r#"{{"kind": "prague", "g": 1, "rtt_rounds": {rounds}}}"#);
        let mut d = steady(&json, 1000);
        let mut count = 0;
        for round in 1..=50 {
            d.now += 5 * MS;
            let before = d.window.pacing;
            // The first ACK of the next round trip reaches this offset.
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
    // Growth continues from there.
    ack(&mut d, 1, 0, 50 * MS, 100 * MSS);
    assert_eq!(d.window.pacing, 15_066 * 20 + 13);
}
