//! The contents of a transport block, byte by byte, computed by hand from the formats.

use bloatlab_radio::rlc::{AmParams, Framing, Nack, Pdu, RlcParams, Status, UmParams, Upper};

use crate::air::Queue;

fn um(framing: Framing) -> RlcParams {
    RlcParams::Um(UmParams {
        framing,
        ..UmParams::default()
    })
}

fn am(framing: Framing, sn_bits: u8) -> RlcParams {
    RlcParams::Am(AmParams {
        framing,
        sn_bits: Some(sn_bits),
        ..AmParams::default()
    })
}

/// SDU, sequence number, offset, bytes of the SDU, bytes in the block.
fn lines(block: &[Pdu<u64>]) -> Vec<(u64, u64, u32, u32, u32)> {
    let line = |pdu: &Pdu<u64>| (pdu.item, pdu.sn, pdu.offset, pdu.length, pdu.bytes);
    block.iter().map(line).collect()
}

/// 1 byte of header for a complete SDU; 2 for the first segment with 12 bits, 4 for the others; subheaders of 2 or 3.
#[test]
fn unacknowledged_5g() {
    let mut sender = um(Framing::Nr).transmitter();
    let mut queue = Queue::new(&[100, 1530, 50]);
    let mut block = Vec::new();
    assert_eq!(sender.report(&queue), 1680 + 3 * 4);
    assert_eq!(sender.transmit(9, 1000, &mut queue, &mut block), 1000);
    assert_eq!(lines(&block), [(0, 0, 0, 100, 103), (1, 0, 0, 892, 897)]);
    assert_eq!(sender.held(), Some((638, 1)));
    assert_eq!(sender.report(&queue), 638 + 4 + 3 + 50 + 4);
    // In 10 bytes: subheader 2, header 4.
    block.clear();
    assert_eq!(sender.transmit(9, 10, &mut queue, &mut block), 10);
    assert_eq!(lines(&block), [(1, 0, 892, 4, 10)]);
    // Not even one byte would fit, and no SDU is dequeued.
    assert_eq!(sender.transmit(9, 6, &mut queue, &mut block), 0);
    block.clear();
    assert_eq!(sender.transmit(9, 645, &mut queue, &mut block), 641);
    let flags = |pdu: &Pdu<u64>| (pdu.begins, pdu.ends, pdu.last);
    assert_eq!(lines(&block), [(1, 0, 896, 634, 641)]);
    assert_eq!(
        block.iter().map(flags).collect::<Vec<_>>(),
        [(false, true, true)]
    );
    assert_eq!(sender.held(), None);
    assert_eq!(queue.packets(), 1);
    block.clear();
    assert_eq!(sender.transmit(9, 4, &mut queue, &mut block), 0);
    assert_eq!(queue.packets(), 1);
    // The next segmented SDU has the next sequence number.
    assert_eq!(sender.transmit(9, 5, &mut queue, &mut block), 5);
    assert_eq!(lines(&block), [(2, 1, 0, 1, 5)]);
}

#[test]
fn unacknowledged_5g_with_6_bits() {
    let params = RlcParams::Um(UmParams {
        sn_bits: Some(6),
        ..UmParams::default()
    });
    let mut sender = params.transmitter();
    let mut queue = Queue::new(&[300]);
    let mut block = Vec::new();
    // Header 1, and 3 with the offset.
    assert_eq!(sender.transmit(0, 100, &mut queue, &mut block), 100);
    assert_eq!(sender.transmit(0, 100, &mut queue, &mut block), 100);
    assert_eq!(sender.transmit(0, 1000, &mut queue, &mut block), 113);
    assert_eq!(
        lines(&block),
        [
            (0, 0, 0, 97, 100),
            (0, 0, 97, 95, 100),
            (0, 0, 192, 108, 113)
        ]
    );
}

/// radio.md: 3 bytes for MAC, 2 of header, and 2, 1, 2, 1 ... for each further SDU. Of 12,212 bytes: 12,207 - 11 = 12,196 = 7 * 1530 + 1486.
#[test]
fn unacknowledged_lena() {
    let mut sender = um(Framing::Lena).transmitter();
    let mut queue = Queue::new(&[1530; 20]);
    let mut block = Vec::new();
    assert_eq!(sender.report(&queue), 20 * 1532);
    assert_eq!(sender.transmit(0, 12_212, &mut queue, &mut block), 12_212);
    let lengths = |block: &[Pdu<u64>]| block.iter().map(|pdu| pdu.length).collect::<Vec<_>>();
    assert_eq!(
        lengths(&block),
        [1530, 1530, 1530, 1530, 1530, 1530, 1530, 1486]
    );
    let bytes: Vec<u32> = block.iter().map(|pdu| pdu.bytes).collect();
    assert_eq!(bytes, [1535, 1532, 1531, 1532, 1531, 1532, 1531, 1488]);
    assert!(block.iter().all(|pdu| pdu.sn == 0));
    // The rest of the eighth counts as an SDU, with its time of entry.
    assert_eq!(sender.held(), Some((44, 7)));
    assert_eq!(sender.report(&queue), 44 + 12 * 1530 + 2 * 13);
    block.clear();
    assert_eq!(sender.transmit(0, 12_212, &mut queue, &mut block), 12_212);
    assert_eq!(
        lengths(&block),
        [44, 1530, 1530, 1530, 1530, 1530, 1530, 1530, 1441]
    );
    assert!(block.iter().all(|pdu| pdu.sn == 1));
    let last: Vec<bool> = block.iter().map(|pdu| pdu.last).collect();
    assert_eq!(
        last,
        [false, false, false, false, false, false, false, false, true]
    );
}

/// With 2 bytes left, the block ends; with 3, a length indicator and one byte of the next SDU follow.
#[test]
fn lena_leaves_two_bytes() {
    let block = |room| {
        let mut sender = um(Framing::Lena).transmitter();
        let mut queue = Queue::new(&[1530; 2]);
        let mut block = Vec::new();
        let used = sender.transmit(0, room, &mut queue, &mut block);
        (used, block.iter().map(|pdu| pdu.length).collect::<Vec<_>>())
    };
    assert_eq!(block(1537), (1535, vec![1530]));
    assert_eq!(block(1538), (1538, vec![1530, 1]));
    assert_eq!(block(1535), (1535, vec![1530]));
    assert_eq!(block(1534), (1534, vec![1529]));
    // A PDU of up to 127 bytes has a subheader of 2 bytes, although 3 were reserved for it.
    assert_eq!(block(130), (129, vec![125]));
    assert_eq!(block(131), (131, vec![126]));
    assert_eq!(block(6), (5, vec![1]));
    assert_eq!(block(5), (0, vec![]));
}

/// Header 2 or 3 bytes, and 2 of offset in all segments but the first.
#[test]
fn acknowledged_5g() {
    for (sn_bits, header) in [(12, 2), (18, 3)] {
        let mut sender = am(Framing::Nr, sn_bits).transmitter();
        let mut queue = Queue::new(&[100, 1530, 50]);
        let mut block = Vec::new();
        let each = header + 3;
        assert_eq!(sender.report(&queue), 1680 + 3 * each);
        assert_eq!(sender.transmit(0, 1000, &mut queue, &mut block), 1000);
        let (first, part) = (100 + header + 2, 1000 - 100 - header - 2);
        let cut = part - header - 3;
        assert_eq!(lines(&block), [(0, 0, 0, 100, first), (1, 1, 0, cut, part)]);
        assert_eq!(sender.held(), Some((1530 - cut, 1)));
        assert_eq!(sender.report(&queue), 1530 - cut + 50 + 2 * each + 2);
        block.clear();
        let rest = 1530 - cut + header + 2 + 3;
        let third = 50 + header + 2;
        assert_eq!(
            sender.transmit(0, 1000, &mut queue, &mut block),
            rest + third
        );
        assert_eq!(
            lines(&block),
            [(1, 1, cut, 1530 - cut, rest), (2, 2, 0, 50, third)]
        );
        // No data is left, so the last PDU polls.
        assert_eq!(
            block.iter().map(|pdu| pdu.poll).collect::<Vec<_>>(),
            [false, true]
        );
        assert_eq!(sender.next_timer(), Some(45_000_000));
        assert_eq!(sender.report(&queue), 0);

        // The status report says that bytes 500 to 999 of the second SDU are missing, and all of the third.
        let nack = |sn, part| Nack { sn, count: 1, part };
        sender.on_status(
            1,
            &Status {
                ack_sn: 3,
                nacks: vec![nack(1, Some((500, 1000))), nack(2, None)],
                bytes: 0,
                era: 0,
            },
        );
        assert_eq!(sender.next_timer(), Some(45_000_001));
        assert_eq!(sender.report(&queue), 550 + 2 * (each + 2));
        block.clear();
        // Retransmissions precede new data, in segments that fit.
        let mut queue = Queue::new(&[70]);
        queue.next = 3;
        // 300 bytes take 3 of MAC, and 293 or 292 of the 500; the other 207 or 208 have a subheader of 2.
        let first = 300 - 3 - header - 2;
        let second = 500 - first;
        let wire = second + header + 2 + 2;
        let fourth = 70 + header + 2;
        assert_eq!(sender.transmit(1, 300, &mut queue, &mut block), 300);
        assert_eq!(
            sender.transmit(1, 1000, &mut queue, &mut block),
            wire + third + fourth
        );
        assert_eq!(
            lines(&block),
            [
                (1, 1, 500, first, 300),
                (1, 1, 500 + first, second, wire),
                (2, 2, 0, 50, third),
                (3, 3, 0, 70, fourth)
            ]
        );
        let flags = |pdu: &Pdu<u64>| (pdu.begins, pdu.last, pdu.again, pdu.poll);
        let flags: Vec<_> = block.iter().map(flags).collect();
        assert_eq!(
            flags,
            [
                (false, false, true, false),
                (false, false, true, false),
                (true, true, true, false),
                (true, true, false, true)
            ]
        );
    }
}

/// Headers of 4 bytes: of 12,212 bytes, 12,205 - 11 = 7 * 1530 + 1484. Each PDU polls, and unacknowledged data counts in the buffer status report.
#[test]
fn acknowledged_lena() {
    let mut sender = am(Framing::Lena, 10).transmitter();
    let mut queue = Queue::new(&[1530; 9]);
    let mut block = Vec::new();
    assert_eq!(sender.report(&queue), 9 * 1530);
    assert_eq!(sender.transmit(0, 12_212, &mut queue, &mut block), 12_212);
    let lengths = |block: &[Pdu<u64>]| block.iter().map(|pdu| pdu.length).collect::<Vec<_>>();
    assert_eq!(
        lengths(&block),
        [1530, 1530, 1530, 1530, 1530, 1530, 1530, 1484]
    );
    assert_eq!(block.iter().filter(|pdu| pdu.poll).count(), 1);
    assert!(block[7].poll && block[7].last);
    assert_eq!(sender.next_timer(), Some(20_000_000));
    assert_eq!(sender.report(&queue), 9 * 1530);
    assert_eq!(sender.transmit(0, 9, &mut queue, &mut block), 0);

    // Retransmitted in a smaller block: 5000 - 3 - 4 - 2 - 1 - 2 = 4988 = 3 * 1530 + 398; then the rest, 1132 + 3 * 1530 + 1484.
    sender.on_status(
        1,
        &Status {
            ack_sn: 1,
            nacks: vec![Nack {
                sn: 0,
                count: 1,
                part: None,
            }],
            bytes: 0,
            era: 0,
        },
    );
    block.clear();
    assert_eq!(sender.transmit(1, 5000, &mut queue, &mut block), 5000);
    assert_eq!(lengths(&block), [1530, 1530, 1530, 398]);
    assert!(
        block
            .iter()
            .all(|pdu| pdu.sn == 0 && pdu.again && !pdu.last)
    );
    block.clear();
    // No other data goes in it: 1132 + 3 * 1530 + 1484 = 7206, 4 of header, 2 + 1 + 2 + 1 of indicators, 3 of MAC.
    assert_eq!(
        sender.transmit(1, 12_212, &mut queue, &mut block),
        7206 + 13
    );
    assert_eq!(lengths(&block), [1132, 1530, 1530, 1530, 1484]);
    assert!(
        !block[0].begins && block[0].ends && block[4].begins && !block[4].ends && block[4].last
    );
    assert_eq!(sender.counts().repeated_bytes, 12_194);
    // Once it is acknowledged, only the queued data is left.
    sender.on_status(
        1,
        &Status {
            ack_sn: 1,
            nacks: vec![],
            bytes: 0,
            era: 0,
        },
    );
    assert_eq!(sender.report(&queue), 46 + 1530);
}
