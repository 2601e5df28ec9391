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
        stat(queue, "maxprob")
    };
    // The bins hold 0, 1, 2 and 3 packets. Up to a probability of one half, ECN-capable packets are marked or pass.
    assert_eq!(
        [(); 4].map(|()| arrive(queue.as_mut())),
        [0.0, 0.0, 0.25, 0.5]
    );
    assert_eq!(queue.packets(), 4);
    // Eight bins of 128.
    assert_eq!(stat(queue.as_ref(), "avgprob"), 0.5 / 16.0);
    let mut log = Log::default();
    (0..4).for_each(|_| assert!(queue.dequeue(0, &mut log).is_some()));
    assert_eq!(stat(queue.as_ref(), "maxqlen"), 0.0);
    assert_eq!(arrive(queue.as_mut()), 0.375);
    // One packet is less than the target, but more than none.
    assert_eq!(arrive(queue.as_mut()), 0.375);
}

#[test]
fn four_fifths_of_max_are_the_target() {
    // (25 * 4 + 3) / 5 = 20: the 21st arrival finds 20 packets.
    let (mut queue, mut log) = queue(json!({}));
    (0..20).for_each(|id| queue.enqueue(0, capable(id, 0), &mut log));
    assert_eq!(stat(queue.as_ref(), "maxprob"), 0.0);
    queue.enqueue(0, capable(20, 0), &mut log);
    assert_eq!(stat(queue.as_ref(), "maxprob"), 0.0005);
}

#[test]
fn above_one_half_ecn_capable_packets_are_dropped_too() {
    let config = json!({ "kind": "sfb", "target": 1, "max": 50, "increment": 0.3 });
    let config: QueueConfig = serde_json::from_value(config).unwrap();
    let (mut marks, mut drops) = (0, 0);
    for seed in 0..2000 {
        let (mut queue, mut log) = (config.build(context(seed)).unwrap(), Log::default());
        // The second arrival finds probability 0.3 and may be marked; the third finds 0.6 and is dropped.
        (0..2).for_each(|id| queue.enqueue(0, capable(id, 0), &mut log));
        assert_eq!(queue.packets(), 2);
        marks += log.marked.len();
        queue.enqueue(0, capable(2, 0), &mut log);
        assert_eq!(stat(queue.as_ref(), "maxprob"), 0.6);
        drops += log.dropped.len();
        assert_eq!(stat(queue.as_ref(), "earlydrop"), log.dropped.len() as f64);
        assert_eq!(stat(queue.as_ref(), "marked"), log.marked.len() as f64);
    }
    // 600 and 1200, with standard deviations of 20 and 22.
    assert!(marks.abs_diff(600) < 80, "{marks}");
    assert!(drops.abs_diff(1200) < 88, "{drops}");
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
    // At 10 packets per second, one is admitted at 100 ms, and the remaining 50 ms at 150 ms count for the next one at 200 ms.
    for (id, at) in [(6, 99.0), (7, 100.0), (8, 150.0), (9, 199.0), (10, 200.0)] {
        queue.enqueue(ms(at), capable(id, 0), &mut log);
    }
    assert_eq!(log.dropped_ids(), [4, 5, 6, 8, 9]);
    // After any idle time, two are admitted at once.
    (11..15).for_each(|id| queue.enqueue(ms(60_000.0), capable(id, 0), &mut log));
    assert_eq!(log.dropped_ids()[5..], [13, 14]);
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
