//! Tests of segmentation and receive offload: what leaves as one buffer, and what is acknowledged once.

use bloatlab_cc::{CcConfig, fixed};
use bloatlab_tcp::segment::{MORE, PUSH};
use bloatlab_tcp::{SegmentationOffload, TcpConfig};
use bloatlab_units::{MICROSECOND, MILLISECOND, Nanos};

use crate::world::{Action, LONG, RTT, Sent, World, at_once, established, lose};

const MSS: u64 = 1448;

/// Sends for a while with a window of `window` segments. Segments with data arrive at least `apart` from each other.
fn sends(config: &TcpConfig, window: u32, rtt: Nanos, apart: Nanos) -> World {
    let cc = CcConfig::Fixed(fixed::Params { window });
    let mut world = World::clean(config, &cc, rtt / 2);
    world.application(0, &at_once(100_000_000));
    let mut free = 0;
    world.filter = Some(Box::new(move |end, sent| {
        if end == 1 || !sent.has_data() {
            return Action::Forward;
        }
        let held = free.max(sent.at) - sent.at;
        free = sent.at + held + apart;
        Action::Delay(held)
    }));
    world.open();
    world.run(100 * MILLISECOND, 100_000);
    world
}

fn segmentation() -> TcpConfig {
    TcpConfig {
        segmentation_offload: SegmentationOffload::On,
        ..TcpConfig::default()
    }
}

/// Number of data segments sent at each time, from the fourth time on. The first window and the first ACK cause the ones before.
fn by_instant(world: &World) -> Vec<usize> {
    let data: Vec<&Sent> = world.data(0).collect();
    let groups = data.chunk_by(|a, b| a.at == b.at);
    groups.skip(3).map(<[_]>::len).collect()
}

/// Number of data segments in each buffer. All but the last segment of a buffer carry `MORE`.
fn buffers(world: &World) -> Vec<usize> {
    let data: Vec<&Sent> = world.data(0).collect();
    let groups = data.chunk_by(|a, _| a.segment.has(MORE));
    groups.map(<[_]>::len).collect()
}

#[test]
fn with_receive_offload_what_left_together_is_acknowledged_once() {
    // Four segments at once: acknowledged in pairs, or all by one ACK.
    for (receive_offload, acks) in [(false, 2), (true, 1)] {
        let config = TcpConfig {
            receive_offload,
            initial_window: 4,
            ..TcpConfig::default()
        };
        let mut world = established(&config, 4 * MSS);
        world.open();
        assert!(world.run(LONG, 1000));
        let sent = world.data(0).next().unwrap().at;
        let is_answer = |answer: &&Sent| answer.is_pure_ack() && answer.at > sent;
        let answers: Vec<&Sent> = world.sent[1].iter().filter(is_answer).collect();
        assert_eq!(answers.len(), acks);
        assert!(answers.iter().all(|answer| answer.at == sent + RTT / 2));
    }
}

#[test]
fn what_was_joined_and_has_lost_its_end_is_acknowledged_after_a_millisecond() {
    let config = TcpConfig {
        receive_offload: true,
        initial_window: 5,
        tail_loss_probe: false,
        ..TcpConfig::default()
    };
    let mut world = established(&config, 5 * MSS);
    let mut data = 0;
    world.filter = Some(lose(move |end, sent| {
        data += usize::from(end == 0 && sent.has_data());
        end == 0 && sent.has_data() && (data == 4 || data == 5)
    }));
    world.open();
    assert!(world.run(LONG, 1000));
    let sent = world.data(0).next().unwrap().at;
    let first = world.sent[1]
        .iter()
        .find(|sent| sent.is_pure_ack())
        .unwrap();
    assert_eq!(first.at, sent + RTT / 2 + MILLISECOND);
    assert_eq!(u64::from(first.segment.ack), 1 + 3 * MSS);
}

#[test]
fn a_buffer_holds_what_leaves_in_a_millisecond_and_more_between_near_hosts() {
    let near = 3 * MILLISECOND;
    for (window, rtt, gso_max_segs, segments) in [
        // 1.2 times the window per round trip (Linux's rate) for 2^-10 s: 5.1 kB.
        (60, RTT, 65_535, 3),
        (60, RTT, 2, 2),
        // 1 kB.
        (12, RTT, 65_535, 2),
        // 85 kB.
        (1000, RTT, 65_535, 45),
        // 17 kB, and 64 KiB halved five times.
        (30, near, 65_535, 13),
    ] {
        let config = TcpConfig {
            receive_offload: true,
            initial_window: window,
            gso_max_segs,
            ..segmentation()
        };
        let sizes = buffers(&sends(&config, window, rtt, 0));
        assert!(sizes.len() > 4, "{sizes:?}");
        // The rest of the first window, and what leaves when the run ends, may be less.
        let whole = sizes.iter().filter(|&&size| size == segments).count();
        assert!(sizes.iter().all(|&size| size <= segments), "{sizes:?}");
        assert!(2 * whole >= sizes.len(), "{window}: {sizes:?}");
    }
}

#[test]
fn a_sender_waits_for_room_for_a_buffer_or_a_third_of_its_window() {
    let apart = 50 * MICROSECOND;
    for (config, window, rtt, segments) in [
        // Each ACK allows two segments; a buffer holds three.
        (segmentation(), 60, RTT, 3),
        (TcpConfig::default(), 60, RTT, 2),
        // 45, of which a third of the window is less.
        (segmentation(), 20, 500 * MICROSECOND, 8),
    ] {
        let sizes = by_instant(&sends(&config, window, rtt, apart));
        assert!(sizes.len() > 10, "{sizes:?}");
        // The first ACK of a round trip finds that nothing has left for a long time, and is used at once. The end of a waiting buffer does not wait.
        let usual = sizes.iter().filter(|&&size| size == segments).count();
        assert!(10 * usual > 7 * sizes.len(), "{sizes:?}");
    }
}

#[test]
fn the_rest_of_a_buffer_in_which_data_waits_does_not_wait_for_room() {
    // Data waits in buffers of two segments, as it was written. A window of seven sends three of them and half of the fourth, whose other half then fills
    // the room that the ACK of the first half makes, instead of waiting for room for two.
    let config = TcpConfig {
        receive_offload: true,
        ack_every: 1,
        initial_window: 7,
        gso_max_segs: 2,
        ..segmentation()
    };
    let sizes = buffers(&sends(&config, 7, RTT, 50 * MICROSECOND));
    assert!(sizes.len() > 12, "{sizes:?}");
    for round in sizes.chunks_exact(4) {
        assert_eq!(round, [2, 2, 2, 1], "{sizes:?}");
    }
}

#[test]
fn a_buffer_takes_at_most_half_of_the_window() {
    let config = TcpConfig {
        receive_offload: true,
        initial_window: 3,
        ..segmentation()
    };
    let sizes = buffers(&sends(&config, 3, RTT, 0));
    assert!(sizes.iter().all(|&size| size == 1), "{sizes:?}");
}

#[test]
fn buffers_that_the_host_cuts_leave_as_segments_of_which_the_last_has_psh() {
    let config = TcpConfig {
        segmentation_offload: SegmentationOffload::Software,
        ..TcpConfig::default()
    };
    // As with a device that cuts them: three segments, because a third one makes room for a buffer.
    let world = sends(&config, 60, RTT, 50 * MICROSECOND);
    let usual = by_instant(&world).iter().filter(|&&size| size == 3).count();
    assert!(10 * usual > 7 * by_instant(&world).len());
    assert!(world.data(0).all(|sent| !sent.segment.has(MORE)));
    let data: Vec<&Sent> = world.data(0).collect();
    let ends = data.chunk_by(|a, _| !a.segment.has(PUSH)).map(<[_]>::len);
    let threes = ends.filter(|&length| length == 3).count();
    assert!(10 * threes > 8 * data.len() / 3, "{threes}");
}

#[test]
fn a_sender_waits_a_millisecond_at_most() {
    // ACKs are 1.2 ms apart. At each, nothing has left for longer than the limit.
    let apart = 600 * MICROSECOND;
    let sizes = by_instant(&sends(&segmentation(), 20, 500 * MICROSECOND, apart));
    assert!(sizes.len() > 10, "{sizes:?}");
    assert!(sizes.iter().all(|&size| size == 2), "{sizes:?}");
}

#[test]
fn the_first_window_is_sent_at_once() {
    // Buffers of two. The eleventh segment would have to wait for an ACK that is a round trip away.
    let config = TcpConfig {
        initial_window: 11,
        ..segmentation()
    };
    let mut world = established(&config, 1_000_000);
    world.open();
    world.run(RTT, 1000);
    assert_eq!(world.data(0).count(), 11);
    assert!(world.run(LONG, 100_000));
    assert_eq!(world.delivered[1], 1_000_000);
}

#[test]
fn a_lost_buffer_is_sent_again_as_one_buffer() {
    let config = TcpConfig {
        receive_offload: true,
        initial_window: 60,
        ..segmentation()
    };
    let cc = CcConfig::Fixed(fixed::Params { window: 60 });
    let mut world = World::clean(&config, &cc, RTT / 2);
    world.application(0, &at_once(1_000_000));
    let (mut buffers, mut inside) = (0, false);
    // The thirtieth buffer, which has three segments.
    world.filter = Some(lose(move |end, sent| {
        if end == 1 || !sent.has_data() {
            return false;
        }
        buffers += u32::from(!inside);
        inside = sent.segment.has(MORE);
        buffers == 30
    }));
    world.open();
    assert!(world.run(LONG, 100_000));
    assert_eq!(world.delivered[1], 1_000_000);
    let mut seen = std::collections::HashSet::new();
    let again: Vec<&Sent> = world
        .data(0)
        .filter(|sent| !seen.insert(sent.segment.seq))
        .collect();
    assert_eq!(again.len(), 3);
    assert!(again.iter().all(|sent| sent.at == again[0].at));
    let followed: Vec<bool> = again.iter().map(|sent| sent.segment.has(MORE)).collect();
    assert_eq!(followed, [true, true, false]);
    // The hole is filled at once, so no ACK is for a part of it.
    let (first, end) = (again[0].segment.seq, u64::from(again[2].segment.seq) + MSS);
    let part = |sent: &&Sent| (u64::from(first) + 1..end).contains(&u64::from(sent.segment.ack));
    assert_eq!(world.sent[1].iter().filter(part).count(), 0);
}

#[test]
fn two_lost_buffers_are_sent_again_as_two_buffers() {
    let config = TcpConfig {
        receive_offload: true,
        initial_window: 40,
        gso_max_segs: 2,
        ..segmentation()
    };
    let cc = CcConfig::Fixed(fixed::Params { window: 60 });
    let mut world = World::clean(&config, &cc, RTT / 2);
    world.application(0, &at_once(40 * MSS));
    // Two buffers of two segments that left together.
    let mut lost = 0;
    world.filter = Some(lose(move |end, sent| {
        let first = 1 + 4 * MSS;
        let hit = end == 0 && (first..first + 4 * MSS).contains(&u64::from(sent.segment.seq));
        lost += u32::from(hit && sent.has_data());
        hit && lost <= 4
    }));
    world.open();
    assert!(world.run(LONG, 100_000));
    let again = world.data(0).filter(|sent| sent.again);
    let followed: Vec<bool> = again.map(|sent| sent.segment.has(MORE)).collect();
    assert_eq!(followed, [true, false, true, false]);
}
