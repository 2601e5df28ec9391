use bloatlab_cc::{Ack, Signal};

use crate::harness::{Driver, MS, MSS};

/// In congestion avoidance since the start.
fn avoiding(json: &str, segments: u64) -> Driver {
    let mut d = Driver::new(json, segments);
    d.window.ssthresh = segments * MSS;
    d
}

/// Round trips of whole windows, with one ACK per segment.
fn rounds(d: &mut Driver, rtt: u64, until: u64) {
    while d.now < until {
        let segments = d.window.cwnd / MSS;
        let start = d.now;
        for i in 1..=segments {
            d.now = start + rtt * i / segments;
            d.on_ack(MSS, rtt);
        }
    }
}

#[test]
fn for_a_second_it_is_reno() {
    let mut d = avoiding(r#"{"kind": "htcp", "rtt_scaling": false}"#, 20);
    rounds(&mut d, 100 * MS, 1000 * MS);
    assert_eq!(d.state("alpha"), 1.0);
    assert!(
        (29.0..=30.0).contains(&d.cwnd_segments()),
        "{}",
        d.cwnd_segments()
    );
}

#[test]
fn the_increase_follows_the_time_since_the_loss() {
    // draft-leith-tcp-htcp-06 section 2: three seconds after the loss, 1 + 10 * 2 + (2 / 2)^2 = 22; alpha = 2 (1 - 0.5) 22.
    let mut d = avoiding(r#"{"kind": "htcp", "rtt_scaling": false}"#, 1000);
    rounds(&mut d, 100 * MS, 3000 * MS);
    let alpha = d.state("alpha");
    assert!((21.0..=22.0).contains(&alpha), "{alpha}");
}

#[test]
fn short_rtts_grow_less_and_long_ones_more() {
    for (rtt, from, to) in [
        // 22 * 10 ms / 100 ms = 2.2, rounded down: scale 80 eighths.
        (10, 2.0, 2.0),
        // 22 at 100 ms; twice as much at 200 ms and above; 24 after the 3.2 seconds of eight round trips.
        (100, 20.0, 22.0),
        (400, 40.0, 48.0),
    ] {
        let mut d = avoiding(r#""htcp""#, 100);
        rounds(&mut d, rtt * MS, 3000 * MS);
        let alpha = d.state("alpha");
        assert!((from..=to).contains(&alpha), "{rtt} ms: {alpha}");
    }
}

/// A loss, and an ACK during recovery: the measurement of the throughput restarts after it.
fn loss(d: &mut Driver) {
    d.congestion(Signal::Loss);
    let mut ack = d.ack(MSS, 0);
    ack.in_recovery = true;
    d.cc.observe(&d.window, &ack);
}

/// Two losses in steady state. In between, the queueing delay is a quarter of the base RTT.
fn two_losses(d: &mut Driver) {
    for _ in 0..2 {
        let end = d.now + 500 * MS;
        rounds(d, 40 * MS, end);
        rounds(d, 50 * MS, end + 500 * MS);
        d.window.cwnd = 100 * MSS;
        loss(d);
        d.window.cwnd = 100 * MSS;
    }
}

#[test]
fn a_steady_throughput_backs_off_by_the_ratio_of_rtts() {
    let mut d = avoiding(r#""htcp""#, 100);
    two_losses(&mut d);
    assert_eq!(d.state("beta"), 0.5, "the first comparison only arms it");
    two_losses(&mut d);
    // The largest RTT is 50 ms. The loss reduced its excess over 40 ms by 5 %, in whole ms, and then 50 ms was measured again: 128 * 40 / 50 = 102.
    assert_eq!(d.state("beta"), 102.0 / 128.0);
}

#[test]
fn a_changed_throughput_backs_off_by_half() {
    let mut d = avoiding(r#""htcp""#, 100);
    two_losses(&mut d);
    two_losses(&mut d);
    d.window.cwnd = 50 * MSS;
    d.window.ssthresh = 50 * MSS;
    let end = d.now + 1000 * MS;
    rounds(&mut d, 40 * MS, end);
    d.window.cwnd = 50 * MSS;
    loss(&mut d);
    assert_eq!(d.state("beta"), 0.5);
    assert_eq!(d.window.cwnd, 25 * MSS);
}

#[test]
fn while_segments_overtake_others_an_ack_counts_for_one() {
    // Two segments per ACK. The ACK after 20 segments grows the window: they are 10 ACKs, or 20 that count for one each.
    for (disordered, acks) in [(false, 11), (true, 21)] {
        let mut d = avoiding(r#"{"kind": "htcp", "rtt_scaling": false}"#, 20);
        let mut count = 0;
        while d.window.cwnd == 20 * MSS {
            let ack = d.ack(2 * MSS, 100 * MS);
            d.tell(&Ack { disordered, ..ack });
            count += 1;
        }
        assert_eq!(count, acks, "{disordered}");
    }
}

#[test]
fn a_needless_recovery_does_not_interrupt_growth() {
    // Three seconds after the start, the window grows by 22 segments per round trip. A loss ends that, unless it is undone while recovery lasts.
    for (undone, in_recovery, grows) in [
        (false, false, false),
        (true, false, false),
        (true, true, true),
    ] {
        let mut d = avoiding(r#"{"kind": "htcp", "rtt_scaling": false}"#, 1000);
        rounds(&mut d, 100 * MS, 3000 * MS);
        d.congestion(Signal::Loss);
        if undone {
            let ack = Ack {
                in_recovery,
                ..d.ack(MSS, 100 * MS)
            };
            d.cc.on_undo(&mut d.window, &ack);
        }
        rounds(&mut d, 100 * MS, 3300 * MS);
        assert_eq!(d.state("alpha") > 20.0, grows);
    }
}
