//! Tests CHOKe against Pan, Prabhakar, Psounis 2000, with the expected steps computed by hand.

use crate::common::{Log, TestPacket, build, context, ms, packet, stat};
use bloatlab_aqm::{DropReason, Ecn, Qdisc, QueueConfig};
use serde_json::json;

/// 3 + 1 - 2 = 2 lies between 2 (1 - 1/8) = 1.75 and 4 (1 - 27/64) = 2.3: the weight is a quarter.
fn config() -> serde_json::Value {
    json!({ "kind": "choke", "limit": "100p", "min": "2p", "max": "50p", "burst": 3, "probability": 0.0 })
}

/// Five packets of flow 7 enter an empty queue: the average each sees is 0, 0.25, 0.6875, 1.265625, 1.94921875.
fn five(queue: &mut dyn Qdisc<TestPacket>, log: &mut Log) {
    (0..5).for_each(|id| queue.enqueue(ms(1.0), packet(id, 7), log));
    assert_eq!(stat(queue, "avg"), 1.949_218_75);
    assert_eq!((queue.packets(), log.dropped.len()), (5, 0));
}

#[test]
fn a_match_with_the_same_flow_drops_both_packets() {
    let (mut queue, mut log) = (build(config()), Log::default());
    five(queue.as_mut(), &mut log);
    // The sixth sees 0.25 * 5 + 0.75 * 1.94921875 = 2.7, above min, and draws a packet of the same flow.
    queue.enqueue(ms(2.0), packet(5, 7), &mut log);
    assert_eq!(queue.packets(), 3 + 1);
    assert_eq!(queue.bytes(), 6000);
    let dropped = log.dropped_ids();
    assert_eq!(dropped.len(), 2);
    assert!(dropped[0] < 5 && dropped[1] == 5);
    assert!(
        log.dropped
            .iter()
            .all(|(_, reason)| *reason == DropReason::Aqm)
    );
    assert_eq!(stat(queue.as_ref(), "matched"), 1.0);
    assert_eq!(stat(queue.as_ref(), "early"), 0.0);
    // A packet of another flow never matches.
    queue.enqueue(ms(2.0), packet(6, 8), &mut log);
    assert_eq!((queue.packets(), log.dropped.len()), (5, 2));
    // The others leave in order.
    let left: Vec<u64> = std::iter::from_fn(|| queue.dequeue(ms(3.0), &mut log))
        .map(|p| p.id)
        .collect();
    let expected: Vec<u64> = [0, 1, 2, 3, 4, 6]
        .into_iter()
        .filter(|id| *id != dropped[0])
        .collect();
    assert_eq!(left, expected);
}

#[test]
fn every_packet_of_the_queue_is_drawn_with_equal_probability() {
    let mut drawn = [0_u32; 5];
    for seed in 0..2000 {
        let config: QueueConfig = serde_json::from_value(config()).unwrap();
        let (mut queue, mut log) = (config.build(context(seed)).unwrap(), Log::default());
        five(queue.as_mut(), &mut log);
        queue.enqueue(ms(2.0), packet(5, 7), &mut log);
        drawn[log.dropped_ids()[0] as usize] += 1;
    }
    // 400 each, with a standard deviation of 18.
    assert!(
        drawn.iter().all(|&times| times.abs_diff(400) < 72),
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
    (0..6).for_each(|id| queue.enqueue(0, capable(id, 7), &mut log));
    assert_eq!((log.dropped.len(), log.marked.len()), (2, 0));
    // 0.25 * 4 + 0.75 * 2.7119 = 3.03: above max, packets of another flow are marked if they are ECN-capable.
    queue.enqueue(0, capable(6, 8), &mut log);
    queue.enqueue(0, packet(7, 9), &mut log);
    assert_eq!(log.marked.iter().map(|p| p.id).collect::<Vec<_>>(), [6]);
    assert_eq!(log.dropped_ids()[2..], [7]);
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
