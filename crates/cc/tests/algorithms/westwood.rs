use bloatlab_cc::Signal;

use crate::harness::{Driver, MS, MSS};

/// Sends ACKs of one segment each, one every 10 ms.
fn stream(d: &mut Driver, acks: u64, rtt: u64) {
    for _ in 0..acks {
        d.now += 10 * MS;
        d.on_ack(MSS, rtt * MS);
    }
}

#[test]
fn the_rate_is_filtered_twice() {
    let mut d = Driver::new(r#""westwood""#, 40);
    let stream = |d: &mut Driver, acks| {
        for _ in 0..acks {
            d.now += 10 * MS;
            d.on_ack(20 * MSS, 100 * MS);
        }
    };
    stream(&mut d, 10);
    assert_eq!(d.state("rate"), 0.0, "no sample before an RTT is over");
    // 200 segments in 110 ms initialise both filters: 1818 B/ms.
    stream(&mut d, 1);
    assert_eq!(d.state("rate"), 1_818_000.0);
    // 220 segments in the next 110 ms: 2000; 7/8 1818 + 1/8 2000 = 1840; 7/8 1818 + 1/8 1840 = 1820. All are rounded down.
    stream(&mut d, 11);
    assert_eq!(d.state("rate"), 1_820_000.0);
}

#[test]
fn short_round_trips_are_sampled_every_50_ms() {
    let mut d = Driver::new(r#""westwood""#, 40);
    stream(&mut d, 5, 20);
    assert_eq!(d.state("rate"), 0.0);
    // Five segments in 60 ms: the interval must be longer than 50 ms.
    stream(&mut d, 1, 20);
    assert_eq!(d.state("rate"), 83_000.0);
}

#[test]
fn a_duplicate_ack_stands_for_one_segment() {
    let mut d = Driver::new(r#""westwood""#, 40);
    let mut rate = |acks: [u64; 6]| {
        for segments in acks {
            d.now += 10 * MS;
            let mut ack = d.ack(segments * MSS, 20 * MS);
            ack.delivered_now = 5 * MSS;
            d.cc.observe(&d.window, &ack);
        }
        d.state("rate")
    };
    // Three duplicate ACKs report five segments each, and the next ACK covers them and two more: 1 + 3 + 14 segments before the ACK at 60 ms.
    assert_eq!(rate([1, 0, 0, 0, 17, 1]), 300_000.0);
}

#[test]
fn recovery_halves_and_then_takes_what_the_path_carried() {
    let mut d = Driver::new(r#""westwood""#, 40);
    stream(&mut d, 11, 100);
    d.window.cwnd = 61 * MSS;
    let ack = d.ack(0, 0);
    d.cc.on_congestion(&mut d.window, Signal::Loss, &ack);
    assert_eq!(d.window.ssthresh, 30 * MSS);
    // 90909 B/s * 100 ms = 9090 B.
    d.cc.on_recovered(&mut d.window, &ack);
    assert_eq!((d.window.cwnd, d.window.ssthresh), (9 * MSS, 9 * MSS));
}

#[test]
fn a_timeout_takes_it_as_threshold_and_forgets_the_base() {
    let mut d = Driver::new(r#""westwood""#, 40);
    stream(&mut d, 11, 100);
    d.congestion(Signal::Timeout);
    assert_eq!((d.window.cwnd, d.window.ssthresh), (MSS, 9 * MSS));
    stream(&mut d, 1, 200);
    d.congestion(Signal::Loss);
    // 90909 B/s * 200 ms = 18181 B.
    assert_eq!(d.window.cwnd, 18 * MSS);
}

#[test]
fn a_loss_before_any_rate_leaves_two_segments() {
    let mut d = Driver::new(r#""westwood""#, 40);
    d.congestion(Signal::Loss);
    assert_eq!(d.window.cwnd, 2 * MSS);
}

#[test]
fn the_papers_take_it_at_the_loss() {
    let mut d = Driver::new(r#"{"kind": "westwood", "reduction": "at_loss"}"#, 40);
    stream(&mut d, 11, 100);
    d.window.cwnd = 61 * MSS;
    let ack = d.ack(0, 0);
    d.cc.on_congestion(&mut d.window, Signal::Loss, &ack);
    assert_eq!(d.window.ssthresh, 9 * MSS);
    // The window that recovery leaves is kept.
    d.window.cwnd = 8 * MSS;
    d.cc.on_recovered(&mut d.window, &ack);
    assert_eq!((d.window.cwnd, d.window.ssthresh), (8 * MSS, 9 * MSS));
}
