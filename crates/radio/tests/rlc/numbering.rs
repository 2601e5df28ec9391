//! Packet data convergence: sequence numbers, discards and order.

use bloatlab_radio::pdcp::{PdcpParams, PdcpReceiver, PdcpTransmitter, Timer};
use bloatlab_units::{Duration, MILLISECOND};
use proptest::prelude::*;

fn after(ms: u64) -> Timer {
    Timer::Finite(Duration(ms * MILLISECOND))
}

#[test]
fn a_discard_leaves_no_gap_in_the_sequence_numbers() {
    let params = PdcpParams {
        discard_timer: after(50),
        ..PdcpParams::default()
    };
    let mut sender = PdcpTransmitter::new(&params);
    // The second waits for its full 50 ms, the others do not.
    let waits = [(0, 30), (10, 60), (40, 70)];
    let numbers: Vec<u64> = waits
        .into_iter()
        .filter_map(|(from, to)| sender.leave(to * MILLISECOND, from * MILLISECOND))
        .collect();
    assert_eq!(numbers, [0, 1]);
    assert_eq!(sender.discarded(), 1);
}

#[test]
fn a_missing_sdu_delays_the_rest_for_t_reordering() {
    let params = PdcpParams {
        t_reordering: after(40),
        ..PdcpParams::default()
    };
    let mut receiver = PdcpReceiver::new(&params);
    let mut up = Vec::new();
    for (ms, number) in [(0, 0), (1, 2), (2, 3), (3, 6)] {
        receiver.receive(ms * MILLISECOND, number, number, &mut up);
    }
    assert_eq!((&up[..], receiver.waiting()), (&[0][..], 3));
    // The timer was started by 2: then 1 is abandoned, and 4 and 5 are awaited.
    assert_eq!(receiver.next_timer(), Some(41 * MILLISECOND));
    receiver.on_timer(41 * MILLISECOND, &mut up);
    assert_eq!(up, [0, 2, 3]);
    assert_eq!(receiver.next_timer(), Some(81 * MILLISECOND));
    receiver.receive(50 * MILLISECOND, 1, 1, &mut up);
    receiver.receive(51 * MILLISECOND, 4, 4, &mut up);
    receiver.receive(52 * MILLISECOND, 5, 5, &mut up);
    assert_eq!(up, [0, 2, 3, 4, 5, 6]);
    assert_eq!(
        (
            receiver.next_timer(),
            receiver.discarded(),
            receiver.skipped()
        ),
        (None, 1, 1)
    );
}

#[test]
fn out_of_order_delivery_waits_for_nothing() {
    let params = PdcpParams {
        out_of_order: true,
        ..PdcpParams::default()
    };
    let mut receiver = PdcpReceiver::new(&params);
    let mut up = Vec::new();
    for number in [3, 1, 3, 0, 1, 2, 0] {
        receiver.receive(0, number, number, &mut up);
    }
    assert_eq!((&up[..], receiver.discarded()), (&[3, 1, 0, 2][..], 3));
    assert_eq!(receiver.next_timer(), None);
}

#[test]
fn a_window_at_most_waits() {
    let params = PdcpParams {
        sn_bits: 12,
        t_reordering: Timer::Infinite,
        ..PdcpParams::default()
    };
    let mut receiver = PdcpReceiver::new(&params);
    let mut up = Vec::new();
    for number in 1..=2047 {
        receiver.receive(0, number, number, &mut up);
    }
    assert_eq!(
        (up.len(), receiver.waiting(), receiver.next_timer()),
        (0, 2047, None)
    );
    receiver.receive(0, 2048, 2048, &mut up);
    assert_eq!(
        (up.len(), receiver.waiting(), receiver.skipped()),
        (2048, 0, 1)
    );
}

proptest! {
    #[test]
    fn order_holds_and_each_number_goes_up_once(
        numbers in proptest::collection::vec((0_u64..200, 0_u64..30), 1..300),
        out_of_order in any::<bool>(),
        ms in 0_u64..100,
    ) {
        let params = PdcpParams { t_reordering: after(ms), out_of_order, ..PdcpParams::default() };
        let mut receiver = PdcpReceiver::new(&params);
        let (mut up, mut now) = (Vec::new(), 0);
        for &(number, step) in &numbers {
            now += step * MILLISECOND;
            while let Some(at) = receiver.next_timer().filter(|&at| at <= now) {
                receiver.on_timer(at, &mut up);
            }
            receiver.receive(now, number, number, &mut up);
        }
        while let Some(at) = receiver.next_timer() {
            receiver.on_timer(at, &mut up);
        }
        prop_assert_eq!(receiver.waiting(), 0);
        prop_assert_eq!(up.len() as u64 + receiver.discarded(), numbers.len() as u64);
        let mut sorted = up.clone();
        sorted.sort_unstable();
        sorted.dedup();
        prop_assert_eq!(sorted.len(), up.len());
        prop_assert!(out_of_order || sorted == up);
    }
}
