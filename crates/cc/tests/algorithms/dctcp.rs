use bloatlab_cc::{Ack, EcnFeedback, Signal};

use crate::harness::{Driver, MS, MSS};

/// Sends the ACKs of a whole window, `marked` of them with a mark, and then signals congestion if there were marks.
fn round(d: &mut Driver, marked: u64) {
    let segments = d.window.cwnd / MSS;
    let end = d.una + segments * MSS;
    for segment in 0..segments {
        let mut ack = d.ack(MSS, 10 * MS);
        ack.next = end + (segment + 1) * MSS;
        ack.ecn_echo = segment < marked;
        ack.marked_now = if ack.ecn_echo { MSS } else { 0 };
        // The sender does not change the window in a round trip with marks.
        d.cc.observe(&d.window, &ack);
        if marked == 0 {
            d.cc.on_ack(&mut d.window, &ack);
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
    assert_eq!(d.cc.needs_ecn(), EcnFeedback::Dctcp);
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
        d.cc.observe(&d.window, &ack);
    };
    // The first ACK ends an empty round trip: M = 0.
    step(&mut d, 2 * MSS, 0, 42 * MSS);
    assert_eq!(d.state("alpha"), 15.0 / 16.0);
    // Ten of 40 segments are marked. The average changes when the 42nd segment is acknowledged, not before.
    step(&mut d, 20 * MSS, 10 * MSS, 60 * MSS);
    assert_eq!(d.state("alpha"), 15.0 / 16.0);
    step(&mut d, 20 * MSS, 0, 82 * MSS);
    assert_eq!(d.state("alpha"), 225.0 / 256.0 + 0.25 / 16.0);
    // Marks for more bytes than were delivered, reported late, do not give a share above 1.
    step(&mut d, 40 * MSS, 50 * MSS, 122 * MSS);
    let before = 225.0 / 256.0 + 0.25 / 16.0;
    assert_eq!(d.state("alpha"), before + (1.0 - before) / 16.0);
}

#[test]
fn a_mark_costs_half_of_alpha_in_whole_segments() {
    let mut d = Driver::new(r#"{"kind": "dctcp", "g": 0.5}"#, 41);
    // Alpha is 1: 41 segments minus 20.
    d.congestion(Signal::Ecn);
    assert_eq!((d.window.cwnd, d.window.ssthresh), (21 * MSS, 21 * MSS));
    // Alpha is 0.5 after an empty round trip and 0.25 after one without a mark: 41 segments minus 5.
    d.window.cwnd = 41 * MSS;
    for _ in 0..2 {
        let ack = d.ack(41 * MSS, 10 * MS);
        d.cc.observe(&d.window, &Ack { next: d.una, ..ack });
    }
    assert_eq!(d.state("alpha"), 0.25);
    d.congestion(Signal::Ecn);
    assert_eq!(d.window.cwnd, 36 * MSS);
    // RFC 8257 section 3.5: a loss halves the window, whatever alpha is.
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
    // Without marks alpha decays by 15/16 per round trip, and the window grows by one segment.
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
