use bloatlab_cc::{Ack, Signal};

use crate::harness::{Driver, MS, MSS};

/// CUBIC in congestion avoidance, after a loss at this window.
fn after_loss(json: &str, segments: u64) -> Driver {
    let mut d = Driver::new(json, segments);
    d.congestion(Signal::Loss);
    d
}

const PURE: &str = r#"{"kind": "cubic", "tcp_friendliness": false}"#;

#[test]
fn k_is_the_cube_root_of_the_cut_over_c() {
    // 100 segments, beta 0.7: K = cbrt(30 / 0.4) = cbrt(75) = 4.2172 s.
    let mut d = after_loss(PURE, 100);
    assert_eq!(d.window.cwnd, 70 * MSS);
    d.on_ack(MSS, 100 * MS);
    assert!((d.state("k") - 4.217_163).abs() < 1e-6);
    assert_eq!(d.state("w_max"), 100_000.0);
}

#[test]
fn the_window_follows_the_cubic_and_reaches_w_max_at_k() {
    let mut d = after_loss(PURE, 100);
    let rtt = 100 * MS;
    let mut at = Vec::new();
    // One ACK per segment, a window per RTT, for 8.5 s.
    for round in 0..85 {
        let segments = d.window.cwnd / MSS;
        for _ in 0..segments {
            d.now += rtt / segments;
            d.on_ack(MSS, rtt);
        }
        if (round + 1) % 10 == 0 {
            at.push(d.cwnd_segments());
        }
    }
    // W(t) = 0.4 (t - 4.2172)^3 + 100 at 1, 2, ..., 8 s, one RTT (0.1 s) ahead.
    for (second, measured) in (1..=8).zip(at) {
        let t = f64::from(second) - 4.217_163;
        let w = |t: f64| 0.4 * t * t * t + 100.0;
        let (low, high) = (w(t) - 0.3, w(t + 0.1) + 0.3);
        assert!(
            (low..high).contains(&measured),
            "{second} s: {measured} not in {low}..{high}"
        );
    }
}

#[test]
fn the_target_never_exceeds_one_and_a_half_windows() {
    // An hour into the epoch the cubic is far above the window, but one segment may add only (1.5 - 1) segments.
    let mut d = after_loss(PURE, 100);
    d.on_ack(MSS, 100 * MS);
    let before = d.window.cwnd;
    d.now = 3_600_000 * MS;
    d.on_ack(MSS, 100 * MS);
    assert_eq!(d.window.cwnd - before, MSS / 2);
}

#[test]
fn reno_friendly_region_grows_by_alpha_and_then_by_one() {
    // 10 segments, RTT 10 ms: the cubic is slow, W_est adds alpha = 3 * 0.3 / 1.7 = 0.529 per window.
    let mut d = after_loss(r#""cubic""#, 10);
    assert_eq!(d.window.cwnd, 7 * MSS);
    let mut rounds = 0;
    while d.window.cwnd < 10 * MSS {
        let segments = d.window.cwnd / MSS;
        for _ in 0..segments {
            d.now += 10 * MS / segments;
            d.on_ack(MSS, 10 * MS);
        }
        rounds += 1;
    }
    // 3 segments / 0.529 = 5.67 rounds, slightly more because each window of ACKs is rounded down to whole segments.
    assert!((6..=7).contains(&rounds), "{rounds}");
    let before = d.state("w_est");
    let cwnd = d.window.cwnd as f64;
    d.on_ack(MSS, 10 * MS);
    // Above cwnd_prior alpha is 1: MSS * MSS / cwnd.
    assert!((d.state("w_est") - before - 1e6 / cwnd).abs() < 1e-6);
}

const LINUX: &str = r#"{"kind": "cubic", "variant": "linux"}"#;

#[test]
fn linux_never_speeds_the_estimate_of_renos_window_up() {
    let mut d = after_loss(LINUX, 10);
    while d.state("w_est") < 11.0 * MSS as f64 {
        d.now += 40 * MS;
        d.on_ack(MSS, 10 * MS);
    }
    let cwnd = d.window.cwnd / MSS;
    let mut acked = 0;
    while d.state("w_est") < 12.0 * MSS as f64 {
        d.now += 40 * MS;
        d.on_ack(MSS, 10 * MS);
        acked += 1;
        assert_eq!(d.window.cwnd % MSS, 0, "whole segments");
    }
    // Above cwnd_prior a segment still takes 15 / 8 windows: alpha is 3 * 0.3 / 1.7.
    assert!(
        (cwnd * 15 / 8..=(cwnd + 1) * 15 / 8).contains(&acked),
        "{acked} at {cwnd}"
    );
}

#[test]
fn linux_gives_a_small_window_back_at_once() {
    // A loss reduces 3 to 2.1, in whole segments 2. The cubic is 0.4 * 1.36^3 = 1 below 3, and a moment later it is rounded to 3.
    let mut d = after_loss(LINUX, 3);
    assert_eq!(d.window.cwnd, 2 * MSS);
    d.min_rtt = 20 * MS;
    d.on_ack(2 * MSS, 20 * MS);
    assert_eq!(d.window.cwnd, 3 * MSS);
    let mut rfc = after_loss(r#""cubic""#, 3);
    rfc.on_ack(2 * MSS, 20 * MS);
    assert!(rfc.cwnd_segments() < 2.7, "{}", rfc.cwnd_segments());
    // With fast convergence, 5 gives a target of 5, and then 3 gives 3 * 1741 / 2048 = 2.
    let mut d = after_loss(LINUX, 5);
    d.congestion(Signal::Loss);
    assert_eq!((d.window.cwnd, d.state("w_max")), (2 * MSS, 2000.0));
}

#[test]
fn linux_grows_by_a_twentieth_a_round_before_the_first_loss() {
    for (json, grown) in [(LINUX, 1050), (r#""cubic""#, 1000)] {
        let mut d = Driver::new(json, 1000);
        d.window.ssthresh = d.window.cwnd;
        for _ in 0..1000 {
            d.on_ack(MSS, MS);
        }
        // The window grows while the ACKs of its round arrive, so 1000 ACKs are 1000 / 1025 of a round on average.
        let segments = d.cwnd_segments();
        assert!(
            (segments - f64::from(grown)).abs() < 3.0,
            "{json}: {segments}"
        );
    }
}

#[test]
fn fast_convergence_aims_lower_after_a_loss_below_w_max() {
    let mut d = after_loss(PURE, 100);
    d.congestion(Signal::Loss);
    // The second loss came at 70 < 100: W_max = 70 * (1 + 0.7) / 2 = 59.5.
    assert_eq!(d.state("w_max"), 59_500.0);
    assert_eq!(d.window.cwnd, 49 * MSS);
    let mut slow = after_loss(r#"{"kind": "cubic", "fast_convergence": false}"#, 100);
    slow.congestion(Signal::Loss);
    assert_eq!(slow.state("w_max"), 70_000.0);
}

#[test]
fn after_a_timeout_the_epoch_starts_at_its_own_window() {
    let mut d = Driver::new(PURE, 100);
    d.congestion(Signal::Timeout);
    assert_eq!((d.window.cwnd, d.window.ssthresh), (MSS, 70 * MSS));
    while d.window.in_slow_start() {
        d.on_ack(MSS, 100 * MS);
    }
    assert_eq!(d.window.cwnd, 70 * MSS);
    d.on_ack(MSS, 100 * MS);
    assert_eq!((d.state("k"), d.state("w_max")), (0.0, 70_000.0));
}

#[test]
fn time_without_a_full_window_does_not_count() {
    let drive = |pause: u64| {
        let mut d = after_loss(PURE, 100);
        d.on_ack(MSS, 100 * MS);
        d.now += 2_000 * MS;
        d.on_ack(MSS, 100 * MS);
        // A pause, which the algorithm sees either in ACKs that are not limited by cwnd or as an idle restart.
        d.now += pause;
        let idle = Ack {
            cwnd_limited: false,
            ..d.ack(MSS, 100 * MS)
        };
        d.cc.on_ack(&mut d.window, &idle);
        d.now += pause;
        d.cc.on_idle_restart(&mut d.window, d.now, pause);
        d.now += MS;
        d.on_ack(MSS, 100 * MS);
        d.window.cwnd
    };
    assert_eq!(drive(0), drive(60_000 * MS));
}

#[test]
fn the_smallest_windows_of_linux_grow_under_any_beta() {
    for beta in [0.1, 0.15, 0.2] {
        let cc = format!(r#"{{"kind": "cubic", "variant": "linux", "beta": {beta}}}"#);
        let mut d = Driver::new(&cc, 2);
        d.congestion(Signal::Loss);
        for _ in 0..20 {
            d.now += 100 * MS;
            d.on_ack(MSS, 100 * MS);
        }
        assert!(d.window.cwnd > 2 * MSS, "beta {beta}: {}", d.window.cwnd);
    }
}
