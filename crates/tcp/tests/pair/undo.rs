//! Reductions that prove unnecessary are undone; others are kept.

use bloatlab_cc::CcConfig;
use bloatlab_tcp::segment::SYN;
use bloatlab_tcp::{SenderStats, State, TcpConfig};
use bloatlab_units::{MILLISECOND, Nanos};

use crate::world::{Action, LONG, RTT, Sent, World, at_once};

const MSS: u64 = 1448;
/// When the path misbehaves: after a few windows in slow start.
const SPIKE: Nanos = 5 * RTT;

fn config(undo: bool, frto: bool) -> TcpConfig {
    TcpConfig {
        undo,
        frto,
        tail_loss_probe: false,
        ..TcpConfig::default()
    }
}

fn world(config: &TcpConfig, action: impl Fn(usize, &Sent) -> Action + 'static) -> World {
    let reno = CcConfig::Reno(Default::default());
    let mut world = World::clean(config, &reno, RTT / 2);
    world.application(0, &at_once(3_000_000));
    world.filter = Some(Box::new(action));
    world.open();
    world
}

/// Window and threshold before the path misbehaves and long after, and the sender's counters.
fn before_and_after(
    config: &TcpConfig,
    action: impl Fn(usize, &Sent) -> Action + 'static,
) -> (u64, u64, World) {
    let mut world = world(config, action);
    assert!(world.run(SPIKE - 1, 100_000));
    let before = world.ends[0].sender.window.cwnd;
    assert!(world.run(SPIKE + 1500 * MILLISECOND, 100_000));
    let after = world.ends[0].sender.window.ssthresh;
    assert!(world.run(LONG, 100_000));
    assert_eq!(world.delivered[1], 3_000_000);
    (before, after, world)
}

fn in_spike(sent: &Sent, length: Nanos) -> bool {
    (SPIKE..SPIKE + length).contains(&sent.at) && !sent.segment.has(SYN)
}

#[test]
fn a_delay_longer_than_the_timeout_costs_nothing() {
    // The path stalls for half a second and then delivers in order. The first ACK echoes a timestamp from before the retransmission (RFC 3522).
    let still = 500 * MILLISECOND;
    let late = move |end: usize, sent: &Sent| match in_spike(sent, still) {
        true if end == 0 => Action::Delay(SPIKE + still - sent.at),
        _ => Action::Forward,
    };
    let (before, ssthresh, with) = before_and_after(&config(true, true), late);
    let stats = with.ends[0].sender.stats;
    assert_eq!((stats.rtos, stats.undone), (1, 1));
    assert_eq!(stats.retransmissions, 1, "only what the timer sent");
    assert!(ssthresh > 1 << 40, "slow start goes on");

    let (_, ssthresh, without) = before_and_after(&config(false, false), late);
    let stats = without.ends[0].sender.stats;
    assert_eq!(stats.undone, 0);
    assert!(ssthresh <= before, "{ssthresh} after a window of {before}");
    assert!(
        with.now < without.now,
        "{} and {} ns",
        with.now,
        without.now
    );
}

#[test]
fn lost_acks_are_not_lost_data() {
    // All ACKs of three round trips are lost. The ACK of the retransmission reports that everything arrived (RFC 5682 step 3b), and that the
    // retransmission was a duplicate.
    let mute = |end: usize, sent: &Sent| match in_spike(sent, 3 * RTT) {
        true if end == 1 => Action::Drop,
        _ => Action::Forward,
    };
    for frto in [true, false] {
        let (_, ssthresh, world) = before_and_after(&config(true, frto), mute);
        let stats = world.ends[0].sender.stats;
        assert_eq!((stats.rtos, stats.undone, stats.retransmissions), (1, 1, 1));
        assert!(ssthresh > 1 << 40, "slow start goes on");
    }
}

#[test]
fn a_late_segment_is_not_lost() {
    // One segment arrives 15 ms late, which RACK cannot tolerate the first time.
    let first = std::cell::Cell::new(0);
    let late = move |end: usize, sent: &Sent| {
        if end == 0
            && in_spike(sent, RTT)
            && (first.get() == 0 || first.get() == sent.segment.seq)
            && !sent.again
        {
            first.set(sent.segment.seq);
            return Action::Delay(15 * MILLISECOND);
        }
        Action::Forward
    };
    let (_, ssthresh, world) = before_and_after(&config(true, true), late);
    let sender = &world.ends[0].sender;
    assert_eq!((sender.stats.recoveries, sender.stats.undone), (1, 1));
    assert_eq!(sender.stats.retransmissions, 1);
    assert!(ssthresh > 1 << 40, "slow start goes on");
    assert_eq!(sender.state(), State::Open);
}

#[test]
fn reductions_after_real_losses_are_kept() {
    for length in [0, RTT] {
        // One segment, or all of a round trip.
        let lossy = move |end: usize, sent: &Sent| {
            if end == 0 && !sent.again && in_spike(sent, length.max(1)) {
                return Action::Drop;
            }
            Action::Forward
        };
        let (before, ssthresh, world) = before_and_after(&config(true, true), lossy);
        let stats = world.ends[0].sender.stats;
        assert!(stats.rtos + stats.recoveries > 0, "{length}");
        assert_eq!(stats.undone, 0, "{length}");
        assert!(ssthresh <= 2 * before, "{length}");
    }
}

#[test]
fn after_a_timeout_new_data_goes_first() {
    // RFC 5682 step 2b: the ACK of the retransmission releases two new segments. Their SACKs show that the rest was lost, and it is retransmitted.
    for frto in [true, false] {
        let lossy = |end: usize, sent: &Sent| match end == 0 && !sent.again && in_spike(sent, RTT) {
            true => Action::Drop,
            false => Action::Forward,
        };
        let (_, _, world) = before_and_after(&config(true, frto), lossy);
        let repeat = world.data(0).position(|s| s.again).unwrap();
        let next: Vec<bool> = world
            .data(0)
            .skip(repeat)
            .take(4)
            .map(|s| s.again)
            .collect();
        let expected = if frto {
            [true, false, false, true]
        } else {
            [true; 4]
        };
        assert_eq!(next, expected);
        let most = world.data(0).map(|s| u64::from(s.segment.seq)).max();
        assert!(most > Some(MSS));
    }
}

/// Counters of a sender that loses one segment. Later, all segments in this range arrive twice.
fn one_loss_and_copies(ack_every: u32, copies: std::ops::Range<u32>) -> SenderStats {
    let config = TcpConfig {
        ack_every,
        ..config(true, true)
    };
    let (mut lost, mut count) = (false, 0);
    let mut world = World::clean(&config, &CcConfig::Reno(Default::default()), RTT / 2);
    world.application(0, &at_once(3_000_000));
    world.filter = Some(Box::new(move |end, sent: &Sent| {
        if end == 0 && !lost && in_spike(sent, RTT) {
            lost = true;
            return Action::Drop;
        }
        if end == 0 && sent.at > SPIKE + 3 * RTT && sent.has_data() {
            count += 1;
            if copies.contains(&(count - 1)) {
                return Action::Twice;
            }
        }
        Action::Forward
    }));
    world.open();
    assert!(world.run(LONG, 100_000));
    assert_eq!(world.delivered[1], 3_000_000);
    world.ends[0].sender.stats
}

#[test]
fn copies_that_the_network_makes_look_like_retransmissions_only_once() {
    for (ack_every, copies, undone) in [(1, 0, 0), (1, 1, 1), (1, 10, 1), (2, 10, 1)] {
        let stats = one_loss_and_copies(ack_every, 0..copies);
        assert_eq!((stats.retransmissions, stats.recoveries), (1, 1));
        // As in Linux: the first copy looks like the retransmission of the lost segment. The others exceed what was sent again.
        assert_eq!(stats.undone, undone, "{copies}");
    }
}

#[test]
fn a_copy_of_what_was_not_acknowledged_yet_is_no_retransmission() {
    // The ACK of the first of two segments waits. If the first arrives twice, the ACK of its copy acknowledges it, too.
    let undone = [0, 1].map(|at| one_loss_and_copies(2, at..at + 1).undone);
    assert!(undone == [0, 1] || undone == [1, 0], "{undone:?}");
}

#[test]
fn a_late_segment_does_not_excuse_one_that_was_lost() {
    // Of two segments, one arrives 15 ms late. The other does, too, or is lost. When the first ACK comes, its retransmission is outstanding.
    for (second, undone) in [(Action::Delay(15 * MILLISECOND), 1), (Action::Drop, 0)] {
        let hit = std::cell::RefCell::new(Vec::new());
        let harm = move |end: usize, sent: &Sent| {
            let mut hit = hit.borrow_mut();
            let index = sent.segment.seq / MSS as u32;
            let is_next = match hit.as_slice() {
                [] => true,
                [first] => index == first + 10,
                _ => false,
            };
            if end != 0 || sent.again || !is_next || !in_spike(sent, RTT) {
                return Action::Forward;
            }
            hit.push(index);
            match hit.len() {
                1 => Action::Delay(15 * MILLISECOND),
                _ => second,
            }
        };
        let (_, ssthresh, world) = before_and_after(&config(true, true), harm);
        let stats = world.ends[0].sender.stats;
        assert_eq!((stats.recoveries, stats.retransmissions), (1, 2));
        assert_eq!(stats.undone, undone);
        assert_eq!(ssthresh > 1 << 40, undone == 1, "slow start goes on");
    }
}
