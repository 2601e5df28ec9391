//! FIFO and head drop: the behaviour of a full queue, for each unit of its limit.

use bloatlab_aqm::Qdisc;
use bloatlab_units::Nanos;
use serde_json::json;

use crate::common::{Log, TestPacket, build, packet, stat};

#[test]
fn a_full_fifo_refuses_the_newest() {
    let mut queue = build(json!({ "kind": "fifo", "limit": "3p" }));
    let mut log = Log::default();
    (0..5).for_each(|id| queue.enqueue(0, packet(id, 0), &mut log));
    assert_eq!(log.dropped_ids(), [3, 4]);
    assert_eq!(queue.dequeue(1, &mut log).unwrap().id, 0);
    assert_eq!((queue.packets(), queue.bytes()), (2, 3000));
}

#[test]
fn a_full_head_drop_queue_drops_the_oldest() {
    let mut queue = build(json!({ "kind": "head_drop", "limit": "3p" }));
    let mut log = Log::default();
    (0..5).for_each(|id| queue.enqueue(0, packet(id, 0), &mut log));
    assert_eq!(log.dropped_ids(), [0, 1]);
    assert_eq!(queue.dequeue(1, &mut log).unwrap().id, 2);
}

#[test]
fn byte_limits_count_what_is_on_the_wire() {
    let mut queue = build(json!({ "kind": "fifo", "limit": "4000B" }));
    let mut log = Log::default();
    (0..3).for_each(|id| queue.enqueue(0, packet(id, 0), &mut log));
    assert_eq!(log.dropped_ids(), [2]);
    queue.enqueue(
        0,
        TestPacket {
            size: 1000,
            ..packet(3, 0)
        },
        &mut log,
    );
    assert_eq!(queue.bytes(), 4000);
}

#[test]
fn head_drop_does_not_empty_itself_for_a_packet_that_can_never_fit() {
    let mut queue = build(json!({ "kind": "head_drop", "limit": "4000B" }));
    let mut log = Log::default();
    (0..2).for_each(|id| queue.enqueue(0, packet(id, 0), &mut log));
    queue.enqueue(
        0,
        TestPacket {
            size: 4001,
            ..packet(9, 0)
        },
        &mut log,
    );
    assert_eq!(log.dropped_ids(), [9]);
    // 3000 + 3000 > 4000, and 1500 + 3000 > 4000: both packets must be dropped.
    queue.enqueue(
        0,
        TestPacket {
            size: 3000,
            ..packet(10, 0)
        },
        &mut log,
    );
    assert_eq!(log.dropped_ids(), [9, 0, 1]);
}

/// Enqueues packets of flow 0 that their host sent as one buffer, with identities from `first`.
fn together(queue: &mut dyn Qdisc<TestPacket>, log: &mut Log, now: Nanos, first: u64, count: u64) {
    for id in first..first + count {
        let packet = TestPacket {
            follows: id > first,
            ..packet(id, 0)
        };
        queue.enqueue(now, packet, log);
    }
}

#[test]
fn a_buffer_holds_what_its_host_hands_over_and_is_free_when_its_last_packet_left() {
    let mut queue = build(json!({ "kind": "fifo", "limit": "2buffers", "segments_per_buffer": 3 }));
    let mut log = Log::default();
    // Three packets, three more, and one too many.
    together(queue.as_mut(), &mut log, 0, 0, 7);
    assert_eq!(log.dropped_ids(), [6]);
    // After one packet of the first buffer has left, it still counts as a buffer.
    queue.dequeue(1, &mut log);
    assert_eq!(stat(queue.as_ref(), "buffers"), 2.0);
    together(queue.as_mut(), &mut log, 2, 7, 1);
    assert_eq!(log.dropped_ids(), [6, 7]);
    // After the whole first buffer has left, three more packets fit, in one buffer.
    queue.dequeue(3, &mut log);
    queue.dequeue(3, &mut log);
    assert_eq!(stat(queue.as_ref(), "buffers"), 1.0);
    together(queue.as_mut(), &mut log, 4, 8, 4);
    assert_eq!(log.dropped_ids(), [6, 7, 11]);
}

#[test]
fn packets_sent_separately_have_separate_buffers() {
    let mut queue = build(json!({ "kind": "fifo", "limit": "4buffers", "segments_per_buffer": 2 }));
    let mut log = Log::default();
    // Two pairs of flow 0, with one packet of flow 1 between them, and one of flow 0 that does not directly follow its predecessor.
    together(queue.as_mut(), &mut log, 0, 0, 1);
    together(queue.as_mut(), &mut log, 0, 1, 1);
    queue.enqueue(0, packet(2, 1), &mut log);
    let late = TestPacket {
        follows: true,
        ..packet(3, 0)
    };
    queue.enqueue(0, late, &mut log);
    assert_eq!(stat(queue.as_ref(), "buffers"), 4.0);
    queue.enqueue(0, packet(4, 2), &mut log);
    assert_eq!(log.dropped_ids(), [4]);
}

#[test]
fn a_buffer_is_accepted_as_a_whole_or_refused() {
    let mut queue = build(json!({ "kind": "fifo", "limit": "2buffers", "segments_per_buffer": 3 }));
    let mut log = Log::default();
    together(queue.as_mut(), &mut log, 0, 0, 1);
    together(queue.as_mut(), &mut log, 0, 1, 1);
    together(queue.as_mut(), &mut log, 0, 2, 2);
    assert_eq!(log.dropped_ids(), [2, 3]);
    // There is room again, but the rest of the refused buffer is still dropped. The next buffer is accepted.
    queue.dequeue(1, &mut log);
    let rest = |id| TestPacket {
        follows: true,
        ..packet(id, 0)
    };
    queue.enqueue(1, rest(4), &mut log);
    assert_eq!(log.dropped_ids(), [2, 3, 4]);
    queue.enqueue(1, rest(5), &mut log);
    assert_eq!(log.dropped_ids(), [2, 3, 4]);
    assert_eq!(stat(queue.as_ref(), "buffers"), 2.0);
}

#[test]
fn a_following_packet_in_an_empty_queue_starts_a_buffer() {
    let mut queue = build(json!({ "kind": "fifo", "limit": "1buffers", "segments_per_buffer": 3 }));
    let mut log = Log::default();
    together(queue.as_mut(), &mut log, 0, 0, 1);
    queue.dequeue(0, &mut log);
    let rest = |id| TestPacket {
        follows: true,
        ..packet(id, 0)
    };
    // The first of the three is being sent; the other two are queued in one buffer.
    (1..4).for_each(|id| queue.enqueue(1, rest(id), &mut log));
    assert_eq!(log.dropped_ids(), [3]);
}

#[test]
fn head_drop_drops_a_whole_buffer() {
    let mut queue =
        build(json!({ "kind": "head_drop", "limit": "2buffers", "segments_per_buffer": 3 }));
    let mut log = Log::default();
    together(queue.as_mut(), &mut log, 0, 0, 7);
    assert_eq!(log.dropped_ids(), [0, 1, 2]);
    assert_eq!(queue.packets(), 4);
}

#[test]
fn buffers_of_one_packet_are_packets() {
    let mut queue = build(json!({ "kind": "fifo", "limit": "2buffers" }));
    let mut log = Log::default();
    together(queue.as_mut(), &mut log, 0, 0, 3);
    assert_eq!(log.dropped_ids(), [2]);
    assert_eq!(stat(queue.as_ref(), "buffers"), 2.0);
}
