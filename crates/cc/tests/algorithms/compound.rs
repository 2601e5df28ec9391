use bloatlab_cc::Signal;

use crate::harness::{Driver, MS, MSS};

/// In congestion avoidance with a window of 256 segments; base RTT 100 ms.
fn avoiding(json: &str) -> Driver {
    let mut d = Driver::new(json, 256);
    d.window.ssthresh = 256 * MSS;
    d
}

/// One round trip with one ACK for the whole window. Returns the window after it.
fn round(d: &mut Driver, rtt: u64) -> f64 {
    let flight = d.window.cwnd;
    d.now += rtt;
    let mut ack = d.ack(flight, rtt);
    ack.next = d.una + flight;
    d.tell(&ack);
    d.cwnd_segments()
}

#[test]
fn without_a_queue_it_grows_by_a_power_of_the_window() {
    let mut d = avoiding(r#""compound""#);
    // 256^0.75 / 8 = 8 segments minus Reno's one: 7. Then 256 of 263 segments are acknowledged.
    assert_eq!(round(&mut d, 100 * MS), 263.973);
    assert_eq!(d.state("dwnd"), 7000.0);
}

#[test]
fn the_window_is_reduced_by_the_queue_above_gamma() {
    let mut d = avoiding(r#""compound""#);
    for _ in 0..10 {
        round(&mut d, 100 * MS);
    }
    let before = d.cwnd_segments();
    let dwnd = d.state("dwnd") / MSS as f64;
    let reno = before - dwnd;
    assert!((265.5..266.0).contains(&reno), "ten round trips: {reno}");
    // A fifth of the window is queued, more than 30 segments. The delay-based window shrinks by that amount, or to zero.
    let after = round(&mut d, 125 * MS);
    let given = (0.2 * before).min(dwnd);
    let reno = before / (before - given);
    assert!(
        (before - given + reno - after).abs() < 0.01,
        "{before} {after}"
    );
    round(&mut d, 125 * MS);
    round(&mut d, 125 * MS);
    // The delay-based window is zero, so only Reno's remains.
    assert_eq!(d.state("dwnd"), 0.0);
    let before = d.cwnd_segments();
    assert!((round(&mut d, 125 * MS) - before - 1.0).abs() < 0.01);
}

#[test]
fn below_38_segments_it_is_reno() {
    let mut d = Driver::new(r#""compound""#, 30);
    d.window.ssthresh = 30 * MSS;
    assert_eq!(round(&mut d, 100 * MS), 31.0);
}

#[test]
fn a_loss_halves_the_whole_and_renos_part() {
    let mut d = avoiding(r#""compound""#);
    round(&mut d, 100 * MS);
    d.congestion(Signal::Loss);
    // 263.973 / 2; Reno's part of it is 256.973 / 2 = 128.5.
    assert_eq!(d.window.cwnd, 131_986);
    assert_eq!(d.state("dwnd"), 3500.0);
    d.congestion(Signal::Timeout);
    assert_eq!(d.state("dwnd"), 0.0);
}

#[test]
fn gamma_comes_to_three_quarters_of_renos_queue_at_losses() {
    let mut d = avoiding(r#""compound""#);
    round(&mut d, 100 * MS);
    // A fifth of the window is queued.
    round(&mut d, 125 * MS);
    round(&mut d, 125 * MS);
    d.congestion(Signal::Loss);
    assert_eq!(d.state("gamma"), 30.0, "at most");
    d.window.cwnd = 50 * MSS + d.state("dwnd") as u64;
    d.congestion(Signal::Loss);
    let gamma = 0.8 * 30.0 + 0.2 * 0.75 * 0.2 * 50.0;
    assert!(
        (d.state("gamma") - gamma).abs() < 1e-9,
        "{} {gamma}",
        d.state("gamma")
    );
    let mut d = avoiding(r#"{"kind": "compound", "tune_gamma": false}"#);
    round(&mut d, 125 * MS);
    d.congestion(Signal::Loss);
    assert_eq!(d.state("gamma"), 30.0);
}
