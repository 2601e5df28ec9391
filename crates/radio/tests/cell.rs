//! The cell: when transport blocks are sent, how large they are, and which bearer is served.

mod common;

use bloatlab_radio::OrInfinite;
use bloatlab_radio::cell::BearerParams;
use bloatlab_radio::cell::allocate::{Access, Policy};
use bloatlab_radio::cell::params::CellParams;
use bloatlab_radio::rlc::RlcParams;
use bloatlab_units::{MILLISECOND, Nanos, Rate, SECOND};
use common::{Ends, Rig, fixed, lena, prioritised, rig_of};

fn rig(params: &CellParams, seed: u64) -> Rig {
    rig_of(params, &[params.bearer()], seed)
}

#[test]
fn a_packet_takes_what_radio_md_says() {
    let mut rig = rig(&lena(), 1);
    // One packet per second: the first block is sent with MCS 0, whose 523 B hold a third of the packet.
    for second in 0..4 {
        rig.enter(second * SECOND + 7_001_350, 0, 1530);
    }
    rig.run(5 * SECOND);
    let delays: Vec<Nanos> = (0..)
        .zip(&rig.ends.delivered[0])
        .map(|(second, (at, _))| at - second * SECOND - 7_001_350)
        .collect();
    // Until the next slot 0.49865 ms, two slots, (1 + S) symbols of 35.714 us, 0.1 ms to decode. MCS 28 needs two symbols; MCS 0 three blocks, the last of
    // which holds 1530 - 518 - 516 bytes in 12 symbols.
    let after = |slots: u64, symbols: u64| 498_650 + slots * 500_000 + symbols * 35_714 + 100_000;
    assert_eq!(delays[1..], [after(2, 3); 3]);
    assert_eq!(delays[0], after(4, 13));
}

#[test]
fn a_saturated_downlink_carries_what_ns_3_measured() {
    let mut rig = rig(&lena(), 1);
    for _ in 0..30_000 {
        rig.enter(0, 0, 1530);
    }
    rig.run(SECOND);
    // 2000 slots of 12,212 B, 25 of them of 11,194 B, less 5 B of headers and 10 or 11 of length indicators; six at MCS 0, and the last three are under way.
    let payload = rig.ends.delivered[0].len() as f64 * 1530.0;
    let expected = (1991.0 - 25.0) * 12_196.5 + 25.0 * 11_179.5 + 6.0 * 518.0;
    assert!(
        (payload / expected - 1.0).abs() < 1e-3,
        "{payload} {expected}"
    );
}

#[test]
fn an_uplink_packet_asks_first() {
    let mut rig = rig(&lena(), 1);
    // ACKs of packets that were received 64 us into a slot: requested in the next slot, granted three slots later, sent four slots after that, and
    // received at the end of the slot. The first is sent with MCS 0, whose symbol is too small for it.
    let at = |second: u64| second * SECOND + 64_282;
    for second in 1..4 {
        rig.enter(at(second), 1, 54);
    }
    rig.run(5 * SECOND);
    let whole = 8 * 500_000 + 13 * 35_714;
    let arrivals: Vec<u64> = (1..)
        .zip(&rig.ends.delivered[1])
        .map(|(second, (now, _))| now - second * SECOND)
        .collect();
    assert_eq!(arrivals[1..], [whole; 2]);
    // The rest was reported and granted in the slot after the first part.
    assert_eq!(arrivals[0], whole + 5 * 500_000);
}

#[test]
fn an_idle_cell_sleeps() {
    let mut rig = rig(&lena(), 1);
    rig.enter(0, 0, 100);
    rig.run(SECOND);
    assert_eq!(rig.cell.next_event(), None);
}

/// SNR (dB) from which 5G-LENA's Shannon AMC uses a scheme of table 1, bytes of its block of 12 symbols and 133 resource blocks, and the goodput of IP
/// (Mbit/s) that these give: facts about 5G-LENA 2, of the laboratory's reference tables. The lowest scheme has two channel qualities.
const THRESHOLDS: [(f64, f64, f64); 15] = [
    (-1.41, 523.0, 8.3),
    (0.57, 523.0, 8.3),
    (2.99, 830.0, 13.2),
    (5.32, 1313.0, 20.9),
    (7.44, 1928.0, 30.7),
    (9.22, 2583.0, 41.2),
    (10.72, 3238.0, 51.6),
    (12.6, 4204.0, 67.0),
    (14.55, 5254.0, 83.8),
    (15.71, 6041.0, 96.4),
    (17.73, 7223.0, 115.2),
    (19.64, 8534.0, 136.2),
    (21.61, 9848.0, 157.1),
    (23.48, 11_161.0, 178.1),
    (24.81, 12_212.0, 194.9),
];

#[test]
fn throughput_follows_the_snr_as_5g_lena_s_table() {
    for (place, (threshold, bytes, goodput)) in THRESHOLDS.into_iter().enumerate() {
        let mut params = lena();
        params.ues = vec![fixed(threshold + 0.1)];
        params.sounding = false;
        let mut rig = rig(&params, 1);
        for _ in 0..18_000 {
            rig.enter(0, 0, 1530);
        }
        rig.run(SECOND);
        // The first six are sent with MCS 0; the last two of the second are not yet transmitted.
        let blocks = rig.ends.blocks[0] as f64;
        let expected = 1992.0 * bytes + 6.0 * 523.0;
        assert!(
            (blocks / expected - 1.0).abs() < 1e-3,
            "{threshold} dB: {blocks}"
        );
        // With the first two schemes, many blocks fail and are retransmitted.
        let received = rig.ends.delivered[0].len() as f64 * 1528.0 * 8e-6;
        if place >= 2 {
            assert!(
                (received / goodput - 1.0).abs() < 0.012,
                "{threshold} dB: {received}"
            );
        } else {
            assert!(received < goodput, "{threshold} dB: {received}");
        }
    }
}

#[test]
fn blocks_that_fail_come_again_five_slots_later() {
    let mut params = lena();
    // About half of the blocks with MCS 0 fail here.
    params.ues = vec![fixed(-1.5)];
    // Whole packets have no sequence number to wait for.
    params.rlc = RlcParams::default();
    params.harq.retransmissions = 3;
    let mut lossy = rig(&params, 3);
    for second in 0..400 {
        lossy.enter(second * 20 * MILLISECOND, 0, 400);
    }
    lossy.run(10 * SECOND);
    let first = 2 * 500_000 + 100_000;
    let late: Vec<u64> = lossy.ends.delivered[0]
        .iter()
        .map(|(at, number)| at - number * 20 * MILLISECOND - first)
        .collect();
    let rounds = late.iter().map(|extra| extra / (5 * 500_000));
    assert!(rounds.clone().any(|round| round == 1), "{late:?}");
    assert!(rounds.clone().all(|round| round <= 3));
}

#[test]
fn two_ues_share_a_slot() {
    for access in [Access::Tdma, Access::Ofdma] {
        let of = |policy: Policy, snrs: [f64; 2]| {
            let mut params = lena();
            params.access = access;
            params.scheduler = policy;
            params.ues = snrs.map(fixed).to_vec();
            let mut rig = rig(&params, 1);
            for _ in 0..16_000 {
                rig.enter(0, 0, 1530);
                rig.enter(0, 2, 1530);
            }
            rig.run(SECOND);
            [0, 2].map(|bearer| rig.ends.delivered[bearer].len() as f64)
        };
        let [a, b] = of(Policy::RoundRobin, [89.0, 89.0]);
        assert!((a / b - 1.0).abs() < 0.02, "{access:?} {a} {b}");
        // Round robin and proportional fair give equal time; max rate gives all of it to the UE with the best channel.
        let [near, far] = of(Policy::RoundRobin, [89.0, 9.8]);
        assert!(near / far > 3.5, "{access:?} {near} {far}");
        let [near, far] = of(Policy::ProportionalFair, [89.0, 9.8]);
        assert!(
            (3.5..6.5).contains(&(near / far)),
            "{access:?} {near} {far}"
        );
        let [near, far] = of(Policy::MaxRate, [89.0, 9.8]);
        assert!(
            near > 15_000.0 && far < 0.01 * near,
            "{access:?} {near} {far}"
        );
    }
}

#[test]
fn tdd_leaves_the_downlink_its_slots() {
    let mut params = lena();
    params.pattern = "DDDSU".to_owned();
    params.sounding = false;
    let mut rig = rig(&params, 1);
    for _ in 0..25_000 {
        rig.enter(0, 0, 1530);
    }
    rig.run(SECOND);
    let tdd = rig.ends.blocks[0] as f64;
    // 3 x 13 + 9 of the 5 x 12 symbols of pattern F.
    assert!(
        (tdd / (2000.0 * 12_212.0) - 48.0 / 60.0).abs() < 0.01,
        "{tdd}"
    );
}

#[test]
fn a_bearer_of_higher_priority_is_in_the_next_block_however_much_waits_on_another() {
    let params = lena();
    let mut rig = rig_of(&params, &[1, 16].map(|p| prioritised(&params, p)), 1);
    for _ in 0..30_000 {
        // The second bearer, downlink and uplink.
        rig.enter(0, 2, 1530);
        rig.enter(0, 3, 1530);
    }
    for second in 1..4 {
        rig.enter(second * SECOND / 10 + 64_282, 0, 200);
        rig.enter(second * SECOND / 10 + 64_282, 1, 200);
    }
    rig.run(SECOND);
    let since = |bearer: usize| -> Vec<Nanos> {
        let arrivals = (1..).zip(&rig.ends.delivered[bearer]);
        arrivals.map(|(n, (at, _))| at - n * SECOND / 10).collect()
    };
    // The block in the next slot is sent two slots later, up to the end of the downlink part. The uplink leaves it half of the slot, 6 symbols after
    // the first.
    assert_eq!(since(0), [3 * 500_000 + 7 * 35_714 + 100_000; 3]);
    // Every slot has a grant.
    assert_eq!(since(1), [500_000 + 13 * 35_714; 3]);
    // All transmitted bytes are accounted for: the sum is what a single bearer gets.
    let mut alone = rig_one(&params);
    alone.run(SECOND);
    let blocks = |ends: &Ends, direction: usize| -> u64 {
        ends.blocks.iter().skip(direction).step_by(2).sum()
    };
    for direction in [0, 1] {
        let (ours, theirs) = (blocks(&rig.ends, direction), blocks(&alone.ends, direction));
        assert_eq!(ours, theirs, "{direction}");
    }
    assert!((rig.ends.share - alone.ends.share).abs() < 1e-6);
}

/// One bearer that is always backlogged, in both directions.
fn rig_one(params: &CellParams) -> Rig {
    let mut rig = rig(params, 1);
    for _ in 0..30_000 {
        rig.enter(0, 0, 1530);
        rig.enter(0, 1, 1530);
    }
    rig
}

#[test]
fn equal_bearers_share_and_a_rate_is_kept_below_a_full_higher_priority() {
    let params = CellParams {
        ues: vec![fixed(89.0)],
        ..CellParams::default()
    };
    let delivered = |bearers: &[BearerParams]| {
        let mut rig = rig_of(&params, bearers, 1);
        for _ in 0..20_000 {
            rig.enter(0, 0, 1500);
            rig.enter(0, 2, 1500);
        }
        rig.run(SECOND);
        [0, 2].map(|bearer| rig.ends.delivered[bearer].len())
    };
    let [a, b] = delivered(&[5, 5].map(|p| prioritised(&params, p)));
    assert!(a > 7000 && a.abs_diff(b) <= 10, "{a} {b}");
    let mut guaranteed = prioritised(&params, 16);
    guaranteed.channel.prioritised_bit_rate = OrInfinite::Finite(Rate(24_000_000));
    let [high, low] = delivered(&[prioritised(&params, 1), guaranteed]);
    // 3 MB/s of PDUs of 1501 bytes, less those still being transmitted.
    assert!((1990..=1999).contains(&low), "{low}");
    assert!(high > 5 * low, "{high}");
}
