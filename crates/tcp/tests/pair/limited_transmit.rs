//! Tests of limited transmit (RFC 3042).

use bloatlab_tcp::{LossDetection, TcpConfig};

use crate::world::{LONG, established, lose};

const MSS: u64 = 1448;

/// The first segments that are sent if the first of four is lost, by their places in the data.
fn sent_after_a_loss(limited_transmit: bool) -> Vec<u64> {
    let config = TcpConfig {
        limited_transmit,
        initial_window: 4,
        ack_every: 1,
        tail_loss_probe: false,
        loss_detection: LossDetection::Dupack,
        ..TcpConfig::default()
    };
    let mut world = established(&config, 20 * MSS);
    let mut is_lost = false;
    world.filter = Some(lose(move |end, sent| {
        let is_first = end == 0 && sent.has_data() && !is_lost;
        is_lost |= is_first;
        is_first
    }));
    world.open();
    assert!(world.run(LONG, 10_000));
    assert_eq!(world.ends[0].sender.stats.retransmissions, 1);
    let numbers: Vec<u32> = world.data(0).map(|sent| sent.segment.seq).collect();
    let places = numbers.iter().take(7);
    places
        .map(|number| u64::from(number.wrapping_sub(numbers[0])) / MSS)
        .collect()
}

#[test]
fn the_first_two_duplicate_acks_release_a_segment_each() {
    assert_eq!(sent_after_a_loss(true), [0, 1, 2, 3, 4, 5, 0]);
}

#[test]
fn without_limited_transmit_the_retransmission_comes_first() {
    assert_eq!(sent_after_a_loss(false)[..5], [0, 1, 2, 3, 0]);
}
