//! Blockage against hand-computed values and the numbers of the standard.

use bloatlab_link::blockage::{
    Blockers, OwnBody, Params, Region, Regions, Screens, Span, View, wavelength,
};
use bloatlab_units::Streams;

const HUMAN: (f64, f64) = (0.3, 1.7);

/// Both antennas at 1 m.
fn level(distance: f64) -> Span {
    Span {
        distance,
        ue_height: 1.0,
        gnb_height: 1.0,
    }
}

#[test]
fn a_person_in_the_middle_of_a_60_ghz_link() {
    let wavelength = wavelength(60.0);
    // 4 m: edges at 0.15 m aside make a detour of 11.2 mm and take 0.4251 of the field each, the head (0.7 m above) 0.4834, the feet 0.4882:
    // -20 lg(1 - 0.8502 x 0.9717) = 15.2 dB.
    let four = level(4.0).loss_db(2.0, 0.0, HUMAN, wavelength);
    let eight = level(8.0).loss_db(4.0, 0.0, HUMAN, wavelength);
    assert!((four - 15.2).abs() < 0.05, "{four}");
    assert!((eight - 12.4).abs() < 0.05, "{eight}");
    assert_eq!(level(4.0).loss_db(-0.1, 0.0, HUMAN, wavelength), 0.0);
    assert_eq!(level(4.0).loss_db(4.1, 0.0, HUMAN, wavelength), 0.0);
}

#[test]
fn crossing_at_walking_pace_takes_more_than_5_db_for_a_third_of_a_second() {
    for distance in [4.0, 8.0] {
        let span = level(distance);
        // 1 m/s: a millimetre is a millisecond.
        let deep = (-1000..1000).filter(|mm| {
            span.loss_db(
                distance / 2.0,
                f64::from(*mm) / 1000.0,
                HUMAN,
                wavelength(60.0),
            ) > 5.0
        });
        let milliseconds = deep.count();
        assert!(
            (270..=340).contains(&milliseconds),
            "{distance} m: {milliseconds} ms"
        );
    }
}

#[test]
fn one_region_by_hand() {
    // 10 m away, 10 degrees wide, 5 high, the path in the middle, 30 GHz: detours 10 (1/cos 5 deg - 1) = 38.2 mm and 10 (1/cos 2.5 deg - 1) = 9.527
    // mm; pi/lambda = 314.4/m; atan(1.5708 sqrt(12.01))/pi = 0.4422; atan(1.5708 sqrt(2.995))/pi = 0.3878; -20 lg(1 - 0.8843 x 0.7756) = 10.05 dB.
    let region = Region {
        azimuth: 0.0,
        width: 10.0,
        zenith: 0.0,
        height: 5.0,
        distance: 10.0,
    };
    let loss = region.loss_db(wavelength(30.0));
    assert!((loss - 10.05).abs() < 0.05, "{loss}");
    let beside = |azimuth| Region { azimuth, ..region }.loss_db(wavelength(30.0));
    assert_eq!(beside(10.0), 0.0);
    assert!((beside(3.0) - beside(-3.0)).abs() < 1e-9);
    // On the edge one pair takes half of what two would.
    assert!(beside(5.0) < 5.0 && beside(5.0) > beside(6.0) && beside(6.0) > beside(9.9));
}

#[test]
fn the_users_own_body_takes_30_db_behind_the_device() {
    let regions = |own_body, orientation_deg| {
        let params = Regions {
            blockers: 0,
            own_body,
            orientation_deg,
            ..Regions::default()
        };
        let mut rng = Streams::new(1).stream("test");
        let view = View {
            towards: [0.0, -10.0],
            ue_height: 1.5,
            gnb_height: 1.5,
        };
        Blockers::new(&Params::A(params), 28.0, &mut rng).loss_db(&view)
    };
    // The base station lies at 270 degrees, which is 10 from the middle of the upright device's region; turned by 60 it lies 50 off, by 80 70 off.
    assert_eq!(regions(OwnBody::Portrait, 0.0), 30.0);
    assert_eq!(regions(OwnBody::Portrait, 60.0), 30.0);
    assert_eq!(regions(OwnBody::Portrait, 80.0), 0.0);
    assert_eq!(regions(OwnBody::Landscape, 0.0), 0.0);
    assert_eq!(regions(OwnBody::Landscape, -130.0), 30.0);
    assert_eq!(regions(OwnBody::None, 0.0), 0.0);
}

#[test]
fn regions_cover_their_share_of_the_sky() {
    // Four regions, each noticed over twice its mean width of 10 degrees: a path at the horizon is touched with probability 1 - (1 - 20/360)^4 =
    // 0.204.
    let mut rng = Streams::new(4).stream("test");
    let view = View {
        towards: [50.0, 0.0],
        ue_height: 1.5,
        gnb_height: 1.5,
    };
    let touched = (0..20_000).filter(|_| {
        Blockers::new(&Params::A(Regions::default()), 28.0, &mut rng).loss_db(&view) > 0.0
    });
    let share = touched.count() as f64 / 20_000.0;
    assert!(
        (share - 0.204).abs() < 4.0 * 0.403 / 20_000_f64.sqrt(),
        "{share}"
    );
}

#[test]
fn screens_walk_through_the_link_and_come_again() {
    let view = View {
        towards: [8.0, 0.0],
        ue_height: 1.0,
        gnb_height: 1.0,
    };
    let mut rng = Streams::new(8).stream("test");
    let mut blockers = Blockers::new(&Params::B(Screens::default()), 60.0, &mut rng);
    assert!(!blockers.is_static());
    let (mut clear, mut deep) = (0, 0);
    for _ in 0..200_000 {
        blockers.advance(0.01, [0.0, 0.0], &mut rng);
        let loss = blockers.loss_db(&view);
        assert!(loss >= 0.0 && loss.is_finite());
        clear += u32::from(loss < 1.0);
        deep += u32::from(loss > 5.0);
    }
    // A person within 0.15 m of a line of 8 m in a square of 20 m: 5 x 2.4/400 = 3 % of the time.
    assert!((2_000..12_000).contains(&deep), "{deep}");
    assert!(clear > 120_000, "{clear}");
}

#[test]
fn a_moving_user_passes_what_stands_still_and_nothing_is_drawn_without_blockers() {
    let mut rng = Streams::new(2).stream("test");
    let untouched = rng.clone().bits();
    let mut none = Blockers::new(&Params::None, 28.0, &mut rng);
    none.advance(1.0, [1.0, 1.0], &mut rng);
    assert!(none.is_static());
    assert_eq!(rng.clone().bits(), untouched);
    let still = Regions {
        speed_mps: 0.0,
        ..Regions::default()
    };
    let still = Blockers::new(&Params::A(still), 28.0, &mut rng);
    assert!(still.is_static());
}

#[test]
fn what_is_out_of_range_is_named() {
    let many = Params::B(Screens {
        blockers: 65,
        ..Screens::default()
    });
    assert_eq!(
        many.validate().unwrap_err(),
        "blockers: must be between 0 and 64, not 65"
    );
    let text = r#"{"kind": "a", "blocker": 3}"#;
    assert!(
        serde_json::from_str::<Params>(text)
            .unwrap_err()
            .to_string()
            .contains("unknown field `blocker`")
    );
    assert_eq!(
        serde_json::from_str::<Params>(r#"{"kind": "none"}"#).unwrap(),
        Params::None
    );
}
