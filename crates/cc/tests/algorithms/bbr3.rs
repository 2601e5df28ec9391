use bloatlab_cc::{Ack, RateSample};

use crate::harness::{Driver, MS, MSS, Path};

const STARTUP: f64 = 0.0;
const DRAIN: f64 = 1.0;
const DOWN: f64 = 2.0;
const CRUISE: f64 = 3.0;
const REFILL: f64 = 4.0;
const UP: f64 = 5.0;
const PROBE_RTT: f64 = 6.0;

/// 100 segments of bandwidth-delay product: 1 MB/s and 100 ms.
const PATH: Path = Path {
    rate: 1e6,
    base_rtt: 100 * MS,
    buffer: 1 << 30,
};

/// A connection that has found its bottleneck, in this mode.
fn in_mode(mode: f64) -> Driver {
    let mut d = Driver::new(r#""bbr3""#, 10);
    for _ in 0..200 {
        PATH.round(&mut d, None);
        if d.state("mode") == mode {
            return d;
        }
    }
    panic!("never in mode {mode}");
}

/// An ACK of a segment that was sent at this count of delivered bytes.
fn ack(d: &mut Driver, prior_delivered: u64, lost_now: u64, lost: u64) -> Ack {
    let mut ack = d.ack(MSS, 100 * MS);
    ack.lost_now = lost_now;
    ack.lost = lost;
    ack.rate = RateSample {
        delivered: 60 * MSS,
        interval: 100 * MS,
        prior_delivered,
        app_limited: false,
    };
    ack
}

#[test]
fn startup_paces_at_four_ln_two_and_doubles() {
    let mut d = Driver::new(r#""bbr3""#, 10);
    assert_eq!(d.window.pacing, (2.77 * 10_000.0 / 0.001) as u64);
    d.cc.on_handshake(&mut d.window, 100 * MS);
    assert_eq!(d.window.pacing, (2.77 * 10_000.0 / 0.1) as u64);
    PATH.round(&mut d, None);
    assert_eq!((d.window.cwnd, d.state("mode")), (20 * MSS, STARTUP));
}

#[test]
fn a_full_pipe_is_drained_and_then_probed_in_turns() {
    let mut d = Driver::new(r#""bbr3""#, 10);
    let mut modes = vec![STARTUP];
    for _ in 0..45 {
        PATH.round(&mut d, None);
        if modes.last() != Some(&d.state("mode")) {
            modes.push(d.state("mode"));
        }
    }
    // The first Down ends within a round trip, because Drain left no queue.
    assert_eq!(modes[..6], [STARTUP, DRAIN, CRUISE, REFILL, UP, DOWN]);
    assert!((d.state("bw") - 1e6).abs() < 1e4);
    assert_eq!(d.state("min_rtt"), 100e6);
}

#[test]
fn probes_upwards_every_two_to_three_seconds() {
    let mut d = in_mode(UP);
    let (mut waits, mut since, mut before) = (Vec::new(), 0, UP);
    for _ in 0..600 {
        PATH.round(&mut d, None);
        let mode = d.state("mode");
        if mode == REFILL && before != REFILL {
            waits.push((d.now - since) / MS);
        }
        if matches!(before, UP | PROBE_RTT) && mode != before {
            since = d.now;
        }
        before = mode;
    }
    assert!(waits.len() >= 10, "{waits:?}");
    // Plus a part of a round trip at either end.
    assert!(
        waits.iter().all(|wait| (1800..3300).contains(wait)),
        "{waits:?}"
    );
}

#[test]
fn probe_rtt_holds_half_a_bandwidth_delay_product_every_five_seconds() {
    let mut d = in_mode(CRUISE);
    let mut times = Vec::new();
    for _ in 0..300 {
        PATH.round(&mut d, None);
        if d.state("mode") == PROBE_RTT {
            assert!(
                (45..=50).contains(&(d.window.cwnd / MSS)),
                "{}",
                d.window.cwnd
            );
            times.push(d.now / MS);
        }
    }
    let starts: Vec<u64> = times
        .iter()
        .copied()
        .filter(|t| !times.contains(&(t - 100)))
        .collect();
    assert!(starts.len() >= 3, "{times:?}");
    for pair in starts.windows(2) {
        assert!((5000..6500).contains(&(pair[1] - pair[0])), "{times:?}");
    }
}

#[test]
fn a_loss_while_cruising_leaves_70_percent_or_what_was_delivered() {
    let mut d = in_mode(CRUISE);
    let cwnd = d.window.cwnd;
    // A round of losses starts. It ends with the first segment sent after it.
    let delivered = d.una;
    let lossy = ack(&mut d, delivered, MSS, MSS);
    d.tell(&lossy);
    let delivered = d.una;
    let next = ack(&mut d, delivered, 0, MSS);
    d.tell(&next);
    let bound = d.state("inflight_shortterm");
    assert!(
        (bound - 0.7 * cwnd as f64).abs() < MSS as f64,
        "{bound} {cwnd}"
    );
    assert!(d.window.cwnd as f64 <= bound);
    // The next probe resets the short-term bounds.
    for _ in 0..40 {
        PATH.round(&mut d, None);
        if d.state("mode") == UP {
            break;
        }
    }
    assert!(
        !d.cc
            .state()
            .iter()
            .any(|(name, _)| *name == "inflight_shortterm")
    );
}

#[test]
fn a_probe_that_loses_two_percent_sets_the_long_term_bound() {
    for (lost, bound) in [(2, None), (4, Some(150.0))] {
        let mut d = in_mode(UP);
        let delivered = d.una;
        let first = ack(&mut d, delivered, 0, 0);
        d.tell(&first);
        d.cc.on_send(&mut d.window, d.now, 150 * MSS, false);
        let delivered = d.una;
        let now = ack(&mut d, delivered, lost * MSS, lost * MSS);
        d.tell(&now);
        let long =
            d.cc.state()
                .into_iter()
                .find(|(name, _)| *name == "inflight_longterm");
        assert_eq!(long.map(|(_, bytes)| bytes / MSS as f64), bound, "{lost}");
        assert_eq!(d.state("mode"), if bound.is_some() { DOWN } else { UP });
    }
}

#[test]
fn bursts_hold_two_segments_however_large() {
    for mss in [32_768, 32_769, 65_000] {
        let config = crate::harness::config(r#""bbr3""#);
        let d = Driver::with_mss(&config, mss, 10);
        assert_eq!(d.window.quantum, 2 * mss);
    }
}
