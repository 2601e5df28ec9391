//! Rules of loss recovery: when it starts and ends, and what the window is afterwards.

use bloatlab_tcp::{LossDetection, Pacing, Reduction, TcpConfig};
use bloatlab_units::{MILLISECOND, Nanos, SECOND};

use crate::world::{Action, Filter, LONG, RTT, Sent, World, Write, established, lose, reno};

const MSS: u64 = 1448;

/// Loses the first transmission of the first segment.
fn lose_the_first() -> Filter {
    let mut lost = false;
    lose(move |end, sent| {
        let hit = end == 0 && sent.segment.seq == 1 && sent.segment.length > 0 && !lost;
        lost |= hit;
        hit
    })
}

#[test]
fn a_lost_retransmission_waits_for_no_more_than_the_timeout() {
    // RFC 6298 section 5.3: only ACKs of new data restart the timer, however many SACKs arrive.
    for loss_detection in [LossDetection::Dupack, LossDetection::Rack] {
        let config = TcpConfig {
            loss_detection,
            ..TcpConfig::default()
        };
        let mut world = established(&config, 3_000_000);
        let mut seen = 0;
        world.filter = Some(lose(move |end, sent| {
            // The first transmission and the first retransmission of the fifth segment.
            let hit = end == 0 && u64::from(sent.segment.seq) == 1 + 4 * MSS && seen < 2;
            seen += usize::from(hit);
            hit
        }));
        world.open();
        assert!(world.run(LONG, 1_000_000));
        let times: Vec<Nanos> = world
            .data(0)
            .filter(|s| u64::from(s.segment.seq) == 1 + 4 * MSS)
            .map(|s| s.at)
            .collect();
        assert_eq!(times.len(), 3, "{loss_detection:?}");
        let wait = times[2] - times[1];
        assert!(
            wait <= 300 * MILLISECOND,
            "{loss_detection:?} waits {wait} ns"
        );
        assert_eq!(world.delivered[1], 3_000_000);
    }
}

#[test]
fn the_sack_that_starts_the_reordering_timer_counts_in_the_recovery() {
    // The first of 8 segments is lost, the next arrives, and the others are late. So the timer finds the loss, with 9 in flight and ssthresh 4.
    let config = TcpConfig {
        initial_window: 8,
        ack_every: 1,
        tail_loss_probe: false,
        // ACKs arrive one by one.
        pacing: Pacing::On,
        ..TcpConfig::default()
    };
    let mut world = established(&config, 100 * MSS);
    let mut lost = false;
    world.filter = Some(Box::new(move |end, sent| {
        let number = u64::from(sent.segment.seq) / MSS;
        if end == 1 || sent.segment.length == 0 || number == 1 || (number == 0 && lost) {
            Action::Forward
        } else if number == 0 {
            lost = true;
            Action::Drop
        } else {
            Action::Delay(RTT / 2)
        }
    }));
    world.open();
    assert!(world.run(LONG, 100_000));
    // As in Linux: with the SACK before the timer, the second one after it makes three, and ceil(3 * 4 / 9) is one more than the retransmission.
    let sent_at = |number| {
        let is = |s: &&Sent| u64::from(s.segment.seq) / MSS == number && s.segment.length > 0;
        world.data(0).find(is).unwrap().at
    };
    assert_eq!(sent_at(9), sent_at(3) + RTT + RTT / 2);
}

#[test]
fn in_linux_the_ack_that_ends_a_recovery_opens_the_window() {
    // The first of 4 segments is lost: ssthresh is 2. The ACK of its retransmission counts as one of the two segments that grow the window to 3.
    for (recovery, acks) in [(Reduction::Prr, 1), (Reduction::Classic, 2)] {
        let config = TcpConfig {
            recovery,
            initial_window: 4,
            ack_every: 1,
            tail_loss_probe: false,
            ..TcpConfig::default()
        };
        // Written with gaps, so that ACKs arrive one by one.
        let writes: Vec<Write> = (0..100)
            .map(|i| Write {
                at: 2 * RTT + i * MILLISECOND,
                bytes: MSS,
            })
            .collect();
        let mut world = World::clean(&config, &reno(), RTT / 2);
        world.application(0, &writes);
        world.filter = Some(lose_the_first());
        world.open();
        let (mut at, mut since) = (0, None);
        while world.ends[0].sender.window.cwnd != 3 * MSS || since.is_none() {
            at += MILLISECOND / 10;
            assert!(at < SECOND && world.run(at, 100_000));
            let sender = &world.ends[0].sender;
            if since.is_none() && sender.stats.recovered == 1 {
                since = Some(sender.una());
            }
        }
        let acked = world.ends[0].sender.una() - since.unwrap();
        assert_eq!(acked, acks * MSS, "{recovery:?}");
    }
}

#[test]
fn in_linux_a_loss_during_recovery_is_a_new_episode_though_it_was_repeated() {
    // Data sent after recovery began and lost is new congestion. Linux checks what is still missing, ns-2's Sack1 what is still to be retransmitted.
    for (recovery, episodes) in [(Reduction::Prr, 2), (Reduction::Classic, 1)] {
        let config = TcpConfig {
            recovery,
            initial_window: 32,
            ..TcpConfig::default()
        };
        let mut world = established(&config, 300 * MSS);
        let first = 1 + 4 * MSS as u32;
        let (mut repeated, mut fresh) = (0, 0);
        world.filter = Some(lose(move |end, sent| {
            if end != 0 || sent.segment.length == 0 {
                return false;
            }
            if sent.segment.seq == first {
                // The segment and its first retransmission, so that recovery lasts for another round trip.
                repeated += 1;
                return repeated <= 2;
            }
            // The first new segment after recovery began.
            let new = repeated == 2 && !sent.again;
            fresh += u32::from(new);
            new && fresh == 1
        }));
        world.open();
        assert!(world.run(LONG, 100_000));
        let stats = world.ends[0].sender.stats;
        assert_eq!(world.delivered[1], 300 * MSS);
        assert_eq!(
            (stats.recoveries, stats.rtos),
            (episodes, 0),
            "{recovery:?}"
        );
    }
}

#[test]
fn the_ack_that_ends_slow_start_after_a_timeout_opens_the_window() {
    // RFC 5681 section 3.1: of two segments the first is lost. The ACK of its retransmission grows the window from one segment to two.
    for recovery in [Reduction::Prr, Reduction::PrrBytes, Reduction::Classic] {
        let config = TcpConfig {
            recovery,
            initial_window: 2,
            ack_every: 1,
            tail_loss_probe: false,
            loss_detection: LossDetection::Dupack,
            limited_transmit: false,
            ..TcpConfig::default()
        };
        let mut world = established(&config, 100 * MSS);
        world.filter = Some(lose_the_first());
        world.open();
        assert!(world.run(LONG, 100_000));
        let again = world.data(0).position(|s| s.again).unwrap();
        let after: Vec<_> = world
            .data(0)
            .skip(again + 1)
            .take(3)
            .map(|s| s.at)
            .collect();
        assert_eq!(after[0], after[1], "{recovery:?}: two leave at once");
        assert!(after[2] > after[1], "{recovery:?}: and no third");
        assert_eq!(world.ends[0].sender.stats.rtos, 1);
    }
}
