//! The unlimited queue.

use crate::common::{Log, build, packet};
use serde_json::json;

#[test]
fn everything_enters_and_leaves_in_order() {
    let (mut queue, mut log) = (build(json!("infinite")), Log::default());
    (0..100_000).for_each(|id| queue.enqueue(id, packet(id, id % 3), &mut log));
    assert_eq!((queue.packets(), queue.bytes()), (100_000, 150_000_000));
    for id in 0..100_000 {
        let packet = queue.dequeue(200_000, &mut log).unwrap();
        assert_eq!((packet.id, packet.enqueued_at), (id, id));
    }
    assert!(queue.dequeue(200_000, &mut log).is_none());
    assert!(log.dropped.is_empty() && log.marked.is_empty());
}
