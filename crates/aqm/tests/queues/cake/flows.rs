//! Flows and hosts: their assignment to queues, and their shares of the link.

use super::{between, cake};
use crate::common::{Log, TestPacket, packet, stat};
use bloatlab_aqm::cake::hash::{Found, Ways};
use bloatlab_aqm::{DropReason, Ecn, Qdisc};
use bloatlab_units::MILLISECOND;
use serde_json::json;

#[test]
fn eight_keys_of_one_set_get_places_of_their_own() {
    let mut ways = Ways::default();
    // Keys whose hashes select the same set.
    let ten = |key: u32| (10 << 22) + key;
    let mut used = [false; 1024];
    // All hash to 10: 10 to 15, then 8 and 9.
    for (key, place) in [10, 11, 12, 13, 14, 15, 8, 9].into_iter().enumerate() {
        let found = ways.find(ten(key as u32), |place| used[place]);
        assert_eq!(found, (place, Found::Missed));
        used[place] = true;
    }
    assert_eq!(ways.find(ten(0), |place| used[place]), (10, Found::Direct));
    assert_eq!(ways.find(ten(7), |place| used[place]), (9, Found::Indirect));
    // The ninth shares the queue that it hashes to, and takes it over.
    assert_eq!(
        ways.find(ten(8), |place| used[place]),
        (10, Found::Collided)
    );
    assert_eq!(ways.find(ten(8), |place| used[place]), (10, Found::Direct));
    assert_eq!(
        ways.find(ten(0), |place| used[place]),
        (10, Found::Collided)
    );
    // A queue that is free again is reassigned, but if its former key arrives first, that still finds it.
    used[12] = false;
    assert_eq!(
        ways.find(ten(2), |place| used[place]),
        (12, Found::Indirect)
    );
    assert_eq!(ways.find(ten(9), |place| used[place]), (12, Found::Missed));
    // Other sets are unaffected.
    assert_eq!(
        ways.find((16 << 22) + 9, |place| used[place]),
        (16, Found::Missed)
    );
}

#[test]
fn collisions_are_counted_and_few() {
    let (mut queue, mut log) = (cake(json!({ "diffserv": "besteffort" })), Log::default());
    for flow in 0..500 {
        queue.enqueue(0, packet(flow, flow), &mut log);
    }
    let counted = |name| stat(queue.as_ref(), name);
    // A plain hash would make about 105 of 500 flows collide in 1024 queues.
    assert_eq!(counted("way_miss") + counted("way_cols"), 500.0);
    assert!(counted("way_cols") < 15.0, "{}", counted("way_cols"));
    assert_eq!(counted("sparse_flows"), 500.0 - counted("way_cols"));
}

/// Flows 0 to 7 come from host 1 and flow 8 from host 2. Each has its own destination host.
fn two_sources(flow: u64) -> [u32; 2] {
    [if flow < 8 { 1 } else { 2 }, 100 + flow as u32]
}

/// The same, with source and destination exchanged.
fn two_destinations(flow: u64) -> [u32; 2] {
    let [source, destination] = two_sources(flow);
    [destination, source]
}

/// Packets of flow 8 and of flow 0 among 1800, with all flows constantly backlogged.
fn shares(mode: &str, hosts: fn(u64) -> [u32; 2]) -> [usize; 2] {
    let params = json!({ "flowmode": mode, "diffserv": "besteffort", "rtt": "1h" });
    let (mut queue, mut log) = (between(params, hosts), Log::default());
    for id in 0..1800 {
        for flow in 0..9 {
            let size = 1000;
            queue.enqueue(
                0,
                TestPacket {
                    size,
                    ..packet(id, flow)
                },
                &mut log,
            );
        }
    }
    let mut sent = [0; 9];
    for now in 0..1800 {
        sent[queue.dequeue(now, &mut log).unwrap().flow as usize] += 1;
    }
    [sent[8], sent[0]]
}

#[test]
fn a_host_with_eight_flows_gets_what_a_host_with_one_gets() {
    let near = |[single, one_of_eight]: [usize; 2], expected: [usize; 2]| {
        single.abs_diff(expected[0]) <= 18 && one_of_eight.abs_diff(expected[1]) <= 12
    };
    let by_host = [900, 112];
    let by_flow = [200, 200];
    for (mode, source, destination) in [
        ("triple-isolate", by_host, by_host),
        ("dual-srchost", by_host, by_flow),
        ("dual-dsthost", by_flow, by_host),
        ("flows", by_flow, by_flow),
    ] {
        let got = shares(mode, two_sources);
        assert!(near(got, source), "{mode}, sources: {got:?}");
        let got = shares(mode, two_destinations);
        assert!(near(got, destination), "{mode}, destinations: {got:?}");
    }
}

#[test]
fn flow_modes_determine_the_number_of_queues() {
    let queues = |mode: &str, hosts: fn(u64) -> [u32; 2]| {
        let params = json!({ "flowmode": mode, "diffserv": "besteffort" });
        let (mut queue, mut log) = (between(params, hosts), Log::default());
        for flow in 0..9 {
            queue.enqueue(0, packet(flow, flow), &mut log);
        }
        stat(queue.as_ref(), "sparse_flows")
    };
    assert_eq!(queues("srchost", two_sources), 2.0);
    assert_eq!(queues("dsthost", two_sources), 9.0);
    assert_eq!(queues("hosts", two_sources), 9.0);
    assert_eq!(
        queues("hosts", |flow| [flow as u32 % 2, flow as u32 % 3]),
        6.0
    );
    assert_eq!(queues("flowblind", two_sources), 1.0);
    assert_eq!(queues("flows", two_sources), 9.0);
}

#[test]
fn sparse_flows_go_first_and_their_state_is_kept_a_while() {
    let (mut queue, mut log) = (cake(json!({ "diffserv": "besteffort" })), Log::default());
    for id in 0..20 {
        queue.enqueue(0, packet(id, 1), &mut log);
    }
    // The first two packets exhaust the quantum of 1514 bytes; then the flow is bulk.
    for _ in 0..3 {
        assert_eq!(queue.dequeue(0, &mut log).unwrap().flow, 1);
    }
    let flows =
        |queue: &dyn Qdisc<TestPacket>| (stat(queue, "sparse_flows"), stat(queue, "bulk_flows"));
    assert_eq!(flows(queue.as_ref()), (0.0, 1.0));
    queue.enqueue(MILLISECOND, packet(100, 2), &mut log);
    assert_eq!(flows(queue.as_ref()), (1.0, 1.0));
    assert_eq!(queue.dequeue(MILLISECOND, &mut log).unwrap().flow, 2);
    // Found empty, it decays for one interval: it counts as neither sparse nor bulk, and keeps its queue.
    assert_eq!(queue.dequeue(MILLISECOND, &mut log).unwrap().flow, 1);
    assert_eq!(flows(queue.as_ref()), (0.0, 1.0));
    queue.enqueue(2 * MILLISECOND, packet(101, 2), &mut log);
    assert_eq!(stat(queue.as_ref(), "way_miss"), 2.0);
    assert_eq!(queue.dequeue(2 * MILLISECOND, &mut log).unwrap().flow, 2);
}

#[test]
fn flows_found_empty_are_new_again_and_bulk_waits_as_in_linux() {
    let (mut queue, mut log) = (cake(json!({ "diffserv": "besteffort" })), Log::default());
    (0..10).for_each(|id| queue.enqueue(0, packet(id, 7), &mut log));
    // Two packets exhaust the first quantum; from then on it is a bulk flow.
    (0..2).for_each(|id| assert_eq!(queue.dequeue(0, &mut log).unwrap().id, id));
    queue.enqueue(0, packet(10, 1), &mut log);
    // Each of two flows sends its next packet only after it was found empty, so neither waits behind the bulk flow.
    for n in 0..1000 {
        let sent = queue.dequeue(n, &mut log).unwrap();
        assert_eq!((sent.id, sent.flow), (10 + n, 1 + n % 2));
        queue.enqueue(n, packet(11 + n, 1 + (n + 1) % 2), &mut log);
    }
    assert_eq!(queue.packets(), 9);
}

#[test]
fn the_longest_queue_loses_its_head_and_blue_reacts() {
    let params = json!({ "diffserv": "besteffort", "memlimit": "15kB" });
    let (mut queue, mut log) = (cake(params), Log::default());
    for id in 0..3 {
        queue.enqueue(MILLISECOND, packet(id, 1), &mut log);
    }
    for id in 10..17 {
        queue.enqueue(MILLISECOND, packet(id, 2), &mut log);
    }
    assert!(log.dropped.is_empty(), "15 kB are held");
    // Seven packets of flow 2 and at least three of flow 1: flow 2 loses its oldest.
    for id in 3..5 {
        queue.enqueue(MILLISECOND, packet(id, 1), &mut log);
    }
    let over = DropReason::Overflow;
    assert_eq!(log.dropped_ids(), [10, 11]);
    assert!(log.dropped.iter().all(|(_, why)| *why == over));
    // Five packets each: one of the two equal flows loses packets. Then flow 3 adds one packet too many, and the other flow is longer.
    queue.enqueue(MILLISECOND, packet(20, 3), &mut log);
    queue.enqueue(MILLISECOND, packet(21, 3), &mut log);
    let mut cut: Vec<u64> = log.dropped_ids()[2..].to_vec();
    cut.sort_unstable();
    assert_eq!(cut, [0, 12]);
    assert_eq!((queue.packets(), queue.bytes()), (10, 15_000));
    assert_eq!(stat(queue.as_ref(), "drop_overlimit"), 4.0);
    assert_eq!(stat(queue.as_ref(), "unresponsive_flows"), 2.0);
    assert_eq!(stat(queue.as_ref(), "tin0_drops"), 4.0);
    // The maximum memory was used just before the first packet was dropped.
    assert_eq!(stat(queue.as_ref(), "memory_used"), 16_500.0);
}

#[test]
fn a_standing_queue_is_marked_and_its_last_packet_kept() {
    let (mut queue, mut log) = (cake(json!({ "diffserv": "besteffort" })), Log::default());
    for id in 0..40 {
        let ecn = if id < 20 { Ecn::Ect0 } else { Ecn::NotEct };
        queue.enqueue(
            0,
            TestPacket {
                ecn,
                ..packet(id, 1)
            },
            &mut log,
        );
    }
    // Above the target at 10 ms: a new queue signals its next packet, and then the one after, because that was late; the next signal follows 57.7 ms
    // later.
    for (at, id) in [(10, 0), (109, 1), (110, 2), (181, 3)] {
        assert_eq!(queue.dequeue(at * MILLISECOND, &mut log).unwrap().id, id);
    }
    assert_eq!(log.marked_ids(), [1, 2, 3]);
    // After an hour, one mark is overdue and the next is due at once. Marks do not catch up.
    let late = 3_600_000 * MILLISECOND;
    let sent = std::iter::from_fn(|| queue.dequeue(late, &mut log)).count();
    assert_eq!(
        (sent, log.marked_ids().as_slice()),
        (36, [1, 2, 3, 4, 5].as_slice())
    );
    assert!(log.dropped.is_empty());
}

#[test]
fn overdue_drops_leave_the_last_packet() {
    let (mut queue, mut log) = (cake(json!({ "diffserv": "besteffort" })), Log::default());
    for id in 0..40 {
        queue.enqueue(0, packet(id, 1), &mut log);
    }
    assert_eq!(queue.dequeue(10 * MILLISECOND, &mut log).unwrap().id, 0);
    // An hour's worth of drops is due: many more than are queued.
    let late = 3_600_000 * MILLISECOND;
    assert_eq!(queue.dequeue(late, &mut log).unwrap().id, 39);
    let controller = DropReason::Aqm;
    assert!(log.dropped_ids().into_iter().eq(1..39));
    assert!(log.dropped.iter().all(|(_, why)| *why == controller));
    assert_eq!(stat(queue.as_ref(), "tin0_drops"), 38.0);
}
