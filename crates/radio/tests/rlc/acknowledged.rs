//! Acknowledged mode over any channel: every SDU is delivered exactly once and in order.

use bloatlab_radio::rlc::{AmParams, Framing, RlcParams, Transmitter};
use bloatlab_units::{Duration, MILLISECOND};
use proptest::prelude::*;

use crate::air::{Air, AirParams, Queue, SLOT};

fn settings() -> impl Strategy<Value = (AmParams, u64)> {
    let times = (0_u64..60, 5_u64..80, 0_u64..40);
    let polls = (0_u32..20, 1_u32..33, any::<bool>(), any::<bool>());
    (times, polls).prop_map(|(times, (pdus, most, nr, long))| {
        let ms = |time| Some(Duration(time * MILLISECOND));
        let (framing, sn_bits, window) = match (nr, long) {
            (true, true) => (Framing::Nr, 18, 131_072),
            (true, false) => (Framing::Nr, 12, 2048),
            (false, _) => (Framing::Lena, 10, 512),
        };
        // If polls remain unanswered longer than allowed, the link fails permanently.
        let most = most.max((times.2 + 30) as u32 / times.1 as u32 + 1);
        let params = AmParams {
            framing,
            sn_bits: Some(sn_bits),
            t_reassembly: ms(times.0),
            t_poll_retransmit: ms(times.1),
            t_status_prohibit: ms(times.2),
            poll_pdu: Some(pdus),
            max_retx_threshold: Some(most),
            ..AmParams::default()
        };
        (params, window)
    })
}

fn air_params() -> impl Strategy<Value = AirParams> {
    let size = prop_oneof![30_u64..200, 200_u64..15_000];
    (any::<u64>(), 0.0..1.0, 1_u64..5, size, 0_u64..4000).prop_map(
        |(seed, loss, attempts, room, lossy_slots)| AirParams {
            seed,
            loss,
            attempts,
            room,
            lossy_slots,
            drops: if seed % 2 == 0 { 0.1 } else { 0.0 },
        },
    )
}

fn sizes(small: bool) -> impl Strategy<Value = Vec<u32>> {
    let most = if small { 60 } else { 1600 };
    proptest::collection::vec(1_u32..most, 1..300)
}

fn run(params: AmParams, window: u64, sizes: &[u32], air_params: AirParams) -> Air {
    let mut air = Air::new(&RlcParams::Am(params), sizes, window, air_params);
    air.settle(400_000);
    let all: Vec<u64> = (0..air.queue.next).collect();
    assert_eq!(air.from_pdcp, all);
    air
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_sdu_arrives_once_and_in_order((params, window) in settings(), sizes in sizes(false), air_params in air_params()) {
        run(params, window, &sizes, air_params);
    }

    #[test]
    fn small_sdus_are_packed_as_well((params, window) in settings(), sizes in sizes(true), air_params in air_params()) {
        run(params, window, &sizes, air_params);
    }
}

#[test]
fn a_failed_link_is_reestablished_and_loses_nothing() {
    for framing in [Framing::Nr, Framing::Lena] {
        let params = AmParams {
            framing,
            max_retx_threshold: Some(1),
            ..AmParams::default()
        };
        let window = if framing == Framing::Nr { 131_072 } else { 512 };
        let air_params = AirParams {
            seed: 7,
            loss: 0.7,
            attempts: 1,
            room: 4000,
            lossy_slots: 3000,
            drops: 0.0,
        };
        let air = run(params, window, &[1500; 400], air_params);
        assert!(air.failures > 3, "{} failures", air.failures);
        assert_eq!(air.transmitter.counts().failures, air.failures);
        assert!(air.pdcp.discarded() > 0 && air.pdcp.skipped() == 0);
    }
}

#[test]
fn nothing_is_repeated_where_nothing_is_lost() {
    for framing in [Framing::Nr, Framing::Lena] {
        let params = AmParams {
            framing,
            ..AmParams::default()
        };
        let window = if framing == Framing::Nr { 131_072 } else { 512 };
        let air_params = AirParams {
            seed: 1,
            loss: 0.0,
            attempts: 1,
            room: 12_212,
            lossy_slots: 0,
            drops: 0.0,
        };
        let air = run(params, window, &[1530; 500], air_params);
        let counts = air.transmitter.counts();
        assert_eq!((counts.new_bytes, counts.repeated_bytes), (500 * 1530, 0));
        assert_eq!(air.receiver.counts().discarded, 0);
    }
}

/// A loss burst long enough to fill the window, after which everything is recovered.
#[test]
fn a_full_window_is_recovered() {
    for (framing, sn_bits, window, room) in [
        (Framing::Nr, 12, 2048, 1500),
        (Framing::Nr, 18, 131_072, 1500),
        (Framing::Lena, 10, 512, 200),
    ] {
        let params = AmParams {
            framing,
            sn_bits: Some(sn_bits),
            max_retx_threshold: Some(32),
            t_poll_retransmit: Some(Duration(200 * MILLISECOND)),
            ..AmParams::default()
        };
        let air_params = AirParams {
            seed: 3,
            loss: 0.97,
            attempts: 1,
            room,
            lossy_slots: 3000,
            drops: 0.0,
        };
        let air = run(params, window, &[60; 8000], air_params);
        assert_eq!(air.widest, window.min(8000), "{framing:?} {sn_bits}");
        assert_eq!(air.failures, 0);
    }
}

/// Without status reports, the transmitter stops at its window, and retransmits its latest SDU each time a poll remains unanswered.
#[test]
fn the_window_is_never_exceeded() {
    for (framing, sn_bits, window) in [(Framing::Nr, 12, 2048), (Framing::Lena, 10, 512)] {
        let params = AmParams {
            framing,
            sn_bits: Some(sn_bits),
            max_retx_threshold: Some(3),
            ..AmParams::default()
        };
        let mut sender = RlcParams::Am(params).transmitter::<u64>();
        let mut queue = Queue::new(&[100; 3000]);
        let mut out = Vec::new();
        // Room for one SDU of 100 bytes, and for nothing of the next one.
        for slot in 0..3000 {
            sender.transmit(slot * SLOT, 107, &mut queue, &mut out);
        }
        let Transmitter::Am(am) = &sender else {
            panic!("not in acknowledged mode")
        };
        assert_eq!(am.window(), (0, window));
        assert_eq!(
            out.last().map(|pdu| (pdu.sn, pdu.poll)),
            Some((window - 1, true))
        );
        let mut repeats = 0;
        while !sender.failed() {
            let Some(at) = sender.next_timer() else {
                panic!("no timer")
            };
            sender.on_timer(at, &queue);
            out.clear();
            sender.transmit(at, 107, &mut queue, &mut out);
            repeats += out.len();
            assert!(
                out.iter()
                    .all(|pdu| pdu.sn == window - 1 && pdu.poll && pdu.again)
            );
        }
        // The first retransmission counts as 0 (TS 38.322 section 5.3.2).
        assert_eq!(repeats, 3);
        assert_eq!(sender.report(&queue), 0);
        assert_eq!(sender.next_timer(), None);
    }
}
