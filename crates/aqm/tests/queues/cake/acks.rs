//! The ACK filter.

use super::cake;
use crate::common::{Log, TestPacket, packet, stat};
use bloatlab_aqm::cake::ack_filter::superseded;
use bloatlab_aqm::{DropReason, PureAck};
use bloatlab_units::{MILLISECOND, Streams};
use serde_json::json;

fn ack(number: u32) -> PureAck {
    PureAck {
        number,
        tsval: 1000,
        tsecr: 500,
        ..PureAck::default()
    }
}

fn sacking(number: u32, blocks: &[(u32, u32)]) -> PureAck {
    let mut sack = [(0, 0); 3];
    sack[..blocks.len()].copy_from_slice(blocks);
    PureAck {
        sack,
        ..ack(number)
    }
}

#[test]
fn only_an_ack_with_more_information_replaces_another() {
    assert!(superseded(&ack(100), &ack(200)));
    // A duplicate ACK carries information that no other ACK has.
    assert!(!superseded(&ack(100), &ack(100)));
    assert!(!superseded(&ack(200), &ack(100)));
    // The acknowledgement numbers wrap.
    assert!(superseded(&ack(u32::MAX - 10), &ack(10)));
    let echo = PureAck {
        ecn_flags: 0x40,
        ..ack(200)
    };
    assert!(
        !superseded(&ack(100), &echo)
            && !superseded(
                &PureAck {
                    number: 100,
                    ..echo
                },
                &ack(200)
            )
    );
    assert!(superseded(
        &PureAck {
            number: 100,
            ..echo
        },
        &echo
    ));
    // Timestamps must not go backwards.
    let newer = PureAck {
        tsval: 2000,
        tsecr: 900,
        ..ack(100)
    };
    assert!(!superseded(&newer, &ack(200)));
    assert!(!superseded(
        &PureAck {
            tsval: 1000,
            ..newer
        },
        &ack(200)
    ));
    assert!(superseded(
        &ack(100),
        &PureAck {
            number: 200,
            ..newer
        }
    ));
}

#[test]
fn selective_acknowledgments_are_not_lost() {
    let older = sacking(100, &[(300, 400)]);
    // The same block, either larger or covered by the acknowledgement number. The acknowledged range must not shrink.
    assert!(superseded(&older, &sacking(100, &[(300, 500)])));
    assert!(superseded(&older, &sacking(100, &[(600, 700), (300, 400)])));
    assert!(superseded(&older, &ack(400)));
    assert!(superseded(&older, &sacking(200, &[(300, 400)])));
    assert!(!superseded(&older, &sacking(100, &[(300, 400)])));
    assert!(!superseded(&older, &ack(350)));
    assert!(!superseded(&older, &sacking(200, &[(301, 400)])));
    assert!(!superseded(
        &sacking(100, &[(300, 400), (500, 600)]),
        &sacking(200, &[(300, 400)])
    ));
    // Reports of duplicates (RFC 2883), below the acknowledgement number or inside the second block, must not be dropped.
    assert!(!superseded(&sacking(100, &[(50, 60)]), &ack(400)));
    let inside = sacking(100, &[(320, 330), (300, 400)]);
    assert!(!superseded(&inside, &ack(400)));
}

/// The packets that such a filter drops from these arrivals, each an ACK's number or data.
fn filtered(mode: &str, arrivals: &[Option<u32>]) -> Vec<u64> {
    let params = json!({ "ack_filter": mode, "diffserv": "besteffort" });
    let (mut queue, mut log) = (cake(params), Log::default());
    for (id, number) in arrivals.iter().enumerate() {
        let packet = TestPacket {
            ack: number.map(ack),
            size: if number.is_some() { 52 } else { 1500 },
            ..packet(id as u64, 1)
        };
        queue.enqueue(0, packet, &mut log);
    }
    let acks = stat(queue.as_ref(), "ack_drop");
    assert_eq!(acks, log.dropped.len() as f64);
    assert!(log.dropped.iter().all(|(_, why)| *why == DropReason::Aqm));
    assert_eq!(queue.packets() as usize, arrivals.len() - log.dropped.len());
    log.dropped_ids()
}

#[test]
fn the_filter_leaves_two_and_the_aggressive_one_none() {
    let train = [Some(100), Some(200), Some(300), Some(400)];
    assert!(filtered("disabled", &train).is_empty());
    // The third makes the first redundant, but not the second.
    assert_eq!(filtered("enabled", &train), [0, 1]);
    assert_eq!(filtered("aggressive", &train), [0, 1, 2]);
    // Data behind an ACK protects it from the aggressive filter until there are two.
    let mixed = [Some(100), None, Some(200), None, Some(300)];
    assert_eq!(filtered("enabled", &mixed), [0]);
    assert_eq!(filtered("aggressive", &mixed), [0]);
    assert!(filtered("aggressive", &mixed[..3]).is_empty());
    // What arrives must be an ACK itself.
    assert!(filtered("aggressive", &[Some(100), None]).is_empty());
    assert!(filtered("aggressive", &[Some(100), Some(100), Some(100)]).is_empty());
}

#[test]
fn flows_in_one_queue_are_told_apart() {
    let params =
        json!({ "ack_filter": "aggressive", "flowmode": "flowblind", "diffserv": "besteffort" });
    let (mut queue, mut log) = (cake(params), Log::default());
    for (id, flow) in [(0, 1), (1, 2), (2, 1)] {
        let ack = Some(ack(100 * (id as u32 + 1)));
        queue.enqueue(
            0,
            TestPacket {
                ack,
                ..packet(id, flow)
            },
            &mut log,
        );
    }
    assert!(log.dropped.is_empty());
    queue.enqueue(
        0,
        TestPacket {
            ack: Some(ack(400)),
            ..packet(3, 1)
        },
        &mut log,
    );
    assert_eq!(log.dropped_ids(), [0]);
}

#[test]
fn every_ack_leaves_once_and_the_last_gets_through() {
    let mut rng = Streams::new(3).stream("acks");
    for mode in ["enabled", "aggressive"] {
        let params = json!({ "ack_filter": mode, "bandwidth": "1Mbit/s", "ingress": true });
        let (mut queue, mut log, mut sent) = (cake(params), Log::default(), Vec::new());
        let (mut now, mut numbers) = (0, [0_u32; 5]);
        for id in 0..5000 {
            let flow = rng.below(5) as usize;
            numbers[flow] += rng.below(3) as u32 * 1448;
            let pure = rng.below(8) > 0;
            let packet = TestPacket {
                ack: pure.then(|| ack(numbers[flow])),
                size: if pure { 52 } else { 1500 },
                ..packet(id, flow as u64)
            };
            queue.enqueue(now, packet, &mut log);
            now += rng.below(2 * MILLISECOND);
            while let Some(at) = queue.next_wake().filter(|&at| at <= now) {
                queue.wake(at);
                sent.extend(std::iter::from_fn(|| queue.dequeue(at, &mut log)));
            }
            sent.extend(std::iter::from_fn(|| queue.dequeue(now, &mut log)));
            assert_eq!(
                sent.len() + log.dropped.len() + queue.packets() as usize,
                id as usize + 1
            );
        }
        sent.extend(std::iter::from_fn(|| {
            super::next(queue.as_mut(), &mut now, &mut log)
        }));
        assert_eq!((queue.packets(), queue.bytes()), (0, 0));
        let mut all: Vec<u64> = sent.iter().map(|packet| packet.id).collect();
        all.extend(log.dropped_ids());
        all.sort_unstable();
        assert!(all.into_iter().eq(0..5000));
        assert!(stat(queue.as_ref(), "ack_drop") > 100.0);
        for flow in 0..5 {
            let of_flow: Vec<&TestPacket> =
                sent.iter().filter(|packet| packet.flow == flow).collect();
            assert!(of_flow.is_sorted_by_key(|packet| packet.id));
            let heard = of_flow
                .iter()
                .filter_map(|packet| packet.ack)
                .next_back()
                .unwrap();
            assert_eq!(heard.number, numbers[flow as usize]);
        }
    }
}
