//! Other base stations on the carrier: the SINR by hand, which direction they disturb, and what is refused.

#[allow(dead_code, reason = "other files of tests use the rest")]
mod common;

use bloatlab_link::Disk;
use bloatlab_radio::cell::params::CellParams;
use bloatlab_radio::channel::mobility::{Line, Mobility};
use bloatlab_radio::channel::scenario::{Condition, Params};
use bloatlab_radio::channel::{Interferer, Scenario};
use bloatlab_radio::{Amc, Band, Channel, ChannelParams, McsTable};
use bloatlab_units::{MILLISECOND, SECOND, Streams};
use common::{fixed, lena, rig_of};
use proptest::prelude::*;

const BAND: Band = Band {
    resource_blocks: 133,
    subcarrier_spacing: 30_000,
    ghz: 6.0,
    power_dbm: 43.0,
};

fn at(x: f64, y: f64) -> Interferer {
    Interferer {
        position_m: [x, y],
        height_m: None,
        power: None,
        load: 1.0,
        gain_db: 0.0,
    }
}

fn channel(params: Params, interferers: &[Interferer], seed: u64) -> Channel {
    let mut params = ChannelParams::Scenario(Box::new(params));
    let loaded = params.load(&Disk).unwrap();
    let rng = Streams::new(seed).stream("channel");
    Channel::new(&loaded, BAND, interferers, rng)
}

/// A user 250 m from its base station.
fn edge() -> Params {
    Params {
        position_m: [0.0, 250.0],
        ..Params::default()
    }
}

#[track_caller]
fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 0.002, "{value}, not {expected}");
}

#[test]
fn the_sinr_by_hand() {
    let sinr = |interferers: &[Interferer]| channel(edge(), interferers, 1).sinr_db(0);
    // RMa at 250.1445 m: 95.9686 + 1.1461 - 0.7009 + 0.3497 = 96.7635 dB. Noise -92.1985 dBm, gain of 32 x 8 elements 24.0824 dB.
    near(sinr(&[]), 43.0 + 24.0824 - 96.7635 + 92.1985);
    // As far away, on the other side: the power of one element, 38.4350 dB above the noise. 62.5174 - 10 lg(1 + 10^3.84350).
    near(sinr(&[at(0.0, 500.0)]), 24.0818);
    let half = Interferer {
        load: 0.5,
        ..at(0.0, 500.0)
    };
    near(sinr(&[half]), 27.0915);
    near(sinr(&[at(0.0, 500.0), at(250.0, 250.0)]), 21.0718);
    // 48 dB less power: 9.565 dB below the noise, which rises by 0.4554 dB.
    let weak = Interferer {
        power: Some(-5.0),
        ..at(0.0, 500.0)
    };
    near(sinr(&[weak]), 62.5174 - 0.4554);
    let towards = Interferer {
        gain_db: 24.0824,
        ..at(0.0, 500.0)
    };
    near(sinr(&[towards]), 0.0);
    let silent = Interferer {
        load: 0.0,
        ..at(0.0, 500.0)
    };
    assert_eq!(sinr(&[silent]), sinr(&[]));
}

#[test]
fn a_height_changes_the_path() {
    let high = Interferer {
        height_m: Some(100.0),
        ..at(0.0, 260.0)
    };
    let sinr = |other| channel(edge(), &[other], 1).sinr_db(0);
    assert!(sinr(high) > sinr(at(0.0, 260.0)) + 10.0);
}

/// A user in a car who passes several base stations.
fn passing() -> Params {
    Params {
        condition: Condition::Probabilistic,
        scenario: Scenario::Uma,
        mobility: Mobility::Line(Line {
            speed_mps: 30.0,
            length_m: 300.0,
            ..Line::default()
        }),
        shadowing: true,
        ..edge()
    }
}

#[test]
fn other_base_stations_leave_the_signal_as_it_is_and_draw_by_themselves() {
    let others = [at(0.0, 500.0), at(500.0, 0.0)];
    let mut alone = channel(passing(), &[], 7);
    let mut first = channel(passing(), &others[..1], 7);
    let mut both = channel(passing(), &others, 7);
    let mut shares = Vec::new();
    for step in 0..400 {
        let now = step * 50 * MILLISECOND;
        let snr = alone.snr_db(now);
        assert_eq!(alone.sinr_db(now), snr);
        assert_eq!((first.snr_db(now), both.snr_db(now)), (snr, snr));
        let [one, two] = [&mut first, &mut both].map(|channel| channel.sinr_db(now));
        assert!(two < one && one < snr, "{two} {one} {snr}");
        shares.push(snr - one);
    }
    let spread = shares.iter().copied().fold(0.0, f64::max)
        - shares.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(spread > 10.0, "{spread}");
}

proptest! {
    #[test]
    fn more_load_or_power_never_helps(x in -900.0..900.0_f64, y in -900.0..900.0_f64, load in 0.0..1.0_f64, power in -30.0..50.0_f64) {
        let sinr = |load, power| {
            let other = Interferer { load, power: Some(power), ..at(x, y) };
            channel(edge(), &[other], 1).sinr_db(0)
        };
        let base = sinr(load, power);
        prop_assert!(sinr(1.0, power) <= base && sinr(load, power + 3.0) <= base);
        prop_assert!(base <= channel(edge(), &[], 1).sinr_db(0));
    }
}

/// Bytes that a backlogged UE gets in a second: downlink, then uplink.
fn carried(params: &CellParams) -> [u64; 2] {
    let mut rig = rig_of(params, &[params.bearer()], 1);
    for _ in 0..20_000 {
        rig.enter(0, 0, 1530);
        rig.enter(0, 1, 1530);
    }
    rig.run(SECOND);
    [0, 1].map(|bearer| rig.ends.delivered[bearer].len() as u64 * 1530)
}

#[test]
fn only_the_downlink_is_disturbed() {
    let cell = |interferers: Vec<Interferer>| CellParams {
        pattern: "DU".to_owned(),
        ues: vec![ChannelParams::Scenario(Box::new(edge()))],
        interferers,
        ..lena()
    };
    let [down, up] = carried(&cell(vec![]));
    // 24.08 dB: MCS 26 instead of 28.
    let [less, same] = carried(&cell(vec![at(0.0, 500.0)]));
    assert_eq!(up, same);
    let ratio = less as f64 / down as f64;
    assert!((ratio - 11_161.0 / 12_212.0).abs() < 0.01, "{ratio}");
    let beamed = Interferer {
        gain_db: 24.0,
        ..at(0.0, 500.0)
    };
    assert!(carried(&cell(vec![beamed]))[0] < down / 10);
}

#[test]
fn a_fixed_scheme_is_used_and_fails_by_the_snr() {
    let cell = |mcs: Option<u8>, snr: f64, amc: Amc| CellParams {
        mcs,
        amc,
        ues: vec![fixed(snr)],
        ..lena()
    };
    for amc in [Amc::Shannon, Amc::ErrorModel] {
        let run = |mcs, snr| carried(&cell(mcs, snr, amc))[0] as f64;
        let best = run(None, 89.0);
        assert!((run(Some(28), 89.0) / best - 1.0).abs() < 0.01);
        // radio.md: 4204 of 12,212 bytes. The shares of the directions are the same.
        assert!((run(Some(13), 89.0) / best - 4204.0 / 12_212.0).abs() < 0.01);
        // MCS 13 fails in one of ten blocks at 8.59 dB, and MCS 28 needs 23.77 dB.
        let [far, kept] = [run(Some(13), 8.59), run(Some(13), 89.0)];
        assert!(far > 0.8 * kept && far < 0.95 * kept, "{far} {kept}");
        assert_eq!(run(Some(28), 8.59), 0.0);
    }
}

#[test]
fn the_peak_rate_is_that_of_a_fixed_scheme() {
    let peak = |mcs| CellParams { mcs, ..lena() }.peak_rates().unwrap();
    assert_eq!(peak(Some(28)), peak(None));
    // 12 symbols of 4204 bytes, 2000 slots.
    assert_eq!(peak(Some(13))[0], 4204 * 8 * 2000);
}

#[test]
fn what_is_refused() {
    let refused = |params: CellParams| params.validate().unwrap_err();
    let mcs = |mcs_table, mcs| CellParams {
        mcs_table,
        mcs: Some(mcs),
        ..CellParams::default()
    };
    assert_eq!(
        refused(mcs(McsTable::Two, 28)),
        "mcs: must be between 0 and 27 with mcs_table = 2, not 28"
    );
    assert_eq!(
        refused(mcs(McsTable::One, 29)),
        "mcs: must be between 0 and 28 with mcs_table = 1, not 29"
    );
    assert!(mcs(McsTable::Three, 28).validate().is_ok());
    let with = |interferers: Vec<Interferer>| CellParams {
        interferers,
        ..CellParams::default()
    };
    let loud = Interferer {
        load: 1.5,
        ..at(0.0, 1.0)
    };
    assert_eq!(
        refused(with(vec![at(0.0, 1.0), loud])),
        "interferers[1].load: must be between 0 and 1, not 1.5"
    );
    assert_eq!(
        refused(with(vec![at(0.0, 2e6)])),
        "interferers[0].position_m: must be between -1000000 and 1000000, not 2000000"
    );
    assert_eq!(
        refused(with(vec![at(0.0, 1.0); 65])),
        "number of interferers: must be between 0 and 64, not 65"
    );
    let given = CellParams {
        ues: vec![ChannelParams::default(), fixed(20.0)],
        ..with(vec![at(0.0, 1.0)])
    };
    assert_eq!(
        refused(given),
        "interferers: need UEs whose channel is computed, but the SNR of ues[1] is given; use kind = \"scenario\" there"
    );
}

#[test]
fn what_is_absent_is_not_written() {
    let text = serde_json::to_string(&CellParams::default()).unwrap();
    assert!(!text.contains("\"mcs\"") && !text.contains("interferers"));
    let written: CellParams =
        serde_json::from_str(r#"{"mcs": 5, "interferers": [{"position_m": [0, 500]}]}"#).unwrap();
    assert_eq!(written.interferers, [at(0.0, 500.0)]);
    assert_eq!(written.mcs, Some(5));
    assert!(serde_json::from_str::<CellParams>(r#"{"interferers": [{}]}"#).is_err());
}
