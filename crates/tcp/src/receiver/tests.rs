//! Tests of the receiver with the RFCs' examples and with any order of arrival.

mod holes;

use super::*;
use crate::segment::ECE;
use bloatlab_units::{Bytes, Duration, SECOND};
use proptest::prelude::*;

fn receiver(ack_every: u32) -> Receiver {
    Receiver::new(&TcpConfig {
        ack_every,
        ..Default::default()
    })
}

fn data(seq: u64, length: u16) -> Segment {
    Segment {
        seq: seq as u32,
        length,
        ..Default::default()
    }
}

/// An estimator without a sample, so the timeout is one second.
fn rtt() -> RttEstimator {
    RttEstimator::new(&TcpConfig::default())
}

fn ack(r: &mut Receiver) -> Segment {
    let mut segment = Segment::default();
    r.stamp(&mut segment);
    segment
}

#[test]
fn acks_every_second_segment_or_after_the_timer() {
    let mut r = receiver(2);
    assert_eq!(r.on_data(0, &data(0, 100), false, Ecn::NotEct, &rtt()), 100);
    assert!(!r.ack_now);
    assert_eq!(r.ack_deadline, 40_000_000);
    r.on_data(1, &data(100, 100), false, Ecn::NotEct, &rtt());
    assert!(r.ack_now);
    assert_eq!(ack(&mut r).ack, 200);
    assert_eq!(r.ack_deadline, NEVER);
}

#[test]
fn a_growing_window_opens_by_two_segments_each_and_hastens_acks() {
    let mut r = Receiver::new(&TcpConfig {
        receive_buffer: Bytes(100_000),
        receive_window: ReceiveWindow::Growing,
        ..Default::default()
    });
    assert_eq!(r.window(), 48_552);
    let mut offered = Vec::new();
    for i in 0..6 {
        r.on_data(0, &data(i * 1448, 1448), false, Ecn::NotEct, &rtt());
        offered.push((r.ack_now, r.window()));
        if r.ack_now {
            ack(&mut r);
        }
    }
    // From half of the buffer less a segment, in steps of 2896, to 153/256 of what the segment itself leaves. Then ACKs are delayed, and the edge does
    // not move.
    let expected = [
        (true, 51_448),
        (true, 54_344),
        (true, 57_240),
        (true, 58_326),
        (false, 58_326),
        (true, 58_326),
    ];
    assert_eq!(offered, expected);
    // Growth uses up no quick ACKs: the two of the start come after it.
    let mut r = Receiver::new(&TcpConfig {
        receive_buffer: Bytes(100_000),
        receive_window: ReceiveWindow::Growing,
        quick_acks: 2,
        ..Default::default()
    });
    let at_once: Vec<bool> = (0..7)
        .map(|i| {
            r.on_data(0, &data(i * 1448, 1448), false, Ecn::NotEct, &rtt());
            let now = r.ack_now;
            ack(&mut r);
            now
        })
        .collect();
    assert_eq!(at_once, [true, true, true, true, true, true, false]);
    // Segments whose memory is mostly overhead: 448 of 1408 bytes, 81/256. The window shrinks and does not grow.
    let mut r = Receiver::new(&TcpConfig {
        receive_buffer: Bytes(100_000),
        receive_window: ReceiveWindow::Growing,
        ..Default::default()
    });
    for i in 0..2 {
        r.on_data(0, &data(i * 448, 448), false, Ecn::NotEct, &rtt());
    }
    assert!(r.ack_now);
    assert_eq!(ack(&mut r).window, 30_878);
    // Segments that are too small do not grow the window.
    let mut r = Receiver::new(&TcpConfig {
        receive_window: ReceiveWindow::Growing,
        ..Default::default()
    });
    r.on_data(0, &data(0, 127), false, Ecn::NotEct, &rtt());
    assert!(!r.ack_now);
}

#[test]
fn a_segment_with_psh_is_acknowledged_when_the_application_has_read_everything() {
    // The segment with PSH is the third one, which would wait for a fourth. A receiver without quick ACKs is no receiver of Linux, and an application that
    // waits for more has not read everything.
    for (quick_acks, read_size, at_once) in [(1, 0, true), (0, 0, false), (1, 1_000, false)] {
        let mut r = Receiver::new(&TcpConfig {
            quick_acks,
            read_size: Bytes(read_size),
            ..Default::default()
        });
        for i in 0..3 {
            let flags = if i == 2 { PUSH } else { 0 };
            let segment = Segment {
                flags,
                ..data(i * 100, 100)
            };
            r.on_data(0, &segment, false, Ecn::NotEct, &rtt());
            if i < 2 {
                ack(&mut r);
            }
        }
        assert_eq!(r.ack_now, at_once);
    }
}

#[test]
fn a_burst_that_wakes_the_application_has_one_ack() {
    // The application reads 500 bytes. The fifth segment is the second one that waits for an ACK, and a sixth may arrive with it.
    for (is_burst, acknowledged) in [(true, 600), (false, 500)] {
        let mut r = Receiver::new(&TcpConfig {
            read_size: Bytes(500),
            receive_buffer: Bytes(60_000),
            ..Default::default()
        });
        ack(&mut r);
        for i in 0..5 {
            r.on_data(i, &data(i * 100, 100), false, Ecn::NotEct, &rtt());
            assert_eq!(r.ack_now, i == 2, "the application has not read");
            if i == 0 || i == 2 {
                ack(&mut r);
            }
        }
        assert_eq!(r.ack_deadline, 4 + 1_000, "it reads after the burst");
        if is_burst {
            r.on_data(125, &data(500, 100), false, Ecn::NotEct, &rtt());
            assert!(!r.ack_now && r.ack_deadline == 4 + 1_000);
        }
        assert_eq!(ack(&mut r).ack, acknowledged);
    }
}

#[test]
fn the_echo_is_of_the_earliest_segment_acknowledged() {
    // The cases of RFC 7323 section 4.3, in its order: delayed ACKs, a hole, a filled hole; then a retransmission.
    let mut r = receiver(3);
    let arrive = |r: &mut Receiver, seq: u64, tsval: u32| {
        let segment = Segment {
            tsval,
            ..data(seq, 10)
        };
        r.on_data(0, &segment, false, Ecn::NotEct, &rtt());
        r.ack_now.then(|| ack(r).tsecr)
    };
    assert_eq!(arrive(&mut r, 0, 1), None);
    assert_eq!(arrive(&mut r, 10, 2), None);
    assert_eq!(arrive(&mut r, 20, 3), Some(1), "A, B, C");
    assert_eq!(arrive(&mut r, 30, 4), None);
    r.ack_now = true;
    assert_eq!(ack(&mut r).tsecr, 4);
    assert_eq!(arrive(&mut r, 50, 6), Some(4), "behind a hole");
    assert_eq!(arrive(&mut r, 60, 7), Some(4));
    assert_eq!(arrive(&mut r, 40, 8), Some(8), "which is filled");
    assert_eq!(arrive(&mut r, 0, 9), Some(9), "a repetition");
    assert_eq!(arrive(&mut r, 0, 5), Some(9), "an old one");
}

#[test]
fn hastens_acks_while_the_sender_may_have_little_in_flight() {
    let arrive = |r: &mut Receiver, now, segment: &Segment, ce| {
        r.on_data(
            now,
            segment,
            false,
            if ce { Ecn::Ce } else { Ecn::Ect0 },
            &rtt(),
        );
        let at_once = r.ack_now;
        ack(r);
        r.unacked = 0;
        at_once
    };
    for quick_acks in [0, 3] {
        let mut r = Receiver::new(&TcpConfig {
            quick_acks,
            ..Default::default()
        });
        r.echo.feedback = EcnFeedback::Classic;
        let quick = quick_acks > 0;
        for i in 0..4 {
            let at_once = arrive(&mut r, i, &data(i * 10, 10), false);
            assert_eq!(at_once, quick && i < 3, "the first {quick_acks}");
        }
        assert!(!arrive(&mut r, SECOND, &data(40, 10), false));
        let after_silence = arrive(&mut r, 3 * SECOND, &data(50, 10), false);
        assert_eq!(after_silence, quick);
        r.quick = 0;
        assert!(
            arrive(&mut r, 3 * SECOND, &data(0, 10), false),
            "a duplicate"
        );
        assert_eq!(arrive(&mut r, 3 * SECOND, &data(60, 10), false), quick);
        r.quick = 0;
        let mark = arrive(&mut r, 3 * SECOND, &data(70, 10), true);
        assert_eq!(mark, quick, "the first mark");
        assert_eq!(arrive(&mut r, 3 * SECOND, &data(80, 10), false), quick);
        r.quick = 0;
        let again = arrive(&mut r, 3 * SECOND, &data(90, 10), true);
        assert!(!again, "a mark before CWR");
        let reduced = Segment {
            flags: CWR,
            ..data(100, 10)
        };
        assert_eq!(arrive(&mut r, 3 * SECOND, &reduced, false), quick);
        r.quick = 0;
        let again = Segment {
            flags: CWR,
            ..data(110, 10)
        };
        arrive(&mut r, 3 * SECOND, &again, true);
        let next = arrive(&mut r, 3 * SECOND, &data(120, 10), true);
        assert_eq!(next, quick, "after a mark on the segment with CWR");
    }
}

#[test]
fn echoes_congestion_until_cwr() {
    let mut r = receiver(2);
    r.echo.feedback = EcnFeedback::Classic;
    r.on_data(0, &data(0, 10), false, Ecn::Ce, &rtt());
    assert!(r.echo.on);
    let cwr = Segment {
        flags: CWR,
        ..data(10, 10)
    };
    r.on_data(0, &cwr, false, Ecn::NotEct, &rtt());
    assert!(!r.echo.on);
}

/// Receives segments with these marks. Returns (acknowledgment, echo) of the ACKs sent at once after each.
fn answers(r: &mut Receiver, marks: &[bool]) -> Vec<Vec<(u32, bool)>> {
    let mut seq = r.next;
    let answer = |&marked: &bool| {
        let ecn = if marked { Ecn::Ce } else { Ecn::Ect0 };
        let segment = data(seq, 10);
        seq += 10;
        if r.echo.feedback == EcnFeedback::Accurate {
            r.echo.count(&segment, ecn);
        }
        r.on_data(0, &segment, false, ecn, &rtt());
        let mut left = Vec::new();
        if r.has_prior() {
            let mut segment = Segment::default();
            r.stamp_prior(&mut segment);
            left.push((segment.ack, segment.has(ECE)));
        }
        if r.ack_now {
            let mut segment = ack(r);
            r.echo.tell(&mut segment);
            left.push((segment.ack, segment.has(ECE)));
        }
        left
    };
    marks.iter().map(answer).collect()
}

#[test]
fn dctcp_s_echo_follows_the_marks() {
    // RFC 8257 section 3.2, figure 1: one ACK per two segments while nothing changes. At a change, one ACK for the previous segments with the
    // previous echo.
    let mut r = receiver(2);
    r.echo.feedback = EcnFeedback::Dctcp;
    let marks = [false, false, false, true, true, true, true, false, false];
    let expected: [&[(u32, bool)]; 9] = [
        &[],
        &[(20, false)],
        &[],
        &[(30, false), (40, true)],
        &[],
        &[(60, true)],
        &[],
        &[(70, true), (80, false)],
        &[],
    ];
    assert_eq!(answers(&mut r, &marks), expected);
    assert_ne!(r.ack_deadline, NEVER, "the last one waits");
}

#[test]
fn accecn_counts_packets_and_bytes_and_hastens() {
    // RFC 9768 section 3.2.2.5.1: an ACK at once for the first mark, then for every second mark; otherwise one ACK per four segments.
    let mut r = receiver(4);
    r.echo.feedback = EcnFeedback::Accurate;
    let marks = [false, true, true, true, false, false, false, false, true];
    let left = answers(&mut r, &marks).into_iter().flatten();
    let left: Vec<u32> = left.map(|(ack, _)| ack).collect();
    assert_eq!(left, [20, 40, 80, 90]);
    let mut segment = ack(&mut r);
    r.echo.tell(&mut segment);
    assert_eq!(segment.ace(), (5 + 4) % 8);
    let counters = segment.counters().unwrap();
    assert_eq!(
        (counters.marked, counters.unmarked, counters.l4s),
        (40, 51, false)
    );
}

proptest! {
    #[test]
    fn delivers_every_byte_once_in_order(order in Just((0..60_u64).collect::<Vec<_>>()).prop_shuffle(), again in proptest::collection::vec(0..60_u64, 0..60)) {
        let mut r = receiver(1);
        let mut delivered = 0;
        for &i in order.iter().chain(&again) {
            delivered += r.on_data(0, &data(i * 10, 10), false, Ecn::NotEct, &rtt());
            let a = ack(&mut r);
            prop_assert_eq!(u64::from(a.ack), r.next);
            prop_assert_eq!(delivered, r.next);
            for &(s, e) in a.sack_blocks() {
                prop_assert!(s < e);
            }
        }
        prop_assert_eq!(delivered, 600);
        prop_assert_eq!(r.held_bytes(), 0);
        prop_assert_eq!(r.recent_len, 0);
    }
}

#[test]
fn a_segment_older_than_what_was_acknowledged_is_dropped() {
    let stamped = |seq, tsval| Segment {
        tsval,
        ..data(seq, 100)
    };
    let arrive = |r: &mut Receiver, segment| {
        r.on_data(0, &segment, false, Ecn::NotEct, &rtt());
        std::mem::take(&mut r.ack_now)
    };
    // The retransmission of the first segment overtakes what was sent before it: by 1.9 ms, but within two ticks, and by two ticks.
    let mut r = receiver(1);
    arrive(&mut r, stamped(100, 10_500));
    arrive(&mut r, stamped(0, 14_900));
    assert_eq!(ack(&mut r).ack, 200);
    arrive(&mut r, stamped(200, 13_000));
    assert_eq!(ack(&mut r).ack, 300);
    for outdated in [stamped(300, 12_999), stamped(500, 12_999)] {
        assert!(arrive(&mut r, outdated), "an ACK says what is missing");
        let reply = ack(&mut r);
        assert_eq!((reply.ack, reply.blocks), (300, 0));
    }
    // What has arrived before is reported as a duplicate.
    assert!(arrive(&mut r, stamped(100, 10_500)));
    let reply = ack(&mut r);
    assert_eq!((reply.ack, reply.sack_blocks()), (300, &[(100, 200)][..]));
    // The clock may wrap.
    r.ts_recent = u32::MAX - 500;
    arrive(&mut r, stamped(300, 1_500));
    assert_eq!(ack(&mut r).ack, 400);
    arrive(&mut r, stamped(400, u32::MAX - 400));
    assert_eq!(ack(&mut r).ack, 400);
}
