//! Deficit round robin against Shreedhar and Varghese 1995, and its two ways of refusing packets.

use crate::common::{Log, TestPacket, build, context, enqueue_sized, stat};
use bloatlab_aqm::{Hosts, Qdisc, QueueConfig};
use serde_json::{Value, json};

/// Flow and size of the next `n` packets.
fn sent(queue: &mut dyn Qdisc<TestPacket>, log: &mut Log, n: usize) -> Vec<(u64, u32)> {
    (0..n)
        .map_while(|_| queue.dequeue(0, log))
        .map(|packet| (packet.flow, packet.size))
        .collect()
}

fn drr(params: Value) -> Box<dyn Qdisc<TestPacket>> {
    let mut table = json!({ "kind": "drr", "classifier": "exact" });
    for (name, value) in params.as_object().unwrap() {
        table[name] = value.clone();
    }
    build(table)
}

#[test]
fn deficits_step_by_step() {
    let mut queue = drr(json!({ "quantum": "500B" }));
    let mut log = Log::default();
    // Queues as in section 3, figures 2 and 3.
    let queues = [
        (1, [200, 750, 20].as_slice()),
        (2, &[500, 500]),
        (3, &[200, 600, 100]),
        (4, &[50, 700, 180]),
    ];
    for (flow, sizes) in queues {
        let packets: Vec<_> = sizes.iter().map(|&size| (flow, size)).collect();
        enqueue_sized(queue.as_mut(), &mut log, 0, &packets);
    }
    // 500 each; queue 1 keeps 300, queue 2 nothing, queue 3 300, queue 4 450.
    let first = [(1, 200), (2, 500), (3, 200), (4, 50)];
    assert_eq!(sent(queue.as_mut(), &mut log, 4), first);
    // 800, 500, 800 and 950.
    let second = [
        (1, 750),
        (1, 20),
        (2, 500),
        (3, 600),
        (3, 100),
        (4, 700),
        (4, 180),
    ];
    assert_eq!(sent(queue.as_mut(), &mut log, 7), second);
    assert_eq!((queue.packets(), stat(queue.as_ref(), "active")), (0, 0.0));
}

#[test]
fn an_emptied_queue_keeps_no_deficit_and_returns_at_the_end() {
    let mut queue = drr(json!({ "quantum": "500B" }));
    let mut log = Log::default();
    enqueue_sized(
        queue.as_mut(),
        &mut log,
        0,
        &[(1, 200), (2, 500), (2, 500), (2, 500)],
    );
    assert_eq!(sent(queue.as_mut(), &mut log, 1), [(1, 200)]);
    // With the remaining 300, flow 1 could send this in its next round.
    enqueue_sized(queue.as_mut(), &mut log, 4, &[(1, 700)]);
    let rest = [(2, 500), (2, 500), (1, 700), (2, 500)];
    assert_eq!(sent(queue.as_mut(), &mut log, 9), rest);
}

#[test]
fn a_small_quantum_takes_more_rounds_and_is_as_fair() {
    let mut queue = drr(json!({ "quantum": "250B", "limit": "3000p" }));
    let mut log = Log::default();
    enqueue_sized(queue.as_mut(), &mut log, 0, &[(1, 1500); 500]);
    enqueue_sized(queue.as_mut(), &mut log, 0, &[(2, 300); 2000]);
    let mut bytes = [0_i64; 3];
    for _ in 0..1500 {
        let packet = queue.dequeue(0, &mut log).unwrap();
        bytes[packet.flow as usize] += i64::from(packet.size);
        // Lemma 2: the difference never exceeds the quantum plus the largest packet.
        assert!((bytes[1] - bytes[2]).abs() <= 250 + 1500, "{bytes:?}");
    }
}

#[test]
fn overflow_takes_the_oldest_packet_of_the_queue_with_the_most_bytes() {
    let mut queue = drr(json!({ "limit": "10p" }));
    let mut log = Log::default();
    enqueue_sized(queue.as_mut(), &mut log, 0, &[(1, 1500); 4]);
    enqueue_sized(queue.as_mut(), &mut log, 4, &[(2, 100); 7]);
    assert_eq!(log.dropped_ids(), [0]);
    // Each packet of flow 2 evicts packets of flow 1, which has three and a half packets' worth.
    enqueue_sized(queue.as_mut(), &mut log, 11, &[(2, 100); 2]);
    assert_eq!(log.dropped_ids(), [0, 1, 2]);
    // Now flow 1 has 1500 bytes in one packet, and flow 2 has 900 in nine. Then flow 1 has none, and flow 2 loses its own packets.
    enqueue_sized(queue.as_mut(), &mut log, 13, &[(2, 100); 2]);
    assert_eq!(log.dropped_ids(), [0, 1, 2, 3, 4]);
    assert_eq!(
        (
            stat(queue.as_ref(), "drop_overlimit"),
            stat(queue.as_ref(), "active")
        ),
        (5.0, 1.0)
    );
}

#[test]
fn a_queue_that_overflow_empties_leaves_the_round_from_any_position() {
    let mut log = Log::default();
    let mut queue = drr(json!({ "limit": "3p" }));
    enqueue_sized(
        queue.as_mut(),
        &mut log,
        0,
        &[(1, 100), (2, 1500), (3, 100), (4, 100)],
    );
    assert_eq!(log.dropped_ids(), [1], "in the middle");
    assert_eq!(
        sent(queue.as_mut(), &mut log, 9),
        [(1, 100), (3, 100), (4, 100)]
    );
    let mut queue = drr(json!({ "limit": "2p" }));
    enqueue_sized(
        queue.as_mut(),
        &mut log,
        0,
        &[(1, 100), (2, 100), (3, 1500)],
    );
    assert_eq!(log.dropped_ids(), [1, 2], "at the end");
    enqueue_sized(queue.as_mut(), &mut log, 3, &[(4, 200)]);
    assert_eq!(log.dropped_ids(), [1, 2, 3], "again at the end");
    assert_eq!(sent(queue.as_mut(), &mut log, 9), [(1, 100), (2, 100)]);
}

#[test]
fn as_in_ns_2_sources_share_and_bytes_limit() {
    let config: QueueConfig = serde_json::from_value(
        json!({ "kind": "drr", "limit": "25000B", "buckets": 10, "quantum": "250B", "classifier": "source" }),
    )
    .unwrap();
    let mut place = context(1);
    // Flows 1 and 2 have the same source host.
    place.hosts = Hosts::new(|flow| [if flow == 3 { 1 } else { 0 }, 7]);
    let mut queue = config.build::<TestPacket>(place).unwrap();
    let mut log = Log::default();
    let queue = queue.as_mut();
    enqueue_sized(queue, &mut log, 0, &[(1, 1500), (2, 1500), (3, 1500)]);
    assert_eq!(stat(queue, "active"), 2.0);
    enqueue_sized(queue, &mut log, 3, &[(2, 1500); 13]);
    assert_eq!((queue.bytes(), log.dropped.len()), (24_000, 0));
    // 25.5 kB: the host of flows 1 and 2 has more, and flow 1's packet is its oldest.
    enqueue_sized(queue, &mut log, 16, &[(3, 1500)]);
    assert_eq!(log.dropped_ids(), [0]);
    let flows: Vec<u64> = sent(queue, &mut log, 4)
        .iter()
        .map(|(flow, _)| *flow)
        .collect();
    assert_eq!(flows, [2, 3, 2, 3]);
}

#[test]
fn as_in_linux_each_class_has_its_own_limit() {
    let mut queue = drr(json!({ "limit": "1000000p", "flow_limit": "100p" }));
    let mut log = Log::default();
    enqueue_sized(queue.as_mut(), &mut log, 0, &[(1, 1500); 101]);
    enqueue_sized(queue.as_mut(), &mut log, 101, &[(2, 1500); 100]);
    // The arrival is dropped; the full class of flow 1 does not affect flow 2.
    assert_eq!(log.dropped_ids(), [100]);
    assert_eq!(
        (queue.packets(), stat(queue.as_ref(), "drop_flow_limit")),
        (200, 1.0)
    );
    let mut bytes = drr(json!({ "flow_limit": "3000B" }));
    enqueue_sized(bytes.as_mut(), &mut log, 0, &[(1, 1500), (1, 1500), (1, 1)]);
    assert_eq!(log.dropped_ids(), [100, 2]);
}

#[test]
fn exact_classes_do_not_collide_until_they_run_out() {
    let mut log = Log::default();
    for (classifier, buckets, active) in [("exact", 100, 100.0), ("exact", 40, 40.0)] {
        let mut queue = drr(json!({ "classifier": classifier, "buckets": buckets }));
        // Flow numbers as the engine assigns them in one direction.
        let packets: Vec<_> = (0..100).map(|n| (2 * n, 1500)).collect();
        enqueue_sized(queue.as_mut(), &mut log, 0, &packets);
        assert_eq!(stat(queue.as_ref(), "active"), active);
    }
    let mut hashed = drr(json!({ "classifier": "flow", "buckets": 100 }));
    let packets: Vec<_> = (0..100).map(|n| (2 * n, 1500)).collect();
    enqueue_sized(hashed.as_mut(), &mut log, 0, &packets);
    assert!((45.0..85.0).contains(&stat(hashed.as_ref(), "active")));
}

#[test]
fn a_limit_of_a_queue_is_named_in_the_error() {
    let config: QueueConfig =
        serde_json::from_value(json!({ "kind": "drr", "flow_limit": "3buffers" })).unwrap();
    assert!(
        config
            .validate()
            .unwrap_err()
            .starts_with("flow_limit: 3buffers is in buffers, but must be in packets or bytes")
    );
}
