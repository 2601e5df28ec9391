//! What queues with bands, with a queue per flow, or with inner queues say that they hold.

use std::collections::BTreeMap;

use crate::common::{Log, TestPacket, build, enqueue, packet};
use bloatlab_aqm::{Band, Ecn, Qdisc, Slot};
use serde_json::json;

/// The identities of the packets in each queue that holds some.
fn contents(queue: &dyn Qdisc<TestPacket>) -> BTreeMap<Slot, Vec<u64>> {
    let mut all = BTreeMap::<Slot, Vec<u64>>::new();
    queue.contents(&mut |slot, packet| all.entry(slot).or_default().push(packet.id));
    all
}

#[test]
fn flow_queues_are_told_apart() {
    let (mut queue, mut log) = (build(json!("fq_codel")), Log::default());
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1, 2, 1, 2, 1]);
    assert_eq!(queue.bands(), Band::single(1024));
    let mut held: Vec<_> = contents(queue.as_ref()).into_values().collect();
    held.sort();
    assert_eq!(held, [vec![0, 2, 4], vec![1, 3]]);
}

#[test]
fn the_bands_of_inner_queues_follow_each_other() {
    let queues = json!(["fifo", "dualpi2", "fq_codel"]);
    let mut queue = build(json!({ "kind": "priority", "queues": queues }));
    let bands = queue
        .bands()
        .into_iter()
        .map(|band| (band.name, band.queues));
    let names = ["band 0", "band 1 L", "band 1 C", "band 2"].map(String::from);
    assert!(bands.eq(names.into_iter().zip([1, 1, 1, 1024])));
    // CS6 goes to band 0, CS0 to band 1 and CS1 to band 2.
    let arrivals = [
        (0, Ecn::NotEct),
        (48, Ecn::NotEct),
        (0, Ecn::Ect1),
        (8, Ecn::NotEct),
    ];
    for (id, (dscp, ecn)) in (0..).zip(arrivals) {
        let packet = TestPacket {
            dscp,
            ecn,
            ..packet(id, id)
        };
        queue.enqueue(0, packet, &mut Log::default());
    }
    let held = contents(queue.as_ref());
    let held = held.into_iter().map(|(slot, ids)| (slot.band, ids[0]));
    assert!(held.eq([(0, 1), (1, 2), (2, 0), (3, 3)]));
}

#[test]
fn the_packet_that_waits_for_tokens_is_the_first_of_its_flow() {
    let shaper = json!({ "kind": "tbf", "rate": "1Mbit/s", "burst": "1500B", "queue": "fq_codel" });
    let (mut queue, mut log) = (build(shaper), Log::default());
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1, 2, 1, 2, 1, 2]);
    assert_eq!(queue.dequeue(0, &mut log).unwrap().id, 0);
    // Packet 2 leaves the inner queue and waits.
    assert!(queue.dequeue(0, &mut log).is_none());
    let mut held: Vec<_> = contents(queue.as_ref()).into_values().collect();
    held.sort();
    assert_eq!(held, [vec![1, 3, 5], vec![2, 4]]);
}
