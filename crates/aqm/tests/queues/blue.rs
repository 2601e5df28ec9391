//! Tests BLUE against Feng et al. 2002, with the expected steps computed by hand.

use crate::common::{Log, TestPacket, build, ms, packet, stat};
use bloatlab_aqm::blue::{BlueController, BlueState, Params};
use bloatlab_aqm::{DropReason, Ecn};
use serde_json::json;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12
}

#[test]
fn losses_raise_the_probability_once_a_freeze_time() {
    let (controller, mut state) = (
        BlueController::new(&Params::default()),
        BlueState::default(),
    );
    let mut lost = |at| {
        controller.lost(&mut state, ms(at));
        state.prob()
    };
    assert!(close(lost(5.0), 0.02));
    assert!(close(lost(104.9), 0.02));
    assert!(close(lost(105.0), 0.04));
    (2..100).for_each(|n| {
        lost(105.0 + 100.0 * f64::from(n));
    });
    assert_eq!(state.prob(), 1.0);
}

#[test]
fn an_idle_link_lowers_it_once_a_freeze_time() {
    let (controller, mut state) = (
        BlueController::new(&Params::default()),
        BlueState::default(),
    );
    controller.lost(&mut state, 0);
    controller.lost(&mut state, ms(100.0));
    // Idle from 500 to 750 ms: at 500, 600 and 700 ms.
    state.idle(ms(500.0));
    state.idle(ms(520.0));
    controller.arrival(&mut state, ms(750.0));
    assert!(close(state.prob(), 0.04 - 3.0 * 0.002));
    // Frozen until 800 ms, whatever arrives.
    controller.lost(&mut state, ms(799.0));
    state.idle(ms(780.0));
    controller.arrival(&mut state, ms(790.0));
    assert!(close(state.prob(), 0.034));
    controller.lost(&mut state, ms(800.0));
    assert!(close(state.prob(), 0.054));
    // An arrival without an idle time before it changes nothing.
    controller.arrival(&mut state, ms(5000.0));
    assert!(close(state.prob(), 0.054));
    // Idle while frozen: the first step follows when the freeze ends at 900 ms, the second at 1000 ms.
    state.idle(ms(850.0));
    controller.arrival(&mut state, ms(1000.0));
    assert!(close(state.prob(), 0.05));
    state.idle(ms(2000.0));
    controller.arrival(&mut state, ms(20_000.0));
    assert_eq!(state.prob(), 0.0);
}

#[test]
fn a_loss_makes_it_signal_and_an_idle_link_makes_it_stop() {
    let config = json!({ "kind": "blue", "limit": "2p", "increment": 1.0, "decrement": 1.0 });
    let (mut queue, mut log) = (build(config), Log::default());
    (0..3).for_each(|id| queue.enqueue(0, packet(id, 0), &mut log));
    assert_eq!(log.dropped, [(packet(2, 0), DropReason::Overflow)]);
    assert_eq!(stat(queue.as_ref(), "prob"), 1.0);
    queue.dequeue(0, &mut log);
    let capable = TestPacket {
        ecn: Ecn::Ect1,
        ..packet(4, 0)
    };
    queue.enqueue(1, packet(3, 0), &mut log);
    queue.enqueue(1, capable, &mut log);
    assert_eq!(log.dropped_ids(), [2, 3]);
    assert_eq!(log.dropped[1].1, DropReason::Aqm);
    assert_eq!(log.marked.len(), 1);
    let count = |name| stat(queue.as_ref(), name);
    assert_eq!([count("early"), count("marked"), count("pdrop")], [1.0; 3]);
    // The link drains the queue, and then finds it empty.
    (0..3).for_each(|n| assert_eq!(queue.dequeue(ms(200.0), &mut log).is_some(), n < 2));
    queue.enqueue(ms(201.0), packet(5, 0), &mut log);
    assert_eq!((stat(queue.as_ref(), "prob"), queue.packets()), (0.0, 1));
}

#[test]
fn a_threshold_raises_it_before_anything_is_lost() {
    let config = json!({ "kind": "blue", "threshold": "3000B", "increment": 0.25, "ecn": false });
    let (mut queue, mut log) = (build(config), Log::default());
    // The third sees 3000 B, which is not above; the fourth sees 4500 B.
    (0..3).for_each(|id| queue.enqueue(0, packet(id, 0), &mut log));
    assert_eq!(stat(queue.as_ref(), "prob"), 0.0);
    queue.enqueue(0, packet(3, 0), &mut log);
    assert_eq!(stat(queue.as_ref(), "prob"), 0.25);
    assert_eq!(stat(queue.as_ref(), "pdrop"), 0.0);
}
