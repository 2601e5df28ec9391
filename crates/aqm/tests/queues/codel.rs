//! Tests CoDel against RFC 8289, step by step, with the expected times computed by hand.

use crate::common::{Log, TestPacket, build, ms, packet, stat};
use bloatlab_aqm::Verdict::{self, Drop, Forward};
use bloatlab_aqm::codel::{CodelController, CodelState};
use bloatlab_aqm::{Ecn, Qdisc};
use bloatlab_units::{Duration, MILLISECOND, Nanos};
use serde_json::json;

const LONG: Nanos = 50 * MILLISECOND;
const SHORT: Nanos = 4 * MILLISECOND;
const DEEP: u64 = 100_000;

fn controller() -> CodelController {
    CodelController::new(
        Duration(5 * MILLISECOND),
        Duration(100 * MILLISECOND),
        1500,
        false,
        None,
    )
}

/// The controller's decisions for packets that leave a long queue at these times (ms) after 50 ms in it.
fn judge(state: &mut CodelState, times: &[f64]) -> Vec<Verdict> {
    times
        .iter()
        .map(|&time| controller().judge(state, ms(time), LONG, DEEP))
        .collect()
}

#[test]
fn drops_follow_newtons_approximation_of_the_inverse_square_root() {
    let state = &mut CodelState::default();
    // Above the target from t = 0: CoDel waits for one interval.
    assert_eq!(judge(state, &[0.0, 50.0, 99.999_999]), [Forward; 3]);
    // count = 1: the next is due at 100 + 100 / sqrt(1). The packet behind the dropped one passes.
    assert_eq!(
        judge(state, &[100.0, 100.0, 199.999_999]),
        [Drop, Forward, Forward]
    );
    // count = 2: Newton's step from 1 is 1 (1.5 - 0.5 * 2 * 1) = 0.5, where 1 / sqrt(2) is 0.71. A Linux 7.2 beside it marks at 456, 560 and 610 ms.
    assert_eq!(
        judge(state, &[200.0, 200.0, 249.999_999]),
        [Drop, Forward, Forward]
    );
    // count = 3: 0.5 (1.5 - 0.5 * 3 * 0.25) = 0.5625, so 250 + 56.25.
    assert_eq!(
        judge(state, &[250.0, 250.0, 306.249_999]),
        [Drop, Forward, Forward]
    );
    // count = 4: 0.5625 (1.5 - 0.5 * 4 * 0.5625^2) = 0.48779296875.
    assert_eq!(
        judge(state, &[306.25, 306.25, 355.029_295]),
        [Drop, Forward, Forward]
    );
    assert_eq!(judge(state, &[355.029_297]), [Drop]);
    assert_eq!(state.count(), 5);
}

#[test]
fn the_schedule_does_not_slip_when_packets_come_late() {
    let state = &mut CodelState::default();
    assert_eq!(judge(state, &[0.0, 100.0, 100.0]), [Forward, Drop, Forward]);
    // Due at 200 and 250 and 306.25; at 330 all three are due at once, the fourth at 355.03.
    assert_eq!(
        judge(state, &[330.0, 330.0, 330.0, 330.0]),
        [Drop, Drop, Drop, Forward]
    );
    assert_eq!(state.count(), 4);
}

#[test]
fn one_packet_below_the_target_ends_dropping_and_restarts_the_interval() {
    let state = &mut CodelState::default();
    assert_eq!(judge(state, &[0.0, 100.0, 100.0]), [Forward, Drop, Forward]);
    assert_eq!(controller().judge(state, ms(150.0), SHORT, DEEP), Forward);
    assert!(!state.dropping());
    assert_eq!(judge(state, &[160.0, 259.999_999]), [Forward; 2]);
    assert_eq!(judge(state, &[260.0]), [Drop]);
}

/// Enters dropping at 100 ms and leaves it at 330 ms with count 4, which is three more than on entry. The next drop is due at 355.03 ms.
fn after_four_drops(state: &mut CodelState) {
    judge(state, &[0.0, 100.0, 100.0, 330.0, 330.0, 330.0, 330.0]);
    assert_eq!(controller().judge(state, ms(340.0), SHORT, DEEP), Forward);
    assert_eq!((state.count(), state.dropping()), (4, false));
}

#[test]
fn reentry_within_sixteen_intervals_resumes_the_rate() {
    let state = &mut CodelState::default();
    after_four_drops(state);
    // 1955.03 ms is 16 intervals after 355.03. The first packet is above the target at 1855, so dropping starts at 1955.
    assert_eq!(judge(state, &[1855.0, 1955.0]), [Forward, Drop]);
    // count = 4 - 1 = 3: the next is due 48.78 (1.5 - 0.5 * 3 * 0.4878^2) = 55.759 ms later.
    assert_eq!(state.count(), 3);
    assert_eq!(judge(state, &[1955.0, 2010.758]), [Forward, Forward]);
    assert_eq!(judge(state, &[2010.759]), [Drop]);
}

#[test]
fn reentry_after_sixteen_intervals_starts_from_one() {
    let state = &mut CodelState::default();
    after_four_drops(state);
    assert_eq!(judge(state, &[1856.0, 1956.0]), [Forward, Drop]);
    assert_eq!(state.count(), 1);
    assert_eq!(
        judge(state, &[1956.0, 2055.999999, 2056.0]),
        [Forward, Forward, Drop]
    );
}

#[test]
fn the_last_packet_is_never_dropped() {
    let state = &mut CodelState::default();
    for time in 0..1000 {
        assert_eq!(
            controller().judge(state, time * MILLISECOND, LONG, 1500),
            Forward
        );
    }
    // One byte more is a standing queue.
    assert_eq!(controller().judge(state, ms(1000.0), LONG, 1501), Forward);
    assert_eq!(controller().judge(state, ms(1100.0), LONG, 1501), Drop);
}

/// A queue that is never short: a packet every millisecond, the link takes every other.
fn overload(queue: &mut dyn Qdisc<TestPacket>, log: &mut Log, ecn: Ecn) -> Vec<TestPacket> {
    let mut sent = Vec::new();
    for time in 0..1000 {
        let now = time * MILLISECOND;
        queue.enqueue(
            now,
            TestPacket {
                ecn,
                ..packet(time, 0)
            },
            log,
        );
        if time % 2 == 1 {
            sent.extend(queue.dequeue(now, log));
        }
    }
    sent
}

#[test]
fn a_queue_drops_from_its_head() {
    let mut queue = build(json!("codel"));
    let mut log = Log::default();
    let sent = overload(queue.as_mut(), &mut log, Ecn::Ect0);
    // Departure k (at 2k + 1 ms) takes packet k: 5 ms old first at k = 4 (9 ms), so the first drop is at 109 ms, of packet 54.
    assert_eq!(log.dropped[0].0.id, 54);
    assert_eq!(sent[54].id, 55);
    assert_eq!(stat(queue.as_ref(), "drop_count"), log.dropped.len() as f64);
    assert!(log.marked.is_empty(), "ECN is off unless asked for");
}

#[test]
fn with_ecn_capable_packets_are_marked_on_the_same_schedule_and_others_dropped() {
    let mut queue = build(json!({ "kind": "codel", "ecn": true }));
    let mut log = Log::default();
    let sent = overload(queue.as_mut(), &mut log, Ecn::Ect0);
    assert!(log.dropped.is_empty());
    assert_eq!(log.marked[0].id, 54);
    assert_eq!(sent[54].ecn, Ecn::Ce);
    let mut queue = build(json!({ "kind": "codel", "ecn": true }));
    let mut log = Log::default();
    overload(queue.as_mut(), &mut log, Ecn::NotEct);
    assert!(log.marked.is_empty() && log.dropped[0].0.id == 54);
}

#[test]
fn above_the_ce_threshold_every_capable_packet_is_marked() {
    let mut queue = build(json!({ "kind": "codel", "ce_threshold": "1ms" }));
    let mut log = Log::default();
    queue.enqueue(
        0,
        TestPacket {
            ecn: Ecn::Ect1,
            ..packet(0, 0)
        },
        &mut log,
    );
    queue.enqueue(
        0,
        TestPacket {
            ecn: Ecn::Ect1,
            ..packet(1, 0)
        },
        &mut log,
    );
    queue.enqueue(0, packet(2, 0), &mut log);
    assert_eq!(queue.dequeue(ms(1.0), &mut log).unwrap().ecn, Ecn::Ect1);
    assert_eq!(queue.dequeue(ms(1.000_001), &mut log).unwrap().ecn, Ecn::Ce);
    assert_eq!(queue.dequeue(ms(2.0), &mut log).unwrap().ecn, Ecn::NotEct);
}
