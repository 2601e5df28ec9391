//! Status reports: their contents, timing and size.

use bloatlab_radio::rlc::{AmParams, AmReceiver, AmTransmitter, Framing, Nack, Pdu, Status};
use bloatlab_units::{Duration, MILLISECOND};

use crate::air::Queue;

fn params() -> AmParams {
    AmParams {
        sn_bits: Some(12),
        ..AmParams::default()
    }
}

/// Five SDUs of 100 bytes, each in two segments: ten PDUs, the last of which polls.
fn segments(sender: &mut AmTransmitter<u64>) -> Vec<Pdu<u64>> {
    let mut queue = Queue::new(&[100; 5]);
    let mut out = Vec::new();
    for _ in 0..5 {
        // 60 bytes in 64; 40 in 46.
        assert_eq!(sender.transmit(0, 64, &mut queue, &mut out), 64);
        assert_eq!(sender.transmit(0, 46, &mut queue, &mut out), 46);
    }
    out
}

#[test]
fn missing_data_is_reported_after_t_reassembly() {
    let (mut sender, mut receiver) = (AmTransmitter::new(&params()), AmReceiver::new(&params()));
    let pdus = segments(&mut sender);
    assert!(pdus[9].poll && pdus[..9].iter().all(|pdu| !pdu.poll));
    // SDUs 1 and 2 and the first segment of SDU 3 are lost.
    let mut up = Vec::new();
    for index in [0, 1, 7, 8, 9] {
        receiver.receive(0, &pdus[index], &mut up);
    }
    assert_eq!(up, [0, 4]);
    assert_eq!(receiver.window(), (1, 5));
    // HARQ may still deliver it, so nothing is reported yet, although the last PDU polls.
    assert_eq!(receiver.status_due(0), None);
    let end = 35 * MILLISECOND;
    assert_eq!(receiver.next_timer(), Some(end));
    receiver.on_timer(end);
    // 2 of MAC, 3 fixed, a row of 2 + 1, a part of 2 + 4.
    assert_eq!(receiver.status_due(end), Some(14));
    let status = receiver.build_status(end, 100).unwrap_or_default();
    let row = Nack {
        sn: 1,
        count: 2,
        part: None,
    };
    let part = Nack {
        sn: 3,
        count: 1,
        part: Some((0, 60)),
    };
    assert_eq!((status.ack_sn, &status.nacks[..]), (5, &[row, part][..]));
    assert_eq!(status.bytes, 14);

    sender.on_status(end, &status);
    assert_eq!(sender.window(), (1, 5));
    let mut queue = Queue::new(&[]);
    let mut out = Vec::new();
    // Now whole SDUs, as far as the room allows: 2 * (100 + 4) + 60 + 4.
    assert_eq!(sender.transmit(end, 1000, &mut queue, &mut out), 272);
    assert!(out[2].poll);
    up.clear();
    for pdu in &out {
        receiver.receive(end + MILLISECOND, pdu, &mut up);
    }
    assert_eq!(up, [1, 2, 3]);
    // The poll could be answered, but t-StatusProhibit runs.
    let soon = end + 10 * MILLISECOND;
    assert_eq!(receiver.status_due(end + MILLISECOND), None);
    assert_eq!(receiver.next_timer(), Some(soon));
    assert_eq!(receiver.build_status(soon, 4), None);
    let status = receiver.build_status(soon, 5).unwrap_or_default();
    assert_eq!((status.ack_sn, status.nacks.len(), status.bytes), (5, 0, 5));
    sender.on_status(soon, &status);
    assert_eq!((sender.window(), sender.next_timer()), ((5, 5), None));
    assert_eq!(
        (receiver.next_timer(), receiver.counts().reports),
        (None, 2)
    );
}

#[test]
fn a_small_room_truncates_a_report() {
    let (mut sender, mut receiver) = (AmTransmitter::new(&params()), AmReceiver::new(&params()));
    let pdus = segments(&mut sender);
    let mut up = Vec::new();
    for index in [1, 3, 9] {
        receiver.receive(0, &pdus[index], &mut up);
    }
    receiver.on_timer(35 * MILLISECOND);
    // 5 bytes of headers and 6 for the first gap fit, but not 6 more for the second, so the second SDU is not reported.
    let status = receiver
        .build_status(35 * MILLISECOND, 16)
        .unwrap_or_default();
    let part = Nack {
        sn: 0,
        count: 1,
        part: Some((0, 60)),
    };
    assert_eq!((status.ack_sn, &status.nacks[..]), (1, &[part][..]));
    sender.on_status(35 * MILLISECOND, &status);
    assert_eq!(sender.window(), (0, 5));
}

#[test]
fn an_unanswered_poll_is_repeated() {
    let mut sender = AmTransmitter::new(&params());
    segments(&mut sender);
    let mut queue = Queue::new(&[]);
    let mut out = Vec::new();
    assert_eq!(sender.transmit(1, 1000, &mut queue, &mut out), 0);
    let end = 45 * MILLISECOND;
    assert_eq!(sender.next_timer(), Some(end));
    sender.on_timer(end, &queue);
    // The latest SDU as a whole: 100 + 2 + 2. The buffer status report counts the headers of a segment.
    assert_eq!(sender.report(&queue), 100 + 2 + 3 + 2);
    assert_eq!(sender.transmit(end, 1000, &mut queue, &mut out), 104);
    assert_eq!((out[0].sn, out[0].poll, out[0].again), (4, true, true));
    assert_eq!(sender.next_timer(), Some(2 * end));
    assert_eq!(sender.counts().polls, 2);
}

#[test]
fn polls_come_by_pdus_and_by_bytes() {
    let polls = |poll_pdu, poll_byte| {
        let params = AmParams {
            poll_pdu: Some(poll_pdu),
            poll_byte: Some(bloatlab_units::Bytes(poll_byte)),
            ..params()
        };
        let mut sender = AmTransmitter::new(&params);
        let mut queue = Queue::new(&[100; 20]);
        let mut out = Vec::new();
        for _ in 0..12 {
            sender.transmit(0, 104, &mut queue, &mut out);
        }
        let polled = out.iter().enumerate().filter(|(_, pdu)| pdu.poll);
        polled.map(|(index, _)| index).collect::<Vec<_>>()
    };
    assert_eq!(polls(0, 0), [0; 0]);
    assert_eq!(polls(4, 0), [3, 7, 11]);
    assert_eq!(polls(0, 450), [4, 9]);
    assert_eq!(polls(3, 450), [2, 5, 8, 11]);
}

/// The lena framing delivers in order; 5G's framing leaves the order to PDCP.
#[test]
fn order_is_the_framings() {
    for (framing, expected) in [(Framing::Nr, [1, 2, 0]), (Framing::Lena, [0, 1, 2])] {
        let params = AmParams {
            framing,
            t_reassembly: Some(Duration(10 * MILLISECOND)),
            ..AmParams::default()
        };
        let (mut sender, mut receiver) = (AmTransmitter::new(&params), AmReceiver::new(&params));
        let mut queue = Queue::new(&[200; 3]);
        let mut out = Vec::new();
        for _ in 0..3 {
            sender.transmit(0, 207, &mut queue, &mut out);
        }
        let mut up = Vec::new();
        for index in [1, 2, 0] {
            receiver.receive(0, &out[index], &mut up);
        }
        assert_eq!(up, expected);
    }
}

/// The queue drops the SDU that followed the last PDU, so that nothing polls. When nothing is sent for t-PollRetransmit, a poll is sent.
#[test]
fn a_tail_without_a_poll_is_polled_later() {
    let mut sender = AmTransmitter::new(&params());
    let mut queue = Queue::new(&[100; 2]);
    let mut out = Vec::new();
    assert_eq!(sender.transmit(0, 104, &mut queue, &mut out), 104);
    assert!(!out[0].poll);
    queue.waiting.clear();
    assert_eq!(sender.report(&queue), 0);
    let end = 45 * MILLISECOND;
    assert_eq!(sender.next_timer(), Some(end));
    sender.on_timer(end, &queue);
    assert_eq!(sender.transmit(end, 1000, &mut queue, &mut out), 104);
    assert_eq!((out[1].sn, out[1].poll, out[1].again), (0, true, true));

    // As long as PDUs are sent, no such poll occurs.
    let mut sender = AmTransmitter::new(&params());
    let mut queue = Queue::new(&[100; 3]);
    out.clear();
    sender.transmit(0, 104, &mut queue, &mut out);
    sender.on_timer(end, &queue);
    sender.transmit(end, 104, &mut queue, &mut out);
    assert!(out.len() == 2 && out.iter().all(|pdu| !pdu.poll));
    assert_eq!(sender.next_timer(), Some(2 * end));
}

#[test]
fn parts_of_an_sdu_that_do_not_fit_are_left_for_a_later_report() {
    let (mut sender, mut receiver) = (AmTransmitter::new(&params()), AmReceiver::new(&params()));
    let mut queue = Queue::new(&[100; 2]);
    let mut out = Vec::new();
    for _ in 0..6 {
        sender.transmit(0, 30, &mut queue, &mut out);
    }
    let mut up = Vec::new();
    for index in [1, 3, 5] {
        receiver.receive(0, &out[index], &mut up);
    }
    receiver.on_timer(35 * MILLISECOND);
    // 26 bytes in the first segment, then 24 each. One gap fits: the SDU is reported missing, and the next is not reported.
    let status = receiver
        .build_status(35 * MILLISECOND, 16)
        .unwrap_or_default();
    let part = Nack {
        sn: 0,
        count: 1,
        part: Some((0, 26)),
    };
    assert_eq!((status.ack_sn, &status.nacks[..]), (1, &[part][..]));
    sender.on_status(0, &status);
    assert_eq!(sender.window(), (0, 2));
}

/// Two gaps of one SDU in one report count as one retransmission.
#[test]
fn a_retransmission_counts_once() {
    let params = AmParams {
        max_retx_threshold: Some(1),
        ..params()
    };
    let mut sender = AmTransmitter::new(&params);
    let mut queue = Queue::new(&[100]);
    let mut out = Vec::new();
    sender.transmit(0, 1000, &mut queue, &mut out);
    let part = |start, end| Nack {
        sn: 0,
        count: 1,
        part: Some((start, end)),
    };
    let status = Status {
        ack_sn: 1,
        nacks: vec![part(0, 10), part(20, 30)],
        bytes: 0,
        era: 0,
    };
    sender.on_status(0, &status);
    assert!(!sender.failed());
    // A segment that still waits for retransmission is not counted again; one that was retransmitted and is still missing is counted.
    sender.on_status(0, &status);
    assert!(!sender.failed());
    sender.transmit(0, 1000, &mut queue, &mut out);
    sender.on_status(0, &status);
    assert!(sender.failed());
    assert_eq!(sender.transmit(0, 1000, &mut queue, &mut out), 0);
}

/// The data that t-Reassembly waited for has arrived, and the next SDU is only incomplete because not all of it was sent.
#[test]
fn t_reassembly_stops_when_no_gap_is_left() {
    let (mut sender, mut receiver) = (AmTransmitter::new(&params()), AmReceiver::new(&params()));
    let pdus = segments(&mut sender);
    let mut up = Vec::new();
    receiver.receive(0, &pdus[2], &mut up);
    assert_eq!(receiver.next_timer(), Some(35 * MILLISECOND));
    receiver.receive(1, &pdus[1], &mut up);
    assert_eq!(receiver.next_timer(), Some(35 * MILLISECOND));
    receiver.receive(2, &pdus[0], &mut up);
    assert_eq!((receiver.next_timer(), &up[..]), (None, &[0][..]));
}

/// Data that is found missing while t-Reassembly runs is waited for in a further period of the same length.
#[test]
fn t_reassembly_starts_again_for_later_gaps() {
    let (mut sender, mut receiver) = (AmTransmitter::new(&params()), AmReceiver::new(&params()));
    let pdus = segments(&mut sender);
    let mut up = Vec::new();
    let wait = 35 * MILLISECOND;
    receiver.receive(0, &pdus[1], &mut up);
    receiver.receive(9, &pdus[5], &mut up);
    receiver.on_timer(wait);
    // A part of SDU 0 is missing; SDU 1 may still arrive.
    let status = receiver.build_status(wait, 100).unwrap_or_default();
    assert_eq!((status.ack_sn, status.nacks.len()), (1, 1));
    assert_eq!(receiver.next_timer(), Some(2 * wait));
    receiver.on_timer(2 * wait);
    let status = receiver.build_status(2 * wait, 100).unwrap_or_default();
    assert_eq!((status.ack_sn, status.nacks.len()), (3, 3));
}

/// PDUs in transmission when a bearer is re-established are ignored.
#[test]
fn pdus_of_an_earlier_era_are_ignored() {
    let (mut sender, mut receiver) = (AmTransmitter::new(&params()), AmReceiver::new(&params()));
    let pdus = segments(&mut sender);
    let mut up = Vec::new();
    for pdu in &pdus {
        receiver.receive(0, pdu, &mut up);
    }
    let status = receiver.build_status(0, 100).unwrap_or_default();
    assert_eq!((status.ack_sn, up.len()), (5, 5));
    sender.reestablish();
    receiver.reestablish(&mut up);
    let mut queue = Queue::new(&[]);
    let mut out = Vec::new();
    // All five are retransmitted, because none was confirmed.
    assert_eq!(sender.transmit(1, 1000, &mut queue, &mut out), 5 * 104);
    sender.on_status(1, &status);
    receiver.receive(1, &pdus[0], &mut up);
    assert_eq!((sender.window(), receiver.window()), ((0, 5), (0, 0)));
    for pdu in &out {
        receiver.receive(2, pdu, &mut up);
    }
    assert_eq!((receiver.window(), up.len()), ((5, 5), 10));
}
