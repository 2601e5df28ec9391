//! Unacknowledged mode over any channel: no duplicates, no invented data, and each SDU is delivered or accounted for.

use bloatlab_radio::rlc::{Framing, RlcParams, UmParams, UmReceiver, UmTransmitter};
use bloatlab_units::{Duration, MILLISECOND};
use proptest::prelude::*;

use crate::air::{Air, AirParams, Queue};

fn settings(t_reassembly: impl Strategy<Value = u64>) -> impl Strategy<Value = (UmParams, u64)> {
    (t_reassembly, 0..3).prop_map(|(time, kind)| {
        let (framing, sn_bits, window) = match kind {
            0 => (Framing::Nr, 6, 32),
            1 => (Framing::Nr, 12, 2048),
            _ => (Framing::Lena, 10, 512),
        };
        let params = UmParams {
            framing,
            sn_bits: Some(sn_bits),
            t_reassembly: Some(Duration(time * MILLISECOND)),
        };
        (params, window)
    })
}

fn air_params(attempts: u64) -> impl Strategy<Value = AirParams> {
    let size = prop_oneof![60_u64..200, 200_u64..15_000];
    (any::<u64>(), 0.0..1.0, 1..=attempts, size, 0_u64..4000).prop_map(
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

fn sizes() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(1_u32..1600, 1..300)
}

fn run(params: UmParams, window: u64, sizes: &[u32], air_params: AirParams) -> Air {
    let framing = params.framing;
    let mut air = Air::new(&RlcParams::Um(params), sizes, window, air_params);
    air.settle(400_000);
    // No SDU is delivered twice, or with a byte missing.
    let mut seen = vec![false; sizes.len()];
    for &item in &air.from_rlc {
        let size = u64::from(air.queue.sizes[item as usize]);
        assert_eq!(air.arrived[item as usize], size, "SDU {item}");
        assert!(
            !std::mem::replace(&mut seen[item as usize], true),
            "SDU {item} twice"
        );
    }
    let rising = |items: &[u64]| items.windows(2).all(|pair| pair[0] < pair[1]);
    // In order: TS 36.322's receiver ensures it by itself, TS 38.322's together with PDCP.
    assert!(rising(&air.from_pdcp));
    assert!(framing == Framing::Nr || rising(&air.from_rlc));
    assert_eq!(
        air.from_rlc.len() as u64,
        air.from_pdcp.len() as u64 + air.pdcp.discarded()
    );
    assert_eq!(air.receiver.counts().delivered, air.from_rlc.len() as u64);
    air
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_invented_or_duplicated((params, window) in settings(0..100_u64), sizes in sizes(), air_params in air_params(4)) {
        run(params, window, &sizes, air_params);
    }

    /// Without reordering, an SDU is delivered if and only if all its bytes arrive, in order.
    #[test]
    fn each_sdu_is_delivered_or_lost_in_the_air((params, window) in settings(Just(200)), sizes in sizes(), air_params in air_params(1)) {
        let framing = params.framing;
        let air = run(params, window, &sizes, air_params);
        prop_assert!(air.from_rlc.windows(2).all(|pair| pair[0] < pair[1]));
        let whole: Vec<u64> = (0..air.queue.next)
            .filter(|&item| air.arrived[item as usize] == u64::from(air.queue.sizes[item as usize]))
            .collect();
        prop_assert_eq!(&air.from_rlc, &whole);
        prop_assert_eq!(&air.from_pdcp, &whole);
        let lost = air.queue.next - whole.len() as u64;
        if framing == Framing::Nr {
            prop_assert!(air.receiver.counts().given_up <= lost);
        }
    }
}

/// When a bearer is re-established, complete SDUs are delivered, and incomplete ones are discarded on both sides.
#[test]
fn reestablishment_discards_incomplete_sdus() {
    for (framing, whole) in [(Framing::Nr, vec![0, 1, 2]), (Framing::Lena, vec![2])] {
        let params = UmParams {
            framing,
            ..UmParams::default()
        };
        let (mut sender, mut receiver) = (UmTransmitter::new(&params), UmReceiver::new(&params));
        let mut queue = Queue::new(&[100; 5]);
        let (mut out, mut up) = (Vec::new(), Vec::new());
        // In the lena framing the second block is lost, and with it the end of SDU 0 and the start of SDU 1. SDU 3 is never sent as a whole.
        for room in [60, 60, 220, 60] {
            sender.transmit(0, room, &mut queue, &mut out);
        }
        for pdu in &out {
            if framing == Framing::Nr || pdu.sn != 1 {
                receiver.receive(0, pdu, &mut up);
            }
        }
        let held = sender.held();
        assert!(held.is_some());
        sender.reestablish();
        receiver.reestablish(&mut up);
        assert_eq!(
            (sender.held(), receiver.window(), receiver.next_timer()),
            (None, (0, 0), None)
        );
        assert_eq!(up, whole);
        // Everything continues with sequence number 0.
        out.clear();
        up.clear();
        sender.transmit(0, 60, &mut queue, &mut out);
        assert_eq!(out[0].sn, 0);
    }
}

/// The timer restarts for data that was found missing after its start.
#[test]
fn each_gap_has_its_own_t_reassembly() {
    let params = UmParams::default();
    let (mut sender, mut receiver) = (UmTransmitter::new(&params), UmReceiver::new(&params));
    let mut queue = Queue::new(&[100; 4]);
    let (mut out, mut up) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        // 60 bytes in 64; 40 in 46.
        sender.transmit(0, 64, &mut queue, &mut out);
        sender.transmit(0, 46, &mut queue, &mut out);
    }
    let wait = 35 * MILLISECOND;
    receiver.receive(0, &out[1], &mut up);
    assert_eq!(receiver.next_timer(), Some(wait));
    receiver.receive(5, &out[3], &mut up);
    receiver.receive(6, &out[0], &mut up);
    assert_eq!((&up[..], receiver.next_timer()), (&[0][..], Some(wait + 6)));
    receiver.receive(7, &out[7], &mut up);
    receiver.on_timer(wait + 6, &mut up);
    assert_eq!(receiver.window(), (2, 4));
    // The third and the fourth were found missing after the start.
    assert_eq!(receiver.next_timer(), Some(2 * wait + 6));
    receiver.receive(wait + 7, &out[2], &mut up);
    receiver.receive(wait + 7, &out[6], &mut up);
    receiver.on_timer(2 * wait + 6, &mut up);
    assert_eq!((&up[..], receiver.window()), (&[0, 3][..], (4, 4)));
    assert_eq!(
        (receiver.counts().given_up, receiver.counts().discarded),
        (2, 1)
    );
}
