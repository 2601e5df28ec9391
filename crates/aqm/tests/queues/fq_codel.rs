//! Tests FQ-CoDel against RFC 8290: the scheduling, and which flow loses packets on overflow.

use crate::common::{Log, TestPacket, build, context, enqueue_sized, flows, ms, packet, stat};
use bloatlab_aqm::{DropReason, Ecn};
use serde_json::json;

#[test]
fn new_flows_are_served_first_and_then_take_turns() {
    let mut queue = build(json!({ "kind": "fq_codel", "quantum": "1500B" }));
    let mut log = Log::default();
    enqueue_sized(
        queue.as_mut(),
        &mut log,
        0,
        &[
            (1, 1500),
            (1, 1500),
            (1, 1500),
            (2, 1500),
            (2, 1500),
            (2, 1500),
        ],
    );
    assert_eq!(stat(queue.as_ref(), "new_flows_len"), 2.0);
    // Each spends its quantum on one packet and moves to the old flows.
    assert_eq!(flows(queue.as_mut(), &mut log, 2), [1, 2]);
    // Flow 3 is new: it is served once before both.
    enqueue_sized(queue.as_mut(), &mut log, 6, &[(3, 1500), (3, 1500)]);
    assert_eq!(flows(queue.as_mut(), &mut log, 5), [3, 1, 2, 3, 1]);
    assert_eq!(flows(queue.as_mut(), &mut log, 5), [2]);
    let list = |name| stat(queue.as_ref(), name);
    assert_eq!(
        (
            list("new_flows_len"),
            list("old_flows_len"),
            list("new_flow_count")
        ),
        (0.0, 0.0, 3.0)
    );
}

#[test]
fn a_sparse_flow_cannot_starve_the_others() {
    let mut queue = build(json!({ "kind": "fq_codel", "quantum": "1500B" }));
    let mut log = Log::default();
    enqueue_sized(queue.as_mut(), &mut log, 0, &[(1, 1500); 6]);
    assert_eq!(flows(queue.as_mut(), &mut log, 1), [1]);
    enqueue_sized(queue.as_mut(), &mut log, 6, &[(2, 100)]);
    assert_eq!(flows(queue.as_mut(), &mut log, 1), [2]);
    // Flow 2 has quantum left and sends again at once. Because it was found empty, it must first pass through the old flows.
    assert_eq!(flows(queue.as_mut(), &mut log, 1), [1]);
    enqueue_sized(queue.as_mut(), &mut log, 7, &[(2, 100)]);
    assert_eq!(stat(queue.as_ref(), "new_flows_len"), 0.0);
    assert_eq!(flows(queue.as_mut(), &mut log, 2), [2, 1]);
    // Once found empty among the old flows, it is removed; its next packet starts a new flow.
    assert_eq!(flows(queue.as_mut(), &mut log, 1), [1]);
    enqueue_sized(queue.as_mut(), &mut log, 8, &[(2, 100)]);
    assert_eq!(stat(queue.as_ref(), "new_flows_len"), 1.0);
}

#[test]
fn turns_are_equal_in_bytes_whatever_the_packet_sizes() {
    let mut queue =
        build(json!({ "kind": "fq_codel", "quantum": "300B", "target": "1h", "interval": "1h" }));
    let mut log = Log::default();
    let sizes = [(1, 1500), (2, 700), (3, 64)];
    for (flow, size) in sizes {
        let count = 1_000_000 / size as usize;
        enqueue_sized(
            queue.as_mut(),
            &mut log,
            flow * 100_000,
            &vec![(flow, size); count.min(3000)],
        );
    }
    let mut sent = [0_i64; 4];
    for _ in 0..2500 {
        let packet = queue.dequeue(0, &mut log).unwrap();
        sent[packet.flow as usize] += i64::from(packet.size);
    }
    // Shreedhar and Varghese 1995, lemma 2: the difference never exceeds the quantum plus the largest packet.
    for pair in [(1, 2), (2, 3), (1, 3)] {
        assert!(
            (sent[pair.0] - sent[pair.1]).abs() <= 300 + 1500,
            "{sent:?}"
        );
    }
    assert!(log.dropped.is_empty() && sent[3] > 10_000);
}

#[test]
fn overflow_takes_half_of_the_fattest_flow_from_its_head() {
    let mut queue = build(json!({ "kind": "fq_codel", "limit": "30p" }));
    let mut log = Log::default();
    enqueue_sized(queue.as_mut(), &mut log, 0, &[(1, 1500); 20]);
    // More packets than flow 1, but fewer bytes.
    enqueue_sized(queue.as_mut(), &mut log, 20, &[(2, 100); 10]);
    assert!(log.dropped.is_empty());
    enqueue_sized(queue.as_mut(), &mut log, 30, &[(2, 100)]);
    assert_eq!(log.dropped_ids(), (0..10).collect::<Vec<_>>());
    assert!(
        log.dropped
            .iter()
            .all(|(_, reason)| *reason == DropReason::Overflow)
    );
    assert_eq!(queue.packets(), 21);
}

#[test]
fn overflow_takes_at_most_a_batch() {
    let mut log = Log::default();
    for (batch, expected) in [(json!(64), 64), (json!(4), 4), (json!(1000), 101)] {
        let mut queue = build(json!({ "kind": "fq_codel", "limit": "200p", "drop_batch": batch }));
        let before = log.dropped.len();
        enqueue_sized(queue.as_mut(), &mut log, 0, &[(1, 1500); 201]);
        assert_eq!(log.dropped.len() - before, expected);
    }
}

#[test]
fn the_memory_limit_holds_too() {
    let mut queue = build(json!({ "kind": "fq_codel", "memory_limit": "15kB" }));
    let mut log = Log::default();
    enqueue_sized(queue.as_mut(), &mut log, 0, &[(1, 1500); 11]);
    // Half of 16.5 kB: six packets.
    assert_eq!((log.dropped.len(), queue.bytes()), (6, 7500));
    assert_eq!(stat(queue.as_ref(), "drop_overmemory"), 1.0);
}

#[test]
fn each_flow_has_its_own_codel() {
    let mut queue = build(json!("fq_codel"));
    let mut log = Log::default();
    // Flow 1 fills the queue; flow 2 sends a packet every 10 ms; the link takes a packet a millisecond.
    for time in 0..1000_u64 {
        let now = ms(time as f64);
        queue.enqueue(
            now,
            TestPacket {
                ecn: Ecn::Ect0,
                ..packet(2 * time, 1)
            },
            &mut log,
        );
        if time % 10 == 0 {
            queue.enqueue(
                now,
                TestPacket {
                    ecn: Ecn::Ect0,
                    ..packet(2 * time + 1, 2)
                },
                &mut log,
            );
        }
        queue.dequeue(now, &mut log);
    }
    assert!(log.dropped.is_empty(), "ECN is on by default");
    assert!(log.marked.len() > 10);
    assert!(log.marked.iter().all(|packet| packet.flow == 1));
}

#[test]
fn codel_sees_the_backlog_of_all_flows() {
    // Twenty flows with one packet each, which Linux counts as a standing queue: each packet leaves 20 ms after its arrival.
    let mut queue = build(json!({ "kind": "fq_codel", "ecn": false }));
    let mut log = Log::default();
    for time in 0..400_u64 {
        let now = ms(time as f64);
        queue.enqueue(now, packet(time, time % 20), &mut log);
        if time >= 20 {
            queue.dequeue(now, &mut log);
        }
    }
    assert!(
        !log.dropped.is_empty(),
        "a flow's own backlog never exceeds a packet"
    );
}

#[test]
fn flows_collide_differently_under_another_seed() {
    use bloatlab_aqm::QueueConfig;
    let config: QueueConfig =
        serde_json::from_value(json!({ "kind": "fq_codel", "flows": 16 })).unwrap();
    let order = |seed| {
        let mut queue = config.build::<TestPacket>(context(seed)).unwrap();
        let mut log = Log::default();
        let all: Vec<_> = (0..64).map(|n| (n % 16, 1500)).collect();
        enqueue_sized(queue.as_mut(), &mut log, 0, &all);
        flows(queue.as_mut(), &mut log, 64)
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}
