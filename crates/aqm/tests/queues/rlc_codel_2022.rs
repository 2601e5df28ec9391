//! Tests the RLC's CoDel, with the expected drops of arrivals computed by hand.

use crate::common::{Log, TestPacket, build, ms, packet};
use bloatlab_aqm::{DropReason, Qdisc};
use bloatlab_units::Nanos;
use serde_json::json;

/// A queue whose head packet had waited 101 ms at 200 ms.
fn standing(log: &mut Log) -> Box<dyn Qdisc<TestPacket>> {
    let mut queue = build(json!({ "kind": "rlc_codel_2022", "limit": "1000000p" }));
    for id in 0..3 {
        queue.enqueue(ms(99.0), packet(id, 0), log);
    }
    queue.dequeue(ms(200.0), log).unwrap();
    queue
}

/// Times of the drops, in milliseconds, for one arrival per millisecond.
fn drops(queue: &mut dyn Qdisc<TestPacket>, log: &mut Log, from: u64, to: u64) -> Vec<u64> {
    let mut dropped = Vec::new();
    for at in from..to {
        let before = log.dropped.len();
        queue.enqueue(ms(at as f64), packet(at, 0), log);
        if log.dropped.len() > before {
            dropped.push(at);
        }
    }
    dropped
}

#[test]
fn drops_come_at_whole_milliseconds_ever_closer() {
    let mut log = Log::default();
    let mut queue = standing(&mut log);
    // Above the target from 200 ms on. The first drop follows more than 100 ms later; then the intervals are 100, 70.7, 57.7, 50, 44.7 ms, truncated
    // to whole milliseconds.
    let dropped = drops(queue.as_mut(), &mut log, 200, 640);
    assert_eq!(dropped, [301, 401, 471, 528, 578, 622]);
    assert!(
        log.dropped
            .iter()
            .all(|(_, reason)| *reason == DropReason::Aqm)
    );
}

#[test]
fn many_drops_are_2_then_1_then_0_ms_apart() {
    let mut log = Log::default();
    let mut queue = standing(&mut log);
    let dropped = drops(queue.as_mut(), &mut log, 200, 14_000);
    // 100 / sqrt(n) is below 3 from n = 1112 on, below 2 from 2501 on.
    let gap = |n: usize| dropped[n] - dropped[n - 1];
    assert_eq!((gap(1111), gap(1112), gap(2500), gap(2501)), (3, 2, 2, 1));
}

#[test]
fn a_short_wait_ends_it() {
    let mut log = Log::default();
    let mut queue = standing(&mut log);
    assert_eq!(drops(queue.as_mut(), &mut log, 200, 310), [301]);
    // Packets that leave at the same time belong to one transmission opportunity, of which only the first packet counts.
    for at in [ms(310.0), ms(310.0)] {
        queue.dequeue(at, &mut log).unwrap();
    }
    queue.dequeue(ms(311.0), &mut log).unwrap();
    // That packet had waited 111 ms. Dequeues until the head packet is recent.
    let mut now: Nanos = ms(312.0);
    while queue
        .dequeue(now, &mut log)
        .is_some_and(|packet| now - packet.enqueued_at > ms(100.0))
    {
        now += 1;
    }
    assert_eq!(drops(queue.as_mut(), &mut log, 313, 900), [0_u64; 0]);
}

#[test]
fn the_buffer_is_limited_in_bytes() {
    let mut log = Log::default();
    let mut queue = build(json!({ "kind": "rlc-codel-2022", "limit": "10240B" }));
    for id in 0..8 {
        queue.enqueue(0, packet(id, 0), &mut log);
    }
    assert_eq!((queue.packets(), log.dropped_ids()), (6, vec![6, 7]));
    assert!(
        log.dropped
            .iter()
            .all(|(_, reason)| *reason == DropReason::Overflow)
    );
}
