use bloatlab_cc::{Ack, CcConfig, Signal};

use crate::harness::{Driver, MS, MSS};

/// Sends the ACKs of a window, one per segment.
fn round(d: &mut Driver, rtt: u64) {
    for _ in 0..d.window.cwnd / MSS {
        d.on_ack(MSS, rtt * MS);
    }
}

/// A connection with this window in congestion avoidance and a base RTT of 100 ms.
fn avoiding(json: &str, segments: u64) -> Driver {
    let mut d = Driver::new(json, segments);
    d.window.ssthresh = segments * MSS;
    round(&mut d, 100);
    d
}

/// The window after a round trip with this RTT. Its first ACK still belongs to the previous round trip, and the first ACK of the next one decides.
fn after(json: &str, rtt: u64) -> u64 {
    let mut d = avoiding(json, 20);
    // The first round trip had no queue and raised the window from 20 to 21.
    d.on_ack(MSS, 100 * MS);
    assert_eq!(d.window.cwnd, 21 * MSS);
    d.window.cwnd = 20 * MSS;
    (0..20).for_each(|_| d.on_ack(MSS, rtt * MS));
    d.window.cwnd / MSS
}

#[test]
fn moves_by_a_segment_a_round_trip_between_alpha_and_beta() {
    // Linux: 20 (RTT - 100) / 100 segments queued, rounded down: 1.8, 2, 4.8, 5.
    assert_eq!(after(r#""vegas""#, 109), 21);
    assert_eq!(after(r#""vegas""#, 110), 20);
    assert_eq!(after(r#""vegas""#, 124), 20);
    assert_eq!(after(r#""vegas""#, 125), 19);
}

#[test]
fn ns2s_thresholds_can_be_set() {
    let ns2 = r#"{"kind": "vegas", "alpha": 1, "beta": 3, "gamma": 1}"#;
    assert_eq!(after(ns2, 104), 21);
    assert_eq!(after(ns2, 105), 20);
    assert_eq!(after(ns2, 119), 20);
    assert_eq!(after(ns2, 120), 19);
}

#[test]
fn alpha_above_beta_is_refused() {
    let error = serde_json::from_str::<CcConfig>(r#"{"kind": "vegas", "alpha": 5}"#).unwrap_err();
    assert!(error.to_string().contains("`alpha` is 5"), "{error}");
}

#[test]
fn slow_start_ends_at_gamma_and_drains_what_it_queued() {
    let mut d = Driver::new(r#""vegas""#, 10);
    d.on_ack(MSS, 100 * MS);
    (0..9).for_each(|_| d.on_ack(MSS, 120 * MS));
    assert_eq!(d.window.cwnd, 20 * MSS, "it doubles every round trip");
    // 20 * 20 / 100 = 4 queued; 20 * 100 / 120 = 16 fit, plus one.
    d.on_ack(MSS, 120 * MS);
    assert_eq!((d.window.cwnd, d.window.ssthresh), (17 * MSS, 17 * MSS));
}

#[test]
fn two_samples_are_not_trusted() {
    let mut d = avoiding(r#""vegas""#, 2);
    // Rounds of two segments have one sample besides the deciding one. The window grows as Reno's and is not reduced at any delay.
    let before = d.window.cwnd;
    (0..40).for_each(|_| d.on_ack(2 * MSS, 400 * MS));
    assert!(d.window.cwnd > before);
}

#[test]
fn a_loss_halves_and_reno_holds_until_recovery_ends() {
    let mut d = avoiding(r#""vegas""#, 21);
    let ack = d.ack(0, 0);
    d.cc.on_congestion(&mut d.window, Signal::Timeout, &ack);
    assert_eq!(d.window.ssthresh, 10 * MSS);
    d.window.cwnd = 4 * MSS;
    (0..6).for_each(|_| d.on_ack(MSS, 300 * MS));
    assert_eq!(d.window.cwnd, 10 * MSS, "slow start at any delay");
    (0..10).for_each(|_| d.on_ack(MSS, 300 * MS));
    assert_eq!(d.window.cwnd, 11 * MSS);
    let ack = d.ack(0, 0);
    d.cc.on_recovered(&mut d.window, &ack);
    (0..12).for_each(|_| d.on_ack(MSS, 300 * MS));
    assert_eq!(d.window.cwnd, 10 * MSS, "11 * 200 / 100 queued");
}

#[test]
fn an_idle_connection_forgets_its_base() {
    let mut d = avoiding(r#""vegas""#, 20);
    d.cc.on_idle_restart(&mut d.window, 0, 0);
    round(&mut d, 200);
    round(&mut d, 200);
    round(&mut d, 200);
    assert!(d.window.cwnd > 20 * MSS, "200 ms are no queue now");
}

#[test]
fn while_segments_overtake_others_it_is_reno() {
    // A round trip without a queue adds a segment, and one with a queue of ten segments takes it off again.
    for (disordered, segments) in [(false, 20), (true, 21)] {
        let mut d = avoiding(r#""vegas""#, 20);
        d.window.cwnd = 20 * MSS;
        for _ in 0..21 {
            let ack = d.ack(MSS, 150 * MS);
            d.tell(&Ack { disordered, ..ack });
        }
        assert_eq!(d.window.cwnd / MSS, segments, "{disordered}");
    }
}
