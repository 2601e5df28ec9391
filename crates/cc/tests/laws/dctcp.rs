use bloatlab_cc::{Ack, EcnFeedback, Signal};

use crate::harness::{Driver, MS, MSS};

/// A whole window's ACKs, of which so many segments came marked; then the reduction, if there are marks.
fn round(d: &mut Driver, marked: u64) {
    let segments = d.window.cwnd / MSS;
    let end = d.una + segments * MSS;
    for segment in 0..segments {
        let mut ack = d.ack(MSS, 10 * MS);
        ack.next = end + (segment + 1) * MSS;
        ack.ecn_echo = segment < marked;
        ack.marked_now = if ack.ecn_echo { MSS } else { 0 };
        // The window stands in a round trip with marks, as the sender has it.
        d.law.observe(&d.window, &ack);
        if marked == 0 {
            d.law.on_ack(&mut d.window, &ack);
        }
    }
    if marked > 0 {
        d.congestion(Signal::Ecn);
    }
}

#[test]
fn alpha_follows_the_share_of_marked_bytes() {
    // RFC 8257 section 3.3: alpha = alpha (1 - g) + g M, from 1.
    let mut d = Driver::new(r#""dctcp""#, 40);
    assert_eq!(d.law.needs_ecn(), EcnFeedback::Dctcp);
    assert_eq!(d.state("alpha"), 1.0);
    d.window.ssthresh = 40 * MSS;
    let step = |d: &mut Driver, bytes: u64, marked: u64, round: u64| {
        d.una += bytes;
        let ack = Ack {
            delivered_now: bytes,
            marked_now: marked,
            ecn_echo: marked > 0,
            una: d.una,
            next: round,
            ..Ack::default()
        };
        d.law.observe(&d.window, &ack);
    };
    // The first ACK ends the round trip of nothing: M = 0.
    step(&mut d, 2 * MSS, 0, 42 * MSS);
    assert_eq!(d.state("alpha"), 15.0 / 16.0);
    // Ten of 40 segments are marked; the average moves when the 42nd is acknowledged, not before.
    step(&mut d, 20 * MSS, 10 * MSS, 60 * MSS);
    assert_eq!(d.state("alpha"), 15.0 / 16.0);
    step(&mut d, 20 * MSS, 0, 82 * MSS);
    assert_eq!(d.state("alpha"), 225.0 / 256.0 + 0.25 / 16.0);
    // Marks of more than was delivered, reported late, are no share above 1.
    step(&mut d, 40 * MSS, 50 * MSS, 122 * MSS);
    let before = 225.0 / 256.0 + 0.25 / 16.0;
    assert_eq!(d.state("alpha"), before + (1.0 - before) / 16.0);
}

#[test]
fn a_mark_costs_half_of_alpha_in_whole_segments() {
    let mut d = Driver::new(r#"{"kind": "dctcp", "g": 0.5}"#, 41);
    // Alpha 1: 41 segments less 20.
    d.congestion(Signal::Ecn);
    assert_eq!((d.window.cwnd, d.window.ssthresh), (21 * MSS, 21 * MSS));
    // Alpha after a round trip of nothing and one without a mark: 0.5, then 0.25: 41 segments less 5.
    d.window.cwnd = 41 * MSS;
    for _ in 0..2 {
        let ack = d.ack(41 * MSS, 10 * MS);
        d.law.observe(&d.window, &Ack { next: d.una, ..ack });
    }
    assert_eq!(d.state("alpha"), 0.25);
    d.congestion(Signal::Ecn);
    assert_eq!(d.window.cwnd, 36 * MSS);
    // RFC 8257 section 3.5: a loss halves whatever alpha is.
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, 18 * MSS);
    d.window.cwnd = 2 * MSS;
    d.congestion(Signal::Ecn);
    assert_eq!(d.window.cwnd, 2 * MSS, "two segments are left");
}

#[test]
fn few_marks_cost_little_and_growth_is_reno_s() {
    let mut d = Driver::new(r#""dctcp""#, 100);
    d.window.ssthresh = 100 * MSS;
    // Without marks alpha decays by 15/16 a round trip, and the window gains a segment.
    for rounds in 1..=40 {
        round(&mut d, 0);
        assert_eq!(d.window.cwnd, (100 + rounds) * MSS);
    }
    let alpha = d.state("alpha");
    assert!(
        (0.9375_f64.powi(41)..=0.9375_f64.powi(39)).contains(&alpha),
        "{alpha}"
    );
    let before = d.window.cwnd / MSS;
    round(&mut d, 2);
    let after = d.window.cwnd / MSS;
    assert!(
        before - after <= before / 20,
        "{before} to {after} segments"
    );
}
