//! Strict priority: the mapping from DSCPs to bands, and the order of service.

use crate::common::{Log, TestPacket, build, packet, stat};
use bloatlab_aqm::Qdisc;
use serde_json::{Value, json};

const CODE_POINTS: std::ops::Range<u8> = 0..64;

/// Enqueues one packet of each of these DSCPs. Returns the DSCPs in the order of departure.
fn order(queue: &mut dyn Qdisc<TestPacket>, code_points: impl IntoIterator<Item = u8>) -> Vec<u8> {
    let mut log = Log::default();
    for (id, dscp) in (0..).zip(code_points) {
        queue.enqueue(
            0,
            TestPacket {
                dscp,
                ..packet(id, 0)
            },
            &mut log,
        );
    }
    let sent = std::iter::from_fn(|| queue.dequeue(0, &mut log).map(|packet| packet.dscp));
    let sent = sent.collect();
    assert!(log.dropped.is_empty());
    sent
}

fn priority(name: &str, value: Value) -> Box<dyn Qdisc<TestPacket>> {
    build(json!({ "kind": "priority", name: value }))
}

#[test]
fn interactive_goes_before_best_effort_before_bulk() {
    let mut queue = build(json!("priority"));
    // LE, CS1, best effort, AF31, CS3, CS4, AF41, VA, EF, CS6, CS7.
    let mixed = [1, 8, 0, 26, 24, 32, 34, 44, 46, 48, 56];
    let expected = [32, 34, 44, 46, 48, 56, 0, 26, 24, 1, 8];
    assert_eq!(order(queue.as_mut(), mixed), expected);
    // With two bands, bulk traffic uses the second.
    let mut queue = priority("bands", json!(2));
    let expected = [32, 34, 44, 46, 48, 56, 1, 8, 0, 26, 24];
    assert_eq!(order(queue.as_mut(), mixed), expected);
}

#[test]
fn a_band_waits_while_those_before_it_have_packets() {
    let mut queue = build(json!("priority"));
    let mut log = Log::default();
    let arrive = |queue: &mut dyn Qdisc<TestPacket>, id, dscp| {
        queue.enqueue(
            0,
            TestPacket {
                dscp,
                ..packet(id, 0)
            },
            &mut Log::default(),
        );
    };
    arrive(queue.as_mut(), 0, 0);
    arrive(queue.as_mut(), 1, 0);
    assert_eq!(queue.dequeue(0, &mut log).unwrap().id, 0);
    arrive(queue.as_mut(), 2, 46);
    arrive(queue.as_mut(), 3, 46);
    let rest: Vec<u64> =
        std::iter::from_fn(|| queue.dequeue(0, &mut log).map(|packet| packet.id)).collect();
    assert_eq!(rest, [2, 3, 1]);
}

#[test]
fn linux_map_reads_three_bits() {
    // tc-prio(8): minimum delay (0x10) maps to band 0, minimum delay with throughput (0x18) to band 1, and throughput alone (0x08) to band 2.
    let mut queue = priority(
        "priomap",
        json!([1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]),
    );
    let sent = order(queue.as_mut(), CODE_POINTS);
    let with = |bits: &[u8]| -> Vec<u8> {
        CODE_POINTS
            .filter(|dscp| bits.contains(&(dscp & 7)))
            .collect()
    };
    assert_eq!(sent[..16], with(&[4, 5]));
    assert_eq!(sent[16..48], with(&[0, 1, 6, 7]));
    assert_eq!(sent[48..], with(&[2, 3]));
}

#[test]
fn each_band_has_its_own_queue_and_limit() {
    let limit = |n: u32| json!({ "kind": "fifo", "limit": format!("{n}p") });
    let mut queue = priority("queues", json!([limit(1), limit(2), limit(3)]));
    let mut log = Log::default();
    for id in 0..12 {
        let dscp = [46, 0, 8][id as usize % 3];
        queue.enqueue(
            0,
            TestPacket {
                dscp,
                ..packet(id, 0)
            },
            &mut log,
        );
    }
    assert_eq!((queue.packets(), queue.bytes()), (6, 9_000));
    assert_eq!(log.dropped_ids(), [3, 6, 7, 9, 10, 11]);
    // Statistics with the same name are added.
    assert_eq!(stat(queue.as_ref(), "buffers"), 6.0);
    let mut queue = priority("queue", limit(1));
    let sent = order(queue.as_mut(), [8, 0, 46]);
    assert_eq!(sent, [46, 0, 8]);
}

#[test]
fn a_band_that_holds_packets_back_does_not_block_the_next() {
    let shaper = json!({ "kind": "tbf", "rate": "12Mbit/s", "burst": "1500B" });
    let mut queue = priority("queues", json!([shaper, "fifo", "fifo"]));
    // The second packet of the first band waits 1 ms for tokens.
    assert_eq!(order(queue.as_mut(), [46, 46, 0]), [46, 0]);
    assert_eq!((queue.packets(), queue.next_wake()), (1, Some(1_000_000)));
    queue.wake(1_000_000);
    assert_eq!(
        queue.dequeue(1_000_000, &mut Log::default()).unwrap().dscp,
        46
    );
}
