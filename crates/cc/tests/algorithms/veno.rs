use bloatlab_cc::Signal;

use crate::harness::{Driver, MS, MSS};

/// A window of 20 segments in congestion avoidance, base RTT 100 ms, after three ACKs.
fn avoiding() -> Driver {
    let mut d = Driver::new(r#""veno""#, 20);
    d.window.ssthresh = 20 * MSS;
    (0..3).for_each(|_| d.on_ack(MSS, 100 * MS));
    d
}

#[test]
fn grows_as_reno_on_an_empty_queue() {
    let mut d = avoiding();
    (0..17).for_each(|_| d.on_ack(MSS, 100 * MS));
    assert_eq!(d.window.cwnd, 21 * MSS);
    assert_eq!(d.state("queued"), 0.0);
}

#[test]
fn grows_every_other_round_trip_on_a_full_queue() {
    let mut d = avoiding();
    // 2 * 20 - 40 * 100 / 120 = 40 - 33 half segments.
    let mut acks = |count| {
        (0..count).for_each(|_| d.on_ack(MSS, 120 * MS));
        assert_eq!(d.state("queued"), 3.5);
        d.window.cwnd / MSS
    };
    // As in Linux, the ACK after a whole window opens the window and does not count itself.
    assert_eq!((acks(17), acks(1)), (20, 21), "the first is given");
    assert_eq!((acks(22), acks(21)), (21, 21), "the second is not");
    assert_eq!((acks(0), acks(1)), (21, 22));
}

#[test]
fn a_loss_by_chance_costs_a_fifth_and_one_by_congestion_half() {
    let mut d = avoiding();
    d.on_ack(MSS, 117 * MS);
    // 40 - 34: exactly three segments, which is beta and therefore congestion.
    assert_eq!(d.state("queued"), 3.0);
    let full = d.ack(0, 0);
    d.cc.on_congestion(&mut d.window, Signal::Loss, &full);
    assert_eq!(d.window.ssthresh, 10 * MSS);
    let mut d = avoiding();
    d.on_ack(MSS, 116 * MS);
    d.congestion(Signal::Loss);
    assert_eq!(
        d.state("queued"),
        3.0,
        "40 * 100 / 116 is rounded down as well"
    );
    let mut d = avoiding();
    d.on_ack(MSS, 114 * MS);
    assert_eq!(d.state("queued"), 2.5);
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, 16 * MSS);
}

#[test]
fn each_ack_is_judged_by_its_own_rtt() {
    let mut d = avoiding();
    d.on_ack(MSS, 200 * MS);
    assert_eq!(d.state("queued"), 10.0);
    d.on_ack(MSS, 100 * MS);
    assert_eq!(d.state("queued"), 0.0);
}
