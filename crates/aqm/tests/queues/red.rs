//! Tests RED against Floyd and Jacobson 1993, its gentle and adaptive variants, and the automatic settings of ns-2 and Linux, with numbers computed
//! by hand.

use crate::common::{Log, TestPacket, build, ms, packet, stat};
use bloatlab_aqm::red::{Auto, Params, RedController, RedState, Signal};
use bloatlab_aqm::{Context, Ecn, QueueConfig};
use bloatlab_units::{Bytes, Limit, MILLISECOND, Rate, Rng, Streams};
use serde_json::{Value, json};

fn rng() -> Rng {
    Streams::new(1).stream("red")
}

fn place(rate: u64) -> Context {
    Context::new(rng(), 1500, Rate(rate))
}

/// Thresholds of 10 and 30 packets, max_p 0.1, and an average that equals the queue length.
fn plain() -> Params {
    Params {
        min: Some(Limit::Packets(10)),
        max: Some(Limit::Packets(30)),
        weight: 1.0,
        bytemode: false,
        ..Params::default()
    }
}

fn controller(params: &Params) -> (RedController, RedState) {
    let controller = RedController::new(params, &place(12_000_000));
    (controller, RedState::new(&controller))
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

#[test]
fn sets_itself_up_for_the_link_as_ns2_does() {
    // Half of 5 ms at 10 Mbit/s is 3125 B, less than 5 packets; at 50 Mbit/s it is 15 625 B, 10.4166 packets. The weights are those that ns-2
    // printed.
    for (rate, min, weight) in [
        (4_000_000, 7500.0, 0.002_995_504_496_626_999_5),
        (10_000_000, 7500.0, 0.001_199_280_287_913_606_6),
        (50_000_000, 15_625.0, 0.000_239_971_202_303_901_34),
    ] {
        let controller = RedController::new(&Params::default(), &place(rate));
        assert_eq!(controller.thresholds(), (min, 3.0 * min));
        assert!(
            close(controller.weight(), weight),
            "{}",
            controller.weight()
        );
    }
    // A delay of 100 ms: R = 3 (0.1 + 0.0012) s = 0.3036 s, and 10 R C = 2530 packets.
    let far = Context {
        delay: ms(100.0),
        ..place(10_000_000)
    };
    let expected = 1.0 - (-1.0_f64 / 2530.0).exp();
    assert!((RedController::new(&Params::default(), &far).weight() - expected).abs() < 1e-12);
}

/// Linux's RED with these tc arguments, read with the table that also defines how they are written.
fn linux(words: Value) -> Params {
    let QueueConfig::Red(default) = serde_json::from_value(json!("red")).unwrap() else {
        panic!("red is RED");
    };
    let tc = QueueConfig::Red(default).tc()[0];
    let mut table = serde_json::Map::from_iter([("kind".to_owned(), json!("red"))]);
    for (name, value) in tc.presets {
        table.insert((*name).to_owned(), serde_json::from_str(value).unwrap());
    }
    for (name, value) in words.as_object().unwrap() {
        let word = tc.words.iter().find(|word| word.tc == name).unwrap();
        table.insert(word.field.to_owned(), value.clone());
    }
    match serde_json::from_value(Value::Object(table)).unwrap() {
        QueueConfig::Red(params) => params,
        other => panic!("{other:?}"),
    }
}

#[test]
fn linux_finds_the_weight_from_the_burst() {
    let weight = |words| {
        let params = linux(words);
        assert_eq!(QueueConfig::Red(params.clone()).validate(), Ok(()));
        RedController::new(&params, &place(10_000_000)).weight()
    };
    let words = |min, max, avpkt, burst| json!({ "limit": "2500kB", "min": min, "max": max, "avpkt": avpkt, "burst": burst });
    // 21 + 1 - 12.5 = 9.5: 8 (1 - (7/8)^21) = 7.5 is less, 16 (1 - (15/16)^21) = 11.9 is not.
    assert_eq!(weight(words("12500B", "37500B", "1000B", 21)), 1.0 / 16.0);
    // 417 + 1 - 250 = 168: 128 (1 - (127/128)^417) = 123 is less, 256 (1 - (255/256)^417) = 206 is not.
    assert_eq!(weight(words("250kB", "750kB", "1000B", 417)), 1.0 / 256.0);
    // 31 + 1 - 30 = 2: 2 (1 - (1/2)^31) is slightly less.
    assert_eq!(weight(words("45420B", "46934B", "1514B", 31)), 1.0 / 4.0);
    // Only limit and avpkt: max 30000, min 10000, burst 50000 / 3000 = 16; 17 - 10 = 7 is slightly below 8 (1 - (7/8)^16) = 7.06.
    let params = linux(json!({ "limit": "120kB", "avpkt": "1kB" }));
    let controller = RedController::new(&params, &place(10_000_000));
    assert_eq!(controller.thresholds(), (10_000.0, 30_000.0));
    assert_eq!(controller.weight(), 1.0 / 8.0);
    assert_eq!(params.probability, 0.02);
    // Only min or max: limit / 4, and max / 3 in whole bytes.
    let thresholds = |words| RedController::new(&linux(words), &place(10_000_000)).thresholds();
    assert_eq!(
        thresholds(json!({ "limit": "100kB", "avpkt": "1kB", "min": "9kB" })),
        (9000.0, 25_000.0)
    );
    assert_eq!(
        thresholds(json!({ "limit": "100kB", "avpkt": "1kB", "max": "20kB" })),
        (6666.0, 20_000.0)
    );
}

#[test]
fn an_arrival_after_an_idle_time_may_also_count_as_a_sample() {
    let average = |idle_sample| {
        let (controller, mut state) = controller(&Params {
            weight: 0.25,
            idle_sample,
            ..plain()
        });
        controller.average(&mut state, ms(1.0), 8, 0);
        state.idle(ms(10.0));
        controller.average(&mut state, ms(13.0), 0, 0);
        state.avg()
    };
    let decayed = 2.0 * 0.75_f64.powi(3);
    assert!(close(average(false), decayed));
    assert!(close(average(true), decayed * 0.75));
}

#[test]
fn the_average_moves_by_its_weight_and_decays_while_the_link_idles() {
    let (controller, mut state) = controller(&Params {
        weight: 0.25,
        ..plain()
    });
    let mut sees = |queue| {
        controller.average(&mut state, ms(1.0), queue, 1_000_000);
        state.avg()
    };
    assert_eq!([sees(8), sees(8), sees(0)], [2.0, 3.5, 2.625]);
    // 12 Mbit/s is one packet of 1500 B per millisecond: during the idle time, three of them could have been sent.
    state.idle(ms(10.0));
    state.idle(ms(12.0));
    controller.average(&mut state, ms(13.0), 0, 0);
    assert!(
        close(state.avg(), 2.625 * 0.75_f64.powi(3)),
        "{}",
        state.avg()
    );
    // After the idle time, the next arrival is a normal sample again.
    let before = state.avg();
    controller.average(&mut state, ms(20.0), 4, 0);
    assert!(close(state.avg(), before + 0.25 * (4.0 - before)));
}

#[test]
fn the_average_counts_bytes_if_the_thresholds_do() {
    let (controller, mut state) = controller(&Params {
        min: Some(Limit::Bytes(1000)),
        max: Some(Limit::Bytes(3000)),
        ..plain()
    });
    assert!(controller.average(&mut state, 0, 1, 2000));
    assert_eq!(
        (state.avg(), controller.probability(&state)),
        (2000.0, 0.05)
    );
}

#[test]
fn the_probability_follows_the_curve() {
    let table = |gentle, points: &[(u64, f64)]| {
        let (controller, mut state) = controller(&Params { gentle, ..plain() });
        for (queue, probability) in points {
            controller.average(&mut state, 0, *queue, 0);
            assert!(
                (controller.probability(&state) - probability).abs() < 1e-15,
                "{queue}"
            );
            let forced = controller.judge(&mut state, 100, 1500, &mut rng()) == Signal::Forced;
            assert_eq!(forced, *probability == 1.0);
        }
    };
    let below = [
        (0, 0.0),
        (9, 0.0),
        (10, 0.0),
        (15, 0.025),
        (20, 0.05),
        (29, 0.095),
    ];
    table(true, &below);
    table(false, &below);
    // Gentle: linear from 0.1 at 30 to 1 at 60.
    table(
        true,
        &[
            (30, 0.1),
            (40, 0.4),
            (45, 0.55),
            (59, 0.97),
            (60, 1.0),
            (90, 1.0),
        ],
    );
    table(false, &[(30, 1.0), (45, 1.0)]);
}

/// Numbers of packets of a given size between signals, where the probability is 0.1.
fn distances(params: Params, size: u32) -> Vec<usize> {
    let (controller, mut state) = controller(&Params {
        probability: 0.2,
        ..params
    });
    let mut rng = rng();
    let mut signals = Vec::new();
    for arrival in 0..100_000 {
        controller.average(&mut state, 0, 20, 0);
        if controller.judge(&mut state, 100, size, &mut rng) == Signal::Early {
            signals.push(arrival);
        }
    }
    signals.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn assert_uniform(distances: &[usize], low: usize, high: usize) {
    assert_eq!(distances.iter().min(), Some(&low));
    assert_eq!(distances.iter().max(), Some(&high));
    let n = distances.len() as f64;
    let mean = distances.iter().sum::<usize>() as f64 / n;
    let deviation = (high - low + 1) as f64 / 12.0_f64.sqrt();
    let expected = (low + high) as f64 / 2.0;
    assert!(
        (mean - expected).abs() < 4.0 * deviation / n.sqrt(),
        "{mean}"
    );
}

#[test]
fn distances_between_signals_are_uniform() {
    // From 1 to 1 / p.
    let uniform = Params {
        wait: false,
        ..plain()
    };
    assert_uniform(&distances(uniform.clone(), 1500), 1, 10);
    // From 1 / p to 2 / p, exclusive. As in ns-2, the first packet of an interval counts as belonging to the previous one.
    assert_uniform(&distances(plain(), 1500), 10, 19);
    // In byte mode, packets of a tenth of the average size: ten times as many.
    let bytes = Params {
        bytemode: true,
        ..uniform
    };
    assert_uniform(&distances(bytes.clone(), 1500), 1, 10);
    assert_uniform(&distances(bytes, 150), 1, 100);
}

#[test]
fn the_first_packet_above_min_starts_the_count_and_a_calm_ends_it() {
    // Probability 1 just below max: after the first packet, every packet is signalled.
    let (controller, mut state) = controller(&Params {
        probability: 1.0,
        wait: false,
        gentle: false,
        ..plain()
    });
    let mut judge = |queue| {
        controller.average(&mut state, 0, queue, 0);
        controller.judge(&mut state, queue, 1500, &mut rng())
    };
    use Signal::{Early, Forced, Pass};
    assert_eq!([29, 29, 29].map(&mut judge)[0], Pass);
    assert_eq!(judge(9), Pass);
    assert_eq!(judge(29), Pass);
    assert_eq!(judge(30), Forced);
    assert_eq!(judge(29), Pass);
    assert!((0..20).any(|_| judge(29) == Early));
}

#[test]
fn a_packet_that_finds_the_queue_empty_is_not_dropped() {
    // An average far above twice max, and an empty queue.
    let verdict = |params: Params, packets| {
        let (controller, mut state) = controller(&params);
        controller.average(&mut state, 0, 1_000, 1_500_000);
        controller.judge(&mut state, packets, 1500, &mut rng())
    };
    use Signal::{Forced, Pass};
    let in_bytes = || Params {
        min: Some(Limit::Bytes(15_000)),
        max: Some(Limit::Bytes(45_000)),
        ..plain()
    };
    assert_eq!([0, 1, 2].map(|n| verdict(plain(), n)), [Pass, Pass, Forced]);
    assert_eq!([0, 1].map(|n| verdict(in_bytes(), n)), [Pass, Forced]);
    let none_spared = |params| Params {
        spare_empty: false,
        ..params
    };
    assert_eq!(verdict(none_spared(plain()), 0), Forced);
    assert_eq!(verdict(none_spared(in_bytes()), 0), Forced);
    // Linux's has no such rule.
    assert!(!linux(json!({ "limit": "120kB", "avpkt": "1kB" })).spare_empty);
}

#[test]
fn the_probability_adapts_to_keep_the_average_in_the_middle() {
    // The middle fifth of 10 to 30 is 18 to 22.
    let adapted = |probability, queue| {
        let (controller, mut state) = controller(&Params {
            probability,
            adaptive: true,
            ..plain()
        });
        controller.average(&mut state, 0, queue, 0);
        controller.adapt(&mut state, 0);
        state.max_p()
    };
    assert!(close(adapted(0.1, 23), 0.11));
    assert!(close(adapted(0.02, 23), 0.025));
    assert!(close(adapted(0.5, 23), 0.51));
    assert!(close(adapted(0.51, 23), 0.51));
    assert!(close(adapted(0.1, 20), 0.1));
    assert!(close(adapted(0.1, 17), 0.09));
    assert!(close(adapted(0.01, 17), 0.009));
    assert!(close(adapted(0.009, 17), 0.009));
    // The queue adapts twice a second, and only if that is configured.
    let mut queue = build(json!({ "kind": "red", "adaptive": true }));
    assert_eq!(queue.next_wake(), Some(500 * MILLISECOND));
    queue.wake(500 * MILLISECOND);
    assert!(close(stat(queue.as_ref(), "max_p"), 0.09));
    assert_eq!(queue.next_wake(), Some(1000 * MILLISECOND));
    assert_eq!(build(json!("red")).next_wake(), None);
}

/// The treatment of an ECN-capable packet and another packet that find four packets, with max at 4: passed, dropped and marked identities.
fn at_the_top(options: Value) -> (u64, Vec<u64>, Vec<u64>) {
    let mut config = json!({ "kind": "red", "min": "2p", "max": "4p", "weight": 1.0, "probability": 0.0, "gentle": false });
    for (name, value) in options.as_object().unwrap() {
        config[name] = value.clone();
    }
    let (mut queue, mut log) = (build(config), Log::default());
    (0..4).for_each(|id| queue.enqueue(0, packet(id, 0), &mut log));
    let capable = TestPacket {
        ecn: Ecn::Ect0,
        ..packet(4, 0)
    };
    queue.enqueue(0, capable, &mut log);
    queue.enqueue(0, packet(5, 0), &mut log);
    let marked: Vec<u64> = log.marked.iter().map(|packet| packet.id).collect();
    assert_eq!(stat(queue.as_ref(), "marked"), marked.len() as f64);
    assert_eq!(stat(queue.as_ref(), "early"), log.dropped.len() as f64);
    (queue.packets(), log.dropped_ids(), marked)
}

#[test]
fn above_max_packets_are_dropped_or_marked() {
    assert_eq!(at_the_top(json!({})), (4, vec![4, 5], vec![]));
    assert_eq!(at_the_top(json!({ "ecn": true })), (4, vec![4, 5], vec![]));
    let soft = json!({ "ecn": true, "harddrop": false });
    assert_eq!(at_the_top(soft), (5, vec![5], vec![4]));
    let soft = json!({ "ecn": true, "harddrop": false, "nodrop": true });
    assert_eq!(at_the_top(soft), (6, vec![], vec![4]));
    let hard = json!({ "ecn": true, "harddrop": true, "nodrop": true });
    assert_eq!(at_the_top(hard), (4, vec![4, 5], vec![]));
}

#[test]
fn a_full_queue_drops() {
    let (mut queue, mut log) = (
        build(json!({ "kind": "red", "limit": "3000B" })),
        Log::default(),
    );
    (0..3).for_each(|id| queue.enqueue(0, packet(id, 0), &mut log));
    assert_eq!(log.dropped_ids(), [2]);
    assert_eq!(stat(queue.as_ref(), "pdrop"), 1.0);
}

#[test]
fn contradictions_are_refused() {
    let error = |params: Params| QueueConfig::Red(params).validate().unwrap_err();
    let bytes = Some(Limit::Bytes(3000));
    assert_eq!(
        error(Params {
            max: bytes,
            ..plain()
        }),
        "max: must be in the same unit as min"
    );
    let crossed = Params {
        max: Some(Limit::Packets(10)),
        ..plain()
    };
    assert_eq!(error(crossed), "max: 10 must be above min, which is 10");
    let halfway = Params {
        min: bytes,
        auto: Auto::Limit,
        ..Params::default()
    };
    assert!(error(halfway).starts_with("min: must be in the same unit as limit"));
    assert!(
        error(Params {
            nodrop: true,
            ..plain()
        })
        .starts_with("nodrop: ")
    );
    let burst = |burst, weight, min| Params {
        burst: Some(burst),
        weight,
        min,
        max: None,
        avpkt: Some(Bytes(1000)),
        ..plain()
    };
    assert!(
        error(burst(20, 0.1, Some(Limit::Packets(10))))
            .starts_with("burst: cannot be combined with weight")
    );
    assert!(error(burst(20, 0.0, None)).starts_with("burst: needs min"));
    assert!(
        error(burst(9, 0.0, Some(Limit::Packets(10)))).starts_with("burst: must be at least min")
    );
    assert_eq!(
        QueueConfig::Red(burst(15, 0.0, Some(Limit::Packets(10)))).validate(),
        Ok(())
    );
}
