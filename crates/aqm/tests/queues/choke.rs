//! Tests CHOKe against Pan, Prabhakar, Psounis 2000, with the expected steps computed by hand.

use crate::common::{Log, TestPacket, build, context, ms, packet, stat};
use bloatlab_aqm::{DropReason, Ecn, Qdisc, QueueConfig};
use serde_json::json;

/// 3 + 1 - 2 = 2 lies between 2 (1 - 1/8) = 1.75 and 4 (1 - 27/64) = 2.3: the weight is a quarter.
fn config() -> serde_json::Value {
    json!({ "kind": "choke", "limit": "100p", "min": "2p", "max": "50p", "burst": 3, "probability": 0.0 })
}

/// Four packets of flow 7 enter an empty queue. The average each sees is 0, 0.25, 0.25 + (2 - 0) / 4 = 0.75, and 0.75 + (3 - 0) / 4 = 1.5: as in
/// Linux, it moves by the distance from its whole packets.
fn four(queue: &mut dyn Qdisc<TestPacket>, log: &mut Log) {
    (0..4).for_each(|id| queue.enqueue(ms(1.0), packet(id, 7), log));
    assert_eq!(stat(queue, "avg"), 1.5);
    assert_eq!((queue.packets(), log.dropped.len()), (4, 0));
}

#[test]
fn a_match_with_the_same_flow_drops_both_packets() {
    let (mut queue, mut log) = (build(config()), Log::default());
    four(queue.as_mut(), &mut log);
    // The fifth sees 1.5 + (4 - 1) / 4 = 2.25, above min, and draws a packet of the same flow.
    queue.enqueue(ms(2.0), packet(4, 7), &mut log);
    assert_eq!(queue.packets(), 2 + 1);
    assert_eq!(queue.bytes(), 4500);
    let dropped = log.dropped_ids();
    assert_eq!(dropped.len(), 2);
    assert!(dropped[0] < 4 && dropped[1] == 4);
    assert!(
        log.dropped
            .iter()
            .all(|(_, reason)| *reason == DropReason::Aqm)
    );
    assert_eq!(stat(queue.as_ref(), "matched"), 1.0);
    assert_eq!(stat(queue.as_ref(), "early"), 0.0);
    // A packet of another flow never matches.
    queue.enqueue(ms(2.0), packet(5, 8), &mut log);
    assert_eq!((queue.packets(), log.dropped.len()), (4, 2));
    // The others leave in order.
    let left: Vec<u64> = std::iter::from_fn(|| queue.dequeue(ms(3.0), &mut log))
        .map(|p| p.id)
        .collect();
    let expected: Vec<u64> = [0, 1, 2, 3, 5]
        .into_iter()
        .filter(|id| *id != dropped[0])
        .collect();
    assert_eq!(left, expected);
}

#[test]
fn every_packet_of_the_queue_is_drawn_with_equal_probability() {
    let mut drawn = [0_u32; 4];
    for seed in 0..2000 {
        let config: QueueConfig = serde_json::from_value(config()).unwrap();
        let (mut queue, mut log) = (config.build(context(seed)).unwrap(), Log::default());
        four(queue.as_mut(), &mut log);
        queue.enqueue(ms(2.0), packet(4, 7), &mut log);
        drawn[log.dropped_ids()[0] as usize] += 1;
    }
    // 500 each, with a standard deviation of 19.
    assert!(
        drawn.iter().all(|&times| times.abs_diff(500) < 78),
        "{drawn:?}"
    );
}

#[test]
fn drawn_packets_are_dropped_despite_ecn_and_ecn_marks_above_max() {
    let mut config = config();
    config["ecn"] = json!(true);
    config["max"] = json!("3p");
    let (mut queue, mut log) = (build(config), Log::default());
    let capable = |id, flow| TestPacket {
        ecn: Ecn::Ect0,
        ..packet(id, flow)
    };
    (0..5).for_each(|id| queue.enqueue(0, capable(id, 7), &mut log));
    assert_eq!((log.dropped.len(), log.marked.len()), (2, 0));
    // Packets of other flows see 2.25 + (3 - 2) / 4 = 2.5, then 2.5 + (4 - 2) / 4 = 3, which is not above max.
    queue.enqueue(0, capable(5, 8), &mut log);
    queue.enqueue(0, capable(6, 9), &mut log);
    assert_eq!((stat(queue.as_ref(), "avg"), log.marked.len()), (3.0, 0));
    // 3 + (5 - 3) / 4 = 3.5: above max, they are marked if they are ECN-capable.
    queue.enqueue(0, capable(7, 10), &mut log);
    queue.enqueue(0, packet(8, 11), &mut log);
    assert_eq!(log.marked.iter().map(|p| p.id).collect::<Vec<_>>(), [7]);
    assert_eq!(log.dropped_ids()[2..], [8]);
    assert_eq!(stat(queue.as_ref(), "early"), 1.0);
}

#[test]
fn an_unresponsive_flow_gets_little_through() {
    // A link of one packet a millisecond; flow 0 sends two a millisecond, flow 1 half of one.
    let config =
        json!({ "kind": "choke", "limit": "400p", "min": "40p", "max": "100p", "burst": 80 });
    let (mut queue, mut log) = (build(config), Log::default());
    let mut sent = [0_u32; 2];
    for time in 0..20_000_u64 {
        let now = ms(time as f64);
        for n in 0..2 {
            queue.enqueue(now, packet(4 * time + n, 0), &mut log);
        }
        if time % 2 == 0 {
            queue.enqueue(now, packet(4 * time + 2, 1), &mut log);
        }
        sent[queue.dequeue(now, &mut log).unwrap().flow as usize] += 1;
    }
    // With a FIFO, the light flow would get a fifth of the link, 4000 of its 10 000 packets; with equal shares, all of them.
    assert!(sent[1] > 6000, "{sent:?}");
}
