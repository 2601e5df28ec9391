//! Tests of send buffers: how much an application writes that always has data.

use std::collections::VecDeque;

use bloatlab_cc::CcConfig;
use bloatlab_tcp::segment::PUSH;
use bloatlab_tcp::{Endpoint, Segment, TcpConfig};
use bloatlab_units::{Bytes, MILLISECOND, Streams};

use crate::world::{RTT, World, Write, reno};

const MSS: u64 = 1448;
/// What a Linux 7.2.12 in virtual time wrote in slow start, with an ACK for each segment and segments as buffers (`tcp_wmem` 4096 16384 4194304).
const LINUX: [u64; 8] = [
    53_576, 26_064, 40_544, 53_576, 72_400, 94_120, 127_424, 173_760,
];

/// Sizes of the writes while segments arrive one after the other, each of which is acknowledged.
fn writes(config: &TcpConfig, cc: &CcConfig, segments: usize) -> Vec<u64> {
    let end = || {
        let stream = Streams::new(1).stream("cc");
        let cc = cc.build(stream).expect("a cc of the registry");
        Endpoint::new(config, cc)
    };
    let (mut sender, mut receiver) = (end(), end());
    let mut segment = Segment::default();
    let (mut on_the_way, mut sizes) = (VecDeque::new(), Vec::new());
    receiver.listen();
    sender.connect();
    for now in (0..).map(|step| step * MILLISECOND).take(segments) {
        while let Some(ecn) = sender.poll(now, &mut segment) {
            on_the_way.push_back((segment, ecn));
        }
        if let Some((arrived, ecn)) = on_the_way.pop_front() {
            receiver.on_segment(now, &arrived, ecn);
        }
        while let Some(ecn) = receiver.poll(now, &mut segment) {
            sender.on_segment(now, &segment, ecn);
        }
        let bytes = sender.writable(now);
        if bytes > 0 {
            sender.write(bytes);
            sizes.push(bytes);
        }
    }
    sizes
}

fn autotuned() -> TcpConfig {
    TcpConfig {
        send_buffer: Bytes(4 << 20),
        autotuned_send_buffer: true,
        gso_max_segs: 1,
        ack_every: 1,
        ..TcpConfig::default()
    }
}

#[test]
fn a_growing_buffer_is_written_as_in_linux() {
    let sizes = writes(&autotuned(), &reno(), 400);
    assert_eq!(sizes[..LINUX.len()], LINUX);
}

#[test]
fn a_growing_buffer_holds_the_memory_of_its_largest_size() {
    // A segment takes 2408 bytes of memory. The last one may exceed the size.
    let config = TcpConfig {
        send_buffer: Bytes(200_000),
        ..autotuned()
    };
    let sizes = writes(&config, &reno(), 2_000);
    let third = 200_000 / 3 / 2_408 * MSS;
    assert!(
        sizes[10..]
            .iter()
            .all(|&size| size.abs_diff(third) <= 2 * MSS),
        "{sizes:?}"
    );
}

#[test]
fn a_buffer_of_fixed_size_is_always_full() {
    let config = TcpConfig {
        send_buffer: Bytes(70 * MSS),
        ..TcpConfig::default()
    };
    let sizes = writes(&config, &reno(), 500);
    assert_eq!(sizes[0], 70 * MSS);
    assert!(sizes[1..].iter().all(|size| size.is_multiple_of(MSS)));
}

#[test]
fn bbr_gets_memory_for_three_windows() {
    let bbr = CcConfig::Bbr(Default::default());
    assert_eq!(writes(&autotuned(), &bbr, 10)[0], 55 * MSS);
}

#[test]
fn the_end_of_the_handshake_is_no_write() {
    let config = TcpConfig {
        write_size: Bytes(1_000_000),
        ..TcpConfig::default()
    };
    let mut world = World::clean(&config, &reno(), RTT / 2);
    let late = Write {
        at: 2 * RTT,
        bytes: 100 * MSS,
    };
    world.application(0, &[late]);
    world.open();
    world.run(3 * RTT, 10_000);
    let first = world.data(0).next().expect("data was sent");
    assert!(!first.segment.has(PUSH));
}
