use bloatlab_cc::{Ack, RateSample, Signal};

use crate::harness::{Driver, MS, MSS, Path, config};

const STARTUP: f64 = 0.0;
const DRAIN: f64 = 1.0;
const PROBE_BW: f64 = 2.0;
const PROBE_RTT: f64 = 3.0;

/// 100 segments of bandwidth-delay product: 1 MB/s and 100 ms.
const PATH: Path = Path {
    rate: 1e6,
    base_rtt: 100 * MS,
    buffer: 1 << 30,
};

/// A connection that has found its bottleneck.
fn steady() -> Driver {
    let mut d = Driver::new(r#""bbr""#, 10);
    for _ in 0..30 {
        PATH.round(&mut d, None);
    }
    assert_eq!(d.state("mode"), PROBE_BW);
    d
}

#[test]
fn pacing_starts_at_the_initial_window_over_a_millisecond_and_then_over_the_rtt() {
    let mut d = Driver::new(r#""bbr""#, 10);
    let gain = 2.0 / std::f64::consts::LN_2;
    assert_eq!(d.window.pacing, (gain * 10_000.0 / 0.001) as u64);
    d.on_ack(MSS, 100 * MS);
    assert_eq!(d.window.pacing, (gain * 10_000.0 / 0.1) as u64);
}

#[test]
fn startup_doubles_until_three_rounds_without_growth_then_drains() {
    let mut d = Driver::new(r#""bbr""#, 10);
    let mut modes = vec![d.state("mode")];
    let mut cwnd_at_exit = 0;
    for _ in 0..30 {
        let before = d.window.cwnd;
        PATH.round(&mut d, None);
        if d.state("mode") == STARTUP {
            cwnd_at_exit = d.window.cwnd;
            assert!(d.window.cwnd <= 2 * before);
        }
        if modes.last() != Some(&d.state("mode")) {
            modes.push(d.state("mode"));
        }
    }
    assert!(
        modes == [STARTUP, DRAIN, PROBE_BW] || modes == [STARTUP, PROBE_BW],
        "{modes:?}"
    );
    // In Startup the window may exceed the high gain times the bandwidth-delay product by three bursts.
    assert!(
        (200..=320).contains(&(cwnd_at_exit / MSS)),
        "{cwnd_at_exit}"
    );
    assert!((d.state("bw") - 1e6).abs() < 1e4);
    assert_eq!(d.state("min_rtt"), 100e6);
}

#[test]
fn probe_bw_holds_two_bandwidth_delay_products_and_three_bursts() {
    let mut d = steady();
    // The quantum at 1 MB/s (8 Mbit/s) is two segments. ACK aggregation adds at most 100 ms of data.
    let target = 2.0 * d.state("bw") * 0.1 + 6.0 * MSS as f64;
    assert!(d.window.cwnd as f64 >= target - 1.0);
    assert!(d.window.cwnd as f64 <= target + d.state("bw") * 0.1);
    let mut gains = Vec::new();
    for _ in 0..64 {
        PATH.round(&mut d, None);
        gains.push(d.state("pacing_gain"));
        let rate = d.window.pacing as f64 / (gains.last().unwrap() * d.state("bw"));
        assert!(
            (rate - 0.99).abs() < 1e-4,
            "one percent below the rate: {rate}"
        );
    }
    for gain in [1.25, 0.75, 1.0] {
        assert!(gains.contains(&gain), "{gains:?}");
    }
}

#[test]
fn the_handshake_gives_the_first_rtt() {
    let mut d = Driver::new(r#""bbr""#, 10);
    d.cc.on_handshake(&mut d.window, 50 * MS);
    let gain = 2.0 / std::f64::consts::LN_2;
    assert_eq!(d.window.pacing, (gain * 10_000.0 / 0.05) as u64);
    assert_eq!(d.state("min_rtt"), 50e6);
    d.on_ack(MSS, 100 * MS);
    assert_eq!(d.state("min_rtt"), 50e6);
    assert_eq!(
        d.window.pacing,
        (gain * 10_000.0 / 0.05) as u64,
        "only once"
    );
}

#[test]
fn the_window_is_even_and_two_larger_where_it_probes() {
    let mut d = steady();
    let mut seen = [false; 3];
    let mut before = 0.0;
    for _ in 0..64 {
        PATH.round(&mut d, None);
        if d.state("mode") != PROBE_BW {
            before = 0.0;
            continue;
        }
        let segments = d.window.cwnd as f64 / MSS as f64;
        assert_eq!(segments % 2.0, 0.0);
        // The last ACK of the round set the window, in the phase that it started or continued.
        let gain = d.state("pacing_gain");
        let bdp = d.state("bw") * d.state("min_rtt") * 1e-9 / MSS as f64;
        // At 1 MB/s a millisecond holds one segment, so the quantum is two, also at 1.25 times the rate.
        let least = 2.0 * (bdp + 3.0);
        let even = (least / 2.0).ceil() * 2.0;
        let up = if gain > 1.0 { 2.0 } else { 0.0 };
        if gain == before {
            assert!(segments >= even + up, "{segments} at {gain}");
        }
        seen[usize::from(gain > 1.0) + 2 * usize::from(gain < 1.0)] = true;
        before = gain;
    }
    assert_eq!(seen, [true; 3]);
}

#[test]
fn a_burst_is_whole_segments_of_a_millisecond() {
    // 2^-10 s of 0.99 * 10 MB/s is 9.67 segments, rounded down to nine. Three bursts are added to two bandwidth-delay products, which are 2000
    // segments.
    let path = Path { rate: 1e7, ..PATH };
    let mut d = Driver::new(r#"{"kind": "bbr", "extra_acked_gain": 0.0}"#, 10);
    for _ in 0..60 {
        path.round(&mut d, None);
        let cruising = d.state("mode") == PROBE_BW && d.state("pacing_gain") == 1.0;
        if cruising && d.state("bw") == 1e7 && d.window.cwnd == 2028 * MSS {
            return;
        }
    }
    panic!("{} segments at {} B/s", d.cwnd_segments(), d.state("bw"));
}

#[test]
fn the_first_phase_is_random_and_never_the_draining_one() {
    let mut gains = Vec::new();
    for seed in 0..64 {
        let mut cc = config(r#""bbr""#)
            .build(bloatlab_units::Streams::new(seed).stream("cc"))
            .unwrap();
        let mut window = bloatlab_cc::Window::new(MSS, 10);
        cc.on_start(&mut window, 0);
        let gain = |cc: &dyn bloatlab_cc::CongestionControl, key| {
            cc.state().iter().find(|(k, _)| *k == key).unwrap().1
        };
        // Five rounds of one ACK each at the same rate: the first counts as growth, the next three do not.
        for round in 1..=5 {
            let ack = Ack {
                now: round * 100 * MS,
                delivered_now: MSS,
                delivered: round * MSS,
                rtt: 100 * MS,
                rate: RateSample {
                    delivered: MSS,
                    interval: 100 * MS,
                    prior_delivered: (round - 1) * MSS,
                    app_limited: false,
                },
                ..Ack::default()
            };
            cc.on_ack(&mut window, &ack);
            if gain(&*cc, "mode") == PROBE_BW {
                break;
            }
        }
        assert_eq!(gain(&*cc, "mode"), PROBE_BW);
        gains.push(gain(&*cc, "pacing_gain"));
    }
    assert!(gains.contains(&1.25) && gains.contains(&1.0) && !gains.contains(&0.75));
}

#[test]
fn probe_rtt_comes_after_ten_seconds_without_a_smaller_rtt() {
    let mut d = steady();
    let cwnd = d.window.cwnd;
    // The first round trip had the smallest RTT, and equal RTTs do not extend its validity. Then another flow builds a queue.
    let longer = Path {
        rate: 1e6,
        base_rtt: 110 * MS,
        buffer: 1 << 30,
    };
    while d.state("mode") == PROBE_BW {
        longer.round(&mut d, None);
        assert!(d.now < 11_000 * MS, "no ProbeRTT");
    }
    assert!(d.now > 10_000 * MS, "too early: {}", d.now);
    assert_eq!(d.state("mode"), PROBE_RTT);
    assert_eq!(d.window.cwnd, 4 * MSS);
    let entered = d.now;
    while d.state("mode") == PROBE_RTT {
        assert_eq!(d.window.cwnd, 4 * MSS);
        longer.round(&mut d, None);
    }
    let lasted = d.now - entered;
    assert!((200 * MS..600 * MS).contains(&lasted), "{lasted}");
    assert_eq!(d.state("min_rtt"), 110e6);
    longer.round(&mut d, None);
    assert!(d.window.cwnd >= cwnd - 20 * MSS, "the window is restored");
    // The slow rounds of ProbeRTT did not change the rate estimate.
    assert!(d.state("bw") > 0.9e6);
}

#[test]
fn recovery_conserves_packets_for_a_round_and_then_restores_the_window() {
    let mut d = steady();
    let before = d.window.cwnd;
    let delivered = d.una;
    let ack = Ack {
        in_flight: 90 * MSS,
        lost_now: 10 * MSS,
        ..d.ack(MSS, 100 * MS)
    };
    d.cc.on_congestion(&mut d.window, Signal::Loss, &ack);
    assert_eq!(d.window.cwnd, 91 * MSS, "in flight plus what was delivered");
    // Data sent before the loss: the window follows what is in flight.
    let ack = Ack {
        in_flight: 95 * MSS,
        rate: RateSample {
            delivered: 100 * MSS,
            interval: 100 * MS,
            prior_delivered: delivered - MSS,
            app_limited: false,
        },
        ..d.ack(2 * MSS, 100 * MS)
    };
    d.cc.on_ack(&mut d.window, &ack);
    assert_eq!(d.window.cwnd, 97 * MSS);
    // Data sent after it: a round is over, the window grows towards its target again.
    let ack = Ack {
        in_flight: 10 * MSS,
        rate: RateSample {
            delivered: 100 * MSS,
            interval: 100 * MS,
            prior_delivered: d.una,
            app_limited: false,
        },
        ..d.ack(3 * MSS, 100 * MS)
    };
    d.cc.on_ack(&mut d.window, &ack);
    assert_eq!(d.window.cwnd, 100 * MSS);
    d.cc.on_recovered(&mut d.window, &ack);
    d.cc.on_ack(&mut d.window, &ack);
    assert_eq!(d.window.cwnd, before + 3 * MSS);
}

#[test]
fn a_recovery_that_begins_as_another_ends_does_not_reduce_the_window() {
    let mut d = steady();
    let lost = |d: &mut Driver, segments| Ack {
        in_flight: 50 * MSS,
        lost_now: segments * MSS,
        ..d.ack(MSS, 100 * MS)
    };
    let ack = lost(&mut d, 10);
    d.cc.on_congestion(&mut d.window, Signal::Loss, &ack);
    d.cc.on_ack(&mut d.window, &ack);
    assert_eq!(d.window.cwnd, 51 * MSS);
    for _ in 0..60 {
        let round = Ack {
            in_flight: 50 * MSS,
            rate: RateSample {
                delivered: 100 * MSS,
                interval: 100 * MS,
                prior_delivered: d.una,
                app_limited: false,
            },
            ..d.ack(MSS, 100 * MS)
        };
        d.cc.on_ack(&mut d.window, &round);
    }
    let before = d.window.cwnd;
    assert!(before > 100 * MSS);
    // The same ACK ends the recovery and shows the next losses.
    let ack = lost(&mut d, 2);
    d.cc.on_recovered(&mut d.window, &ack);
    d.cc.on_congestion(&mut d.window, Signal::Loss, &ack);
    d.cc.on_ack(&mut d.window, &ack);
    assert_eq!(d.window.cwnd, before - 2 * MSS + MSS);
    // Another ACK would have reduced it.
    d.cc.on_recovered(&mut d.window, &ack);
    d.cc.on_ack(&mut d.window, &ack);
    d.cc.on_congestion(&mut d.window, Signal::Loss, &ack);
    d.cc.on_ack(&mut d.window, &ack);
    assert_eq!(d.window.cwnd, 51 * MSS);
}

/// Rounds in which 40 segments arrive and a share of them is lost, although the samples say 100 segments. Returns the rate that BBR uses after each.
fn policed(d: &mut Driver, rounds: usize, lost_segments: u64) -> Vec<f64> {
    let mut lost = 0;
    let round = |_| {
        let prior_delivered = d.una;
        for segment in 0..40 {
            d.now += 100 * MS / 40;
            let lost_now = if segment == 39 {
                lost_segments * MSS
            } else {
                0
            };
            lost += lost_now;
            let ack = Ack {
                lost,
                lost_now,
                rate: RateSample {
                    delivered: 100 * MSS,
                    interval: 100 * MS,
                    prior_delivered,
                    app_limited: false,
                },
                ..d.ack(MSS, 100 * MS)
            };
            d.cc.on_ack(&mut d.window, &ack);
        }
        d.state("bw")
    };
    (0..rounds).map(round).collect()
}

#[test]
fn a_flow_that_a_policer_limits_takes_its_rate_for_48_rounds() {
    let mut d = steady();
    let bw = d.state("bw");
    let rates = policed(&mut d, 80, 10);
    let first = rates.iter().position(|&rate| rate < 0.5 * bw).unwrap();
    assert!(
        (8..14).contains(&first),
        "two intervals of at least four rounds, not {first}"
    );
    let used = rates[first..].iter().take_while(|&&rate| rate < 0.5 * bw);
    // Rounds of ProbeRTT do not count.
    let rounds = used.clone().count();
    assert!((48..=51).contains(&rounds), "{rounds}");
    for rate in used {
        assert!(
            (rate / 400_000.0 - 1.0).abs() < 0.05,
            "40 segments per 100 ms, not {rate}"
        );
    }
    assert!(rates[first + rounds] > 0.9 * bw);
}

#[test]
fn no_policer_is_seen_where_less_is_lost_or_it_is_not_looked_for() {
    let mut d = steady();
    let bw = d.state("bw");
    assert!(policed(&mut d, 40, 7).iter().all(|&rate| rate > 0.9 * bw));
    let mut d = Driver::new(r#"{"kind": "bbr", "detects_policer": false}"#, 10);
    for _ in 0..30 {
        PATH.round(&mut d, None);
    }
    assert!(policed(&mut d, 40, 10).iter().all(|&rate| rate > 0.9 * bw));
}

#[test]
fn a_timeout_starts_at_one_segment_and_ends_where_it_was() {
    let mut d = steady();
    let before = d.window.cwnd;
    let ack = d.ack(0, 0);
    d.cc.on_congestion(&mut d.window, Signal::Timeout, &ack);
    d.cc.on_timeout(&mut d.window, d.now);
    assert_eq!(d.window.cwnd, MSS);
    d.on_ack(MSS, 100 * MS);
    assert_eq!(
        d.window.cwnd,
        4 * MSS,
        "at least four segments once ACKs return"
    );
    let ack = d.ack(MSS, 100 * MS);
    d.cc.on_recovered(&mut d.window, &ack);
    d.cc.on_ack(&mut d.window, &ack);
    assert_eq!(d.window.cwnd, before);
}

#[test]
fn samples_that_the_application_limits_do_not_lower_the_rate() {
    let mut d = steady();
    let rate = d.state("bw");
    for round in 0..40 {
        d.now += 100 * MS;
        let ack = Ack {
            rate: RateSample {
                delivered: 5 * MSS,
                interval: 100 * MS,
                prior_delivered: d.una,
                app_limited: true,
            },
            ..d.ack(5 * MSS, 100 * MS)
        };
        d.cc.on_ack(&mut d.window, &ack);
        assert_eq!(d.state("bw"), rate, "round {round}");
    }
}

#[test]
fn an_idle_restart_paces_at_the_rate() {
    let mut d = steady();
    while d.state("pacing_gain") != 1.25 {
        PATH.round(&mut d, None);
    }
    d.cc.on_send(&mut d.window, d.now, MSS, true);
    assert_eq!(d.window.pacing, (d.state("bw") * 0.99) as u64);
}

#[test]
fn probe_rtt_tells_nothing_about_the_rate() {
    // A filter of two rounds would forget the rate in ProbeRTT if its samples counted.
    let mut d = Driver::new(r#"{"kind": "bbr", "bw_window": 2, "probe_rtt": "2s"}"#, 10);
    let longer = Path {
        base_rtt: 110 * MS,
        ..PATH
    };
    for _ in 0..30 {
        PATH.round(&mut d, None);
    }
    while d.state("mode") != PROBE_RTT {
        longer.round(&mut d, None);
    }
    let rate = d.state("bw");
    while d.state("mode") == PROBE_RTT {
        longer.round(&mut d, None);
        assert!(d.state("bw") > 0.9 * rate);
    }
}

#[test]
fn a_needless_recovery_restarts_the_search_for_the_full_pipe() {
    // Startup ends after three rounds without growth. An undo after two of them allows three more.
    let rounds_of_startup = |undo_after: Option<usize>| {
        let mut d = Driver::new(r#""bbr""#, 10);
        let mut rounds = 0;
        while d.state("mode") == STARTUP {
            if undo_after == Some(rounds) {
                let ack = d.ack(0, 0);
                d.cc.on_undo(&mut d.window, &ack);
            }
            PATH.round(&mut d, None);
            rounds += 1;
        }
        rounds
    };
    let usual = rounds_of_startup(None);
    let longer = rounds_of_startup(Some(usual - 1));
    assert!(longer > usual, "{longer}, {usual}");
}
