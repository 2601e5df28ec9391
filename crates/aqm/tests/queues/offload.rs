//! Tests how queues treat offload buffers: as in Linux, a buffer is judged once, and its packets leave one after the other.

use crate::common::{Log, TestPacket, build, ms, packet, stat};
use bloatlab_aqm::{Ecn, Qdisc};
use bloatlab_units::Streams;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Enqueues a buffer of `count` packets of one flow, with identities from `first`.
fn buffer(
    queue: &mut dyn Qdisc<TestPacket>,
    log: &mut Log,
    now: u64,
    flow: u64,
    ids: std::ops::Range<u64>,
    ecn: Ecn,
) {
    for id in ids.clone() {
        let packet = TestPacket {
            follows: id > ids.start,
            has_more: id + 1 < ids.end,
            ecn,
            ..packet(id, flow)
        };
        queue.enqueue(now, packet, log);
    }
}

/// The queues that schedule flows.
fn schedulers() -> Vec<Value> {
    vec![
        json!({ "kind": "fq_codel", "quantum": "1500B", "flows": 4 }),
        json!({ "kind": "fq_codel", "limit": "40p", "drop_batch": 4, "target": "1ms", "interval": "5ms" }),
        json!({ "kind": "fq_pie", "quantum": "1500B", "target": "1ms", "tupdate": "1ms" }),
        json!({ "kind": "fq", "quantum": "1500B", "initial_quantum": "1500B" }),
        json!({ "kind": "fq", "maxrate": "20Mbit/s" }),
        json!({ "kind": "sfq" }),
        json!({ "kind": "sfq", "depth": 20, "limit": "30p" }),
        json!({ "kind": "sfq", "service": "packets" }),
        json!({ "kind": "drr" }),
        json!({ "kind": "drr", "limit": "30p" }),
        json!({ "kind": "hhf", "admit_bytes": "20kB" }),
    ]
}

proptest! {
    /// Conservation, and no packet of another flow between two packets of a buffer that both leave.
    #[test]
    fn no_packet_of_another_flow_leaves_between_those_of_a_buffer(
        which in 0..schedulers().len(), seed: u64, most in 2_u64..45,
    ) {
        let mut queue = build(schedulers()[which].clone());
        let mut rng = Streams::new(seed).stream("test");
        let mut log = Log::default();
        let (mut now, mut next, mut sent) = (0, 0, Vec::<TestPacket>::new());
        for _ in 0..300 {
            let end = next + 1 + rng.below(most);
            let (flow, ecn) = (rng.below(6), [Ecn::NotEct, Ecn::Ect0][rng.below(2) as usize]);
            buffer(queue.as_mut(), &mut log, now, flow, next..end, ecn);
            next = end;
            for _ in 0..rng.below(2 * most) {
                now += 100_000;
                if queue.next_wake().is_some_and(|at| at <= now) {
                    queue.wake(now);
                }
                sent.extend(queue.dequeue(now, &mut log));
            }
        }
        while queue.packets() > 0 {
            now += 100_000;
            if queue.next_wake().is_some_and(|at| at <= now) {
                queue.wake(now);
            }
            sent.extend(queue.dequeue(now, &mut log));
        }
        for pair in sent.windows(2) {
            let (first, second) = (&pair[0], &pair[1]);
            let is_cut = log.dropped.iter().any(|(packet, _)| packet.id == first.id + 1);
            prop_assert!(
                !first.has_more || second.id == first.id + 1 || is_cut,
                "{} between {} and the next one", second.id, first.id
            );
        }
        let mut all: Vec<u64> = sent.iter().map(|packet| packet.id).chain(log.dropped_ids()).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..next).collect::<Vec<_>>());
    }

    /// What decides by CoDel or PIE drops, marks or forwards a buffer as a whole.
    #[test]
    fn an_aqm_decides_about_a_buffer_once(which in 0_usize..4, seed: u64, ect: bool) {
        let kind = ["codel", "fq_codel", "pie", "fq_pie"][which];
        let mut queue = build(json!({ "kind": kind, "target": "1ms", "ecn": true, "limit": "100000p" }));
        let mut rng = Streams::new(seed).stream("test");
        let mut log = Log::default();
        let (mut now, mut next, mut buffers) = (0, 0, Vec::new());
        let ecn = if ect { Ecn::Ect0 } else { Ecn::NotEct };
        while now < ms(3000.0) {
            let end = next + 1 + rng.below(40);
            buffer(queue.as_mut(), &mut log, now, rng.below(2), next..end, ecn);
            buffers.push(next..end);
            next = end;
            for _ in 0..19 {
                now += 100_000;
                if queue.next_wake().is_some_and(|at| at <= now) {
                    queue.wake(now);
                }
                queue.dequeue(now, &mut log);
            }
        }
        while queue.dequeue(now, &mut log).is_some() {}
        let signalled = if ect { log.marked_ids() } else { log.dropped_ids() };
        let mut of = vec![false; next as usize];
        signalled.iter().for_each(|&id| of[id as usize] = true);
        // PIE draws, so a run without a signal is possible.
        let draws = kind.ends_with("pie");
        prop_assert!(draws || buffers.iter().any(|ids| of[ids.start as usize]), "no signal");
        for ids in buffers {
            let own = &of[ids.start as usize..ids.end as usize];
            prop_assert!(own.iter().all(|&hit| hit == own[0]), "{:?} in part", ids);
        }
    }
}

#[test]
fn fq_codel_serves_a_buffer_whole_and_its_deficit_goes_negative() {
    let mut queue = build(json!({ "kind": "fq_codel", "quantum": "1500B" }));
    let mut log = Log::default();
    buffer(queue.as_mut(), &mut log, 0, 1, 0..4, Ecn::NotEct);
    buffer(queue.as_mut(), &mut log, 0, 1, 4..8, Ecn::NotEct);
    buffer(queue.as_mut(), &mut log, 0, 2, 8..9, Ecn::NotEct);
    buffer(queue.as_mut(), &mut log, 0, 2, 9..10, Ecn::NotEct);
    buffer(queue.as_mut(), &mut log, 0, 2, 10..11, Ecn::NotEct);
    buffer(queue.as_mut(), &mut log, 0, 2, 11..12, Ecn::NotEct);
    buffer(queue.as_mut(), &mut log, 0, 2, 12..13, Ecn::NotEct);
    let mut ids = Vec::new();
    while let Some(packet) = queue.dequeue(0, &mut log) {
        ids.push(packet.id);
        // A new flow waits until the buffer has left.
        if packet.id == 1 {
            buffer(queue.as_mut(), &mut log, 0, 3, 13..14, Ecn::NotEct);
        }
    }
    // Flow 1 has sent four quanta, so flow 2 has four turns before its next.
    assert_eq!(ids, [0, 1, 2, 3, 8, 13, 9, 10, 11, 4, 5, 6, 7, 12]);
}

#[test]
fn overflow_of_fq_codel_drops_whole_buffers() {
    let mut queue = build(json!({ "kind": "fq_codel", "limit": "10p", "drop_batch": 1 }));
    let mut log = Log::default();
    buffer(queue.as_mut(), &mut log, 0, 1, 0..4, Ecn::NotEct);
    buffer(queue.as_mut(), &mut log, 0, 1, 4..11, Ecn::NotEct);
    assert_eq!(log.dropped_ids(), [0, 1, 2, 3]);
    assert_eq!(stat(queue.as_ref(), "drop_overlimit"), 1.0);
}

#[test]
fn cake_splits_buffers() {
    let mut queue = build(json!({ "kind": "cake" }));
    let mut log = Log::default();
    buffer(queue.as_mut(), &mut log, 0, 1, 0..3, Ecn::NotEct);
    buffer(queue.as_mut(), &mut log, 0, 2, 3..6, Ecn::NotEct);
    let sent: Vec<u64> = std::iter::from_fn(|| queue.dequeue(0, &mut log))
        .map(|packet| packet.flow)
        .collect();
    assert_eq!(sent, [1, 1, 2, 2, 1, 2]);
}

#[test]
fn a_fifo_takes_back_a_buffer_that_does_not_fit() {
    let mut queue = build(json!({ "kind": "fifo", "limit": "5p" }));
    let mut log = Log::default();
    buffer(queue.as_mut(), &mut log, 0, 1, 0..3, Ecn::NotEct);
    buffer(queue.as_mut(), &mut log, 0, 1, 3..7, Ecn::NotEct);
    assert_eq!(log.dropped_ids(), [5, 4, 3, 6]);
    // Its space is free for the next buffer.
    buffer(queue.as_mut(), &mut log, 0, 2, 7..9, Ecn::NotEct);
    assert_eq!((queue.packets(), log.dropped.len()), (5, 4));
}
