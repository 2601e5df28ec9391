//! The shaper, with departure times exact to the nanosecond.

use super::{cake, next};
use crate::common::{Log, packet};
use bloatlab_units::{MILLISECOND, Nanos};
use serde_json::{Value, json};

/// Departure times of packets of 1500 bytes that all arrived at `start`.
fn departures(params: Value, start: Nanos, packets: u64) -> Vec<Nanos> {
    let (mut queue, mut log, mut now) = (cake(params), Log::default(), start);
    for id in 0..packets {
        queue.enqueue(start, packet(id, 1), &mut log);
    }
    (0..packets)
        .map(|_| {
            next(queue.as_mut(), &mut now, &mut log).unwrap();
            now - start
        })
        .collect()
}

#[test]
fn departures_are_exact_and_there_is_no_burst() {
    // 12 000 bits at 7 Mbit/s take 1 714 285.714... ns each, and the fractions accumulate.
    let expected = [
        0, 1_714_285, 3_428_571, 5_142_857, 6_857_142, 8_571_428, 10_285_714, 12_000_000,
    ];
    let slow = json!({ "bandwidth": "7Mbit/s", "diffserv": "besteffort", "rtt": "1s" });
    for start in [0, 1_234_567, 1_000_000_000] {
        assert_eq!(departures(slow.clone(), start, 8), expected);
    }
    // With Ethernet's 38 bytes: 12 304 bits at 10 Mbit/s.
    let ethernet = json!({ "bandwidth": "10Mbit/s", "link": "ethernet" });
    assert_eq!(departures(ethernet, 5, 3), [0, 1_230_400, 2_460_800]);
    assert_eq!(departures(json!({}), 5, 3), [0, 0, 0]);
}

#[test]
fn idle_time_is_not_compensated_but_a_late_link_is() {
    let (mut queue, mut log) = (
        cake(json!({ "bandwidth": "12Mbit/s", "diffserv": "besteffort", "rtt": "1s" })),
        Log::default(),
    );
    for id in 0..10 {
        queue.enqueue(0, packet(id, 1), &mut log);
    }
    assert!(queue.dequeue(0, &mut log).is_some());
    // The link resumes at 5.5 ms: packets due at 1, 2, 3, 4 and 5 ms leave at once.
    let late = 5_500_000;
    let sent = std::iter::from_fn(|| queue.dequeue(late, &mut log)).count();
    assert_eq!((sent, queue.next_wake()), (5, Some(6 * MILLISECOND)));
    let mut now = late;
    while next(queue.as_mut(), &mut now, &mut log).is_some() {}
    assert_eq!(now, 9 * MILLISECOND);
    // Empty until 50 ms: one leaves at once, the next a millisecond later.
    for id in 10..12 {
        queue.enqueue(50 * MILLISECOND, packet(id, 1), &mut log);
    }
    assert!(queue.dequeue(50 * MILLISECOND, &mut log).is_some());
    assert!(queue.dequeue(50 * MILLISECOND, &mut log).is_none());
    assert_eq!(queue.next_wake(), Some(51 * MILLISECOND));
}

/// Wake-up times when four packets arrive at 0 at a buffer of two, at 12 Mbit/s.
fn after_two_drops(ingress: bool) -> Vec<Nanos> {
    let params = json!({ "bandwidth": "12Mbit/s", "diffserv": "besteffort", "memlimit": "3000B", "ingress": ingress });
    let (mut queue, mut log, mut now) = (cake(params), Log::default(), 0);
    for id in 0..4 {
        queue.enqueue(0, packet(id, 1), &mut log);
    }
    assert_eq!(log.dropped.len(), 2);
    next(queue.as_mut(), &mut now, &mut log).unwrap();
    assert_eq!(queue.dequeue(now, &mut log), None);
    let first = queue.next_wake().unwrap();
    next(queue.as_mut(), &mut now, &mut log).unwrap();
    queue.enqueue(now, packet(9, 1), &mut log);
    assert_eq!(queue.dequeue(now, &mut log), None);
    vec![first, queue.next_wake().unwrap()]
}

#[test]
fn drops_count_only_on_ingress_and_leave_two_thirds() {
    assert_eq!(after_two_drops(false), [MILLISECOND, 2 * MILLISECOND]);
    // Two drops and one packet advance the clock to 3 ms; the failsafe at two thirds of the rate is at 1.5 and then at 3 ms.
    assert_eq!(after_two_drops(true), [1_500_000, 3 * MILLISECOND]);
}
