//! Tests of data beyond holes.

use super::*;

#[test]
fn acks_beyond_a_hole_are_combined_after_the_first_three() {
    let compressing = |delay| {
        Receiver::new(&TcpConfig {
            sack_compression: Duration(delay),
            ..Default::default()
        })
    };
    let mut rtt = rtt();
    rtt.srtt = 2 * MILLISECOND;
    // Sends the ACK if it is due, and says how long it waits otherwise.
    let arrive = |r: &mut Receiver, now, start| {
        r.on_data(now, &data(start, 10), false, Ecn::NotEct, &rtt);
        let wait = (!r.ack_now).then(|| r.ack_deadline - now);
        if r.ack_now {
            ack(r);
        }
        wait
    };
    for (delay, least) in [(100_000, 100_000), (MILLISECOND, 660_000)] {
        let mut r = compressing(delay);
        let waits: Vec<_> = (1..5).map(|i| arrive(&mut r, 0, i * 10)).collect();
        assert_eq!(waits, [None, None, None, Some(least)], "33 % of 2 ms");
        assert_eq!(arrive(&mut r, 7, 50), Some(least - 7), "the first one's");
        let segment = ack(&mut r);
        assert_eq!(segment.sack[0], (10, 60), "what was combined is reported");
        assert_eq!(r.ack_deadline, NEVER);
        assert_eq!(arrive(&mut r, 9, 50), Some(least), "a duplicate waits");
        assert_eq!(arrive(&mut r, 10, 70), Some(least - 1));
        let segment = ack(&mut r);
        let blocks = &segment.sack[..segment.blocks.into()];
        assert_eq!(blocks, [(70, 80), (10, 60)], "and is not reported");
        assert_eq!(arrive(&mut r, 9, 0), None, "the first of another hole");
        assert_eq!(arrive(&mut r, 9, 60), None, "no hole is left");
    }
    let mut r = compressing(MILLISECOND);
    for start in [10, 20, 30, 40, 60, 70] {
        arrive(&mut r, 0, start);
    }
    assert!(!r.has_prior(), "two ranges in one ACK");
    arrive(&mut r, 0, 100);
    let mut before = Segment::default();
    r.stamp_prior(&mut before);
    let reported = &before.sack[..before.blocks.into()];
    assert_eq!(reported, [(60, 80), (10, 50)], "all before the third");
    assert!(!r.ack_now && r.ack_deadline == 660_000);
    arrive(&mut r, 1, 110);
    assert!(!r.has_prior(), "the newest range");
    arrive(&mut r, 1, 50);
    assert!(r.has_prior(), "the oldest of three");
    r.stamp_prior(&mut before);
    arrive(&mut r, 2, 120);
    assert!(!r.has_prior() && !r.ack_now, "one more waits");
    r.on_data(2, &data(0, 10), false, Ecn::NotEct, &rtt);
    assert!(!r.has_prior(), "what fills the first hole has one ACK");
    assert!(r.ack_now);
    let mut r = compressing(MILLISECOND);
    let at_once = (1..100).filter(|i| arrive(&mut r, 0, i * 10).is_none());
    assert_eq!(at_once.collect::<Vec<_>>(), [1, 2, 3, 48, 93], "44 wait");
    let mut r = compressing(0);
    assert!((1..100).all(|i| arrive(&mut r, 0, i * 10).is_none()));
}

#[test]
fn reports_holes_newest_first_and_duplicates() {
    let mut r = receiver(1);
    r.on_data(0, &data(100, 100), false, Ecn::NotEct, &rtt());
    r.on_data(0, &data(300, 100), false, Ecn::NotEct, &rtt());
    r.on_data(0, &data(500, 100), false, Ecn::NotEct, &rtt());
    r.on_data(0, &data(700, 100), false, Ecn::NotEct, &rtt());
    let a = ack(&mut r);
    assert_eq!(a.sack_blocks(), [(700, 800), (500, 600), (300, 400)]);
    r.on_data(0, &data(200, 100), false, Ecn::NotEct, &rtt());
    assert_eq!(
        ack(&mut r).sack_blocks(),
        [(100, 400), (700, 800), (500, 600)]
    );
    r.on_data(0, &data(150, 50), false, Ecn::NotEct, &rtt());
    assert_eq!(
        ack(&mut r).sack_blocks()[0],
        (150, 200),
        "D-SACK comes first"
    );
    r.on_data(0, &data(520, 80), false, Ecn::NotEct, &rtt());
    let blocks = [(520, 600), (500, 600), (100, 400)];
    assert_eq!(ack(&mut r).sack_blocks(), blocks, "and what encloses it");
    assert_eq!(r.on_data(0, &data(0, 100), false, Ecn::NotEct, &rtt()), 400);
    assert_eq!(ack(&mut r).ack, 400);
    assert_eq!(r.held_bytes(), 200);
}

#[test]
fn an_offload_buffer_beyond_a_hole_is_reported_once() {
    let mut r = Receiver::new(&TcpConfig {
        receive_offload: true,
        ..Default::default()
    });
    let joined = Segment {
        flags: MORE,
        ..data(20, 10)
    };
    r.on_data(0, &joined, false, Ecn::NotEct, &rtt());
    assert!(!r.ack_now, "the rest of the buffer may follow");
    assert_eq!(r.ack_deadline, JOINING);
    r.on_data(5, &data(30, 10), false, Ecn::NotEct, &rtt());
    assert!(r.ack_now);
    let answer = ack(&mut r);
    assert_eq!((answer.blocks, answer.sack[0]), (1, (20, 40)));
}

#[test]
fn data_beyond_a_hole_does_not_end_a_silence() {
    // As in Linux: quick ACKs follow a hole that was open for longer than the timeout of one second.
    for (open, expected) in [(SECOND, false), (2 * SECOND, true)] {
        let mut r = Receiver::new(&TcpConfig {
            quick_acks: 3,
            ..Default::default()
        });
        let mut arrive = |now, start, length| {
            r.on_data(now, &data(start, length), false, Ecn::NotEct, &rtt());
            let at_once = r.ack_now;
            ack(&mut r);
            at_once
        };
        for start in [0, 10, 20] {
            arrive(0, start, 10);
        }
        let halves = 2 * open / SECOND;
        for half in 1..halves {
            arrive(half * SECOND / 2, 30 + half * 10, 10);
        }
        arrive(open, 30, 10);
        assert_eq!(arrive(open, 30 + halves * 10, 10), expected, "{open}");
    }
}
