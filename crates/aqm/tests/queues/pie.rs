//! Tests PIE against RFC 8033, with the expected steps computed by hand.

use crate::common::{Log, TestPacket, build, ms, packet, stat};
use bloatlab_aqm::Verdict::{self, Drop, Forward, Mark};
use bloatlab_aqm::pie::{Params, PieController, PieState};
use bloatlab_aqm::{Ecn, Qdisc};
use bloatlab_units::{Duration, MILLISECOND, Rng, Streams};
use serde_json::json;

const DEEP: u64 = 100_000;

fn rng() -> Rng {
    Streams::new(1).stream("pie")
}

/// The state of a controller without burst allowance after updates at these delays (seconds).
fn after(params: Params, delays: &[f64]) -> (PieController, PieState) {
    let params = Params {
        max_burst: Duration(0),
        ..params
    };
    let (controller, mut state) = (PieController::new(&params, 1500), PieState::new(&params));
    delays
        .iter()
        .for_each(|&delay| controller.update(&mut state, delay, DEEP));
    (controller, state)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

#[test]
fn steps_grow_with_the_probability_as_the_table_says() {
    // 20 ms after 0: 0.125 * 0.005 + 1.25 * 0.02 = 0.025625, over 2048 because p is 0.
    let (controller, mut state) = after(Params::default(), &[0.020]);
    assert!(close(state.prob(), 0.025625 / 2048.0));
    // From then on the delay stays at 20 ms, so each step is 0.125 * 0.005 = 0.000625, divided by the divisor of p's decade.
    let table = [
        (1e-6, 2048.0),
        (1e-5, 512.0),
        (1e-4, 128.0),
        (1e-3, 32.0),
        (1e-2, 8.0),
        (1e-1, 2.0),
        (1.0, 1.0),
    ];
    let mut seen = Vec::new();
    while state.prob() < 0.2 {
        let before = state.prob();
        let (_, divisor) = table.iter().find(|(below, _)| before < *below).unwrap();
        controller.update(&mut state, 0.020, DEEP);
        assert!(
            (state.prob() - before - 0.000625 / divisor).abs() < 1e-15,
            "at {before}"
        );
        seen.push(*divisor);
    }
    seen.dedup();
    assert_eq!(seen, [128.0, 32.0, 8.0, 2.0, 1.0]);
    // The lower decades, with alpha 0: each additional millisecond contributes 1.25 * 0.001, divided by the divisor.
    let (controller, mut state) = after(
        Params {
            alpha: 0.0,
            ..Params::default()
        },
        &[0.001],
    );
    assert!(close(state.prob(), 0.00125 / 2048.0));
    controller.update(&mut state, 0.002, DEEP);
    assert!(close(state.prob(), 2.0 * 0.00125 / 2048.0));
    controller.update(&mut state, 0.003, DEEP);
    assert!(close(
        state.prob(),
        2.0 * 0.00125 / 2048.0 + 0.00125 / 512.0
    ));
}

/// A state whose probability is 0.1 or a little more at a delay of 20 ms.
fn at_a_tenth() -> (PieController, PieState) {
    let (controller, mut state) = after(Params::default(), &[0.020]);
    while state.prob() < 0.1 {
        controller.update(&mut state, 0.020, DEEP);
    }
    (controller, state)
}

#[test]
fn above_a_tenth_a_step_is_at_most_two_hundredths() {
    let (controller, mut state) = at_a_tenth();
    let before = state.prob();
    // 0.125 * 0.185 + 1.25 * 0.18 = 0.248125: capped.
    controller.update(&mut state, 0.200, DEEP);
    assert!(close(state.prob(), before + 0.02));
    // Above 250 ms, 0.02 is added: 0.125 * 0.285 + 1.25 * 0.1 is capped as well.
    controller.update(&mut state, 0.300, DEEP);
    assert!(close(state.prob(), before + 0.02 + 0.04));
}

#[test]
fn an_idle_queue_forgets() {
    let (controller, mut state) = at_a_tenth();
    let before = state.prob();
    // 0.125 * -0.015 + 1.25 * -0.02 = -0.026875. There is no decay yet, because the previous delay was not 0.
    controller.update(&mut state, 0.0, 0);
    let first = before - 0.026875;
    assert!(close(state.prob(), first));
    // Now 0.125 * -0.015 / 2 = -0.0009375. A queue that holds packets is not idle, whatever the delay of the last departure.
    let mut busy = state;
    controller.update(&mut busy, 0.0, 1500);
    assert!(close(busy.prob(), first - 0.0009375));
    // If it is empty, the result is multiplied by 63/64.
    controller.update(&mut state, 0.0, 0);
    assert!(close(state.prob(), (first - 0.0009375) * 63.0 / 64.0));
    (0..1000).for_each(|_| controller.update(&mut state, 0.0, 0));
    assert_eq!(state.prob(), 0.0);
}

/// The decisions for `n` full-sized packets at a long queue.
fn arrivals(controller: &PieController, state: &mut PieState, n: usize) -> Vec<Verdict> {
    let mut rng = rng();
    (0..n)
        .map(|_| controller.judge(state, DEEP, 1500, &mut rng))
        .collect()
}

#[test]
fn a_burst_passes_for_150_ms_and_again_after_congestion_ends() {
    let params = Params::default();
    let (controller, mut state) = (PieController::new(&params, 1500), PieState::new(&params));
    // Ten updates of 15 ms use up the burst allowance. The probability approaches 1 much earlier.
    for update in 1..=10 {
        assert!(
            !arrivals(&controller, &mut state, 1000).contains(&Drop),
            "update {update}"
        );
        controller.update(&mut state, 2.0 + f64::from(update), DEEP);
    }
    assert!(arrivals(&controller, &mut state, 1000).contains(&Drop));
    // Without congestion: probability 0, and both this and the previous delay below half the target.
    (0..2000).for_each(|_| controller.update(&mut state, 0.0, 0));
    assert_eq!(state.prob(), 0.0);
    controller.update(&mut state, 5.0, DEEP);
    assert!(!arrivals(&controller, &mut state, 1000).contains(&Drop));
}

#[test]
fn drops_keep_their_distance() {
    let (controller, mut state) = at_a_tenth();
    let verdicts = arrivals(&controller, &mut state, 100_000);
    let drops: Vec<usize> = verdicts
        .iter()
        .enumerate()
        .filter(|(_, v)| **v == Drop)
        .map(|(i, _)| i)
        .collect();
    let gaps = drops.windows(2).map(|pair| pair[1] - pair[0]);
    // p is 0.1002: the sum first reaches 0.85 at the 9th packet and 8.5 at the 85th.
    assert_eq!(gaps.clone().min(), Some(9));
    assert!(gaps.clone().max() <= Some(85));
    // Eight packets that are certainly not dropped, then a geometric wait: 8 + 1 / p = 18 packets on average.
    let mean = gaps.sum::<usize>() as f64 / (drops.len() - 1) as f64;
    assert!((mean - 18.0).abs() < 0.6, "{mean}");
}

#[test]
fn nothing_is_dropped_while_the_queue_is_short_or_the_delay_low() {
    let (controller, mut state) = at_a_tenth();
    let mut rng = rng();
    assert!((0..1000).all(|_| controller.judge(&mut state, 2999, 1500, &mut rng) == Forward));
    assert!((0..1000).any(|_| controller.judge(&mut state, 3000, 1500, &mut rng) == Drop));
    // The delay falls below half the target, and the probability is below 0.2.
    controller.update(&mut state, 0.0074, DEEP);
    assert!(state.prob() > 0.05);
    assert!(!arrivals(&controller, &mut state, 1000).contains(&Drop));
}

#[test]
fn the_newest_delay_decides_whether_the_delay_is_low() {
    // The last update saw 20 ms; then a packet leaves after 1 ms, and one that leaves the queue empty.
    for (sojourn, backlog) in [(MILLISECOND, DEEP), (20 * MILLISECOND, 0)] {
        let (controller, mut state) = at_a_tenth();
        state.departed(sojourn, backlog);
        assert!(!arrivals(&controller, &mut state, 1000).contains(&Drop));
        state.departed(8 * MILLISECOND, DEEP);
        assert!(arrivals(&controller, &mut state, 1000).contains(&Drop));
    }
}

#[test]
fn marks_stop_when_the_probability_passes_a_tenth() {
    let (controller, mut state) = after(
        Params {
            ecn: true,
            ..Params::default()
        },
        &[0.020],
    );
    while state.prob() < 0.09 {
        controller.update(&mut state, 0.020, DEEP);
    }
    let verdicts = arrivals(&controller, &mut state, 1000);
    assert!(verdicts.contains(&Mark) && !verdicts.contains(&Drop));
    while state.prob() <= 0.1 {
        controller.update(&mut state, 0.020, DEEP);
    }
    let verdicts = arrivals(&controller, &mut state, 1000);
    assert!(verdicts.contains(&Drop) && !verdicts.contains(&Mark));
}

#[test]
fn in_byte_mode_small_packets_are_dropped_less() {
    let (controller, mut state) = after(
        Params {
            bytemode: true,
            ..Params::default()
        },
        &[0.020],
    );
    while state.prob() < 0.1 {
        controller.update(&mut state, 0.020, DEEP);
    }
    let mut rng = rng();
    let mut drops = |size| {
        (0..30_000)
            .filter(|_| controller.judge(&mut state, DEEP, size, &mut rng) == Drop)
            .count()
    };
    // Drops are 18 packets apart at p = 0.1, and 84 + 1 / 0.01 = 184 apart at a tenth of the packet size.
    let (large, small) = (drops(1500), drops(150));
    assert!((1600..1740).contains(&large), "{large}");
    assert!((130..200).contains(&small), "{small}");
}

/// Offers twice the link rate (one packet per millisecond) for this time, and wakes the queue as requested. Returns the mean length in the second
/// half.
fn overload(queue: &mut dyn Qdisc<TestPacket>, log: &mut Log, milliseconds: u64) -> f64 {
    let mut lengths = 0;
    for time in 0..milliseconds {
        let now = time * MILLISECOND;
        while let Some(at) = queue.next_wake().filter(|&at| at <= now) {
            queue.wake(at);
        }
        for half in 0..2 {
            queue.enqueue(
                now,
                TestPacket {
                    ecn: Ecn::Ect0,
                    ..packet(2 * time + half, 0)
                },
                log,
            );
        }
        queue.dequeue(now, log);
        if time >= milliseconds / 2 {
            lengths += queue.packets();
        }
    }
    lengths as f64 / (milliseconds - milliseconds / 2) as f64
}

#[test]
fn the_delay_settles_at_the_target_with_timestamps_and_with_the_departure_rate() {
    for estimator in [false, true] {
        let mut queue = build(json!({ "kind": "pie", "dq_rate_estimator": estimator }));
        assert_eq!(queue.next_wake(), Some(ms(15.0)));
        let mut log = Log::default();
        let length = overload(queue.as_mut(), &mut log, 60_000);
        // Unresponsive load of twice the rate: half of it is dropped, and the queue stabilizes at 15 packets, 15 ms.
        let prob = stat(queue.as_ref(), "prob");
        assert!((length - 15.0).abs() <= 8.0, "{length} with {estimator}");
        assert!((0.5..0.95).contains(&prob), "{prob}");
        let rate = stat(queue.as_ref(), "avg_dq_rate");
        assert!(
            if estimator {
                // A measurement counts 11 packets: in 11 ms, or in 10 if its first one starts it.
                (1_500_000.0..=1_650_000.0).contains(&rate)
            } else {
                rate == 0.0
            },
            "{rate}"
        );
    }
}

#[test]
fn the_departure_rate_counts_an_offload_buffer_as_one_departure() {
    // Buffers of 44 packets of 1500 bytes leave whole, one per millisecond.
    const PACKETS: u64 = 44;
    let mut queue = build(json!({ "kind": "pie", "dq_rate_estimator": true }));
    let mut log = Log::default();
    for id in 0..20 * PACKETS {
        let part = id % PACKETS;
        let of_buffer = TestPacket {
            follows: part > 0,
            has_more: part + 1 < PACKETS,
            ..packet(id, 0)
        };
        queue.enqueue(0, of_buffer, &mut log);
    }
    for buffer in 0..19 {
        let at = ms(f64::from(buffer));
        (0..PACKETS).for_each(|_| assert!(queue.dequeue(at, &mut log).is_some()));
    }
    let rate = stat(queue.as_ref(), "avg_dq_rate");
    // The first measurement counts two buffers in a millisecond, and each of the 17 after it one, with weight 1/8.
    let expected = 44.0 * 1500.0 / 1e-3 * (1.0 + 0.875_f64.powi(17));
    assert!(close(rate, expected), "{rate}");
}
