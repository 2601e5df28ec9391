//! Tests DualPI2 against RFC 9332: the controller's numbers, the coupling, the step, and the scheduling.

use crate::common::{Log, TestPacket, build, ms, packet, stat};
use bloatlab_aqm::{DropReason, Ecn, Qdisc};
use serde_json::json;

fn arrive(queue: &mut dyn Qdisc<TestPacket>, log: &mut Log, ecn: Ecn, ids: std::ops::Range<u64>) {
    for id in ids {
        queue.enqueue(
            0,
            TestPacket {
                ecn,
                ..packet(id, ecn as u64)
            },
            log,
        );
    }
}

#[test]
fn the_base_probability_is_that_of_the_pi_controller() {
    let mut queue = build(json!("dualpi2"));
    let mut log = Log::default();
    assert_eq!(queue.next_wake(), Some(ms(16.0)));
    arrive(queue.as_mut(), &mut log, Ecn::NotEct, 0..3);
    arrive(queue.as_mut(), &mut log, Ecn::Ect1, 3..6);
    // Delay 16 ms: 0.16 * 1 ms + 3.2 * 16 ms = 0.05136.
    queue.wake(ms(16.0));
    assert!((stat(queue.as_ref(), "prob") - 0.05136).abs() < 1e-12);
    // Delay 32 ms: 0.16 * 17 ms + 3.2 * 16 ms = 0.05392 more.
    queue.wake(ms(32.0));
    assert!((stat(queue.as_ref(), "prob") - 0.10528).abs() < 1e-12);
    assert_eq!(
        (
            stat(queue.as_ref(), "delay_c"),
            stat(queue.as_ref(), "delay_l")
        ),
        (0.032, 0.032)
    );
    assert_eq!(queue.next_wake(), Some(ms(48.0)));
    // Empty: 0.16 * -15 ms + 3.2 * -32 ms = -0.1048.
    while queue.dequeue(ms(32.0), &mut log).is_some() {}
    queue.wake(ms(48.0));
    assert!((stat(queue.as_ref(), "prob") - 0.00048).abs() < 1e-12);
}

/// Of 20 000 packets of each kind, those marked and dropped at a base probability of 0.2.
fn signals(ecn: Ecn) -> (f64, f64) {
    // 3.2 * 62.5 ms = 0.2.
    let mut queue = build(json!({
        "kind": "dualpi2", "limit": "40000p", "alpha": 0.0, "tupdate": "62500us", "step_thresh": "1h",
    }));
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, ecn, 0..20_000);
    queue.wake(ms(62.5));
    assert!((stat(queue.as_ref(), "prob") - 0.2).abs() < 1e-12);
    while queue.dequeue(ms(62.5), &mut log).is_some() {}
    (
        log.marked.len() as f64 / 20_000.0,
        log.dropped.len() as f64 / 20_000.0,
    )
}

#[test]
fn l4s_is_marked_twice_as_often_and_classic_by_the_square() {
    // Four standard deviations: 0.014 at 0.4, 0.0056 at 0.04.
    let (marked, dropped) = signals(Ecn::Ect1);
    assert!((marked - 0.4).abs() < 0.014 && dropped == 0.0, "{marked}");
    let (marked, dropped) = signals(Ecn::Ect0);
    assert!((marked - 0.04).abs() < 0.0056 && dropped == 0.0, "{marked}");
    let (marked, dropped) = signals(Ecn::NotEct);
    assert!(
        (dropped - 0.04).abs() < 0.0056 && marked == 0.0,
        "{dropped}"
    );
}

#[test]
fn overload_drops_both_classes_by_the_square() {
    for (drops, expected) in [(true, 0.64), (false, 0.0)] {
        // 3.2 * 250 ms = 0.8, twice of which is above 1; without drops it stops at 0.5.
        let mut queue = build(json!({
            "kind": "dualpi2", "limit": "40000p", "alpha": 0.0, "tupdate": "250ms", "drop_on_overload": drops,
        }));
        let mut log = Log::default();
        arrive(queue.as_mut(), &mut log, Ecn::Ect1, 0..20_000);
        queue.wake(ms(250.0));
        while queue.dequeue(ms(250.0), &mut log).is_some() {}
        let dropped = log.dropped.len() as f64 / 20_000.0;
        assert!((dropped - expected).abs() < 0.014, "{dropped}");
        // Packets that are not dropped are marked; the last, with less than two packets behind it, is marked by the step.
        assert_eq!(log.dropped.len() + log.marked.len(), 20_000);
        assert!(
            log.dropped
                .iter()
                .all(|(_, reason)| *reason == DropReason::Aqm)
        );
    }
}

#[test]
fn the_step_marks_what_waited_longer() {
    let mut queue = build(json!("dualpi2"));
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, Ecn::Ect1, 0..3);
    arrive(queue.as_mut(), &mut log, Ecn::Ect0, 3..4);
    assert_eq!(queue.dequeue(ms(1.0), &mut log).unwrap().ecn, Ecn::Ect1);
    assert_eq!(queue.dequeue(ms(1.0) + 1, &mut log).unwrap().ecn, Ecn::Ce);
    assert_eq!(queue.dequeue(ms(2.0), &mut log).unwrap().ecn, Ecn::Ce);
    assert_eq!(queue.dequeue(ms(2.0), &mut log).unwrap().ecn, Ecn::Ect0);
    assert_eq!(
        (stat(queue.as_ref(), "step_marks"), log.marked.len()),
        (2.0, 2)
    );
    // In packets: more than one behind it.
    let mut queue = build(json!({ "kind": "dualpi2", "step_packets": 1 }));
    arrive(queue.as_mut(), &mut log, Ecn::Ect1, 0..4);
    let marks: Vec<Ecn> =
        std::iter::from_fn(|| queue.dequeue(ms(9.0), &mut log).map(|packet| packet.ecn)).collect();
    assert_eq!(marks, [Ecn::Ce, Ecn::Ce, Ecn::Ect1, Ecn::Ect1]);
}

#[test]
fn classic_traffic_keeps_its_share() {
    let mut queue = build(json!("dualpi2"));
    let mut log = Log::default();
    arrive(queue.as_mut(), &mut log, Ecn::NotEct, 0..200);
    arrive(queue.as_mut(), &mut log, Ecn::Ect1, 200..1_200);
    // The credit starts at 1500 (10 - 90) = -120 000, and each L4S packet adds 15 000, so the classic queue gets the tenth departure.
    let first: Vec<u64> = (0..10)
        .map(|_| queue.dequeue(0, &mut log).unwrap().id)
        .collect();
    assert_eq!(first, [200, 201, 202, 203, 204, 205, 206, 207, 208, 0]);
    assert_eq!(stat(queue.as_ref(), "credit"), 15_000.0 - 135_000.0);
    let classic = (0..990)
        .filter(|_| queue.dequeue(0, &mut log).unwrap().ecn == Ecn::NotEct)
        .count();
    assert_eq!(classic, 99);
}

#[test]
fn ecn_codepoints_select_the_queue() {
    for (class, in_l4s) in [("l4s_ect", 2.0), ("any_ect", 3.0)] {
        let mut queue = build(json!({ "kind": "dualpi2", "ecn_class": class }));
        let mut log = Log::default();
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            arrive(queue.as_mut(), &mut log, ecn, 0..1);
        }
        assert_eq!(stat(queue.as_ref(), "pkts_in_l"), in_l4s);
        assert_eq!(stat(queue.as_ref(), "pkts_in_c"), 4.0 - in_l4s);
    }
}
