//! Stochastic fairness queueing, with the scheduling and drops of Linux and of ns-2.

use crate::common::{Log, TestPacket, build, enqueue, flows, ms, packet, stat};
use bloatlab_aqm::{DropReason, Ecn, Qdisc, QueueConfig};
use bloatlab_units::SECOND;
use serde_json::{Value, json};

/// A queue where each flow has its own internal queue, in the order of appearance.
fn sfq(params: Value) -> Box<dyn Qdisc<TestPacket>> {
    let mut table = json!({ "kind": "sfq", "classifier": "exact", "quantum": "1500B" });
    for (name, value) in params.as_object().unwrap() {
        table[name] = value.clone();
    }
    build(table)
}

#[test]
fn a_new_flow_waits_behind_the_old_ones() {
    let mut log = Log::default();
    // With byte allotments, a queue moves behind the others when its next round begins; with packets, as soon as it has sent. It is then behind or
    // before flow 3.
    for (service, order) in [("bytes", [2, 3, 1, 2]), ("packets", [2, 1, 3, 2])] {
        let mut queue = sfq(json!({ "service": service }));
        enqueue(queue.as_mut(), &mut log, 0, 0, &[1, 1, 2, 2]);
        assert_eq!(flows(queue.as_mut(), &mut log, 1), [1]);
        enqueue(queue.as_mut(), &mut log, 0, 4, &[3]);
        assert_eq!(flows(queue.as_mut(), &mut log, 9), order);
        assert_eq!(stat(queue.as_ref(), "flows"), 0.0);
    }
}

#[test]
fn turns_are_equal_in_bytes_or_in_packets() {
    let mut log = Log::default();
    for (service, small) in [("bytes", 15), ("packets", 3)] {
        let mut queue = sfq(json!({ "service": service }));
        for id in 0..40 {
            let size = if id % 2 == 0 { 1500 } else { 300 };
            queue.enqueue(
                0,
                TestPacket {
                    size,
                    ..packet(id, id % 2)
                },
                &mut log,
            );
        }
        // Three rounds of the flow with large packets, and three of the other.
        let mut large = 0;
        let mut others = 0;
        while large < 3 || others < small {
            match queue.dequeue(0, &mut log).unwrap().flow {
                0 => large += 1,
                _ => others += 1,
            }
        }
        assert_eq!((large, others), (3, small), "{service}");
    }
}

#[test]
fn a_quantum_that_is_exceeded_is_subtracted_later() {
    let mut queue = sfq(json!({ "quantum": "1000B" }));
    let mut log = Log::default();
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1; 9]);
    enqueue(queue.as_mut(), &mut log, 0, 9, &[2; 9]);
    // Allotments 1000, -500, 500 (may send), -1000, 0 (may not), 1000: rounds of 1, 1 and 0 packets each.
    let order = flows(queue.as_mut(), &mut log, 6);
    assert_eq!(order, [1, 2, 1, 2, 1, 2]);
    let mut mixed = sfq(json!({ "quantum": "1000B" }));
    enqueue(mixed.as_mut(), &mut log, 0, 0, &[1; 4]);
    for id in 10..30 {
        let small = TestPacket {
            size: 500,
            ..packet(id, 2)
        };
        mixed.enqueue(0, small, &mut log);
    }
    // Flow 1: 1000 to -500; +1000 = 500 to -1000; +1000 = 0: a round without a packet; +1000 to -500.
    let order = flows(mixed.as_mut(), &mut log, 11);
    assert_eq!(order, [1, 2, 2, 1, 2, 2, 2, 2, 1, 2, 2]);
}

#[test]
fn overflow_takes_the_latest_or_the_oldest_packet_of_the_longest_queue() {
    let mut log = Log::default();
    for (headdrop, id) in [(false, 2), (true, 0)] {
        let mut queue = sfq(json!({ "limit": "4p", "headdrop": headdrop }));
        enqueue(queue.as_mut(), &mut log, 0, 0, &[1, 1, 1, 2, 2]);
        assert_eq!(log.dropped_ids().pop(), Some(id));
        assert_eq!(
            (
                stat(queue.as_ref(), "longest"),
                stat(queue.as_ref(), "drop_overlimit")
            ),
            (2.0, 1.0)
        );
        assert_eq!(flows(queue.as_mut(), &mut log, 9), [1, 2, 1, 2]);
    }
}

#[test]
fn of_equally_long_queues_the_last_to_reach_that_length_loses_a_packet() {
    let mut queue = sfq(json!({ "limit": "4p" }));
    let mut log = Log::default();
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1, 1, 2, 2, 3]);
    assert_eq!(log.dropped_ids(), [3]);
    // Now only flow 1 has two.
    enqueue(queue.as_mut(), &mut log, 0, 5, &[4]);
    assert_eq!(log.dropped_ids(), [3, 1]);
}

#[test]
fn if_all_hold_one_packet_the_flow_being_served_loses_it() {
    let mut queue = sfq(json!({ "limit": "3p" }));
    let mut log = Log::default();
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1, 2, 3, 4]);
    assert_eq!(log.dropped_ids(), [0]);
    assert_eq!(flows(queue.as_mut(), &mut log, 9), [2, 3, 4]);
}

#[test]
fn a_queue_is_no_deeper_than_allowed() {
    let mut log = Log::default();
    for (headdrop, id, rest) in [(false, 3, [0, 2, 1]), (true, 0, [1, 2, 3])] {
        let mut queue = sfq(json!({ "depth": 2, "headdrop": headdrop }));
        enqueue(queue.as_mut(), &mut log, 0, 0, &[1, 1, 2, 1]);
        assert_eq!(log.dropped_ids().pop(), Some(id));
        assert_eq!(stat(queue.as_ref(), "drop_depth"), 1.0);
        let ids = (0..3).map(|_| queue.dequeue(0, &mut log).unwrap().id);
        assert_eq!(ids.collect::<Vec<_>>(), rest);
    }
}

#[test]
fn no_more_queues_are_in_use_than_allowed() {
    let mut queue = sfq(json!({ "flows": 2 }));
    let mut log = Log::default();
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1, 2, 3, 1]);
    assert_eq!(log.dropped_ids(), [2]);
    assert_eq!(flows(queue.as_mut(), &mut log, 2), [1, 2]);
    // Flow 2 has released its queue.
    enqueue(queue.as_mut(), &mut log, 0, 4, &[3]);
    assert_eq!(flows(queue.as_mut(), &mut log, 9), [1, 3]);
    assert_eq!(stat(queue.as_ref(), "drop_flows"), 1.0);
}

#[test]
fn perturbation_rehashes_queued_flows_and_keeps_their_order() {
    let mut queue =
        build(json!({ "kind": "sfq", "divisor": 16, "perturb": "10s", "quantum": "1500B" }));
    let mut log = Log::default();
    let all: Vec<u64> = (0..96).map(|n| n % 16).collect();
    enqueue(queue.as_mut(), &mut log, 0, 0, &all);
    let mut in_use = vec![stat(queue.as_ref(), "flows")];
    let mut last = [0; 16];
    for round in 1..=5 {
        // Nothing happens just before the period ends. Afterwards, each period counts once, however late it is processed.
        for (now, perturbations) in [
            (10 * round * SECOND - 1, round - 1),
            (10 * round * SECOND, round),
        ] {
            let packet = queue.dequeue(now, &mut log).unwrap();
            assert!(packet.id >= last[packet.flow as usize]);
            last[packet.flow as usize] = packet.id;
            assert_eq!(stat(queue.as_ref(), "perturbations"), perturbations as f64);
        }
        in_use.push(stat(queue.as_ref(), "flows"));
    }
    assert_eq!((queue.packets(), log.dropped.len()), (86, 0));
    assert!(in_use.iter().any(|flows| *flows != in_use[0]), "{in_use:?}");
    // After a long idle time, one perturbation replaces all missed ones, and the next follows at a whole period.
    queue.dequeue(ms(97_300.0), &mut log);
    queue.dequeue(ms(99_999.0), &mut log);
    assert_eq!(stat(queue.as_ref(), "perturbations"), 6.0);
    queue.dequeue(ms(100_000.0), &mut log);
    assert_eq!(stat(queue.as_ref(), "perturbations"), 7.0);
}

#[test]
fn flows_that_collide_after_a_perturbation_must_fit() {
    let mut queue = build(json!({ "kind": "sfq", "divisor": 2, "perturb": "1s", "depth": 6 }));
    let mut log = Log::default();
    // Five packets each, however many flows share a queue.
    let (mut now, mut id) = (0, 0);
    while log.dropped.is_empty() {
        assert!(now < 100 * SECOND, "two flows on two queues collide soon");
        while queue.dequeue(now, &mut log).is_some() {}
        if log.dropped.is_empty() {
            for flow in [1, 1, 1, 1, 1, 2, 2, 2, 2, 2] {
                queue.enqueue(now, packet(id, flow), &mut log);
                id += 1;
            }
            if stat(queue.as_ref(), "flows") < 2.0 {
                // They already share a queue; the next hash is a different one.
                log.dropped.clear();
                while queue.dequeue(now, &mut log).is_some() {}
            }
        }
        now += SECOND;
        queue.enqueue(now, packet(id, 1), &mut log);
        id += 1;
    }
    // Flow 1 is served first and keeps its five packets. One packet of flow 2 is accepted, and then the new one of flow 1.
    let dropped: Vec<u64> = log.dropped.iter().map(|(packet, _)| packet.flow).collect();
    assert_eq!(dropped, [2, 2, 2, 2, 1]);
    assert_eq!((queue.packets(), stat(queue.as_ref(), "flows")), (6, 1.0));
}

fn ns2(limit: u64) -> Box<dyn Qdisc<TestPacket>> {
    sfq(
        json!({ "limit": format!("{limit}p"), "divisor": 16, "service": "packets", "overflow": "share" }),
    )
}

#[test]
fn as_in_ns_2_one_flow_holds_a_third() {
    // ns2_reference.csv, SFQ, one flow: the queue never exceeds 133 of 400 packets and 1 of 13.
    for (limit, most) in [(400, 133), (13, 1)] {
        let mut queue = ns2(limit);
        let mut log = Log::default();
        enqueue(queue.as_mut(), &mut log, 0, 0, &[1; 500]);
        assert_eq!(queue.packets(), most);
        assert_eq!(log.dropped_ids(), (most..500).collect::<Vec<_>>());
    }
}

#[test]
fn as_in_ns_2_ten_flows_hold_ten_twelfths() {
    let mut queue = ns2(400);
    let mut log = Log::default();
    let all: Vec<u64> = (0..1000).map(|n| n % 10).collect();
    enqueue(queue.as_mut(), &mut log, 0, 0, &all);
    // 33 each and three more; then 67 are left, and half of that is 33.
    assert_eq!(queue.packets(), 333);
    // A limit below the number of queues: one packet each.
    let mut small = ns2(13);
    enqueue(small.as_mut(), &mut log, 0, 0, &all);
    assert_eq!(small.packets(), 10);
}

/// Linux's arguments `redflowlimit 100k min 3000 max 9000 avpkt 1500 burst 4`. By equation 3 of Floyd and Jacobson 1993, 4 packets with a weight of
/// one half give an average of 4 + 1 - (1 - 1/16) * 2 = 3.1 packets, above the 2 of `min`. The weight is therefore not below one half.
fn red(more: Value) -> Box<dyn Qdisc<TestPacket>> {
    let mut table = json!({
        "redflowlimit": "100kB", "min": "3000B", "max": "9000B", "avpkt": "1500B", "burst": 4, "probability": 1.0
    });
    for (name, value) in more.as_object().unwrap() {
        table[name] = value.clone();
    }
    sfq(table)
}

/// The average of a queue that grows packet by packet, with the weight that tc finds: the largest power of a half under which
/// `burst + 1 - min / avpkt <= (1 - (1 - w)^burst) / w`: 3 <= (1 - 1/16) / (1/2) = 1.9 no; (1 - (3/4)^4) / (1/4) = 2.7 no;
/// (1 - (7/8)^4) / (1/8) = 3.3 yes. So the weight is 1/8.
fn averages(signalled: f64) -> usize {
    let (mut avg, mut bytes, mut arrivals) = (0.0, 0.0, 0);
    loop {
        avg += (bytes - avg) / 8.0;
        if avg >= signalled {
            return arrivals;
        }
        bytes += 1500.0;
        arrivals += 1;
    }
}

#[test]
fn red_drops_whatever_comes_to_a_queue_that_is_too_long_on_average() {
    // With probability 0.000001 at `max`, only forced signals remain.
    let mut queue = red(json!({ "probability": 0.000_001 }));
    let mut log = Log::default();
    let passed = averages(9000.0);
    assert_eq!(passed, 12);
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1; 15]);
    assert_eq!(log.dropped_ids(), [12, 13, 14]);
    assert!(
        log.dropped
            .iter()
            .all(|(_, reason)| *reason == DropReason::Aqm)
    );
    assert_eq!(stat(queue.as_ref(), "forced_drop"), 3.0);
    assert_eq!(stat(queue.as_ref(), "prob_drop"), 0.0);
    // Each flow has its own average.
    enqueue(queue.as_mut(), &mut log, 0, 100, &[2; 5]);
    assert_eq!(stat(queue.as_ref(), "forced_drop"), 3.0);
    // A queue that was empty restarts its average.
    assert_eq!(flows(queue.as_mut(), &mut log, 30).len(), 17);
    enqueue(queue.as_mut(), &mut log, 0, 200, &[1; 12]);
    assert_eq!(log.dropped.len(), 3);
}

#[test]
fn red_drops_some_of_what_comes_between_the_thresholds() {
    let mut queue = red(json!({ "limit": "10p" }));
    let mut log = Log::default();
    // At `min`, the distance to the first signal is drawn. Because the probability at `max` is 1, the signal occurs at the latest when the average
    // reaches it.
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1; 12]);
    let (first, dropped) = (averages(3000.0) as u64, log.dropped_ids());
    assert!(!dropped.is_empty() && dropped[0] > first, "{dropped:?}");
    let early = stat(queue.as_ref(), "prob_drop") as usize;
    assert_eq!(
        early + stat(queue.as_ref(), "drop_overlimit") as usize,
        12 - queue.packets() as usize
    );
    assert!(early > 0);
}

#[test]
fn red_marks_the_arrival_or_drops_and_marks_at_the_head() {
    let mut log = Log::default();
    let capable = |id| TestPacket {
        ecn: Ecn::Ect0,
        ..packet(id, 1)
    };
    let fill = |params: Value, log: &mut Log| {
        let mut queue = red(params);
        (0..13).for_each(|id| queue.enqueue(0, capable(id), log));
        queue
    };
    let rare = 0.000_001;
    let queue = fill(json!({ "probability": rare, "ecn": true }), &mut log);
    assert_eq!(stat(queue.as_ref(), "forced_mark"), 1.0);
    assert_eq!(log.marked[0].id, 12);
    let queue = fill(
        json!({ "probability": rare, "ecn": true, "headdrop": true }),
        &mut log,
    );
    assert_eq!(stat(queue.as_ref(), "forced_mark_head"), 1.0);
    assert_eq!((log.marked[1].id, log.dropped.len()), (0, 0));
    let queue = fill(
        json!({ "probability": rare, "ecn": true, "harddrop": true, "headdrop": true }),
        &mut log,
    );
    assert_eq!(stat(queue.as_ref(), "forced_drop"), 1.0);
    assert_eq!((log.dropped_ids(), queue.packets()), (vec![0], 12));
    assert_eq!(queue.bytes(), 12 * 1500);
}

#[test]
fn words_of_red_need_redflowlimit() {
    for table in [
        json!({ "kind": "sfq", "min": "3kB" }),
        json!({ "kind": "sfq", "ecn": true }),
        json!({ "kind": "sfq", "redflowlimit": "1kB" }),
        json!({ "kind": "sfq", "redflowlimit": "400kB", "overflow": "share" }),
    ] {
        let config: QueueConfig = serde_json::from_value(table.clone()).unwrap();
        assert!(config.validate().is_err(), "{table}");
    }
}
