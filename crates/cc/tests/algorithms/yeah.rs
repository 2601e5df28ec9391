use bloatlab_cc::Signal;

use crate::harness::{Driver, MS, MSS};

/// Sends ACKs of one segment each until a round trip ends. The last ACK decides.
fn round(d: &mut Driver, rtt: u64) {
    for _ in 0..d.window.cwnd / MSS {
        d.on_ack(MSS, rtt * MS);
    }
}

/// A window in congestion avoidance with a base RTT of 100 ms, at the end of a round trip.
fn avoiding(segments: u64) -> Driver {
    let mut d = Driver::new(r#""yeah""#, segments);
    d.window.ssthresh = segments * MSS;
    d.on_ack(MSS, 100 * MS);
    d
}

#[test]
fn one_in_a_hundred_in_fast_mode_and_one_a_window_in_slow_mode() {
    let mut d = avoiding(200);
    (0..199).for_each(|_| d.on_ack(MSS, 100 * MS));
    assert_eq!(d.window.cwnd, 202 * MSS);
    let mut d = avoiding(50);
    (0..49).for_each(|_| d.on_ack(MSS, 100 * MS));
    assert_eq!(d.window.cwnd, 51 * MSS, "never slower than Reno");
    let mut d = avoiding(200);
    round(&mut d, 120);
    // The queueing delay of 20 ms is more than an eighth of 100 ms; 202 * 20 / 120 = 33 queued are tolerated.
    assert_eq!((d.state("queued"), d.state("slow_rounds")), (33.0, 1.0));
    let cwnd = d.window.cwnd;
    // One acknowledged segment was already counted.
    (0..200).for_each(|_| d.on_ack(MSS, 120 * MS));
    assert_eq!(d.window.cwnd, cwnd);
    d.on_ack(MSS, 120 * MS);
    assert_eq!(d.window.cwnd, cwnd + MSS);
}

#[test]
fn a_long_queue_is_emptied_before_it_overflows() {
    let mut d = avoiding(300);
    // 302 (2 of 200 so far), then 303 at the deciding ACK: 303 * 50 / 150 = 101 segments queued, more than 80.
    round(&mut d, 150);
    assert_eq!(d.state("queued"), 101.0);
    assert_eq!(d.window.cwnd, (303 - 101) * MSS);
    assert_eq!(d.window.ssthresh, d.window.cwnd);
    assert_eq!(
        d.state("reno"),
        101.0,
        "Reno's window is taken to be half of it"
    );
}

#[test]
fn never_below_what_reno_would_have() {
    let mut d = avoiding(400);
    for _ in 0..8 {
        round(&mut d, 400);
    }
    let (cwnd, reno) = (d.window.cwnd / MSS, d.state("reno"));
    assert!(cwnd as f64 >= reno - 1.0, "{cwnd} {reno}");
}

#[test]
fn a_loss_takes_the_queue_in_fast_mode_and_half_where_others_fill_it() {
    let mut d = avoiding(200);
    round(&mut d, 112);
    // 202 * 12 / 112 = 21 queued; an eighth is 25.
    assert_eq!((d.state("queued"), d.window.cwnd), (21.0, 202 * MSS));
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, (202 - 25) * MSS);
    let mut d = avoiding(200);
    round(&mut d, 130);
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, (202 - 46) * MSS, "202 * 30 / 130");
    let mut d = avoiding(60);
    for _ in 0..40 {
        round(&mut d, 130);
    }
    assert!(d.state("slow_rounds") > 16.0);
    let cwnd = d.window.cwnd / MSS;
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, cwnd.div_ceil(2) * MSS);
}
