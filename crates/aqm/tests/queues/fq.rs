//! Linux's fair queue: rounds, limits, and departure times of a flow under `maxrate`.

use crate::common::{Log, TestPacket, build, enqueue, ms, packet, stat};
use bloatlab_aqm::{Ecn, Qdisc};
use bloatlab_units::Nanos;
use serde_json::{Value, json};

fn fq(params: Value) -> Box<dyn Qdisc<TestPacket>> {
    let mut table = json!({ "kind": "fq", "quantum": "3000B", "initial_quantum": "3000B" });
    for (name, value) in params.as_object().unwrap() {
        table[name] = value.clone();
    }
    build(table)
}

/// Wakes the queue and dequeues all available packets. Returns their identities and the next wake-up time.
fn wake(queue: &mut dyn Qdisc<TestPacket>, log: &mut Log, now: Nanos) -> (Vec<u64>, Option<Nanos>) {
    queue.wake(now);
    let ids = std::iter::from_fn(|| queue.dequeue(now, log).map(|packet| packet.id)).collect();
    (ids, queue.next_wake())
}

/// Flows of the packets that may leave now.
fn flows(queue: &mut dyn Qdisc<TestPacket>, log: &mut Log, now: Nanos) -> Vec<u64> {
    std::iter::from_fn(|| queue.dequeue(now, log).map(|packet| packet.flow)).collect()
}

#[test]
fn a_new_flow_sends_its_initial_quantum_and_then_takes_turns() {
    let mut queue = fq(json!({ "quantum": "1500B" }));
    let mut log = Log::default();
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1, 1, 1, 1, 2, 2, 2, 2]);
    assert_eq!(flows(queue.as_mut(), &mut log, 0), [1, 1, 2, 2, 1, 2, 1, 2]);
    assert_eq!(queue.next_wake(), None);
}

#[test]
fn new_flows_go_ahead_of_old_ones() {
    let mut queue = fq(json!({ "quantum": "1500B", "initial_quantum": "1500B" }));
    let mut log = Log::default();
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1, 1, 2, 2]);
    let next =
        |queue: &mut dyn Qdisc<TestPacket>, log: &mut Log| queue.dequeue(0, log).unwrap().flow;
    assert_eq!(
        [
            next(queue.as_mut(), &mut log),
            next(queue.as_mut(), &mut log)
        ],
        [1, 2]
    );
    enqueue(queue.as_mut(), &mut log, 0, 4, &[3]);
    assert_eq!(flows(queue.as_mut(), &mut log, 0), [3, 1, 2]);
}

#[test]
fn limits_of_a_flow_and_of_all() {
    let mut queue = build(json!("fq"));
    let mut log = Log::default();
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1; 101]);
    enqueue(queue.as_mut(), &mut log, 0, 101, &[2; 100]);
    assert_eq!(log.dropped_ids(), [100]);
    assert_eq!(stat(queue.as_ref(), "flows_plimit"), 1.0);
    let mut small = fq(json!({ "limit": "3p", "flow_limit": 2 }));
    enqueue(small.as_mut(), &mut log, 0, 0, &[1, 1, 1, 2, 2]);
    assert_eq!(log.dropped_ids(), [100, 2, 4]);
    assert_eq!(
        (
            stat(small.as_ref(), "flows_plimit"),
            stat(small.as_ref(), "drop_overlimit")
        ),
        (1.0, 1.0)
    );
}

#[test]
fn flows_share_as_many_queues_as_the_mask_has() {
    let mut log = Log::default();
    for (mask, most) in [(0, 1.0), (3, 4.0)] {
        let mut queue = fq(json!({ "orphan_mask": mask }));
        enqueue(
            queue.as_mut(),
            &mut log,
            0,
            0,
            &(0..100).collect::<Vec<_>>(),
        );
        assert_eq!(stat(queue.as_ref(), "flows"), most);
    }
}

#[test]
fn above_the_threshold_a_flow_waits_for_its_rounds() {
    // A quantum of two packets takes 2 ms.
    let mut queue = fq(json!({ "maxrate": "12Mbit/s" }));
    let mut log = Log::default();
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1; 8]);
    let (queue, log) = (queue.as_mut(), &mut log);
    assert_eq!(wake(queue, log, 0), (vec![0, 1], Some(ms(2.0))));
    assert_eq!(stat(queue, "throttled_flows"), 1.0);
    assert_eq!(wake(queue, log, ms(2.0)), (vec![2, 3], Some(ms(4.0))));
    // Half a millisecond late: the delay is compensated.
    assert_eq!(wake(queue, log, ms(4.5)), (vec![4, 5], Some(ms(6.0))));
    // Three milliseconds late: only half of the wait is compensated.
    assert_eq!(wake(queue, log, ms(9.0)).0, [6, 7]);
    enqueue(queue, log, ms(9.0), 8, &[1]);
    assert_eq!(wake(queue, log, ms(9.0)), (vec![], Some(ms(10.0))));
    assert_eq!(wake(queue, log, ms(10.0)), (vec![8], None));
    assert_eq!(stat(queue, "throttled"), 4.0);
}

#[test]
fn a_flow_held_back_does_not_block_others() {
    let mut queue = fq(json!({ "maxrate": "12Mbit/s" }));
    let mut log = Log::default();
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1; 4]);
    let (queue, log) = (queue.as_mut(), &mut log);
    assert_eq!(wake(queue, log, 0).0, [0, 1]);
    enqueue(queue, log, ms(1.0), 4, &[2; 4]);
    assert_eq!(wake(queue, log, ms(1.0)), (vec![4, 5], Some(ms(2.0))));
    assert_eq!(wake(queue, log, ms(2.0)), (vec![2, 3], Some(ms(3.0))));
    assert_eq!(wake(queue, log, ms(3.0)), (vec![6, 7], None));
}

#[test]
fn up_to_the_threshold_a_flow_waits_for_each_packet() {
    let mut queue = fq(json!({ "maxrate": "480kbit/s", "initial_quantum": "15140B" }));
    let mut log = Log::default();
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1; 3]);
    let (queue, log) = (queue.as_mut(), &mut log);
    assert_eq!(wake(queue, log, 0), (vec![0], Some(ms(25.0))));
    assert_eq!(wake(queue, log, ms(25.0)), (vec![1], Some(ms(50.0))));
    assert_eq!(wake(queue, log, ms(50.0)), (vec![2], None));
}

#[test]
fn no_wait_is_longer_than_a_second() {
    let mut queue = fq(json!({ "maxrate": "8kbit/s" }));
    let mut log = Log::default();
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1; 2]);
    assert_eq!(
        wake(queue.as_mut(), &mut log, 0),
        (vec![0], Some(ms(1000.0)))
    );
    assert_eq!(stat(queue.as_ref(), "pkts_too_long"), 1.0);
}

#[test]
fn without_pacing_nothing_waits() {
    let mut queue = fq(json!({ "maxrate": "480kbit/s", "pacing": false }));
    let mut log = Log::default();
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1; 9]);
    assert_eq!(flows(queue.as_mut(), &mut log, 0).len(), 9);
}

#[test]
fn a_flow_that_was_idle_gets_a_full_quantum() {
    let mut log = Log::default();
    for (rest, order) in [(40.0, [1, 2, 2, 1]), (40.001, [1, 1, 2, 2])] {
        let mut queue = fq(json!({}));
        // 100 bytes of credit remain when flow 1 stops sending.
        for size in [1500, 1400] {
            queue.enqueue(
                0,
                TestPacket {
                    size,
                    ..packet(0, 1)
                },
                &mut log,
            );
        }
        assert_eq!(flows(queue.as_mut(), &mut log, 0), [1, 1]);
        enqueue(queue.as_mut(), &mut log, ms(rest), 0, &[1, 1, 2, 2]);
        assert_eq!(flows(queue.as_mut(), &mut log, ms(rest)), order);
    }
}

#[test]
fn only_a_delay_beyond_pacing_is_marked() {
    let mut queue = fq(json!({ "maxrate": "480kbit/s", "ce_threshold": "5ms" }));
    let mut log = Log::default();
    for id in 0..3 {
        let capable = TestPacket {
            ecn: Ecn::Ect0,
            ..packet(id, 1)
        };
        queue.enqueue(0, capable, &mut log);
    }
    let (queue, log) = (queue.as_mut(), &mut log);
    wake(queue, log, 0);
    // It waited 25 ms for its departure time, and 5 ms more.
    assert_eq!(wake(queue, log, ms(30.0)), (vec![1], Some(ms(50.0))));
    assert!(log.marked.is_empty());
    wake(queue, log, ms(55.000_001));
    assert_eq!(log.marked.len(), 1);
    assert_eq!(stat(queue, "ce_mark"), 1.0);
}
