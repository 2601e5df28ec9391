use bloatlab_cc::Signal;
use bloatlab_units::Nanos;

use crate::harness::{Driver, MS, MSS};

/// One round trip of ACKs, one per segment of the window at its start. `next` is the value of a sender that uses the whole window.
fn round(d: &mut Driver, rtt: Nanos, spacing: Nanos) {
    let segments = d.window.cwnd / MSS;
    let start = d.now;
    for _ in 0..segments {
        d.now += spacing;
        d.on_ack(MSS, rtt);
    }
    d.now = d.now.max(start + rtt);
}

fn driver(slow_start: &str, segments: u64) -> Driver {
    Driver::new(
        &format!(r#"{{"kind": "reno", "slow_start": "{slow_start}"}}"#),
        segments,
    )
}

#[test]
fn hystart_plus_plus_slows_down_when_the_delay_grows_by_an_eighth() {
    let mut d = driver("hystart++", 16);
    round(&mut d, 80 * MS, MS);
    round(&mut d, 80 * MS, MS);
    assert_eq!(
        d.window.cwnd,
        64 * MSS,
        "doubles while the delay is constant"
    );
    // The threshold is 80 ms / 8 = 10 ms, so 9 ms more changes nothing.
    round(&mut d, 89 * MS, MS);
    assert_eq!(d.window.cwnd, 128 * MSS);
    // 89 ms / 8 = 11.1 ms, so 101 ms is above the threshold. The first 8 ACKs of the round decide, and the others add a quarter.
    let before = d.window.cwnd;
    round(&mut d, 101 * MS, MS);
    let grown = d.window.cwnd - before;
    assert!(d.window.in_slow_start());
    assert!(
        grown < before * 2 / 5 && grown >= before / 4,
        "grew by {grown} of {before}"
    );
}

#[test]
fn hystart_plus_plus_leaves_slow_start_after_five_rounds() {
    let mut d = driver("hystart++", 16);
    round(&mut d, 50 * MS, MS);
    let mut rounds = 0;
    while d.window.in_slow_start() {
        round(&mut d, 70 * MS, MS);
        rounds += 1;
        assert!(rounds < 20, "never leaves slow start");
    }
    // The round that detected the delay, and CSS_ROUNDS rounds, of which the first has already started.
    assert!((6..=7).contains(&rounds), "{rounds}");
    assert!(d.window.ssthresh <= d.window.cwnd);
    assert!(
        d.window.ssthresh < 16 * MSS * 2 * 4,
        "a quarter of the growth per round"
    );
}

#[test]
fn hystart_plus_plus_resumes_when_the_delay_falls_again() {
    let mut d = driver("hystart++", 16);
    round(&mut d, 50 * MS, MS);
    round(&mut d, 70 * MS, MS);
    let before = d.window.cwnd;
    round(&mut d, 60 * MS, MS);
    round(&mut d, 60 * MS, MS);
    round(&mut d, 60 * MS, MS);
    assert!(d.window.in_slow_start());
    assert!(
        d.window.cwnd > before * 7,
        "doubles again: {} after {before}",
        d.window.cwnd
    );
}

#[test]
fn hystart_plus_plus_limits_an_ack_to_eight_segments_unless_paced() {
    let mut d = driver("hystart++", 32);
    d.on_ack(20 * MSS, 50 * MS);
    assert_eq!(d.window.cwnd, 40 * MSS);
    d.window.pacing = 1;
    d.on_ack(20 * MSS, 50 * MS);
    assert_eq!(d.window.cwnd, 60 * MSS);
}

#[test]
fn hystart_plus_plus_serves_the_first_slow_start_only() {
    let mut d = driver("hystart++", 64);
    round(&mut d, 50 * MS, MS);
    d.congestion(Signal::Timeout);
    d.on_ack(20 * MSS, 50 * MS);
    assert_eq!(
        d.window.cwnd,
        21 * MSS,
        "no limit of 8 segments per ACK any more"
    );
}

#[test]
fn hystart_leaves_when_the_smallest_delay_of_a_round_grew() {
    let mut d = driver("hystart", 16);
    // ACKs 3 ms apart do not form a train. The threshold is 64 ms / 8 = 8 ms.
    round(&mut d, 64 * MS, 3 * MS);
    round(&mut d, 72 * MS, 3 * MS);
    assert_eq!(d.window.cwnd, 64 * MSS);
    round(&mut d, 73 * MS, 3 * MS);
    assert!(!d.window.in_slow_start());
    // Eight ACKs doubled the window, and the ninth ended slow start.
    assert_eq!(d.window.ssthresh, (64 + 8) * MSS);
}

#[test]
fn hystart_leaves_when_the_train_lasts_half_the_rtt() {
    let mut d = driver("hystart", 16);
    // ACKs 1 ms apart: trains of 15 and 31 ms are below 80 ms / 2. The third train passes it at its 42nd ACK.
    round(&mut d, 80 * MS, MS);
    round(&mut d, 80 * MS, MS);
    assert_eq!(d.window.cwnd, 64 * MSS);
    round(&mut d, 80 * MS, MS);
    assert!(!d.window.in_slow_start());
    assert_eq!(d.window.ssthresh, (64 + 41) * MSS);
}

#[test]
fn hystart_ignores_the_rtt_of_the_handshake() {
    let mut d = driver("hystart", 16);
    d.cc.on_handshake(&mut d.window, 40 * MS);
    round(&mut d, 64 * MS, 3 * MS);
    assert_eq!(d.window.cwnd, 32 * MSS);
}

#[test]
fn hystart_lets_small_windows_grow() {
    let mut d = driver("hystart", 4);
    round(&mut d, 64 * MS, 3 * MS);
    round(&mut d, 200 * MS, 3 * MS);
    assert_eq!(d.window.cwnd, 16 * MSS);
}
