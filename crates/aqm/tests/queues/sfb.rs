//! Tests Stochastic Fair BLUE against tc-sfb(8) and Feng et al. 2001, with the expected steps computed by hand.

use crate::common::{Log, TestPacket, build, context, ms, packet, stat};
use bloatlab_aqm::{DropReason, Ecn, Qdisc, QueueConfig};
use serde_json::{Value, json};

fn queue(options: Value) -> (Box<dyn Qdisc<TestPacket>>, Log) {
    let mut config = json!({ "kind": "sfb" });
    for (name, value) in options.as_object().unwrap() {
        config[name] = value.clone();
    }
    (build(config), Log::default())
}

fn capable(id: u64, flow: u64) -> TestPacket {
    TestPacket {
        ecn: Ecn::Ect0,
        ..packet(id, flow)
    }
}

/// A probability in whole parts of 65535, as Linux stores it.
fn parts(queue: &dyn Qdisc<TestPacket>, name: &str) -> f64 {
    stat(queue, name) * 65535.0
}

#[test]
fn a_flow_may_hold_max_packets_and_max_follows_from_target() {
    let held = |options: Value| {
        let (mut queue, mut log) = queue(options);
        (0..100).for_each(|id| queue.enqueue(0, packet(id, 0), &mut log));
        let held = queue.packets();
        assert_eq!(stat(queue.as_ref(), "bucketdrop"), (100 - held) as f64);
        assert_eq!(stat(queue.as_ref(), "maxqlen"), held as f64);
        assert!(
            log.dropped
                .iter()
                .all(|(_, reason)| *reason == DropReason::Aqm)
        );
        // On some level, another flow finds an empty bin.
        queue.enqueue(0, packet(100, 1), &mut log);
        assert_eq!(queue.packets(), held + 1);
        held
    };
    assert_eq!(held(json!({ "increment": 0.0 })), 25);
    assert_eq!(held(json!({ "increment": 0.0, "max": 4 })), 4);
    // (40 * 5 + 1) / 4.
    assert_eq!(held(json!({ "increment": 0.0, "target": 40 })), 50);
    let (mut queue, mut log) = queue(json!({ "increment": 0.0, "limit": "3p" }));
    (0..5).for_each(|id| queue.enqueue(0, packet(id, id), &mut log));
    assert_eq!(
        (queue.packets(), stat(queue.as_ref(), "queuedrop")),
        (3, 2.0)
    );
    assert!(
        log.dropped
            .iter()
            .all(|(_, reason)| *reason == DropReason::Overflow)
    );
}

#[test]
fn bins_learn_from_arrivals() {
    let (mut queue, mut log) =
        queue(json!({ "target": 2, "max": 50, "increment": 0.25, "decrement": 0.125 }));
    let mut arrive = |queue: &mut dyn Qdisc<TestPacket>| {
        queue.enqueue(0, capable(0, 0), &mut log);
        parts(queue, "maxprob").round()
    };
    // The bins hold 0, 1, 2 and 3 packets. Up to a probability of one half, ECN-capable packets are marked or pass. A quarter of 65535 is 16383.75.
    assert_eq!(
        [(); 4].map(|()| arrive(queue.as_mut())),
        [0.0, 0.0, 16384.0, 32768.0]
    );
    assert_eq!(queue.packets(), 4);
    // Eight bins of 128.
    assert_eq!(parts(queue.as_ref(), "avgprob"), 32768.0 / 16.0);
    let mut log = Log::default();
    (0..4).for_each(|_| assert!(queue.dequeue(0, &mut log).is_some()));
    assert_eq!(stat(queue.as_ref(), "maxqlen"), 0.0);
    assert_eq!(arrive(queue.as_mut()), 24576.0);
    // One packet is less than the target, but more than none.
    assert_eq!(arrive(queue.as_mut()), 24576.0);
}

#[test]
fn four_fifths_of_max_are_the_target() {
    // (25 * 4 + 3) / 5 = 20: the 21st arrival finds 20 packets.
    let (mut queue, mut log) = queue(json!({}));
    (0..20).for_each(|id| queue.enqueue(0, capable(id, 0), &mut log));
    assert_eq!(stat(queue.as_ref(), "maxprob"), 0.0);
    queue.enqueue(0, capable(20, 0), &mut log);
    // 0.0005 x 65535 = 32.8.
    assert_eq!(parts(queue.as_ref(), "maxprob").round(), 33.0);
    // The flow leaves an empty queue, and 0.00005 x 65535 = 3.3.
    while queue.dequeue(0, &mut log).is_some() {}
    queue.enqueue(0, capable(21, 0), &mut log);
    assert_eq!(parts(queue.as_ref(), "maxprob").round(), 30.0);
}

#[test]
fn a_step_that_would_be_rounded_to_nothing_is_refused() {
    let validate = |decrement: f64| {
        let config = json!({ "kind": "sfb", "decrement": decrement });
        let config: QueueConfig = serde_json::from_value(config).unwrap();
        config.validate()
    };
    assert_eq!(validate(0.0), Ok(()));
    assert_eq!(validate(0.000008), Ok(()));
    let why = validate(0.000007).unwrap_err();
    assert!(
        why.contains("decrement: 0.000007 would be rounded to 0"),
        "{why}"
    );
}

#[test]
fn above_one_half_more_and_more_ecn_capable_packets_are_dropped() {
    let config = json!({ "kind": "sfb", "target": 1, "max": 50, "increment": 0.3 });
    let config: QueueConfig = serde_json::from_value(config).unwrap();
    let (mut marks, mut drops) = ([0, 0], 0);
    for seed in 0..2000 {
        let (mut queue, mut log) = (config.build(context(seed)).unwrap(), Log::default());
        // The second arrival finds probability 0.3 and may be marked. The third finds 0.6: a fifth is dropped, two fifths are marked.
        (0..2).for_each(|id| queue.enqueue(0, capable(id, 0), &mut log));
        assert_eq!(queue.packets(), 2);
        marks[0] += log.marked.len();
        let earlier = log.marked.len();
        queue.enqueue(0, capable(2, 0), &mut log);
        assert_eq!(parts(queue.as_ref(), "maxprob").round(), 39322.0);
        marks[1] += log.marked.len() - earlier;
        drops += log.dropped.len();
        assert_eq!(stat(queue.as_ref(), "earlydrop"), log.dropped.len() as f64);
        assert_eq!(stat(queue.as_ref(), "marked"), log.marked.len() as f64);
    }
    // Means of 600, 800 and 400, with standard deviations of 20, 22 and 18.
    assert!(marks[0].abs_diff(600) < 80, "{marks:?}");
    assert!(marks[1].abs_diff(800) < 88, "{marks:?}");
    assert!(drops.abs_diff(400) < 72, "{drops}");
}

#[test]
fn unresponsive_flows_are_limited_to_the_penalty_rate() {
    let (mut queue, mut log) =
        queue(json!({ "target": 2, "max": 50, "increment": 1.0, "penalty_burst": 2 }));
    // Two are admitted, and two more by the burst.
    (0..6).for_each(|id| queue.enqueue(0, capable(id, 0), &mut log));
    assert_eq!(log.dropped_ids(), [4, 5]);
    assert_eq!(stat(queue.as_ref(), "penaltydrop"), 2.0);
    assert_eq!(stat(queue.as_ref(), "maxprob"), 1.0);
    // The last one found no token at 0 ms. At 10 packets per second there is one again after 100 ms without a packet that finds none.
    for (id, at) in [(6, 99.0), (7, 100.0), (8, 198.0), (9, 298.0), (10, 299.0)] {
        queue.enqueue(ms(at), capable(id, 0), &mut log);
    }
    assert_eq!(log.dropped_ids(), [4, 5, 6, 7, 8, 10]);
    // After any idle time, two are admitted at once.
    (11..15).for_each(|id| queue.enqueue(ms(60_000.0), capable(id, 0), &mut log));
    assert_eq!(log.dropped_ids()[6..], [13, 14]);
}

#[test]
fn a_flood_gets_nothing_after_its_burst() {
    let (mut queue, mut log) =
        queue(json!({ "target": 2, "max": 50, "increment": 1.0, "decrement": 0.0 }));
    // A packet every 10 ms, ten times the penalty rate, for ten seconds. The queue is never longer than three packets.
    for id in 0..1000 {
        let now = ms(10.0 * id as f64);
        queue.enqueue(now, capable(id, 0), &mut log);
        if queue.packets() > 3 {
            assert!(queue.dequeue(now, &mut log).is_some());
        }
    }
    // Two find a short queue, 20 are the burst, and two are the tokens of the 220 ms until then.
    assert_eq!(log.dropped.len(), 1000 - 24);
}

#[test]
fn a_second_set_of_bins_is_warmed_up_and_takes_over() {
    for (db, warm) in [("100ms", true), ("0s", false)] {
        let (mut queue, mut log) =
            queue(json!({ "target": 1, "max": 50, "increment": 1.0, "rehash": "1s", "db": db }));
        // Flow 0 reaches probability 1 at once, and again before the second set of bins learns; the second set does not count these two.
        (0..2).for_each(|id| queue.enqueue(0, capable(id, 0), &mut log));
        // The second set learns from 900 ms on: first an empty bin, then one that holds a packet.
        for (id, at) in [(2, 899.0), (3, 950.0), (4, 960.0)] {
            queue.enqueue(ms(at), capable(id, 0), &mut log);
        }
        assert_eq!((queue.packets(), stat(queue.as_ref(), "maxqlen")), (5, 5.0));
        // At 1 s, an arrival of another flow swaps the sets. Of flow 0, the new set knows the two packets of its warm-up.
        queue.enqueue(ms(1000.0), packet(5, 1), &mut log);
        assert_eq!(
            stat(queue.as_ref(), "maxprob"),
            if warm { 1.0 } else { 0.0 }
        );
        let qlen = stat(queue.as_ref(), "maxqlen");
        assert!(if warm { qlen >= 2.0 } else { qlen == 1.0 }, "{qlen}");
        // Each packet leaves the bins that it entered.
        (0..6).for_each(|id| assert_eq!(queue.dequeue(ms(1001.0), &mut log).unwrap().id, id));
        assert_eq!(stat(queue.as_ref(), "maxqlen"), 0.0);
        // The retired set returns in its initial state, with another hash.
        queue.enqueue(ms(2000.0), packet(6, 2), &mut log);
        assert_eq!(stat(queue.as_ref(), "maxprob"), 0.0);
    }
}
