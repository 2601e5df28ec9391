//! Tests Global Synchronization Protection against Lautenschlaeger and Francini 2016, with the expected steps computed by hand.

use crate::common::{Log, TestPacket, build, ms, packet, stat};
use bloatlab_aqm::gsp::{GspController, GspState, Params};
use bloatlab_aqm::{DropReason, Ecn};
use serde_json::json;

#[test]
fn one_drop_above_the_threshold_and_then_none_for_an_interval() {
    let config = json!({ "kind": "gsp", "threshold": "2p", "adaptive": false });
    let (mut queue, mut log) = (build(config), Log::default());
    // The fourth packet finds three, which is above two.
    (0..6).for_each(|id| queue.enqueue(0, packet(id, 0), &mut log));
    assert_eq!(log.dropped, [(packet(3, 0), DropReason::Aqm)]);
    for (id, at) in [(6, 199.9), (7, 200.0), (8, 200.0), (9, 399.9), (10, 400.0)] {
        queue.enqueue(ms(at), packet(id, 0), &mut log);
    }
    assert_eq!(log.dropped_ids(), [3, 7, 10]);
    assert_eq!(stat(queue.as_ref(), "interval"), 0.2);
    assert_eq!(stat(queue.as_ref(), "drop_count"), 3.0);
}

#[test]
fn the_interval_shrinks_with_time_above_the_threshold() {
    let (controller, mut state) = (GspController::new(&Params::default()), GspState::default());
    let mut until = |at: f64, above| {
        controller.count(&mut state, ms(at));
        controller.observe(&mut state, ms(at), above);
        controller.interval(&state)
    };
    // Below for a second: the surplus stays 0.
    assert_eq!(until(1000.0, true), 200_000_000);
    // Above for a second counts twice: 200 / (1 + 2) ms.
    assert_eq!(until(2000.0, false), 66_666_666);
    // Below for a second counts once: 200 / (1 + 1) ms.
    assert_eq!(until(3000.0, true), 100_000_000);
    // The surplus is at most 60 s: 200 / 61 ms.
    assert_eq!(until(100_000.0, true), 3_278_688);
    // Half of that is gone after 30 s below: 200 / 31 ms.
    assert_eq!(until(100_000.0, false), 3_278_688);
    assert_eq!(until(130_000.0, false), 6_451_612);
    assert_eq!(until(200_000.0, false), 200_000_000);
}

#[test]
fn time_before_a_signal_counts_for_the_interval_that_it_starts() {
    let config = json!({ "kind": "gsp", "threshold": "1p" });
    let (mut queue, mut log) = (build(config), Log::default());
    // Above from 0 on, when the second packet came; the third starts an interval of 200 ms.
    (0..3).for_each(|id| queue.enqueue(0, packet(id, 0), &mut log));
    // At 500 ms the surplus is 1 s: the next interval is 100 ms.
    for (id, at) in [(3, 500.0), (4, 599.9), (5, 600.0)] {
        queue.enqueue(ms(at), packet(id, 0), &mut log);
    }
    assert_eq!(log.dropped_ids(), [2, 3, 5]);
    assert!((stat(queue.as_ref(), "cum_time") - 1.2).abs() < 1e-12);
}

#[test]
fn the_drain_after_an_overflow_does_not_count() {
    let (controller, mut state) = (GspController::new(&Params::default()), GspState::default());
    controller.observe(&mut state, 0, true);
    controller.overflowed(&mut state, 0);
    controller.observe(&mut state, ms(1000.0), false);
    assert_eq!(controller.interval(&state), 66_666_666);
    // Below, then empty, then below again: the surplus is unchanged.
    controller.count(&mut state, ms(2000.0));
    controller.emptied(&mut state);
    controller.observe(&mut state, ms(3000.0), true);
    assert_eq!(controller.interval(&state), 66_666_666);
    // Above once more, and time below counts again.
    controller.observe(&mut state, ms(3000.0), false);
    controller.count(&mut state, ms(4000.0));
    assert_eq!(controller.interval(&state), 100_000_000);
}

#[test]
fn without_a_threshold_the_delay_decides() {
    let config = json!({ "kind": "gsp", "ecn": true });
    let (mut queue, mut log) = (build(config), Log::default());
    let capable = |id| TestPacket {
        ecn: Ecn::Ect0,
        ..packet(id, 0)
    };
    (0..100).for_each(|id| queue.enqueue(0, capable(id), &mut log));
    queue.dequeue(ms(15.0), &mut log);
    queue.enqueue(ms(15.0), capable(100), &mut log);
    assert!(log.marked.is_empty());
    // 16 ms is above the target of 15 ms.
    queue.dequeue(ms(16.0), &mut log);
    queue.enqueue(ms(16.0), capable(101), &mut log);
    queue.enqueue(ms(17.0), packet(102, 0), &mut log);
    assert_eq!(log.marked.iter().map(|p| p.id).collect::<Vec<_>>(), [101]);
    // 200 ms later, the surplus is smaller by 2 * 201 ms. A packet that cannot be marked is dropped.
    queue.enqueue(ms(217.0), packet(103, 0), &mut log);
    assert_eq!(log.dropped_ids(), [103]);
    // An empty queue has no delay.
    while queue.dequeue(ms(1000.0), &mut log).is_some() {}
    (104..110).for_each(|id| queue.enqueue(ms(2000.0), packet(id, 0), &mut log));
    assert_eq!((queue.packets(), log.dropped.len()), (6, 1));
}

#[test]
fn a_full_queue_drops() {
    let config = json!({ "kind": "gsp", "limit": "2p" });
    let (mut queue, mut log) = (build(config), Log::default());
    (0..3).for_each(|id| queue.enqueue(0, packet(id, 0), &mut log));
    assert_eq!(log.dropped, [(packet(2, 0), DropReason::Overflow)]);
    assert_eq!(stat(queue.as_ref(), "drop_overlimit"), 1.0);
}
