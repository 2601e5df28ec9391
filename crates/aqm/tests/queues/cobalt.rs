//! Tests COBALT against its paper, step by step, with the expected times computed by hand.

use crate::common::{Log, TestPacket, build, ms, packet, stat};
use bloatlab_aqm::Verdict::{self, Drop, Forward, Mark};
use bloatlab_aqm::cobalt::{CobaltController, CobaltState};
use bloatlab_aqm::{DropReason, Ecn};
use bloatlab_units::{MILLISECOND, Nanos, Rng, Streams};
use serde_json::json;

const LONG: Nanos = 50 * MILLISECOND;
const SHORT: Nanos = 4 * MILLISECOND;

fn controller() -> CobaltController {
    CobaltController::new(5 * MILLISECOND, 100 * MILLISECOND)
}

fn rng() -> Rng {
    Streams::new(1).stream("queue")
}

/// The controller's decisions for packets that leave at these times (ms) after such a sojourn time.
fn judge(state: &mut CobaltState, sojourn: Nanos, markable: bool, times: &[f64]) -> Vec<Verdict> {
    let mut rng = rng();
    times
        .iter()
        .map(|&time| controller().judge(state, ms(time), sojourn, 0, markable, &mut rng))
        .collect()
}

/// A state with three signals: entered at 0, signals at 100 and 170.71 ms, the next due at 228.445 704 ms.
fn at_three() -> CobaltState {
    let mut state = CobaltState::default();
    // count = 1: due at 0 + 100 / sqrt(1).
    assert_eq!(
        judge(&mut state, LONG, false, &[0.0, 50.0, 99.999_999]),
        [Forward; 3]
    );
    // count = 2: 100 + 100 / sqrt(2).
    assert_eq!(
        judge(&mut state, LONG, false, &[100.0, 100.0, 170.710_677]),
        [Drop, Forward, Forward]
    );
    // count = 3: 170.710 678 + 100 / sqrt(3).
    assert_eq!(
        judge(&mut state, LONG, false, &[170.710_678, 228.445_703]),
        [Drop, Forward]
    );
    assert_eq!((state.count(), state.drop_next()), (3, ms(228.445_704)));
    state
}

#[test]
fn the_count_decays_on_the_schedule_on_which_it_grew() {
    let mut state = at_three();
    judge(&mut state, SHORT, false, &[200.0]);
    assert!(!state.dropping() && state.count() == 3);
    // Due at 228.445 704: down to 2, and the next step 100 / sqrt(2) later.
    judge(&mut state, SHORT, false, &[229.0]);
    assert_eq!((state.count(), state.drop_next()), (2, ms(299.156_382)));
    judge(&mut state, SHORT, false, &[299.156_381]);
    assert_eq!(state.count(), 2);
    judge(&mut state, SHORT, false, &[299.156_382]);
    assert_eq!((state.count(), state.drop_next()), (1, ms(399.156_382)));
    // Several steps at once after a pause: back at rest, but active for one interval.
    judge(&mut state, SHORT, false, &[10_000.0]);
    assert_eq!((state.count(), state.drop_next()), (0, ms(10_100.0)));
    assert!(!state.at_rest(ms(10_099.0)) && state.at_rest(ms(10_100.0)));
}

#[test]
fn the_rate_resumes_where_the_decay_has_left_it() {
    let mut state = at_three();
    judge(&mut state, SHORT, false, &[229.0]);
    // Entered again with count = 2: the first signal follows 100 / sqrt(2) later instead of a whole interval.
    assert_eq!(
        judge(&mut state, LONG, false, &[230.0, 300.710_677, 300.710_678]),
        [Forward, Forward, Drop]
    );
    assert_eq!(state.count(), 3);
}

#[test]
fn a_step_that_is_due_when_the_queue_is_long_again_is_a_signal() {
    let mut state = at_three();
    judge(&mut state, SHORT, false, &[200.0]);
    // 228.445 704 has passed: 240 + 100 / sqrt(3), then count = 4 and + 50.
    assert_eq!(judge(&mut state, LONG, false, &[240.0]), [Drop]);
    assert_eq!((state.count(), state.drop_next()), (4, ms(347.735_026)));
}

#[test]
fn an_empty_queue_decays_by_one_step_per_check() {
    let mut state = at_three();
    assert!(!controller().emptied(&mut state, ms(228.0)));
    assert!(!state.dropping() && state.count() == 3);
    controller().emptied(&mut state, ms(500.0));
    assert_eq!((state.count(), state.drop_next()), (2, ms(299.156_382)));
    controller().emptied(&mut state, ms(500.0));
    controller().emptied(&mut state, ms(500.0));
    assert_eq!((state.count(), state.drop_next()), (0, ms(499.156_382)));
    assert!(state.at_rest(ms(500.0)));
}

#[test]
fn drops_catch_up_and_marks_do_not() {
    // Due at 100, 170.7, 228.4, 278.4, 323.2 and 364.0; the seventh at 401.8.
    let mut state = CobaltState::default();
    judge(&mut state, LONG, false, &[0.0]);
    let verdicts = judge(&mut state, LONG, false, &[400.0; 7]);
    assert_eq!(verdicts, [Drop, Drop, Drop, Drop, Drop, Drop, Forward]);
    let mut state = CobaltState::default();
    judge(&mut state, LONG, true, &[0.0]);
    assert_eq!(judge(&mut state, LONG, true, &[400.0]), [Mark]);
    assert_eq!((state.count(), state.drop_next()), (2, ms(400.0)));
}

#[test]
fn a_floor_makes_longer_sojourns_acceptable() {
    let (mut state, mut rng) = (CobaltState::default(), rng());
    controller().judge(&mut state, ms(1.0), LONG, LONG, false, &mut rng);
    assert!(!state.dropping());
    controller().judge(&mut state, ms(1.0), LONG + 1, LONG, false, &mut rng);
    assert!(state.dropping());
}

#[test]
fn blue_steps_at_most_once_a_target() {
    let (controller, mut state) = (controller(), CobaltState::default());
    assert!(controller.overflowed(&mut state, ms(10.0)), "BLUE begins");
    assert!(!controller.overflowed(&mut state, ms(14.999_999)));
    assert_eq!(state.p_drop(), 1.0 / 256.0);
    assert!(!controller.overflowed(&mut state, ms(15.0)));
    assert_eq!(state.p_drop(), 2.0 / 256.0);
    // An overflow makes the next signal due at once.
    assert_eq!(
        (state.dropping(), state.count(), state.drop_next()),
        (true, 1, ms(15.0))
    );
    assert!(!controller.emptied(&mut state, ms(19.999_999)));
    assert_eq!(state.p_drop(), 2.0 / 256.0);
    controller.emptied(&mut state, ms(20.0));
    assert_eq!(state.p_drop(), 31.0 / 4096.0);
    let silent: Vec<u64> = (1..=40)
        .filter(|n| controller.emptied(&mut state, ms(20.0) + n * 5 * MILLISECOND))
        .collect();
    assert_eq!(silent, [31], "31 steps of 1/4096, and silent once");
    assert_eq!(state.p_drop(), 0.0);
}

#[test]
fn blue_saturates() {
    let (controller, mut state) = (controller(), CobaltState::default());
    for n in 0..300 {
        controller.overflowed(&mut state, n * 5 * MILLISECOND);
    }
    assert_eq!(state.p_drop(), f64::from(u32::MAX) / 4_294_967_296.0);
}

#[test]
fn blue_drops_at_its_probability_and_does_not_mark() {
    let (controller, mut state, mut rng) = (controller(), CobaltState::default(), rng());
    for n in 0..64 {
        controller.overflowed(&mut state, n * 5 * MILLISECOND);
    }
    assert_eq!(state.p_drop(), 0.25);
    // CoDel does not signal here, because sojourn times are short.
    let verdicts: Vec<Verdict> = (0..10_000)
        .map(|_| controller.judge(&mut state, ms(10_000.0), SHORT, 0, true, &mut rng))
        .collect();
    let drops = verdicts.iter().filter(|&&verdict| verdict == Drop).count();
    assert!(!verdicts.contains(&Mark));
    // Binomial: mean 2500, standard deviation 43.
    assert!((2500_i32 - drops as i32).abs() < 4 * 43, "{drops}");
}

#[test]
fn the_last_packet_is_never_dropped() {
    let mut queue = build(json!({ "kind": "cobalt", "pdrop": 1.0, "ecn": true }));
    let mut log = Log::default();
    for id in 0..3 {
        let ecn = Ecn::Ect0;
        queue.enqueue(
            0,
            TestPacket {
                ecn,
                ..packet(id, 1)
            },
            &mut log,
        );
    }
    let sent = queue.dequeue(ms(1.0), &mut log).unwrap();
    assert_eq!((sent.id, log.dropped_ids()), (2, vec![0, 1]));
    assert!(log.marked.is_empty());
    assert_eq!(stat(queue.as_ref(), "drop_count"), 2.0);
}

#[test]
fn overflows_are_counted_and_wake_blue() {
    let mut queue = build(json!({ "kind": "cobalt", "limit": "2p", "increment": 0.5 }));
    let mut log = Log::default();
    for id in 0..4 {
        queue.enqueue(ms(7.0), packet(id, 1), &mut log);
    }
    assert_eq!(log.dropped_ids(), [2, 3]);
    assert_eq!(log.dropped[0].1, DropReason::Overflow);
    assert_eq!(stat(queue.as_ref(), "drop_overlimit"), 2.0);
    assert_eq!(stat(queue.as_ref(), "p_drop"), 0.5);
}

#[test]
fn long_sojourns_wake_blue_if_asked_to() {
    let mut queue = build(json!({ "kind": "cobalt", "blue_threshold": "40ms", "increment": 0.25 }));
    let mut log = Log::default();
    for id in 0..3 {
        queue.enqueue(0, packet(id, 1), &mut log);
    }
    queue.dequeue(ms(40.0), &mut log);
    assert_eq!(stat(queue.as_ref(), "p_drop"), 0.0);
    queue.dequeue(ms(40.000_001), &mut log);
    assert_eq!(stat(queue.as_ref(), "p_drop"), 0.25);
}

#[test]
fn the_threshold_marks_in_any_state() {
    let mut queue = build(json!({ "kind": "cobalt", "ce_threshold": "1ms" }));
    let mut log = Log::default();
    for (id, ecn) in [(0, Ecn::Ect1), (1, Ecn::NotEct), (2, Ecn::Ect0)] {
        queue.enqueue(
            0,
            TestPacket {
                ecn,
                ..packet(id, 1)
            },
            &mut log,
        );
    }
    queue.dequeue(ms(1.0), &mut log);
    assert!(log.marked.is_empty());
    queue.dequeue(ms(1.000_001), &mut log);
    queue.dequeue(ms(1.000_001), &mut log);
    assert_eq!(log.marked.len(), 1);
    assert_eq!(stat(queue.as_ref(), "ce_mark"), 1.0);
    assert!(queue.dequeue(ms(2.0), &mut log).is_none());
}
