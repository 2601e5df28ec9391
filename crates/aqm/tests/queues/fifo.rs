//! FIFO and head drop: what a full queue does, in each unit of its limit.

use crate::common::{Log, build, packet, stat};
use serde_json::json;

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
fn a_full_head_drop_queue_gives_up_the_oldest() {
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
        crate::common::TestPacket {
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
        crate::common::TestPacket {
            size: 4001,
            ..packet(9, 0)
        },
        &mut log,
    );
    assert_eq!(log.dropped_ids(), [9]);
    // 3000 + 3000 > 4000, and 1500 + 3000 > 4000: both must go.
    queue.enqueue(
        0,
        crate::common::TestPacket {
            size: 3000,
            ..packet(10, 0)
        },
        &mut log,
    );
    assert_eq!(log.dropped_ids(), [9, 0, 1]);
}

#[test]
fn consecutive_arrivals_fill_a_buffer_and_it_is_free_when_its_last_packet_left() {
    let mut queue = build(json!({ "kind": "fifo", "limit": "2buffers", "segments_per_buffer": 3 }));
    let mut log = Log::default();
    (0..7).for_each(|id| queue.enqueue(0, packet(id, id), &mut log));
    assert_eq!(log.dropped_ids(), [6]);
    // One packet of the first buffer has left: it still is a buffer.
    queue.dequeue(1, &mut log);
    assert_eq!(stat(queue.as_ref(), "buffers"), 2.0);
    queue.enqueue(2, packet(7, 0), &mut log);
    assert_eq!(log.dropped_ids(), [6, 7]);
    // The whole first buffer has left: three more fit.
    queue.dequeue(3, &mut log);
    queue.dequeue(3, &mut log);
    assert_eq!(stat(queue.as_ref(), "buffers"), 1.0);
    (8..12).for_each(|id| queue.enqueue(4, packet(id, 0), &mut log));
    assert_eq!(log.dropped_ids(), [6, 7, 11]);
}

#[test]
fn an_empty_queue_holds_no_part_filled_buffer() {
    let mut queue = build(json!({ "kind": "fifo", "limit": "1buffers", "segments_per_buffer": 3 }));
    let mut log = Log::default();
    queue.enqueue(0, packet(0, 0), &mut log);
    queue.dequeue(0, &mut log);
    (1..5).for_each(|id| queue.enqueue(1, packet(id, 0), &mut log));
    assert_eq!(log.dropped_ids(), [4]);
}

#[test]
fn head_drop_gives_up_a_whole_buffer() {
    let mut queue =
        build(json!({ "kind": "head_drop", "limit": "2buffers", "segments_per_buffer": 3 }));
    let mut log = Log::default();
    (0..7).for_each(|id| queue.enqueue(0, packet(id, 0), &mut log));
    assert_eq!(log.dropped_ids(), [0, 1, 2]);
    assert_eq!(queue.packets(), 4);
}
