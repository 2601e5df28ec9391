//! The heavy-hitter filter: detection, expiry, scheduling and drops.

use crate::common::{Log, TestPacket, build, enqueue, ms, stat};
use bloatlab_aqm::{HeavyHitters, Qdisc};
use bloatlab_units::{Nanos, SECOND};
use serde_json::{Value, json};

fn hhf(params: Value) -> Box<dyn Qdisc<TestPacket>> {
    let mut table = json!({ "kind": "hhf", "quantum": "1500B" });
    for (name, value) in params.as_object().unwrap() {
        table[name] = value.clone();
    }
    build(table)
}

/// Identities of all packets in the order of their departure.
fn ids(queue: &mut dyn Qdisc<TestPacket>, log: &mut Log) -> Vec<u64> {
    std::iter::from_fn(|| queue.dequeue(0, log).map(|packet| packet.id)).collect()
}

#[test]
fn a_flow_is_heavy_when_it_sends_more_than_admitted_in_a_period() {
    let mut queue = hhf(json!({ "admit_bytes": "15kB" }));
    let mut log = Log::default();
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1; 10]);
    assert_eq!(stat(queue.as_ref(), "hh_tot_count"), 0.0);
    // A new period begins: the counters are reset.
    enqueue(queue.as_mut(), &mut log, ms(40.0) + 1, 10, &[1; 10]);
    assert_eq!(stat(queue.as_ref(), "hh_tot_count"), 0.0);
    // The period is not over.
    enqueue(queue.as_mut(), &mut log, ms(80.0) + 1, 20, &[1]);
    assert_eq!(
        (
            stat(queue.as_ref(), "hh_tot_count"),
            stat(queue.as_ref(), "hh_cur_count")
        ),
        (1.0, 1.0)
    );
}

#[test]
fn other_flows_are_served_first_with_twice_the_quantum() {
    let mut queue = hhf(json!({ "admit_bytes": "1500B" }));
    let mut log = Log::default();
    // Packet 0 is admitted; 1 to 4 belong to a heavy hitter.
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1; 5]);
    enqueue(queue.as_mut(), &mut log, 0, 10, &[2, 3, 4, 5, 6]);
    assert_eq!(stat(queue.as_ref(), "hh_tot_count"), 1.0);
    assert_eq!(
        ids(queue.as_mut(), &mut log),
        [0, 10, 1, 11, 12, 2, 13, 14, 3, 4]
    );
}

#[test]
fn heavy_hitters_lose_packets_first_on_overflow() {
    let mut queue = hhf(json!({ "admit_bytes": "1500B", "limit": "5p" }));
    let mut log = Log::default();
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1; 3]);
    enqueue(queue.as_mut(), &mut log, 0, 10, &[2, 3, 4, 5, 6]);
    // Both packets of the heavy hitter, oldest first, and then the oldest of the others.
    assert_eq!(log.dropped_ids(), [1, 2, 0]);
    assert_eq!(stat(queue.as_ref(), "drop_overlimit"), 3.0);
    assert_eq!(ids(queue.as_mut(), &mut log), [10, 11, 12, 13, 14]);
}

#[test]
fn a_silent_heavy_hitter_is_forgotten() {
    let mut queue = hhf(json!({ "admit_bytes": "1500B" }));
    let mut log = Log::default();
    let queue = queue.as_mut();
    enqueue(queue, &mut log, 0, 0, &[1, 1]);
    ids(queue, &mut log);
    let mut serves_first = |now, light: u64| {
        enqueue(queue, &mut log, now, 100, &[1]);
        enqueue(queue, &mut log, now, 200, &[light]);
        ids(queue, &mut log)[0]
    };
    // A second after its last packet, the flow is still in the table, and that packet counts.
    assert_eq!(serves_first(SECOND, 2), 200);
    assert_eq!(serves_first(2 * SECOND, 3), 200);
    assert_eq!(serves_first(3 * SECOND + 1, 4), 100);
    assert_eq!(stat(queue, "hh_tot_count"), 1.0);
}

#[test]
fn no_more_heavy_hitters_are_known_than_allowed() {
    let mut queue = hhf(json!({ "admit_bytes": "1500B", "hh_limit": 1 }));
    let mut log = Log::default();
    enqueue(queue.as_mut(), &mut log, 0, 0, &[1, 1, 2, 2, 2]);
    assert_eq!(
        (
            stat(queue.as_ref(), "hh_cur_count"),
            stat(queue.as_ref(), "hh_overlimit")
        ),
        (1.0, 2.0)
    );
}

const SHORT: Nanos = 1000;

fn filter() -> HeavyHitters {
    HeavyHitters::new(1050, SECOND, SHORT, 100)
}

#[test]
fn conservative_update_spares_flows_that_share_counters() {
    let mut filter = filter();
    // Hash 0 has counters 0, 0, 0, 0; hash 1 has 1, 0, 0, 1; the third has 0, 1, 1, 0.
    let (flow, inner, outer) = (0, 1, 1 << 10 | 1 << 20);
    assert!(!filter.heavy(0, flow, 1000));
    assert!(!filter.heavy(0, inner, 100));
    assert!(!filter.heavy(0, outer, 100));
    // Another flow changed all four of the flow's counters; none of them rose.
    assert!(!filter.heavy(0, flow, 50));
    assert!(filter.heavy(0, flow, 1));
}

#[test]
fn heavy_hitters_are_shielded_from_the_counters() {
    let mut filter = filter();
    // Hash 2^30 has counters 0, 0, 0, 1: three of hash 0, and the last of hash 1.
    for flow in [0, 1] {
        assert!(!filter.heavy(0, flow, 600));
        for _ in 0..100 {
            assert!(filter.heavy(0, flow, 600));
        }
    }
    assert!(!filter.heavy(0, 1 << 30, 450));
    assert!(filter.heavy(0, 1 << 30, 1));
}

#[test]
fn expired_entries_are_reused_or_removed() {
    let mut filter = filter();
    // These flows share a list of the table.
    let (first, second) = (0, 1 << 10);
    for flow in [first, second] {
        assert!(filter.heavy(0, flow, 2000));
    }
    assert_eq!((filter.current, filter.total), (2, 2));
    // The second entry remains valid. The search for it passes the first, which has expired, and removes it.
    assert!(filter.heavy(SHORT, second, 1));
    assert!(filter.heavy(SHORT + 1, second, 1));
    assert_eq!(filter.current, 1);
    // Both have expired: the last entry of the list remains and is reused for the next heavy hitter.
    assert!(!filter.heavy(3 * SHORT, first, 1));
    assert_eq!(filter.current, 1);
    assert!(filter.heavy(3 * SHORT, first, 2000));
    assert_eq!((filter.current, filter.total), (1, 3));
    assert!(!filter.heavy(3 * SHORT, second, 1));
}
