//! FQ-PIE: the scheduling, and the PIE controller of each flow.

use crate::common::{Log, TestPacket, build, flows, ms, packet, stat};
use bloatlab_aqm::{DropReason, Qdisc};
use serde_json::json;

fn arrive(queue: &mut dyn Qdisc<TestPacket>, log: &mut Log, flow: u64, count: u64) {
    (0..count).for_each(|id| queue.enqueue(0, packet(id, flow), log));
}

#[test]
fn new_flows_are_served_first_and_then_take_turns() {
    let mut queue = build(json!({ "kind": "fq_pie", "quantum": "1500B" }));
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, 1, 3);
    arrive(queue.as_mut(), &mut log, 2, 3);
    assert_eq!(stat(queue.as_ref(), "new_flows_len"), 2.0);
    assert_eq!(flows(queue.as_mut(), &mut log, 2), [1, 2]);
    arrive(queue.as_mut(), &mut log, 3, 2);
    assert_eq!(flows(queue.as_mut(), &mut log, 9), [3, 1, 2, 3, 1, 2]);
    assert_eq!(stat(queue.as_ref(), "new_flow_count"), 3.0);
}

#[test]
fn only_the_flow_with_delay_loses_packets() {
    let mut queue = build(json!({ "kind": "fq_pie", "quantum": "1500B" }));
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, 1, 2_000);
    // One packet of flow 1 every 15 ms: its delay rises far above the target.
    for n in 1..=200 {
        let now = ms(15.0) * n;
        queue.dequeue(now, &mut log).unwrap();
        queue.wake(now);
    }
    // The delay rises by 15 ms per update. The probability rises by 2 % each time above 0.1 and by 2 % more above 250 ms, until all packets are
    // dropped.
    assert_eq!(stat(queue.as_ref(), "prob"), 1.0);
    arrive(queue.as_mut(), &mut log, 1, 100);
    assert!(
        log.dropped
            .iter()
            .all(|(packet, reason)| packet.flow == 1 && *reason == DropReason::Aqm)
    );
    assert!(log.dropped.len() >= 99);
    let before = log.dropped.len();
    arrive(queue.as_mut(), &mut log, 2, 100);
    assert_eq!(log.dropped.len(), before);
}

#[test]
fn a_probability_that_rose_beyond_one_takes_as_long_to_fall() {
    // As in Linux. With a bound of 1, the first update after the queue has emptied would set the probability to 0.
    let mut queue = build(json!({ "kind": "fq_pie", "quantum": "1500B" }));
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, 1, 2_000);
    for n in 1..=400 {
        queue.dequeue(ms(15.0) * n, &mut log).unwrap();
        queue.wake(ms(15.0) * n);
    }
    while queue.dequeue(ms(6_000.0), &mut log).is_some() {}
    // By then it is about 15. The first update subtracts 1.25 * 6 = 7.5 because the delay fell by 6 s, the others 1/64 each.
    for n in 1..=33 {
        queue.wake(ms(6_000.0) + ms(15.0) * n);
    }
    assert_eq!(stat(queue.as_ref(), "prob"), 1.0);
}

#[test]
fn excess_packets_are_dropped_on_arrival() {
    let mut log = Log::default();
    let mut queue = build(json!({ "kind": "fq_pie", "limit": "3p" }));
    arrive(queue.as_mut(), &mut log, 1, 5);
    assert_eq!(
        (log.dropped_ids(), stat(queue.as_ref(), "overlimit")),
        (vec![3, 4], 2.0)
    );
    let mut queue = build(json!({ "kind": "fq_pie", "memory_limit": "3000B" }));
    arrive(queue.as_mut(), &mut log, 1, 5);
    assert_eq!(
        (queue.packets(), stat(queue.as_ref(), "overmemory")),
        (2, 3.0)
    );
}
