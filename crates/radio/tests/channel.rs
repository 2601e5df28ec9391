//! Channels computed from a scenario: the link budget of the experiment, and properties along any trajectory.

use bloatlab_link::Disk;
use bloatlab_radio::channel::blockage::{Angular, Blockage, Crossing};
use bloatlab_radio::channel::scenario::{Condition, Params};
use bloatlab_radio::channel::{Fading, Scenario, mobility};
use bloatlab_radio::{Band, Channel, ChannelParams};
use bloatlab_units::{Duration, MILLISECOND, Nanos, SECOND, Streams};
use proptest::prelude::*;

const BAND: Band = Band {
    resource_blocks: 133,
    subcarrier_spacing: 30_000,
    ghz: 6.0,
    power_dbm: 43.0,
};

fn channel(params: Params, seed: u64) -> Channel {
    channel_in(BAND, params, seed)
}

fn channel_in(band: Band, params: Params, seed: u64) -> Channel {
    let mut params = ChannelParams::Scenario(Box::new(params));
    let loaded = params.load(&Disk).unwrap();
    Channel::new(&loaded, band, &[], Streams::new(seed).stream("channel"))
}

/// A user in a car, with all effects that vary.
fn busy() -> Params {
    Params {
        condition: Condition::Probabilistic,
        scenario: Scenario::Umi,
        position_m: [30.0, 5.0],
        mobility: mobility::Mobility::Line(mobility::Line {
            speed_mps: 15.0,
            length_m: 200.0,
            ..mobility::Line::default()
        }),
        shadowing: true,
        blockage: Blockage::A(Angular::default()),
        fading: Some(Fading::default()),
        ..Params::default()
    }
}

#[test]
fn the_link_budget_of_the_experiment() {
    // radio.md: 43 - 70.2 + 24.1 + 92.2 = 89 dB; at 30 dBm and 3, 6 and 10 km 21.2, 9.2 and 0.3 dB.
    let mut near = channel(Params::default(), 1);
    assert!((near.snr_db(0) - 89.0).abs() < 0.1, "{}", near.snr_db(0));
    assert_eq!(near.snr_db(0), near.snr_db(10 * SECOND));
    for (kilometres, expected) in [(3.0, 21.2), (6.0, 9.2), (10.0, 0.3)] {
        let weak = Band {
            power_dbm: 30.0,
            ..BAND
        };
        let params = Params {
            position_m: [0.0, 1000.0 * kilometres],
            ..Params::default()
        };
        let snr = channel_in(weak, params, 1).snr_db(0);
        assert!((snr - expected).abs() < 0.06, "{kilometres} km: {snr}");
    }
}

#[test]
fn shadowing_is_spread_over_users_as_the_scenario_says() {
    let params = Params {
        shadowing: true,
        ..Params::default()
    };
    let snrs: Vec<f64> = (0..4000)
        .map(|seed| channel(params.clone(), seed).snr_db(0))
        .collect();
    let mean = snrs.iter().sum::<f64>() / 4000.0;
    let deviation = (snrs
        .iter()
        .map(|snr| (snr - mean) * (snr - mean))
        .sum::<f64>()
        / 4000.0)
        .sqrt();
    assert!((mean - 89.0).abs() < 0.3, "{mean}");
    assert!(
        (deviation - 4.0).abs() < 4.0 * 4.0 / 8000_f64.sqrt(),
        "{deviation}"
    );
}

#[test]
fn shadowing_depends_on_the_position_and_decorrelates() {
    // 1 m back and forth in 2 s: hardly any change. 370 m further, ten correlation lengths, everything has changed.
    let driving = |length_m| Params {
        shadowing: true,
        position_m: [1000.0, 0.0],
        mobility: mobility::Mobility::Line(mobility::Line {
            speed_mps: 37.0,
            heading_deg: 90.0,
            length_m,
            at_end: mobility::AtEnd::Stop,
        }),
        ..Params::default()
    };
    let change = |length_m| {
        let moved = (0..300).map(|seed| {
            let mut channel = channel(driving(length_m), seed);
            let before = channel.snr_db(0);
            let change = channel.snr_db(20 * SECOND) - before;
            change * change
        });
        (moved.sum::<f64>() / 300.0).sqrt()
    };
    // Deviation of the difference: 4 sqrt(2 (1 - exp(-1/37))) = 0.92, and 4 sqrt 2 = 5.66 with 0.3 to 0.6 dB more of path.
    assert!((change(1.0) - 0.92).abs() < 0.15, "{}", change(1.0));
    assert!((change(370.0) - 5.66).abs() < 0.8, "{}", change(370.0));
}

#[test]
fn a_line_of_sight_is_as_likely_as_the_scenario_says() {
    // UMi at 100 m: 0.23098 (by hand in path_loss.rs); without it the loss is over 15 dB larger.
    let params = |condition| Params {
        scenario: Scenario::Umi,
        condition,
        position_m: [100.0, 0.0],
        ..Params::default()
    };
    let clear = channel(params(Condition::Los), 1).snr_db(0);
    let blocked = channel(params(Condition::Nlos), 1).snr_db(0);
    assert!(clear - blocked > 15.0);
    let draws = (0..4000).map(|seed| channel(params(Condition::Probabilistic), seed).snr_db(0));
    let seen = draws.filter(|snr| *snr == clear).count() as f64 / 4000.0;
    assert!(
        (seen - 0.231).abs() < 4.0 * (0.231 * 0.769 / 4000.0_f64).sqrt(),
        "{seen}"
    );
}

#[test]
fn additional_effects_do_not_change_the_others() {
    // With blockers that attenuate nothing and almost constant fading, shadowing is the same as without them.
    let plain = Params {
        blockage: Blockage::None,
        fading: None,
        ..busy()
    };
    let with = Params {
        // One person per thousand seconds, 1 cm tall, far below the path, who attenuates nothing.
        blockage: Blockage::B(Crossing {
            gap: Duration(1000 * SECOND),
            height_m: 0.01,
            width_m: 0.01,
            ..Crossing::default()
        }),
        fading: Some(Fading {
            k_db: Some(60.0),
            ..Fading::default()
        }),
        ..busy()
    };
    let (mut plain, mut with) = (channel(plain, 3), channel(with, 3));
    for second in 0..20 {
        let difference = plain.snr_db(second * SECOND) - with.snr_db(second * SECOND);
        assert!(difference.abs() < 0.1, "{difference}");
    }
}

#[test]
fn parameters_out_of_range_are_named_with_their_place() {
    let wrong = |params: Params| {
        ChannelParams::Scenario(Box::new(params))
            .load(&Disk)
            .unwrap_err()
    };
    let params = Params::default();
    let rural = ChannelParams::Scenario(Box::new(params.clone()));
    assert_eq!(
        rural.check_carrier(60.0).unwrap_err(),
        "scenario: `rma` holds up to 30 GHz, and the cell's carrier is at 60 GHz"
    );
    let line = mobility::Line {
        speed_mps: -1.0,
        ..mobility::Line::default()
    };
    let why = wrong(Params {
        mobility: mobility::Mobility::Line(line),
        ..params.clone()
    });
    assert_eq!(
        why,
        "mobility.speed_mps: must be between 0.001 and 300, not -1"
    );
    let why = wrong(Params {
        interval: Duration(1),
        ..params
    });
    assert_eq!(why, "interval: must be between 100us and 1s, not 1ns");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_channel_does_not_depend_on_when_it_is_asked(seed in 0_u64..1000, gaps in proptest::collection::vec(0_u64..300, 1..60)) {
        let mut often = channel(busy(), seed);
        let mut now: Nanos = 0;
        let mut last = f64::NAN;
        for gap in &gaps {
            for _ in 0..*gap {
                now += MILLISECOND / 3;
                last = often.snr_db(now);
            }
        }
        if now > 0 {
            prop_assert!(last.is_finite());
            prop_assert_eq!(channel(busy(), seed).snr_db(now), last);
        }
    }
}
